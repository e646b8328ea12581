"""What selectors of fields find in pages."""

import subprocess
import sys
import time

import pytest

from fscrawl.parse import selectors
from fscrawl.parse.fields import Extracted
from tests.support.field_rules import found_by, read, rules, value

PAGE = """
<title>Page</title><body class=b><h1 id=top> Head  <em>ing</em>
 and more</h1><p>first<br>line</p><p> </p><p>second</p>
<a href=" x.html " rel=tag>X</a><a href=y.html>Y</a><a name=z>Z</a>
"""


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('css = "h1::text"', "Head"),
        ('css = "h1::text", type = "string[]"', ["Head", "and more"]),
        ('css = "h1 ::text"', "ing"),
        ('css = "body > ::text", type = "string[]"', ["Head", "and more", "first", "line", "second", "X", "Y", "Z"]),
        ('css = "::attr(id)"', "top"),
        ('css = "h1"', "Head ing and more"),
        ('css = "p", type = "string[]"', ["first line", "second"]),
        ('css = "a::attr(href)", type = "string[]"', ["x.html", "y.html"]),
        ('css = "A::attr( HREF )"', "x.html"),
        ('css = "p::text, h1::text", type = "string[]"', ["Head", "and more", "first", "line", "second"]),
        ('css = "h1, #top"', "Head ing and more"),
        ('css = "h1, #top", type = "string[]"', ["Head ing and more"]),
        ('css = "a:is(:first-of-type, [name])::text", type = "string[]"', ["X", "Z"]),
        ("css = 'a[rel=\"tag\"]::text'", "X"),
        ('css = "h2"', None),
        ('css = "h2", type = "string[]"', None),
        ('xpath = "//h1/text()"', "Head"),
        ('xpath = "//h1"', "Head ing and more"),
        ('xpath = "//p", type = "string[]"', ["first line", "second"]),
        ('xpath = "//a/@href", type = "string[]"', ["x.html", "y.html"]),
        ("xpath = \"//body[has-class('b')]/a[re:test(., 'Y|Z')]\", type = 'string[]'", ["Y", "Z"]),
        ('xpath = "set:distinct(//h1)/@id"', "top"),
        ('xpath = "string(//h1)"', "Head ing and more"),
        ('xpath = "count(//a)"', "3"),
        ('xpath = "count(//a) div 2"', "1.5"),
        ('xpath = "number(//h1)"', None),
        ('xpath = "boolean(//h1)"', "true"),
        ('xpath = "boolean(//h2)"', "false"),
        ('xpath = "//h1/namespace::*"', None),
        ('xpath = "//h2/text()"', None),
        ('xpath = "ancestor-or-self::node()/body//a[1] | //h1/@id"', "top"),
    ],
)
def test_selectors(rule, expected):
    """A selector gives what parsel's would: own texts, attributes, whole texts; white space folded, blanks left out."""
    assert value(rule, PAGE) == expected


ENGINES = pytest.mark.parametrize("whole", ['css = "div"', 'xpath = "//div"'])


@ENGINES
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("H<sub>2</sub>O, <b>b</b>old", "H2O, bold"),
        ("<ul><li>a</li><li>b<ul><li>c</ul></ul>d", "a b c d"),
        ("<table><tr><td>1<td>2<tr><th>3</table>", "1 2 3"),
        ("a<br>b<hr>c", "a b c"),
        ("a<!-- x -->b<script>s()</script>c<style>t</style>d<template><p>u</p></template>e", "abcde"),
        ("\n a\tb&nbsp;\n", "a b"),
        ("é&#xD800;\0", "é�"),
        ("&lt;b&gt;", "<b>"),
        ("<o:p>x</o:p><my-tag>y</my-tag>", "xy"),
    ],
)
def test_whole_text(whole, html, expected):
    """Both engines set blocks apart and nothing within a line, and leave scripts, styles and comments out."""
    assert value(whole, f"<div>{html}</div>") == expected


@pytest.mark.parametrize("rule", ['css = "script"', 'css = "script::text"', 'xpath = "//script"'])
def test_script_by_name(rule):
    """A script that is selected itself is read: pages keep data in them."""
    assert value(rule, '<script type="application/json">{"a": 1}</script>') == '{"a": 1}'


def test_comment_by_xpath():
    """A comment that XPath selects is a text."""
    assert value('xpath = "//comment()"', "<p><!-- note --></p>") == "note"


def test_attribute_with_capitals():
    """An attribute of SVG is found as the parser spells it."""
    assert value('css = "svg::attr(viewBox)"', "<svg viewbox='0 0 1 1'>") == "0 0 1 1"


@ENGINES
@pytest.mark.parametrize("html", [b"", b"\0", b"\xff\xfe", b"<", b"<!-- x", b"<?xml version='1.0'?>", b"<div>"])
def test_pages_with_nothing(whole, html):
    """A page without the element, or without anything that is HTML, gives nothing, and that is not bad."""
    assert read(whole, html) == Extracted({}, {}, ("x",))


@ENGINES
def test_bytes_that_are_not_utf8(whole):
    """Invalid bytes become U+FFFD and end nothing; what a page declares of its encoding is past."""
    assert value(whole, b"<meta charset=utf-16><p>\xff</p><div>a\xffb \xc3\xa9</div>") == "a\ufffdb é"


@ENGINES
def test_nesting_below_the_callers_bound(whole):
    """Five hundred open elements hide nothing that follows them."""
    assert value(whole, "<b>" * 500 + "x" + "</b>" * 500 + "<div>after</div>") == "after"


@ENGINES
def test_a_long_text(whole):
    """A text of 11 MB is read: libxml2 by itself would stop at ten."""
    assert len(value(whole, b"<div>" + b"x" * 11_000_000 + b"</div>")) == 11_000_000


@pytest.mark.gate
@ENGINES
def test_time_grows_with_the_page(whole):
    """The whole text of a page of 100,000 elements takes time in proportion to it."""
    html = b"<div>" + b"<p>a<b>b</b><i>" * 33_000
    begun = time.process_time()
    assert value(whole, html)
    assert time.process_time() - begun < 20


def test_a_page_is_parsed_once(monkeypatch):
    """However many rules there are, each engine parses a page once, and only if it is asked."""
    parsed = []
    lexbor = selectors.tree
    found = rules(*(f'x{n} = {{ css = "p" }}' for n in range(5)))
    monkeypatch.setattr(selectors, "tree", lambda html: parsed.append(html) or lexbor(html))
    found_by(found, b"<p>x")
    assert parsed == [b"<p>x"]
    found_by((), b"<p>y")
    assert parsed == [b"<p>x"]


def test_xpath_is_a_choice():
    """Rules of CSS alone do not import parsel."""
    script = (
        "import sys; from fscrawl.parse.fields import extract, read_fields;"
        "from fscrawl.parse.selectors import Document; extract(read_fields({'a': 'css:p'}), Document(b''));"
        "sys.exit('parsel' in sys.modules or 'lxml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0
