"""The dashboard's views in one file: what stands in it, and that nothing from the web gets out of its place."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import html5lib
import pytest

from fscrawl import cli
from fscrawl.monitor import report
from fscrawl.monitor.dashboard.summary import POINTS
from fscrawl.store import Tree
from tests.support.beats import Logs
from tests.support.documents import HOSTILE
from tests.support.trees import Grown


@pytest.fixture
def grown(tmp_path: Path) -> Grown:
    """A tree of two hosts with pages and failures, and the logs of two machines: one left, the other was killed."""
    tree = Grown(tmp_path / "tree")
    for number in range(6):
        tree.page(f"http://a.example/{number}", b"<title>Same</title>same")
    tree.page("http://b.example:8080/", b"<title>B</title>")
    tree.fail("http://b.example:8080/gone", "timeout", None, message=HOSTILE)
    helper = Logs(tmp_path / "other")
    lines = [helper.beat(600 * n, pages=n, stored=n, errors={"timeout": 1}, pending=9) for n in range(1, 40)]
    helper.write("m-1-aa", [*lines, helper.bye(24_000, pages=40, stored=40, errors={"timeout": 1}, finished=True)])
    helper.write("m-2-bb", lines[:3])
    for path in helper.path("m-1-aa").parent.iterdir():
        path.rename(tree.root / ".fscrawl" / "machines" / path.name)
    return tree


def gathered(root: Path) -> dict[str, Any]:
    return report.gather(Tree(root, "observer-1-aa"))


def test_hosts_are_counted(grown: Grown) -> None:
    """Every host has the number of its files; the one with most records is first."""
    hosts = gathered(grown.root)["hosts"]
    assert hosts["hosts"] == 2
    assert [(row["spoken"], row["records"], row["failures"]) for row in hosts["rows"]] == [
        ("a.example", 6, 0),
        ("b.example:8080", 1, 1),
    ]


def test_curves_cover_the_whole_crawl(grown: Grown) -> None:
    """They begin with the first machine and end with the last line, though that was long ago and took hours."""
    state = gathered(grown.root)["state"]
    curves = state["curves"]
    assert curves["step_s"] == pytest.approx(24_000 / POINTS)
    (first, _) = curves["series"]
    done = sum(value * curves["step_s"] for value in first["pages"] if value is not None)
    assert done == pytest.approx(40, rel=0.1)
    assert (state["state"], state["pages"]) == ("finished", 43)


def test_a_long_log_is_sampled(tmp_path: Path) -> None:
    """Of a log of weeks some three MiB are read, and the sums are right."""
    logs = Logs(tmp_path / "tree")
    many = [logs.beat(10 * n, pages=n, stored=n, settings="x" * 200) for n in range(1, 20_000)]
    logs.write("m-1-aa", [*many, logs.bye(200_000, pages=20_000, stored=20_000, finished=True)])
    curves = gathered(logs.root)["state"]["curves"]
    done = sum((value or 0) * curves["step_s"] for value in curves["series"][0]["pages"])
    assert done == pytest.approx(20_000, rel=0.02)


def test_one_file_that_asks_nobody(grown: Grown) -> None:
    """It is HTML with one script, its policy allows only that, and what is from the web stands as data."""
    text = report.render(gathered(grown.root))
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    document = parser.parse(text)
    assert parser.errors == []
    scripts = document.findall(".//script")
    assert [script.get("type") for script in scripts] == ["application/json", "module"]
    assert all(script.get("src") is None for script in scripts)
    assert document.findall(".//link[@rel='stylesheet']") == []
    frozen = json.loads(scripts[0].text or "")
    assert frozen["errors"]["classes"]["timeout"][0]["message"] == HOSTILE
    assert HOSTILE not in text
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "connect-src" not in policy[1]


def test_the_command(grown: Grown, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It replaces the file whole, follows a link, and says what it has found; the tree is as it was."""
    before = sorted(grown.root.rglob("*"))
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "r.html").symlink_to("real.html")
    assert cli.main(["report", "--root", str(grown.root), "--out", str(tmp_path / "r.html")]) == 0
    assert "43 pages of 2 hosts, 2 failures" in capsys.readouterr().out
    assert (tmp_path / "r.html").is_symlink()
    assert (tmp_path / "real.html").read_text().startswith("<!DOCTYPE html>")
    assert sorted(grown.root.rglob("*")) == before


@pytest.mark.parametrize("name", [".", "none/r.html", "pipe", "tree/htmls/r.html"])
def test_places_that_are_refused(grown: Grown, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory, one that is not there, what is no file, and the tree's own places are refused."""
    os.mkfifo(tmp_path / "pipe")
    assert cli.main(["report", "--root", str(grown.root), "--out", str(tmp_path / name)]) == 2
    assert "--out" in capsys.readouterr().err
