"""No page and no rule makes fields fail in an unforeseen way."""

import math
import pickle
import warnings
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as tuned
from hypothesis import strategies as st

from fscrawl.parse.fields import TYPES, Mistake, read_fields
from tests.support.effort import tries
from tests.support.field_rules import found_by
from tests.support.field_rules import rules as read_rules

SELECTORS = (
    *('css = "p"', 'css = "::text"', 'css = "*"', 'css = "p::text, b::text"', 'css = "::attr(a)"', 'css = "template"'),
    *('xpath = "//p"', 'xpath = "//text()"', 'xpath = "//@*"', 'xpath = "//node()"', 'xpath = "count(//*)"'),
    *('xpath = "number(//p)"', 'xpath = "boolean(//b)"', 'xpath = "//p[contains(.)]"', 'xpath = "//namespace::*"'),
    *('css = "p", regex = "([0-9])|x"', 'xpath = "//p", regex = "[^ ]+"'),
)
CLASSES = {"string": str, "integer": int, "float": float, "boolean": bool, "timestamp": datetime}
rules = st.lists(
    st.builds(
        lambda selector, kind, many: f'{{ {selector}, type = "{kind}{"[]" if many else ""}" }}',
        st.sampled_from(SELECTORS),
        st.sampled_from(TYPES),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
).map(lambda each: read_rules(*(f"x{n} = {rule}" for n, rule in enumerate(each))))
markup = st.lists(
    st.sampled_from(
        [
            *(b"<p>", b"<b a=1>", b"</p>", b"<template>", b"<script>", b"<!--", b"-->", b"<svg>", b"<table>", b"<td>"),
            *(
                b"12",
                b"-1.5e3",
                b"true",
                b"2024-05-01",
                b"2024-05-01T10:00Z",
                b" ",
                b"\xff",
                b"\0",
                b"&#xD800;",
                b"&#0;",
            ),
            *(b"<?x?>", b"<![CDATA[", b"<p a='", b"\xed\xa0\x80", b"\xc3\xa9", b"</", b"<plaintext>", b"9" * 30),
        ]
    )
    | st.binary(max_size=4),
    max_size=20,
).map(b"".join)
fast = tuned(deadline=None, max_examples=tries(300), suppress_health_check=[HealthCheck.too_slow])


def is_of(kind, value):
    """Say whether a value is what its column's type promises."""
    right = type(value) is CLASSES[kind]
    if kind == "string":
        return right and value.encode() and value.strip() == value
    if kind == "integer":
        return right and -(2**63) <= value < 2**63
    if kind == "float":
        return right and math.isfinite(value)
    return right and (kind == "boolean" or value.tzinfo is UTC)


@given(rules, markup | st.binary(max_size=200))
@fast
def test_any_page(rules, html):
    """Any bytes give values of their columns' types, and each column has a value or is missing."""
    found = found_by(rules, html)
    assert {*found.values, *found.missing} == {each.column.name for each in rules}
    assert not set(found.values) & set(found.missing)
    for column in (each.column for each in rules):
        values = found.values.get(column.name, [])
        assert isinstance(values, list) or not column.many
        assert all(is_of(column.type, value) for value in (values if isinstance(values, list) else [values]))
    assert all(0 < len(text) <= 80 for text in found.bad.values())
    assert found_by(pickle.loads(pickle.dumps(rules)), html) == found


def check(rules):
    """Read rules; a refusal is of one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `re`, on patterns that will mean something else one day
            found_by(read_fields(rules), b"<p a=1>x<b>1</b>")
    except Mistake as error:
        assert "\n" not in str(error)  # noqa: PT017 - one of two ways


VALUES = st.sampled_from(
    [1, 1.5, math.inf, True, "", "x", [], ["("], {}, {"a": "b"}, {"css": {"a": 1}}, datetime.now(UTC), 16**5000, "\0"]
)


@given(st.sampled_from(["css", "xpath", "json", "re", "type", "regex", "x", ""]), VALUES)
@fast
def test_any_value(key, value):
    """Any value of any key is taken, or refused in one line."""
    check({"x": {key: value}})
    check({"x": {"css": "p", key: value}})
    check({key: value})
    check(value)


pieces = st.text(
    st.sampled_from("ab:tex*,.#[]()='\"\\>+~ \n|/@$<!{}0-é\x00") | st.characters(exclude_categories=["Cs"]), max_size=15
) | st.lists(
    st.sampled_from(
        [
            *("p", "::text", "::attr(a)", ",", " ", ":is(", ":not(", ")", "[a=", "]", "'", '"', "*", ">", ":has("),
            *(
                "//",
                "/",
                "text()",
                "@",
                "[",
                "(",
                "|",
                "count(",
                "re:test(",
                "x:y",
                "self::",
                "node()",
                "1",
                "and",
                "$",
            ),
        ]
    ),
    max_size=8,
).map("".join)


@pytest.mark.gate
@given(st.sampled_from(["css", "xpath", "regex"]), pieces)
@example("css", "a[b='x::text")
@example("xpath", "(" * 50_000)
@example("regex", "(" * 5_000)
@fast
def test_any_expression(key, text):
    """Any text as a selector, an expression or a regular expression is taken and harmless, or refused in one line."""
    check({"x": {key: text}})
    check({"x": {"css": "p", key: text}})


@given(pieces)
@fast
def test_any_name(name):
    """Any column's name is taken, or refused in one line."""
    check({name: "css:p"})
