"""Ages as people write them."""

import pytest

from fscrawl.util.humanize import parse_age


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("90s", 90),
        ("30m", 1800),
        ("12h", 43200),
        ("7d", 604800),
        ("2w", 1209600),
        ("007d", 604800),
        ("9999999w", 9999999 * 604800),
    ],
)
def test_age(text, seconds):
    """A whole number and one letter are an age, in seconds, minutes, hours, days or weeks."""
    assert parse_age(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "7", "d", "7 d", " 7d", "7d ", "7d\n", "7D", "-7d", "+7d", "1.5h", "1h30m", "7y", "٧d", "7dd", "12345678s"],
)
def test_no_age(text):
    """Anything else is none: no sign, no fraction, no white space, no digits but ASCII, no more than seven of them."""
    assert parse_age(text) is None
