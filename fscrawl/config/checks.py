"""What the values of settings must be, beyond their type. Pure.

A check takes a value of the right type. It returns None if the value is good. Else it returns what the value must be,
in words that follow "must be" in an error message.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fscrawl.hostnames import url_pattern
from fscrawl.labels import MAX_CHARS, is_label
from fscrawl.parse.extensions import EXTENSIONS
from fscrawl.parse.media_types import is_range
from fscrawl.util.expressions import WrongExpressionError, compiled
from fscrawl.util.user_text import to_toml

Check = Callable[[Any], str | None]

# They say where a request goes and where it ends. In all requests, they spoil pages, and the exchanges behind them.
_OF_ONE_REQUEST = frozenset({"host", "content-length", "transfer-encoding", "expect", "te", "trailer", "upgrade"})
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of RFC 9110 5.6.2


def one_of(*values: Any) -> Check:
    """Check for membership.

    >>> one_of("host", "url")("page")
    'one of "host", "url"'
    """
    return lambda value: None if value in values else "one of " + ", ".join(to_toml(each) for each in values)


def at_least(least: float) -> Check:
    return lambda value: None if value is None or value >= least else f"{least} or more"


def between(least: int, most: int) -> Check:
    return lambda value: None if least <= value <= most else f"from {least} to {most}"


def more_than_zero(value: float) -> str | None:
    return None if value > 0 else "more than 0"


_WAIT = re.compile(r"load|idle|[0-9]{1,3}(?:\.[0-9]+)?s|css:.{1,500}")


def wait(value: str) -> str | None:
    """Accept how long a page is waited for in a browser."""
    if not _WAIT.fullmatch(value):
        return '"load", "idle", seconds such as "8s", or a selector such as "css:#items li"'
    if not value.startswith("css:"):
        return None
    from fscrawl.parse.selectors import css  # noqa: PLC0415 - it loads a parser, which most crawls do not need here

    try:
        found = css(value.removeprefix("css:"))
    except ValueError as error:
        return f"css: and a selector; {error}"
    return "css: and a selector of elements" if found.attribute or found.own_text else None


def hosts(values: tuple[str, ...]) -> str | None:
    """Accept hosts and patterns of hosts."""
    wrong = next((each for each in values if url_pattern(each) is None), None)
    if wrong is None:
        return None
    shown = "one with a user or a password" if "@" in wrong else ascii(wrong)
    return f'hosts or patterns such as "*.a.example"; {shown} is neither'


def labels(values: tuple[str, ...]) -> str | None:
    """Check that all may be labels.

    >>> labels(("day 1", " "))
    'a list of labels; " " is none: write 1 to 100 printable characters, without blanks around them'
    """
    wrong = next((value for value in values if not is_label(value)), None)
    if wrong is None:
        return None
    right = f"write 1 to {MAX_CHARS} printable characters, without blanks around them"
    return f"a list of labels; {to_toml(wrong)} is none: {right}"


def expressions(values: tuple[str, ...]) -> str | None:
    """Check that all are regular expressions.

    >>> expressions(("a+", "("))
    'a list of regular expressions; "(" is not one: missing ): ('
    """
    for value in values:
        try:
            compiled(value)
        except WrongExpressionError as error:
            return f"a list of regular expressions; {to_toml(value)} is not one: {error}"
    return None


def header_value(value: str) -> str | None:
    printable = value.isascii() and value.isprintable() and value.strip()
    return None if printable else "one line of printable ASCII characters"


def header_values(values: tuple[str, ...]) -> str | None:
    return "a list of strings, each one line of printable ASCII characters" if any(map(header_value, values)) else None


def headers(values: dict[str, str]) -> str | None:
    """Check headers of all requests: none may say how the message is sent, or to whom.

    >>> headers({"Content-Length": "5"})
    'a table of header names and values; Content-Length cannot be set, since each request has its own'
    """
    for name, value in values.items():
        if not _HEADER_NAME.fullmatch(name) or header_value(value):
            return 'a table of header names and one-line values, for example {"Accept-Language" = "en"}'
        if name.lower() in _OF_ONE_REQUEST:
            return f"a table of header names and values; {name} cannot be set, since each request has its own"
    return None


def names_of(what: str, known: tuple[str, ...]) -> Check:
    """Check that all are among the known ones, and name the nearest of one that is not.

    >>> names_of("elements", ("a", "img"))(("a", "imgs"))
    'a list of elements; "imgs" is none of them; did you mean "img"?'
    """

    def check(values: tuple[str, ...]) -> str | None:
        for value in values:
            if value not in known:
                return f"a list of {what}; {to_toml(value)} is none of them; {_hint(value, known)}"
        return None

    return check


def _hint(value: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(value, known, 1)
    return f"did you mean {to_toml(near[0])}?" if near else "they are " + ", ".join(known)


def media_ranges(values: tuple[str, ...]) -> str | None:
    """Check that all are media types, or ranges of them.

    >>> media_ranges(("text/html", "pdf"))
    'a list of media types; "pdf" is none; did you mean "application/pdf"?'
    """
    for value in values:
        if not is_range(value):
            return f"a list of media types; {_no_range(value)}"
    return None


def _no_range(value: str) -> str:
    meant = value.partition(";")[0].strip().lower()
    if is_range(meant):
        return f"{to_toml(value)} is none; did you mean {to_toml(meant)}?"
    types: Sequence[str] | None = EXTENSIONS.get(meant.lstrip("*.")) or {
        "html": ("text/html",),
        "htm": ("text/html",),
    }.get(meant.lstrip("*."))
    if types is None:
        types = difflib.get_close_matches(meant, [each for some in EXTENSIONS.values() for each in some], 1)
    return f"{to_toml(value)} is none; " + (
        f"did you mean {to_toml(types[0])}?" if types else 'one looks like "application/pdf", "image/*" or "*/*"'
    )


def file_name(value: str) -> str | None:
    return None if value.strip() and value.isprintable() else "the path of a file"
