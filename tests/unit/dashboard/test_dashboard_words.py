"""Searches by words in the dashboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from fscrawl.monitor.dashboard.app import Dashboard
from fscrawl.monitor.dashboard.guard import Guard, names_for
from tests.support.dashboards import Answer, call
from tests.support.dashboards_in_process import PORT, A, Ask
from tests.support.trees import Grown


@pytest.fixture
def words(grown: Grown, tmp_path: Path) -> Ask:
    for number in range(25):
        grown.page(f"{A}many/{number}", b"<title>Many</title><p>common words &lt;b&gt;&amp;lt;\x1b[2J")
    grown.merge(tmp_path / "out", index=True)
    dashboard = Dashboard(grown.root, {}, tmp_path / "out")
    guard = Guard(dashboard.app, names_for("127.0.0.1", "box"), None)

    def ask(**given: Any) -> Answer:
        return call(guard, f"/api/words?{urlencode(given)}")

    return ask


def test_finds(words: Ask, grown: Grown) -> None:
    """A search gives the pages with what leads to them, and pieces of text with the hits told apart."""
    answer = words(q='"common words" -nothing').json()
    assert (answer["found"], answer["page"], answer["pages"], answer["missing"]) == (25, 0, 2, 0)
    assert len(answer["rows"]) == 20
    row = answer["rows"][0]
    assert (row["host"], row["title"]) == ("a.example", "Many")
    assert row["key"] == grown.records[row["url"]].key
    assert [text for text, hit in row["pieces"] if hit] == ["common words"]
    assert len(words(q="common", page=1).json()["rows"]) == 5
    assert words(q="common", page=2).json()["rows"] == []


def test_hosts(words: Ask) -> None:
    """A host, in any form, narrows a search."""
    assert [row["host"] for row in words(q="x", host="p.example").json()["rows"]] == ["p.example_8080"]
    assert words(q="x", host=PORT).json()["found"] == 1
    assert words(q="x", host="a.example").json()["found"] == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "nothing to search for"),
        ({"q": '"'}, 'a phrase has a "'),
        ({"q": "x", "page": "50"}, "page: must be less than 50"),
        ({"q": "x", "page": "-1"}, "page: must be a number"),
        ({"q": "x", "host": "//"}, "must be a host"),
    ],
)
def test_mistakes(words: Ask, given: dict[str, str], says: str) -> None:
    """A wrong question is answered by what is wrong."""
    answer = words(**given)
    assert answer.status == 400
    assert says in answer.json()["error"]


def test_no_index(words: Ask, ask: Ask, tmp_path: Path) -> None:
    """Without a dataset, or an index, or with a damaged one, the answer says which command helps."""
    assert "--dataset DIR" in ask("/api/words?q=x").json()["error"]
    (tmp_path / "out/search/meta.json").write_text(json.dumps({}))
    assert "--index" in words(q="x").json()["error"]
