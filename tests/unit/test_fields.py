"""Fields: what rules find in pages, and what is said of rules that are wrong."""

import pickle
import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from fscrawl.errors import SettingsError
from fscrawl.parse import fields, selectors
from fscrawl.parse.fields import Column, Extracted, parse

URL = "http://www.a.example/dir/page.html"
GUIDE = Path(__file__).parent.parent.parent / "docs/how-to/fields.md"


def rules(*lines: str, hosts: str = "*") -> fields.Rules:
    return parse("\n".join([f'[hosts."{hosts}"]', *lines]))


def read(rule: str, html: str | bytes) -> Extracted:
    return rules(f"x = {{ {rule} }}").extract(URL, html if isinstance(html, bytes) else html.encode())


def value(rule: str, html: str | bytes):
    return read(rule, html).values.get("x")


def refusal(text: str, **more) -> str:
    with pytest.raises(SettingsError) as error:
        parse(text, **more)
    assert "\n" not in str(error.value)
    return str(error.value)


# Selectors

PAGE = """
<title>Page</title><body class=b><h1 id=top> Head  <em>ing</em>
 and more</h1><p>first<br>line</p><p> </p><p>second</p>
<a href=" x.html " rel=tag>X</a><a href=y.html>Y</a><a name=z>Z</a>
"""


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('css = "h1::text"', "Head"),
        ('css = "h1::text", many = true', ["Head", "and more"]),
        ('css = "h1 ::text"', "ing"),
        ('css = "body > ::text", many = true', ["Head", "and more", "first", "line", "second", "X", "Y", "Z"]),
        ('css = "::attr(id)"', "top"),
        ('css = "h1"', "Head ing and more"),
        ('css = "p", many = true', ["first line", "second"]),
        ('css = "a::attr(href)", many = true', ["x.html", "y.html"]),
        ('css = "A::attr( HREF )"', "x.html"),
        ('css = "p::text, h1::text", many = true', ["Head", "and more", "first", "line", "second"]),
        ('css = "h1, #top"', "Head ing and more"),
        ('css = "h1, #top", many = true', ["Head ing and more"]),
        ('css = "a:is(:first-of-type, [name])::text", many = true', ["X", "Z"]),
        ("css = 'a[rel=\"tag\"]::text'", "X"),
        ('css = "h2"', None),
        ('css = "h2", many = true', None),
        ('xpath = "//h1/text()"', "Head"),
        ('xpath = "//h1"', "Head ing and more"),
        ('xpath = "//p", many = true', ["first line", "second"]),
        ('xpath = "//a/@href", many = true', ["x.html", "y.html"]),
        ("xpath = \"//body[has-class('b')]/a[re:test(., 'Y|Z')]\", many = true", ["Y", "Z"]),
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
    lexbor = selectors.LexborHTMLParser
    found = rules(*(f'x{n} = {{ css = "p" }}' for n in range(5)))
    monkeypatch.setattr(selectors, "LexborHTMLParser", lambda html: parsed.append(html) or lexbor(html))
    found.extract(URL, b"<p>x")
    assert parsed == [b"<p>x"]
    rules('x = { xpath = "//p" }', hosts="other.example").extract(URL, b"<p>y")
    assert parsed == [b"<p>x"]


def test_xpath_is_a_choice():
    """Rules of CSS alone do not import parsel."""
    script = (
        "import sys; from fscrawl.parse.fields import parse;"
        "parse('[hosts.x]\\na = { css = \"p\" }').extract('http://x/', b'');"
        "sys.exit('parsel' in sys.modules or 'lxml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0


# Types


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("integer", "42", 42),
        ("integer", " +7 ", 7),
        ("integer", "-9223372036854775808", -(2**63)),
        ("integer", "9223372036854775808", None),
        ("integer", "9" * 5000, None),
        ("integer", "4.0", None),
        ("integer", "1_000", None),
        ("integer", "٣", None),
        ("float", "3.50", 3.5),
        ("float", ".5", 0.5),
        ("float", "-1.e3", -1000.0),
        ("float", "7", 7.0),
        ("float", "1e999", None),
        ("float", "nan", None),
        ("float", "inf", None),
        ("float", "1,299", None),
        ("boolean", "TRUE", True),
        ("boolean", "no", False),
        ("boolean", "0", False),
        ("boolean", "maybe", None),
        ("timestamp", "2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("timestamp", "2024-05-01T10:30", datetime(2024, 5, 1, 10, 30, tzinfo=UTC)),
        ("timestamp", "2024-05-01t10:30:15z", datetime(2024, 5, 1, 10, 30, 15, tzinfo=UTC)),
        ("timestamp", "2024-05-01 10:30:15 +0200", datetime(2024, 5, 1, 8, 30, 15, tzinfo=UTC)),
        ("timestamp", "2024-05-01T10:30:15.123456789-03:30", datetime(2024, 5, 1, 14, 0, 15, 123456, tzinfo=UTC)),
        ("timestamp", "2024-02-30", None),
        ("timestamp", "0001-01-01T00:00+01:00", None),
        ("timestamp", "20240501", None),
        ("timestamp", "1 May 2024", None),
        ("string", "x", "x"),
    ],
)
def test_types(kind, text, expected):
    """A text that is of the type becomes a value, any other is left out and named as bad."""
    found = read(f'css = "p", type = "{kind}"', f"<p>{text}</p>")
    if expected is None:
        assert found == Extracted({}, {"x": text[:80]}, ("x",))
    else:
        assert found == Extracted({"x": expected}, {}, ())
        assert type(found.values["x"]) is type(expected)


def test_times_are_in_utc():
    """A time with an offset is the same moment in UTC."""
    found = value('css = "p", type = "timestamp"', "<p>2024-05-01T00:00+05:00</p>")
    assert found == datetime(2024, 5, 1, tzinfo=timezone(timedelta(hours=5)))
    assert found.tzinfo is UTC


def test_numbers_of_xpath():
    """What XPath counts or decides is an integer or a truth value, if the column wants one."""
    assert value('xpath = "count(//p)", type = "integer"', "<p><p>") == 2
    assert value('xpath = "boolean(//p)", type = "boolean"', "") is False
    assert read('xpath = "1 div count(//p)", type = "float"', "").bad == {"x": "inf"}


def test_lists_with_bad_texts():
    """A list keeps what is of its type; the first text that is not is named, and the value is not missing."""
    found = read('css = "p", type = "integer", many = true', "<p>1<p>x<p>2<p>y")
    assert found == Extracted({"x": [1, 2]}, {"x": "x"}, ())


def test_the_first_text_decides():
    """Without `many` the first text is the value or bad; a later one is not looked for."""
    assert read('css = "p", type = "integer"', "<p>x<p>2") == Extracted({}, {"x": "x"}, ("x",))


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (r"[0-9.]+", ["12", "3.50"]),
        (r"([A-Z]+) ([0-9.]+)", ["EUR"]),
        (r"(USD)?[0-9.]+", None),
        (r"( )E", None),
        (r"(?<=R )(.*)", ["3.50"]),
        ("^Price: EUR", ["Price: EUR"]),
    ],
)
def test_regex(regex, expected):
    """The first group counts, or the whole match; a text that does not match, or matches nothing, is none."""
    assert value(f"css = 'p', many = true, regex = '{regex}'", "<p>12<p>Price:\n EUR 3.50") == expected


# Hosts


def host_values(pattern: str, url: str) -> dict:
    return rules('x = { css = "p" }', hosts=pattern).extract(url, b"<p>y").values


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("*", "http://a.example/", True),
        ("a.example", "https://a.example:8443/x", True),
        ("a.example", "http://b.a.example/", False),
        ("*.a.example", "http://c.b.a.example/", True),
        ("*.a.example", "http://a.example/", False),
        ("A.Example", "http://a.example/", True),
        ("?.example", "http://a.example/", True),
        ("[ab].example", "http://b.example/", True),
        ("[::1]", "http://[::1]:8000/", True),
        ("bücher.example", "http://xn--bcher-kva.example/", True),
        ("*.BÜCHER.example", "http://www.xn--bcher-kva.example/", True),
    ],
)
def test_hosts(pattern, url, matches):
    """A pattern is matched with the whole host name, without port, small letters and Punycode being understood."""
    assert host_values(pattern, url) == ({"x": "y"} if matches else {})


def test_other_hosts_are_asked_nothing():
    """A page of a host that no section is for has nothing missing."""
    assert rules('x = { css = "p" }', hosts="b.example").extract(URL, b"<p>") == Extracted({}, {}, ())


def test_sections_in_turn():
    """Of several fields of one column the first that finds a value wins; the columns stand in the file's order."""
    several = parse("""
        [hosts."*.a.example"]
        n = { css = "i", type = "integer" }
        [hosts."other.example"]
        n = { css = "u", type = "integer" }
        m = { css = "u" }
        [hosts."*"]
        k = { css = "b", many = true }
        n = { xpath = "//b", type = "integer" }
    """)
    assert several.columns == (Column("n", "integer"), Column("m"), Column("k", many=True))
    assert several.extract(URL, b"<i>1</i><b>2</b><u>3</u>") == Extracted({"n": 1, "k": ["2"]}, {}, ())
    assert several.extract(URL, b"<b>2</b>") == Extracted({"n": 2, "k": ["2"]}, {}, ())
    assert several.extract(URL, b"<i>x</i><b>2</b>") == Extracted({"n": 2, "k": ["2"]}, {"n": "x"}, ())
    assert several.extract(URL, b"<i>x</i><b>y</b>") == Extracted({"k": ["y"]}, {"n": "x"}, ("n",))
    assert several.extract(URL, b"") == Extracted({}, {}, ("n", "k"))


def test_errors_are_bad():
    """An expression that fails on a page costs that value alone, and the error is what is bad."""
    both = rules('x = { xpath = "//p[contains(.)]" }', 'y = { xpath = "//p" }')
    assert both.extract(URL, b"<p>z") == Extracted(
        {"y": "z"}, {"x": "XPathEvalError: Invalid number of arguments"}, ("x",)
    )


def test_a_parser_that_fails(monkeypatch):
    """A page that a parser refuses makes its fields bad, and no exception."""

    def refuse(html):
        raise MemoryError("no\nmore")

    found = rules('x = { css = "p" }')
    monkeypatch.setattr(selectors, "LexborHTMLParser", refuse)
    assert found.extract(URL, b"<p>").bad == {"x": "MemoryError: no more"}


def test_pickle():
    """Rules go to another process and find the same there."""
    sent = rules('x = { css = "p::text", regex = "a(.)" }', 'y = { xpath = "//p", type = "integer", many = true }')
    sent.extract(URL, b"<p>ab")
    came = pickle.loads(pickle.dumps(sent))
    assert came == sent
    page = b"<p>ab<p>1"
    assert came.extract(URL, page) == sent.extract(URL, page) == Extracted({"x": "b", "y": [1]}, {"y": "ab"}, ())


# Files that are wrong

SECTION = 'write a section as [hosts."docs.python.org"]'
PATTERN = "must be a host name or a pattern"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "fields.toml: the file has no fields; write one below"),
        ("[hosts]", "fields.toml: the file has no fields"),
        ('[hosts."*"]', "fields.toml: the file has no fields"),
        ("x", "fields.toml: not valid TOML: "),
        ("[hosts.*]\nx = 1", 'a host pattern must be in quotes: [hosts."docs.python.org"]'),
        ("[hosts.x]\na = " + "[" * 9999, "fields.toml: not valid TOML: "),
        ("[host.x]", f"fields.toml: unknown section host; {SECTION}"),
        ('["a\\nb"]', f'fields.toml: unknown section "a\\nb"; {SECTION}'),
        ("hosts = 1", f"fields.toml: hosts: {SECTION}"),
        ("[hosts]\nx = 1", f"fields.toml: hosts: {SECTION}"),
    ],
)
def test_bad_files(text, said):
    """What is no TOML or has no sections is refused, with what a section looks like."""
    assert said in refusal(text)


@pytest.mark.parametrize("text", ['\ufeff[hosts.x]\na = { css = "p" }', '[hosts.x.a]\ncss = "p"'])
def test_other_spellings(text):
    """A byte order mark is no mistake, and neither is a field as a table of its own."""
    assert parse(text).columns == (Column("a"),)


@pytest.mark.parametrize(
    "pattern", ["", "a.example:80", "http://a.example", "a/b", "a b", "bü*.example", "bü\\\\x", "ü ü"]
)
def test_bad_patterns(pattern):
    """A pattern is of a host name alone."""
    said = refusal(f'[hosts."{pattern}"]\nx = {{ css = "p" }}')
    assert said.startswith(f'fields.toml: [hosts."{pattern}"]: {PATTERN}')


def test_a_label_that_is_no_host():
    """A part in another alphabet that no host can have is refused."""
    assert PATTERN in refusal('[hosts."ü^"]\nx = { css = "p" }')


@pytest.mark.parametrize("section", ["hosts.docs.python.org", "hosts.a.b"])
def test_patterns_without_quotes(section):
    """Who leaves the quotes out is told of them, not of keys that make no sense."""
    host = section.removeprefix("hosts.")
    said = refusal(f'[{section}]\ntitle = {{ css = "p" }}')
    assert said == f'fields.toml: [{section}]: a host pattern must be in quotes: [hosts."{host}"]'


AT = 'fields.toml: [hosts."*"] x: '


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"h1::text"', 'must be a table, for example x = { css = "h1::text" }'),
        ("{}", "must have css or xpath"),
        ('{ css = "p", xpath = "//p" }', "must have css or xpath, not both"),
        ('{ ccs = "p" }', "unknown key ccs; did you mean css?"),
        ('{ foo = "p" }', "unknown key foo; the keys are css, xpath, type, many, regex"),
        ('{ css = "p", "\\n" = {} }', 'unknown key "\\n"; the keys are css, xpath, type, many, regex'),
        ('{ css = "p", type = "int" }', 'type: must be one of "string", "integer", "float", "boolean", "timestamp"'),
        ('{ css = "p", type = [] }', 'type: must be one of "string", "integer", "float", "boolean", "timestamp"'),
        ('{ css = "p", many = 1 }', "many: must be true or false"),
        ("{ css = 1 }", 'css: must be a CSS selector in quotes, for example "h1::text"'),
        ('{ css = "p", regex = 1 }', 'regex: must be a regular expression in quotes, for example "[0-9]+"'),
        (
            '{ css = "p", regex = "(" }',
            'regex = "(": must be a regular expression: missing ), unterminated subpattern at position 0',
        ),
    ],
)
def test_bad_rules(value, said):
    """What is wrong with a field is said with the file, the host pattern, the field and what would be right."""
    assert refusal(f'[hosts."*"]\nx = {value}') == AT + said


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("", "the selector cannot be read"),
        ("h1,,p", "the selector cannot be read"),
        ("[[", "its brackets or quotes do not match"),
        ("a)", "its brackets or quotes do not match"),
        ("a[href='x::text", "its brackets or quotes do not match"),
        ("a::before", "the only pseudo-elements are ::text and ::attr(name), at the end"),
        ("a::text b", "the only pseudo-elements are ::text and ::attr(name), at the end"),
        ("a::attr()", "the only pseudo-elements are ::text and ::attr(name), at the end"),
        ("a, b::text", "all parts between commas must have the same end: ::text, the same ::attr(name), or neither"),
    ],
)
def test_bad_css(selector, said):
    """A selector that is none is found before the first page."""
    said = f'css = "{selector}": must be a CSS selector: {said}'
    assert refusal(f'[hosts."*"]\nx = {{ css = "{selector}" }}') == AT + said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "Invalid expression"),
        ("//p[", "Invalid expression"),
        ("//p[$a]", "variables are not supported"),
        ("//p[document('x')]", "the function document() does not exist"),
        ("//p[re:tset(., 'x')]", "the function re:tset() does not exist"),
        ("contains('x')", "Invalid number of arguments"),
        ("has-class()", "XPath error: has-class must have at least 1 argument"),
        ("//@og:title", "the prefix og: is unknown; write @*[name()='og:…'] or *[name()='og:…']"),
    ],
)
def test_bad_xpath(expression, said):
    """An expression that is none, or asks for what there is not, is found before the first page."""
    said = f'xpath = "{expression}": must be an XPath 1.0 expression: {said}'
    assert refusal(f'[hosts."*"]\nx = {{ xpath = "{expression}" }}') == AT + said


def test_the_advice_for_a_prefix():
    """What the refusal of a prefix advises finds the attribute."""
    assert value("xpath = \"//@*[name()='og:title']\"", "<meta og:title=x>") == "x"


def test_xpath_without_parsel(monkeypatch):
    """Where parsel is not installed, the first expression says what to install."""
    monkeypatch.setitem(sys.modules, "parsel", None)
    assert "XPath needs the package parsel: pip install 'fscrawl[merge]'" in refusal(
        '[hosts.x]\na = { xpath = "//unheard-of" }'
    )


@pytest.mark.parametrize("name", ["url.canonical", "Heading", "_x", "1x", "", "é", "a-b"])
def test_bad_names(name):
    """A column's name is of small letters, digits and underscores."""
    said = refusal(f'[hosts."*"]\n"{name}" = {{ css = "p" }}')
    assert said == (
        f'fields.toml: [hosts."*"] {name}: a column\'s name must consist of the letters a to z, digits and _,'
        " and begin with a letter"
    )


def test_taken_names():
    """A column that the dataset has already is not for fields; the file's name is the caller's."""
    said = refusal('[hosts."*"]\nurl = { css = "p" }', where="my.toml", taken=frozenset({"url"}))
    assert said == 'my.toml: [hosts."*"] url: the dataset already has a column url; choose another name'


def test_types_in_conflict():
    """A column of two types is refused with both places."""
    said = refusal('[hosts.a]\nx = { css = "p" }\n[hosts.b]\nx = { css = "p", type = "float", many = true }')
    assert said == (
        'fields.toml: [hosts."b"] x: the type is a list of float here and string in [hosts."a"];'
        " a column must have one type"
    )


# The guide


def test_the_guide_is_right():
    """The guide's rules are valid, and find on a page what the guide says."""
    blocks = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    found = parse(blocks[0])
    names = ", ".join(f"`{column.name}`" for column in found.columns[:-1]) + f" and `{found.columns[-1].name}`"
    assert names in " ".join(GUIDE.read_text(encoding="utf-8").split())
    shop = b"""<div class=product><h2>Lamp</h2><span class=price>EUR <b>only</b> 3.50</span><p class="x sold-out">
        <a rel=tag>light</a><a rel=tag>room</a></div><h1>Shop</h1><time datetime=2024-05-01T10:00+02:00>"""
    assert found.extract("http://www.shop.example/lamp", shop) == Extracted(
        {
            "heading": "Lamp",
            "price": 3.5,
            "sold_out": True,
            "tags": ["light", "room"],
            "published": datetime(2024, 5, 1, 8, tzinfo=UTC),
        },
        {},
        (),
    )
    docs = b"<title>Tutorial - Python 3.13.1 documentation</title><h1>The Tutorial<a href='#x'>\xc2\xb6</a></h1>"
    assert found.extract("https://docs.python.org/3/", docs) == Extracted(
        {"heading": "The Tutorial", "version": "3.13.1", "anchors": 1}, {}, ("published",)
    )


def test_the_guide_names_everything():
    """The guide has a row for each key and each type, and quotes an error as it is."""
    text = GUIDE.read_text(encoding="utf-8")
    for name in (*fields._KEYS, *fields.TYPES):
        assert f"| `{name}` |" in text
    quoted = re.search(r"^    fscrawl: (.*)", text, re.MULTILINE)
    assert quoted is not None
    assert refusal('[hosts."docs.python.org"]\nheading = { ccs = "h1" }') == quoted[1]
