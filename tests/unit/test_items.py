"""Rules for items: what a page's rows are, and which mistakes are refused."""

import re

import pytest

from fscrawl.errors import SettingsError
from fscrawl.parse import items
from fscrawl.parse.items import parse

URL = "http://a.example/"
TABLE = b"<table><tr class=r><td>1<td><a href=/x>b</a><tr class=r><td>zwei</table><p class=r>"


def rules(each, fields, host="*"):
    return parse(f"[items.\"{host}\"]\neach = '{each}'\nfields = {{ {fields} }}")


def values(found):
    return [item.values for item in found.items]


def test_rows_of_a_table():
    """Each element is an item; what is missing or of another type in it is told of that item."""
    found = rules("css:tr.r", 'n = { css = "td:nth-child(1)", type = "integer" }, link = "css:a::attr(href)"')
    first, second = found.of_page(URL, TABLE).items
    assert (first.values, first.missing, first.bad) == ({"n": 1, "link": "/x"}, (), {})
    assert (second.values, second.missing, second.bad) == ({}, ("n", "link"), {"n": "zwei"})


def test_xpath():
    """A path that begins with a dot looks inside of the item; numbers are no items."""
    found = rules("xpath://tr", 'n = "xpath:./td[1]", tags = { xpath = ".//a", many = true }')
    assert values(found.of_page(URL, TABLE)) == [{"n": "1", "tags": ["b"]}, {"n": "zwei"}]
    assert values(rules("xpath:count(//tr)", 'n = "xpath:."').of_page(URL, TABLE)) == []


def test_json():
    """Objects at any depth are items, and so are plain values; a page that is no JSON has none."""
    found = rules(
        "json:$..result[*]", 'id = { json = "$.id", type = "integer" }, tags = { json = "$.t[*]", many = true }'
    )
    page = b'{"data": {"result": [{"id": 1, "t": ["a", "b"]}, {"id": 2}]}}'
    assert values(found.of_page(URL, page)) == [{"id": 1, "tags": ["a", "b"]}, {"id": 2}]
    assert values(rules("json:$[*]", 'v = "json:$"').of_page(URL, b"[1, 2]")) == [{"v": "1"}, {"v": "2"}]
    assert values(found.of_page(URL, TABLE)) == []


@pytest.mark.parametrize("each", ["css:div", "xpath://div"])
def test_items_in_items(each):
    """What stands in another item is a part of that one only, so no text becomes many."""
    kind = each.partition(":")[0]
    text = "div" if kind == "css" else "."
    found = rules(each, f'n = "{kind}:{text}"').of_page(URL, b"<div>a<div>b</div></div><div>c</div>")
    assert len(found.items) == 2


@pytest.mark.gate
@pytest.mark.parametrize("each", ["css:b", "xpath://b"])
def test_a_page_that_is_all_nested(each):
    """Thousands of elements that are hundreds deep are read in a bounded number of steps: then the rest is left out."""
    kind = each.partition(":")[0]
    found = rules(each, f'n = "{kind}:{"i" if kind == "css" else ".//i"}"')
    of_page = found.of_page(URL, b"<div>" * 400 + b"<b><i>x</i></b>" * 3_000)
    assert of_page.fault
    assert 0 < len(of_page.items) < 3_000


def test_json_that_is_all_nested():
    """Objects in objects give each other's text: it is bounded. Those too deep for a path are a fault of that page."""
    found = rules("json:$..*", 'n = "json:$"')
    of_page = found.of_page(URL, b'{"a":' * 90 + b'"' + b"x" * 100_000 + b'"' + b"}" * 90)
    assert 0 < sum(len(item.values.get("n", "")) for item in of_page.items) < 60 * 100_000
    assert "more than 400 levels deep" in found.of_page(URL, b"[" * 500 + b"]" * 500).fault


def test_too_many(monkeypatch):
    """Of many items the first are taken, and that there are more is told."""
    monkeypatch.setattr(items, "MOST", 3)
    found = rules("css:b", 'n = "css:b"')
    assert [found.of_page(URL, b"<b>x</b>" * count).more for count in (2, 3, 4)] == [False, False, True]
    assert len(found.of_page(URL, b"<b>x</b>" * 4).items) == 3


def test_the_first_pattern_counts():
    """Of the sections that match a page only the first is used; other hosts have no items."""
    text = "".join(
        f'[items."{host}"]\neach = "css:{tag}"\nfields = {{n = "css:{tag}"}}\n'
        for host, tag in (("a.example", "b"), ("*.example", "i"))
    )
    found = parse(text)
    assert [column.name for column in found.columns] == ["n"]
    html = b"<b>1</b><i>2</i>"
    assert values(found.of_page("http://a.example/", html)) == values(found.of_page("http://a.example/x", html))
    assert len(found.of_page("http://b.example/", html).items) == 1
    assert found.of_page("http://b.test/", html).items == ()


def test_a_field_that_fails():
    """An expression that fails on a page is told of the item, and the page has its other items."""
    found = rules("xpath://b", 'n = { xpath = "re:test(., .)", type = "integer" }')
    assert [set(item.bad) for item in found.of_page(URL, b"<b>x</b><b>(</b>").items] == [{"n"}, {"n"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("items = 1", "items: "),
        ('[items."*"]\neach = "css:b"\nfields = {}', '[items."*"]: fields: must be there'),
        ('[items]\n"a.example" = 1', '[items."a.example"]: must be a table, for example'),
        ('[items."http://a/"]\neach = "css:b"', "must be a host name or a pattern in quotes"),
        ('[items."*"]\nech = "css:b"', '[items."*"]: unknown key ech; did you mean each?'),
        (
            '[items."*"]\nfields = {n = "css:b"}',
            '[items."*"]: each: must be there, for example each = "css:table tr"',
        ),
        ('[items."*"]\neach = "css:b["\nfields = {n = "css:b"}', '[items."*"]: each: css = "b["'),
        ('[items."*"]\neach = "css:b"\nfields = {n = "json:$.a"}', "n: must be found by css, as the items are"),
        ('[items."*"]\neach = "xpath://b"\nfields = {n = "xpath:string(//i)"}', "n: a path that begins with /"),
        ('[items."*"]\neach = "css:b"\nfields = {url = "css:b"}', "url: the dataset already has a column url"),
        (
            '[items."a.b"]\neach = "css:b"\nfields = {n = "css:b"}\n'
            '[items."c.d"]\neach = "css:b"\nfields = {n = {css = "b", type = "float"}}',
            "items: n has two types; a column must have one type",
        ),
    ],
)
def test_mistakes(text, said):
    """A mistake is one line with its place and what would be right."""
    with pytest.raises(SettingsError, match=re.escape(said)) as raised:
        parse(text)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("fields.toml")
