"""Rules for items: what a page's rows are, and which mistakes are refused."""

import re
import tomllib

import pytest

from fscrawl.parse import fields
from fscrawl.parse.fields import Items, Mistake, gathered, read_items
from fscrawl.parse.selectors import Document

TABLE = b"<table><tr class=r><td>1<td><a href=/x>b</a><tr class=r><td>zwei</table><p class=r>"


def of_page(each: str, fields: str, html: bytes) -> Items:
    """Give the items that these rules find in a page."""
    rules = read_items(tomllib.loads(f"each = '{each}'\nfields = {{ {fields} }}"))
    return gathered(rules.of_page(Document(html)))


def values(found):
    return [item.values for item in found.items]


def test_rows_of_a_table():
    """Each element is an item; what is missing or of another type in it is told of that item."""
    columns = 'n = { css = "td:nth-child(1)", type = "integer" }, link = "css:a::attr(href)"'
    first, second = of_page("css:tr.r", columns, TABLE).items
    assert (first.values, first.missing, first.bad) == ({"n": 1, "link": "/x"}, (), {})
    assert (second.values, second.missing, second.bad) == ({}, ("n", "link"), {"n": "zwei"})


def test_xpath():
    """A path that begins with a dot looks inside of the item; numbers are no items."""
    found = of_page("xpath://tr", 'n = "xpath:./td[1]", tags = { xpath = ".//a", type = "string[]" }', TABLE)
    assert values(found) == [{"n": "1", "tags": ["b"]}, {"n": "zwei"}]
    assert values(of_page("xpath:count(//tr)", 'n = "xpath:."', TABLE)) == []


def test_json():
    """Objects at any depth are items, and so are plain values; a page that is no JSON has none."""
    each = "json:$..result[*]"
    columns = 'id = { json = "$.id", type = "integer" }, tags = { json = "$.t[*]", type = "string[]" }'
    page = b'{"data": {"result": [{"id": 1, "t": ["a", "b"]}, {"id": 2}]}}'
    assert values(of_page(each, columns, page)) == [{"id": 1, "tags": ["a", "b"]}, {"id": 2}]
    assert values(of_page("json:$[*]", 'v = "json:$"', b"[1, 2]")) == [{"v": "1"}, {"v": "2"}]
    assert values(of_page(each, columns, TABLE)) == []


@pytest.mark.parametrize("each", ["css:div", "xpath://div"])
def test_items_in_items(each):
    """What stands in another item is a part of that one only, so no text becomes many."""
    kind = each.partition(":")[0]
    text = "div" if kind == "css" else "."
    found = of_page(each, f'n = "{kind}:{text}"', b"<div>a<div>b</div></div><div>c</div>")
    assert len(found.items) == 2


@pytest.mark.gate
@pytest.mark.parametrize("each", ["css:b", "xpath://b"])
def test_a_page_that_is_all_nested(each):
    """Thousands of elements that are hundreds deep are read in a bounded number of steps: then the rest is left out."""
    kind = each.partition(":")[0]
    html = b"<div>" * 400 + b"<b><i>x</i></b>" * 3_000
    found = of_page(each, f'n = "{kind}:{"i" if kind == "css" else ".//i"}"', html)
    assert found.fault
    assert 0 < len(found.items) < 3_000


def test_json_that_is_all_nested():
    """Objects in objects give each other's text: it is bounded. Those too deep for a path are a fault of that page."""
    rules = ("json:$..*", 'n = "json:$"')
    found = of_page(*rules, b'{"a":' * 90 + b'"' + b"x" * 100_000 + b'"' + b"}" * 90)
    assert 0 < sum(len(item.values.get("n", "")) for item in found.items) < 60 * 100_000
    assert "more than 400 levels deep" in of_page(*rules, b"[" * 500 + b"]" * 500).fault


def test_too_many(monkeypatch):
    """Of many items the first are taken, and that there are more is told."""
    monkeypatch.setattr(fields, "MOST", 3)
    found = [of_page("css:b", 'n = "css:b"', b"<b>x</b>" * count) for count in (2, 3, 4)]
    assert [each.more for each in found] == [False, False, True]
    assert len(found[2].items) == 3


def test_a_field_that_fails():
    """An expression that fails on a page is told of the item, and the page has its other items."""
    found = of_page("xpath://b", 'n = { xpath = "re:test(., .)", type = "integer" }', b"<b>x</b><b>(</b>")
    assert [set(item.bad) for item in found.items] == [{"n"}, {"n"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('each = "css:b"\nfields = {}', "fields: must be a table of columns"),
        ('ech = "css:b"', 'unknown key "ech"; the keys are each, fields'),
        ('fields = {n = "css:b"}', 'each: must be a selector, for example "css:tr"'),
        ('each = {css = "b", regex = "x"}\nfields = {n = "css:b"}', 'each: must be a selector, for example "css:tr"'),
        ('each = "css:b::text"\nfields = {n = "css:b"}', 'each: "css:b::text": must find elements: leave ::text'),
        ('each = "css:b::attr(id)"\nfields = {n = "css:b"}', "must find elements"),
        ('each = "re:b"\nfields = {n = "css:b"}', "each: must be css:, xpath: or json:"),
        ('each = "css:b["\nfields = {n = "css:b"}', 'each: "css:b[": must be a CSS selector: its brackets'),
        ('each = "css:b"\nfields = {n = "json:$.a"}', "fields: n: must be found by css, as the items are"),
        ('each = "xpath://b"\nfields = {n = "xpath://i"}', "fields: n: a path that begins with /"),
        ('each = "css:b"\nfields = {url = "css:b"}', "url: the dataset already has a column url"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    """A mistake is one line that says what would be right."""
    with pytest.raises(Mistake, match=re.escape(said)) as raised:
        read_items(tomllib.loads(text))
    assert "\n" not in str(raised.value)
