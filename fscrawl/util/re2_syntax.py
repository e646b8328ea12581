"""What an expression of Python's `re` is for RE2, another engine, which takes linear time whatever the text. Pure.

`re` itself parses the expression, and RE2 gets what that has understood. So nothing that both would read differently,
such as `[[:alpha:]]`, `\\Z` or `(?x)`, reaches RE2 in the words of the user. Only one thing is asked of it: whether
there is a match. So groups have no numbers, and it does not matter how greedy a repetition is.

Vocabulary:
  sign       a printable ASCII character: what URLs are made of. Promises here hold for texts of one sign or more
  plain      an expression for which `re` needs linear time, too, and less than RE2
  items      what Python's parser gives for an expression: pairs of a kind and its details
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any

_SIGNS = frozenset(map(chr, range(32, 127)))
_CLASSES = {
    f"CATEGORY_{name}": frozenset(filter(re.compile(sign).match, _SIGNS))
    for name, sign in (
        ("DIGIT", r"\d"),
        ("NOT_DIGIT", r"\D"),
        ("SPACE", r"\s"),
        ("NOT_SPACE", r"\S"),
        ("WORD", r"\w"),
        ("NOT_WORD", r"\W"),
    )
}
# There is no newline in the text. So multi-line or not, each line is the text.
_PLACES = {
    "AT_BEGINNING": r"\A",
    "AT_BEGINNING_STRING": r"\A",
    "AT_END": r"\z",
    "AT_END_STRING": r"\z",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}
_OF_ONE_SIGN = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_NOTHING = r"[^\x00-\x{10ffff}]"
_MOST_WAYS = 64.0  # in which a plain expression may go on from one place of the text
_VERY_MANY = 1e9


class _UnlikeError(ValueError):
    """RE2 has nothing like it."""


def translated(pattern: str) -> str | None:
    r"""Give an expression of RE2 that is found in the same texts of signs; None if there may be none.

    `pattern`: `re` compiles it.

    >>> translated("(a+)+$"), translated(r"(?i)B\d(?#this)"), translated("a(?=b)")
    ('(?:(?:[a]{1,})){1,}\\z', '[Bb][0-9]', None)
    """
    try:
        parsed = _parse(pattern)
        return _sequence(parsed, parsed.state.flags)
    except (_UnlikeError, AttributeError, ImportError, LookupError, RecursionError, TypeError, ValueError):
        return None  # the parser has no documents: a later Python may give something else


def is_plain(pattern: str) -> bool:
    """Tell whether `re` cannot take long: it meets few choices, and no repetition that is followed by something.

    `pattern`: one that `translated` takes.

    >>> [is_plain(each) for each in ("/tag/", "[.](jpe?g|png)$", "/item/[0-9]+", "[0-9]+/", "(a+)+")]
    [True, True, True, False, False]
    """
    return _ways(_parse(pattern), is_last=True) <= _MOST_WAYS


def _parse(pattern: str) -> Any:
    from re import _parser  # type: ignore[attr-defined]  # noqa: PLC0415 - a later Python may not have it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `re.compile` has warned
        return _parser.parse(pattern)


def _sequence(items: Iterable[Any], flags: int) -> str:
    return "".join(_item(str(kind), details, flags) for kind, details in items)


def _item(kind: str, details: Any, flags: int) -> str:
    if kind in _OF_ONE_SIGN:
        return _signs(_meant(kind, details, flags))
    if kind == "AT":
        return _PLACES[str(details)]
    if kind == "BRANCH":
        return f"(?:{'|'.join(_sequence(each, flags) for each in details[1])})"
    if kind == "SUBPATTERN":
        _, added, removed, items = details
        return f"(?:{_sequence(items, (flags | added) & ~removed)})"
    if kind in _REPEATS:
        least, most, items = details
        inner = _sequence(items, flags)
        inner = inner if _is_one_sign(items) else f"(?:{inner})"
        return f"{inner}{{{least},{'' if _is_endless(most) else most}}}"
    raise _UnlikeError(kind)


def _meant(kind: str, details: Any, flags: int) -> frozenset[str]:
    """Give the signs that an item matches."""
    if kind == "ANY":
        return _SIGNS
    members = details if kind == "IN" else [("LITERAL", details)]
    found: set[str] = set()
    for each, value in members:
        found |= _members(str(each), value, is_caseless=bool(flags & re.IGNORECASE))
    is_negated = kind == "NOT_LITERAL" or (kind == "IN" and str(members[0][0]) == "NEGATE")
    return _SIGNS - found if is_negated else frozenset(found)


def _members(kind: str, value: Any, *, is_caseless: bool) -> frozenset[str]:
    if kind == "NEGATE":
        return frozenset()
    if kind == "CATEGORY":
        return _CLASSES[str(value)]
    first, last = value if kind == "RANGE" else (value, value)
    if kind not in ("LITERAL", "RANGE") or (is_caseless and last > 127):  # \u017f is an s, if case does not matter
        raise _UnlikeError(kind)
    found = {sign for sign in _SIGNS if first <= ord(sign) <= last}
    return frozenset(found.union(*((sign.lower(), sign.upper()) for sign in found)) if is_caseless else found)


def _signs(members: frozenset[str]) -> str:
    """Write a set of signs. In brackets, RE2 takes a sign behind a backslash for itself if it is no letter or digit."""
    if members == _SIGNS:
        return "[ -~]"
    if not members:
        return _NOTHING
    spans: list[list[str]] = []
    for sign in sorted(members):
        if spans and ord(sign) == ord(spans[-1][1]) + 1:
            spans[-1][1] = sign
        else:
            spans.append([sign, sign])
    return f"[{''.join(_quoted(a) if a == b else f'{_quoted(a)}-{_quoted(b)}' for a, b in spans)}]"


def _quoted(sign: str) -> str:
    return sign if sign.isalnum() else f"\\{sign}"


def _is_one_sign(items: Any) -> bool:
    return len(items) == 1 and str(items[0][0]) in _OF_ONE_SIGN


def _is_endless(most: Any) -> bool:
    return str(most) == "MAXREPEAT"


def _ways(items: Any, *, is_last: bool = False) -> float:
    """Bound the ways in which `re` may try items at one place.

    `is_last`: nothing is behind them. So if the last one is a repetition, it is tried once.
    """
    ways = 1.0
    for number, (kind, details) in enumerate(items, 1):
        ways = min(ways * _ways_of_item(str(kind), details, is_last=is_last and number == len(items)), _VERY_MANY)
    return ways


def _ways_of_item(kind: str, details: Any, *, is_last: bool) -> float:
    if kind == "BRANCH":
        return sum(_ways(each, is_last=is_last) for each in details[1])
    if kind == "SUBPATTERN":
        return _ways(details[-1], is_last=is_last)
    if kind not in _REPEATS:
        return 1.0
    least, most, items = details
    if is_last and _is_one_sign(items):
        return 1.0
    if _is_endless(most):
        return _VERY_MANY
    inner = _ways(items)
    return (most - least + 1) * inner ** min(most, 30) if inner < _VERY_MANY else _VERY_MANY
