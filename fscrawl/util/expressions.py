"""The regular expressions that a user gives for URLs: does one of them match somewhere in a text?

Whoever can put a link on a page chooses the texts. For some of them, Python's `re` takes minutes with expressions such
as `(a+)+$`. So RE2 looks for them, in time that is linear in the length of the text. It has no lookarounds and no
backreferences: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from fscrawl.util.user_text import BACKSPACE

_MOST_BYTES = 8 << 20  # of RE2, for what it keeps of one expression, or of all of them together


class WrongExpressionError(ValueError):
    """An expression is not one of RE2, or is too large. The message says why."""


class Expressions:
    """Expressions, in the order of the user. They can be pickled."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """WrongExpressionError if one of them is wrong."""
        self._patterns = tuple(patterns)
        self._compiled = [compiled(each) for each in self._patterns]
        self._together = _set(self._patterns) if self._patterns else None

    def __reduce__(self) -> tuple[type[Expressions], tuple[tuple[str, ...]]]:
        return Expressions, (self._patterns,)

    def matches(self, text: str) -> bool:
        """Tell whether one of them matches somewhere in a text.

        >>> Expressions(["/tag/", "[.]pdf$"]).matches("http://a.example/b.pdf")
        True
        """
        found = self._together.Match(text) if self._together else None
        # Without memory for this text, a set finds nothing, not even the empty expression.
        return self.first(text) is not None if found is None else len(found) > 1

    def first(self, text: str) -> str | None:
        """Give the first one that matches somewhere in a text; None if none does.

        >>> Expressions(["y", "b+$", "b"]).first("http://a.example/b")
        'b+$'
        """
        found = (pattern for pattern, each in zip(self._patterns, self._compiled, strict=True) if each.search(text))
        return next(found, None)


@lru_cache(1000)
def compiled(pattern: str) -> Any:
    """Compile an expression of RE2: it has `search`, `finditer` and `groups`, as one of `re`.

    WrongExpressionError if it is wrong.
    """
    import re2  # noqa: PLC0415 - few crawls have expressions

    if "\b" in pattern:
        raise WrongExpressionError(BACKSPACE)
    try:
        return re2.compile(pattern, _options(re2))
    except re2.error as error:
        why = error.args[0]  # bytes; of a text with a lone surrogate there is none
        raise WrongExpressionError(why.decode(errors="replace") if isinstance(why, bytes) else str(why)) from error
    except UnicodeError as error:
        raise WrongExpressionError("not UTF-8") from error


def _set(patterns: Iterable[str]) -> Any:
    """Make what looks for expressions, and for the empty one, at once; None if they are too large for that."""
    import re2  # noqa: PLC0415 - as above

    together = re2.Set.SearchSet(_options(re2))
    for each in (*patterns, ""):
        together.Add(each)
    with suppress(re2.error):
        together.Compile()
        return together
    return None


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.max_mem, options.log_errors = _MOST_BYTES, False
    return options
