"""The fields of [[site]] tables in a dataset."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fscrawl.errors import SettingsError
from tests.support.trees import Grown

HOSTS = '[[site]]\nhosts = ["a.example", "*.b.example"]\n[site.fields]\n'
URL = "http://a.example/f"
NOTHING = ["nothing new since the last run"]
BODY = b"<title>t</title><h1>a</h1><h2>b</h2><a href=/l>"


def row(tree: Grown, out: Path, **given: str) -> dict[str, object]:
    made = tree.merge(out, **given)
    return next(row for row in made.rows("pages") if row["url"] == URL)


def test_fields_of_tables(tree: Grown, out: Path) -> None:
    """Each field is a column; a dataset keeps those that it was made with."""
    tree.page(URL, BODY)
    tree.sites(HOSTS + 'heading = "css:h1"\nother = {css = "h2", type = "string[]"}\n')
    found = row(tree, out)
    assert (found["heading"], found["other"]) == ("a", ["b"])
    assert tree.merge(out).said == NOTHING
    tree.sites(HOSTS + 'heading = "css:h2"\n')
    [said, *_] = tree.merge(out).said
    assert said.endswith("the fields of [[site]] are not those that the dataset was made with; --rebuild takes them")
    tree.sites(HOSTS + "heading = 1\n")
    [said, *_] = tree.merge(out).said
    assert said.endswith("the dataset keeps the fields that it has")


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ('title = "css:h1"', "[[site]] 1 (a.example): fields: title: the dataset already has a column title"),
        ('heading = "css:h["', "fields: heading: css = "),
    ],
)
def test_wrong_tables(tree: Grown, out: Path, field: str, said: str) -> None:
    """What is wrong with a field is said with its place in `crawl.toml`."""
    tree.sites(HOSTS + field)
    with pytest.raises(SettingsError) as caught:
        tree.merge(out)
    assert said in str(caught.value)
    assert "crawl.toml:" in str(caught.value)


def test_links_that_rules_found(tree: Grown, out: Path) -> None:
    """The table of links has the links of a page, and what the rules of its site found beside them."""
    tree.page(URL, BODY, requests=("http://a.example/l", "http://a.example/r"), rules="0" * 16)
    made = tree.merge(out)
    assert [row["target"] for row in made.rows("links") if row["source"] == URL] == [
        "http://a.example/l",
        "http://a.example/r",
    ]


def test_half_of_a_character(tree: Grown, out: Path) -> None:
    """Half of an emoji in JSON becomes a question mark, and the other pages are exported."""
    body = rb'{"note": "cut \ud83d", "list": [{"n": "\ud83d"}, {"n": "b"}]}'
    tree.page(URL, body, headers={"content-type": "application/json"}, file="json")
    items = '[site.items]\neach = "json:$.list[*]"\nfields = {name = "json:$.n"}\n'
    tree.sites(HOSTS + 'note = "json:$.note"\n' + items)
    made = tree.merge(out)
    assert [row["note"] for row in made.rows("pages") if row["url"] == URL] == ["cut ?"]
    assert [row["name"] for row in made.rows("items")] == ["?", "b"]


@pytest.mark.parametrize("file", ["json", None])
def test_html_in_json(tree: Grown, out: Path, file: str | None) -> None:
    """Texts of JSON stay as they are: tags in them are nobody's nesting, also where it is served as HTML."""
    texts = ["<div><p>one <b>two<\\/b>", "a <b and c", "d> e", *("<div>" for _ in range(2000))]
    body = json.dumps({"list": texts}).encode()
    tree.page(URL, body, **({} if file is None else {"headers": {"content-type": "application/json"}, "file": file}))
    items = '[site.items]\neach = "json:$.list[*]"\nfields = {text = "json:$"}\n'
    tree.sites(HOSTS + 'texts = {json = "$.list[*]", type = "string[]"}\n' + items)
    made = tree.merge(out)
    assert [row["texts"] for row in made.rows("pages") if row["url"] == URL] == [texts]
    assert [row["text"] for row in made.rows("items")] == texts
