"""The regular expressions that a user gives for URLs: does one of them match somewhere in a text?

Whoever can put a link on a page chooses the texts. For some of them, `re` takes minutes with expressions such as
`(a+)+$`. So what it may take long for is looked for by RE2, in time that is linear in the length of the text. This
needs the package google-re2 (extra `expressions`). Without it, and for what RE2 does not have, `re` does all.

Promise: the engine decides nothing but the time. An expression is right or wrong, and matches or not, as in `re`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_MOST_BYTES = 8 << 20  # of RE2, for what it keeps of one expression, or of all of them together


class Expressions:
    """Expressions, in the order of the user. They can be pickled."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """`re.error`, OverflowError or RecursionError if one of them is wrong."""
        self._patterns = tuple(patterns)
        self._all = [re.compile(each) for each in self._patterns]
        self._linear = _by_re2(self._patterns)
        self._other = [each for each in self._all if each.pattern not in self._linear]
        self._together = _together(self._linear.values()) if self._linear else None

    def __reduce__(self) -> tuple[type[Expressions], tuple[tuple[str, ...]]]:
        return Expressions, (self._patterns,)

    def matches(self, text: str) -> bool:
        """Tell whether one of them matches somewhere in a text.

        >>> Expressions(["/tag/", "[.]pdf$"]).matches("http://a.example/b.pdf")
        True
        """
        if self._other and any(each.search(text) for each in self._other):
            return True
        if self._together is not None and _is_of_signs(text):
            found = self._together.Match(text)
            if found is not None:  # the empty expression is found in each text, if there is memory enough
                return len(found) > 1
        return bool(self._linear) and any(self._finds(each, text) for each in self._all)

    def first(self, text: str) -> str | None:
        """Give the first one that matches somewhere in a text; None if none does.

        >>> Expressions(["y", "b+$", "b"]).first("http://a.example/b")
        'b+$'
        """
        return next((each.pattern for each in self._all if self._finds(each, text)), None)

    def _finds(self, each: re.Pattern[str], text: str) -> bool:
        linear = self._linear.get(each.pattern) if _is_of_signs(text) else None
        return (each if linear is None else linear).search(text) is not None


def _is_of_signs(text: str) -> bool:
    return text.isascii() and text.isprintable() and text != ""


def _by_re2(patterns: Iterable[str]) -> dict[str, Any]:
    """Compile what RE2 is to look for: all that it can, if one of them needs it. Else nothing, and it is not loaded."""
    from fscrawl.util.re2_syntax import is_plain, translated  # noqa: PLC0415 - only if there are expressions

    there = {each: found for each in patterns if (found := translated(each)) is not None}
    if all(map(is_plain, there)):
        return {}
    re2, compiled = _engine(), {}
    for pattern, text in there.items() if re2 is not None else ():
        try:
            compiled[pattern] = re2.compile(text, _options(re2))
        except re2.error:  # too large
            continue
    return compiled


def _together(linear: Iterable[Any]) -> Any:
    """Give a set that looks for all expressions at once, and for the empty one; None if that is too large."""
    re2 = _engine()
    found = re2.Set.SearchSet(_options(re2))
    for each in linear:
        found.Add(each.pattern)
    found.Add("")
    try:
        found.Compile()
    except re2.error:
        return None
    return found


def _engine() -> Any:
    """Load RE2; None if it is not installed, or if another package has that name."""
    try:
        import re2  # noqa: PLC0415 - few crawls need it
    except ImportError:
        return None
    return re2 if hasattr(re2, "Set") else None


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = _MOST_BYTES, False, True
    return options
