"""What Retry-After and cookies say of time, in every form they say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.parse.headers import MAX_PAUSE_S, parse_date, retry_after_s

WHEN = 784111777.0  # 1994-11-06 08:49:37 UTC
FORMS = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]


@pytest.mark.parametrize("text", [*FORMS, "sun, 6-nov-1994 8:49:37", "06 november 1994 08:49:37 UTC"])
def test_forms(text):
    """The three forms of HTTP, and what cookies make of them, name the same second."""
    assert parse_date(text) == WHEN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "Sun, 06 Nov 1994",
        "31 Feb 1994 08:49:37",
        "06 Nov 1600 08:49:37",
        "06 Nov 1994 24:00:00",
        "06 Nov 1994 8:49:370",
    ],
)
def test_no_dates(text):
    """What lacks a part, or names a day or time there is not, is no date."""
    assert parse_date(text) is None


@pytest.mark.parametrize(("year", "full"), [("70", 1970), ("99", 1999), ("00", 2000), ("69", 2069), ("2026", 2026)])
def test_two_digits(year, full):
    """Two digits of a year from 70 on are of the last century."""
    assert parse_date(f"01 Jan {year} 00:00:00") == parse_date(f"01 Jan {full} 00:00:00")


@pytest.mark.parametrize("text", FORMS)
def test_pause_until_a_date(text):
    """A date is as many seconds away as it is, and 0 when it has passed."""
    assert retry_after_s(text, WHEN - 90) == 90
    assert retry_after_s(text, WHEN + 90) == 0


@pytest.mark.parametrize(
    ("text", "pause_s"),
    [
        ("120", 120),
        ("1.5", 2),
        ("2.0", 2),
        (".1", 1),
        ("120, 60", 120),
        ("0", 0),
        ("soon", 0),
        ("", 0),
        ("nan", 0),
        ("٣", 0),
        ("0" * 5000 + "7", 7),
        ("1000000000", MAX_PAUSE_S),
        ("9" * 5000, MAX_PAUSE_S),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_PAUSE_S),
    ],
)
def test_pause(text, pause_s):
    """Seconds are seconds, up to a limit; what cannot be read is no pause."""
    assert retry_after_s(text, 0.0) == pause_s


@given(st.text() | st.text("0123456789:-, GMTNov"), st.floats())
def test_any_text(text, now):
    """Any text at any time is a pause between 0 and the limit."""
    assert 0 <= retry_after_s(text, now) <= MAX_PAUSE_S
