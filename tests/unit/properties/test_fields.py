"""No page and no file of rules makes fields fail in an unforeseen way."""

import math
import pickle
import warnings
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as tuned
from hypothesis import strategies as st

from fscrawl.errors import SettingsError
from fscrawl.parse.fields import TYPES, parse
from tests.support.effort import tries

SELECTORS = (
    *('css = "p"', 'css = "::text"', 'css = "*"', 'css = "p::text, b::text"', 'css = "::attr(a)"', 'css = "template"'),
    *('xpath = "//p"', 'xpath = "//text()"', 'xpath = "//@*"', 'xpath = "//node()"', 'xpath = "count(//*)"'),
    *('xpath = "number(//p)"', 'xpath = "boolean(//b)"', 'xpath = "//p[contains(.)]"', 'xpath = "//namespace::*"'),
    *('css = "p", regex = "([0-9])|x"', 'xpath = "//p", regex = "[^ ]+"'),
)
CLASSES = {"string": str, "integer": int, "float": float, "boolean": bool, "timestamp": datetime}
rules = st.lists(
    st.builds(
        lambda selector, kind, many: f'{{ {selector}, type = "{kind}", many = {str(many).lower()} }}',
        st.sampled_from(SELECTORS),
        st.sampled_from(TYPES),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
).map(lambda each: parse('[hosts."*"]\n' + "\n".join(f"x{n} = {rule}" for n, rule in enumerate(each))))
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


@given(rules, markup | st.binary(max_size=200), st.just("http://a.example/") | st.text(max_size=20))
@fast
def test_any_page(rules, html, url):
    """Any bytes under any URL give values of their columns' types, and each column has a value or is missing."""
    found = rules.extract(url, html)
    assert {*found.values, *found.missing} == {column.name for column in rules.columns}
    assert not set(found.values) & set(found.missing)
    for column in rules.columns:
        values = found.values.get(column.name, [])
        assert isinstance(values, list) or not column.many
        assert all(is_of(column.type, value) for value in (values if isinstance(values, list) else [values]))
    assert all(0 < len(text) <= 80 for text in found.bad.values())
    assert pickle.loads(pickle.dumps(rules)).extract(url, html) == found


def check(text):
    """Read a file; say whether it was taken, a refusal being of one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `re`, on patterns that will mean something else one day
            parse(text).extract("http://a.example/", b"<p a=1>x<b>1</b>")
    except SettingsError as error:
        assert "\n" not in str(error)  # noqa: PT017 - one of two ways


TOML = st.sampled_from(
    [
        *("1", "-1", "1.5", "inf", "nan", "true", "false", '""', '"x"', "[]", '["("]', "{}", '{a="b"}', "{css={a=1}}"),
        *("1979-05-27T07:32:00Z", "07:32:00", '"\\u0000"', "0x" + "f" * 5000, "'''\nx'''", "x", "", '{css="p"}'),
    ]
)


@given(st.sampled_from(["css", "xpath", "type", "many", "regex", "x", '""']), TOML)
@fast
def test_any_value(key, value):
    """Any value of any key is taken, or refused in one line."""
    check(f'[hosts."*"]\nx = {{ {key} = {value} }}\n')
    check(f'[hosts."*"]\nx = {{ css = "p", {key} = {value} }}\n')
    check(f"[hosts.{key}]\nx = {value}\n")


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


def quoted(text):
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


@pytest.mark.gate
@given(st.sampled_from(["css", "xpath", "regex"]), pieces)
@example("css", "a[b='x::text")
@example("xpath", "(" * 50_000)
@example("regex", "(" * 5_000)
@fast
def test_any_expression(key, text):
    """Any text as a selector, an expression or a regular expression is taken and harmless, or refused in one line."""
    check(f'[hosts."*"]\nx = {{ {key} = {quoted(text)} }}\n')
    check(f'[hosts."*"]\nx = {{ css = "p", {key} = {quoted(text)} }}\n')


@given(pieces, pieces)
@fast
def test_any_name(pattern, name):
    """Any host pattern and any column's name is taken, or refused in one line."""
    check(f'[hosts.{quoted(pattern)}]\n{quoted(name)} = {{ css = "p" }}\n')
    check(f'[hosts.{quoted(pattern)}]\nx = {{ css = "p" }}\n')


@given(st.text("[]hosts.*x=\"' \n#\\{}1", max_size=30))
@fast
def test_any_text(text):
    """Any text is rules or a SettingsError of one line."""
    check(text)
