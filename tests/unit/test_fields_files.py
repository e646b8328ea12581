"""What is said of files of fields that are wrong, and that the guide to fields is right."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fscrawl.errors import SettingsError
from fscrawl.parse import fields, items
from fscrawl.parse.fields import Column, Extracted, parse
from fscrawl.sites import matchers
from fscrawl.util.installed import to_install
from tests.support.field_rules import value

GUIDE = Path(__file__).parent.parent.parent / "docs/how-to/fields.md"


def refusal(text: str, **more) -> str:
    with pytest.raises(SettingsError) as error:
        parse(text, **more)
    assert "\n" not in str(error.value)
    return str(error.value)


# Files that are wrong


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no fields"),
        ('[hosts."*"]', "has no fields"),
        ("x", "not valid TOML"),
        ("[hosts.*]\nx = 1", '[hosts."docs.python.org"]'),
        ("[hosts.x]\na = " + "[" * 9999, "not valid TOML"),
        ('["a\\nb"]', 'unknown section "a\\nb"'),
        ("hosts = 1", "hosts: "),
        ("[hosts]\nx = 1", "hosts: "),
    ],
)
def test_bad_files(text, said):
    """What is no TOML or has no sections is refused, with what a section looks like."""
    assert said in refusal(text)


@pytest.mark.parametrize("text", ['\ufeff[hosts.x]\na = { css = "p" }', '[hosts.x.a]\ncss = "p"'])
def test_other_spellings(text):
    """A byte order mark is no mistake, and neither is a field as a table of its own."""
    assert parse(text).columns == (Column("a"),)


@pytest.mark.parametrize("pattern", ["", "a.example:b", "a/b", "bü\\\\x", "ü ü", "ü^"])
def test_bad_patterns(pattern):
    """A pattern is of a host name alone."""
    said = refusal(f'[hosts."{pattern}"]\nx = {{ css = "p" }}')
    assert said.startswith(f'fields.toml: [hosts."{pattern}"]: ')


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
        ('"h1::text"', 'for example x = { css = "h1::text" }'),
        ("{}", "css, xpath or json"),
        ('{ css = "p", xpath = "//p" }', "one of them only"),
        ('{ ccs = "p" }', "unknown key ccs; did you mean css?"),
        ('{ css = "p", "\\n" = {} }', 'unknown key "\\n"; the keys are css, xpath, json, type, many, regex'),
        ('{ css = "p", type = "int" }', 'type: must be one of "string", "integer"'),
        ('{ css = "p", type = [] }', "type: "),
        ('{ css = "p", many = 1 }', "many: "),
        ("{ css = 1 }", "css: "),
        ('{ css = "p", regex = 1 }', "regex: "),
        ('{ css = "p", regex = "(" }', 'regex = "(": '),
    ],
)
def test_bad_rules(value, said):
    """What is wrong with a field is said with the file, the host pattern, the field and what would be right."""
    found = refusal(f'[hosts."*"]\nx = {value}')
    assert found.startswith(AT)
    assert said in found


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("", "cannot be read"),
        ("[[", "brackets or quotes"),
        ("a::before", "::attr(name)"),
        ("a::text b", "::attr(name)"),
        ("a, b::text", "between commas"),
    ],
)
def test_bad_css(selector, said):
    """A selector that is none is found before the first page."""
    found = refusal(f'[hosts."*"]\nx = {{ css = "{selector}" }}')
    assert found.startswith(f'{AT}css = "{selector}": ')
    assert said in found


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("//p[", "Invalid expression"),
        ("//p[$a]", "variables"),
        ("//p[document('x')]", "document()"),
        ("//p[re:tset(., 'x')]", "re:tset()"),
        ("has-class()", "has-class"),
        ("//@og:title", "og: "),
    ],
)
def test_bad_xpath(expression, said):
    """An expression that is none, or asks for what there is not, is found before the first page."""
    found = refusal(f'[hosts."*"]\nx = {{ xpath = "{expression}" }}')
    assert found.startswith(f'{AT}xpath = "{expression}": ')
    assert said in found


def test_the_advice_for_a_prefix():
    """What the refusal of a prefix advises finds the attribute."""
    assert value("xpath = \"//@*[name()='og:title']\"", "<meta og:title=x>") == "x"


def test_xpath_without_parsel(monkeypatch):
    """Where parsel is not installed, the first expression says what to install, and not that it is wrong."""
    monkeypatch.setitem(sys.modules, "parsel", None)
    needs = f"XPath needs the package parsel: {to_install('merge')}"
    assert refusal('[hosts.x]\na = { xpath = "//unheard-of" }').endswith(f"] a: xpath: {needs}")
    with pytest.raises(ValueError, match=rf"\A{re.escape(needs)}\Z"):
        matchers.read("xpath://unheard-of")


@pytest.mark.parametrize("name", ["Heading", "1x", "", "a-b"])
def test_bad_names(name):
    """A column's name is of small letters, digits and underscores."""
    assert refusal(f'[hosts."*"]\n"{name}" = {{ css = "p" }}').startswith(f'fields.toml: [hosts."*"] {name}: ')


def test_taken_names():
    """A column that the dataset has already is not for fields; the file's name is the caller's."""
    said = refusal('[hosts."*"]\nurl = { css = "p" }', where="my.toml", taken=frozenset({"url"}))
    assert said.startswith('my.toml: [hosts."*"] url: ')


def test_types_in_conflict():
    """A column of two types is refused with both places."""
    said = refusal('[hosts.a]\nx = { css = "p" }\n[hosts.b]\nx = { css = "p", type = "float", many = true }')
    assert said.startswith('fields.toml: [hosts."b"] x: ')
    assert '[hosts."a"]' in said


# The guide


def test_the_guide_is_right():
    """The guide's rules are valid, and find on a page what the guide says."""
    blocks = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    rows = items.parse(blocks[1]).of_page("http://board.example/", b"<table class=list><tr class=record><td>7<td><a>x")
    assert [item.values for item in rows.items] == [{"number": 7, "title": "x"}]
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
