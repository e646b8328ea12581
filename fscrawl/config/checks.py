"""How a setting is declared, in the annotation of its field, and what its value must be: its type, and more. Pure.

A check takes a value of the right type. It returns None if the value is good. Else it returns what the value must be,
in words that follow "must be" in an error message.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, get_args

import msgspec

from fscrawl.hostnames import url_pattern
from fscrawl.labels import MAX_CHARS, is_label
from fscrawl.parse.media_types import is_range
from fscrawl.util.expressions import WrongExpressionError, compiled
from fscrawl.util.user_text import has_surrogates, shown, to_toml

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
    'a list of media types, such as "application/pdf", "image/*" or "*/*"; "pdf" is none'
    """
    wrong = next((value for value in values if not is_range(value)), None)
    if wrong is None:
        return None
    return f'a list of media types, such as "application/pdf", "image/*" or "*/*"; {to_toml(wrong)} is none'


def file_name(value: str) -> str | None:
    return None if value.strip() and value.isprintable() else "the path of a file"


_MOST = 10**18  # whole numbers are below it: Python reads larger ones, as hexadecimal ones, and does not write them


class Setting(NamedTuple):
    """What the annotation of a setting says: `Annotated[type, help, check, SECRET]`.

    SECRET: no message shows its value.
    """

    type: Any
    help: str
    check: Check | None = None
    secret: bool = False


SECRET = True


def settings_of(section: type[msgspec.Struct]) -> dict[str, Setting]:
    """Give the settings of a section by their names."""
    return {name: Setting(*get_args(annotation)) for name, annotation in section.__annotations__.items()}


def written(value: Any) -> str:
    """Give a value as a message shows it.

    >>> written("fast"), written(1e3), written([1, 2])
    ('"fast"', '1000.0', '[1, 2]')
    """
    try:
        return shown(repr(value) if isinstance(value, float) else to_toml(value))
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "…"


def _is_text(value: Any) -> bool:
    """Accept strings that TOML can hold."""
    return isinstance(value, str) and not has_surrogates(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9  # more fits no float


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value < _MOST


class _Type(NamedTuple):
    """A type of settings: which values of TOML it takes, and how they become the field's value.

    `right`: what a value must be, in words.
    """

    right: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any]


_WHOLE_NUMBER = _Type("a whole number, for example 10", _is_whole_number, int)
_TEXT = _Type('a string, for example "text"', _is_text, str)
_TYPES: dict[Any, _Type] = {
    bool: _Type("true or false", lambda value: isinstance(value, bool), bool),
    int: _WHOLE_NUMBER,
    int | None: _WHOLE_NUMBER,
    float: _Type("a number of seconds, for example 2.5", _is_number, float),
    str: _TEXT,
    str | None: _TEXT,
    tuple[str, ...]: _Type(
        'a list of strings, for example ["a", "b"]',
        lambda value: isinstance(value, list) and all(map(_is_text, value)),
        tuple,
    ),
    dict[str, str]: _Type(
        'a table of strings, for example {a = "b"}',
        lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
        dict,
    ),
}


def checked(setting: Setting, value: Any) -> Any:
    """Return a value of TOML as the field of a section holds it; ValueError with what it must be."""
    kind, check = _TYPES[setting.type], setting.check
    if not kind.fits(value):
        raise ValueError(kind.right)
    value = kind.convert(value)
    if check and (right := check(value)):
        raise ValueError(right)
    return value
