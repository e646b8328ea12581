"""What becomes of the texts that a field finds, by its type, and what is bad."""

import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest

from fscrawl.parse import selectors
from fscrawl.parse.fields import Extracted
from tests.support.field_rules import found_by, read, rules, value

# Types


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("integer", "42", 42),
        ("integer", " +7 ", 7),
        ("integer", "-9223372036854775808", -(2**63)),
        ("integer", "9223372036854775808", None),
        ("integer", "9" * 5000, None),
        ("integer", "٣", None),
        ("float", "3.50", 3.5),
        ("float", "-1.e3", -1000.0),
        ("float", "1e999", None),
        ("float", "inf", None),
        ("boolean", "TRUE", True),
        ("boolean", "no", False),
        ("boolean", "maybe", None),
        ("timestamp", "2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("timestamp", "2024-05-01T10:30", datetime(2024, 5, 1, 10, 30, tzinfo=UTC)),
        ("timestamp", "2024-05-01t10:30:15z", datetime(2024, 5, 1, 10, 30, 15, tzinfo=UTC)),
        ("timestamp", "2024-05-01 10:30:15 +0200", datetime(2024, 5, 1, 8, 30, 15, tzinfo=UTC)),
        ("timestamp", "2024-05-01T10:30:15.123456789-03:30", datetime(2024, 5, 1, 14, 0, 15, 123456, tzinfo=UTC)),
        ("timestamp", "2024-02-30", None),
        ("timestamp", "0001-01-01T00:00+01:00", None),
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
    found = read('css = "p", type = "integer[]"', "<p>1<p>x<p>2<p>y")
    assert found == Extracted({"x": [1, 2]}, {"x": "x"}, ())


def test_the_first_text_decides():
    """Without a list the first text is the value or bad; a later one is not looked for."""
    assert read('css = "p", type = "integer"', "<p>x<p>2") == Extracted({}, {"x": "x"}, ("x",))


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (r"[0-9.]+", ["12", "3.50"]),
        (r"([A-Z]+) ([0-9.]+)", ["EUR"]),
        (r"(USD)?[0-9.]+", None),
        (r"( )E", None),
        (r"R (.*)", ["3.50"]),
        ("^Price: EUR", ["Price: EUR"]),
    ],
)
def test_regex(regex, expected):
    """The first group counts, or the whole match; a text that does not match, or matches nothing, is none."""
    assert value(f"css = 'p', type = 'string[]', regex = '{regex}'", "<p>12<p>Price:\n EUR 3.50") == expected


def test_errors_are_bad():
    """An expression that fails on a page costs that value alone, and the error is what is bad."""
    both = rules('x = { xpath = "//p[contains(.)]" }', 'y = { xpath = "//p" }')
    assert found_by(both, b"<p>z") == Extracted(
        {"y": "z"}, {"x": "XPathEvalError: Invalid number of arguments"}, ("x",)
    )


def test_a_parser_that_fails(monkeypatch):
    """A page that a parser refuses makes its fields bad, and no exception."""

    def refuse(html):
        raise MemoryError("no\nmore")

    found = rules('x = { css = "p" }')
    monkeypatch.setattr(selectors, "tree", refuse)
    assert found_by(found, b"<p>").bad == {"x": "MemoryError: no more"}


def test_pickle():
    """Rules go to another process and find the same there."""
    sent = rules('x = { css = "p::text", regex = "a(.)" }', 'y = { xpath = "//p", type = "integer[]" }')
    found_by(sent, b"<p>ab")
    came = pickle.loads(pickle.dumps(sent))
    assert came == sent
    page = b"<p>ab<p>1"
    assert found_by(came, page) == found_by(sent, page) == Extracted({"x": "b", "y": [1]}, {"y": "ab"}, ())
