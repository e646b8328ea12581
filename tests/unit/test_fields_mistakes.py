"""What is said of fields that are wrong."""

import re
import sys

import pytest

from fscrawl.parse import selectors
from fscrawl.parse.fields import Mistake, read_fields
from fscrawl.util.installed import to_install
from tests.support.field_rules import rules


def refusal(rule: str) -> str:
    with pytest.raises(Mistake) as error:
        rules(f"x = {rule}")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"h1::text"', "must begin with css:, xpath:, json:, re:, for example css:h1"),
        ("7", 'must be a selector, for example "css:h1", or a table'),
        ("{}", "must have one of css, xpath, json, re"),
        ('{ css = "p", xpath = "//p" }', "and one only"),
        ('{ ccs = "p" }', 'unknown key "ccs"; the keys are css, xpath'),
        ('{ css = "p", "\\n" = {} }', 'unknown key "\\n"; the keys are css, xpath, json, re, type, regex'),
        ('{ css = "p", type = "int" }', 'type: must be "string", "integer"'),
        ('{ css = "p", type = [] }', 'or a list of one, such as "string[]"'),
        ("{ css = 1 }", "css: must be a text"),
        ('{ css = "p", regex = 1 }', "regex: must be a text"),
        ('{ css = "p", regex = "(" }', 'regex = "(": '),
        ("{ css = '[[' }", "brackets or quotes"),
        ("'css:a::before'", "::attr(name)"),
        ("'css:a::text b'", "::attr(name)"),
        ("'css:a, b::text'", "between commas"),
        ("'css:'", "behind css: there must be a CSS selector"),
        ("'xpath://p['", "Invalid expression"),
        ("'xpath:has-class()'", "has-class"),
        ("'xpath://@og:title'", "Undefined namespace prefix"),
    ],
)
def test_bad_rules(value: str, said: str) -> None:
    """What is wrong with a field is found before the first page, and said with what would be right."""
    assert said in refusal(value)


def test_xpath_without_parsel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where parsel is not installed, the first expression says what to install, and not that it is wrong."""
    monkeypatch.setitem(sys.modules, "parsel", None)
    needs = f"XPath needs the package parsel: {to_install('merge')}"
    assert refusal('{ xpath = "//unheard-of" }').endswith(needs)
    with pytest.raises(ValueError, match=rf"\A{re.escape(needs)}\Z"):
        selectors.read("xpath://unheard-of")


@pytest.mark.parametrize("name", ["Heading", "1x", "", "a-b", "url"])
def test_bad_names(name: str) -> None:
    """A column's name is of small letters, digits and underscores, and none that the dataset has."""
    with pytest.raises(Mistake):
        read_fields({name: "css:p"}, frozenset({"url"}))
