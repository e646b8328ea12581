"""What the values of settings must be, beyond their type. Pure.

A check takes a value of the right type. It returns None if the value is good. Else it returns what the value must be,
in words that follow "must be" in an error message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fscrawl.config.toml_text import to_toml

Check = Callable[[Any], str | None]

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of RFC 9110 5.6.2


def one_of(*values: Any) -> Check:
    """Check for membership.

    >>> one_of("host", "url")("page")
    'one of "host", "url"'
    """
    return lambda value: None if value in values else "one of " + ", ".join(to_toml(each) for each in values)


def at_least(least: float) -> Check:
    return lambda value: None if value is None or value >= least else f"{least} or more"


def more_than_zero(value: float) -> str | None:
    return None if value > 0 else "more than 0"


def expressions(values: tuple[str, ...]) -> str | None:
    """Check that all are regular expressions.

    >>> expressions(("a+", "("))
    'a list of regular expressions; "(" is not one: missing ), unterminated subpattern at position 0'
    """
    for value in values:
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            return f"a list of regular expressions; {to_toml(value)} is not one: {error}"
    return None


def header_value(value: str) -> str | None:
    printable = value.isascii() and value.isprintable() and value.strip()
    return None if printable else "one line of printable ASCII characters"


def header_values(values: tuple[str, ...]) -> str | None:
    return "a list of strings, each one line of printable ASCII characters" if any(map(header_value, values)) else None


def headers(values: dict[str, str]) -> str | None:
    for name, value in values.items():
        if not _HEADER_NAME.fullmatch(name) or header_value(value):
            return 'a table of header names and one-line values, for example {"Accept-Language" = "en"}'
    return None


def file_name(value: str) -> str | None:
    return None if value.strip() and value.isprintable() else "the path of a file"
