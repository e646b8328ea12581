"""Paths into JSON (RFC 9535): which values of a document they find. Pure: no disk, no socket.

Promise: `json_path` raises ValueError with the reason if the path is wrong; it needs no document for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from fscrawl.parse.selectors import Budget, Page, Part, fold

_MOST_VALUES = 1_000_000  # a path such as $..*..* finds the same values again and again
# Levels that `..` goes down. Threads of comments are deeper than the library's 100; each level is a call of Python.
_DEEPEST = 400


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path, as it is written. Paths can be pickled."""

    path: str

    def values(self, *documents: Any) -> list[Any]:
        """Give the values that the path finds in documents, in their order.

        ValueError if they are too many, or a document is too deep.
        """
        if len(documents) > _MOST_VALUES:  # to look into an empty one takes 2 µs
            raise ValueError(f"the page has more than {_MOST_VALUES:,} lines of JSON")
        found: list[Any] = []
        compiled = _compiled(self.path)
        try:
            for node in (node for document in documents for node in compiled.finditer(document)):
                if len(found) == _MOST_VALUES:
                    raise ValueError(f"the path finds more than {_MOST_VALUES:,} values")
                found.append(node.value)
        except RecursionError:
            raise ValueError(f"the document is nested more than {_DEEPEST} levels deep") from None
        return found

    def texts(self, page: Page) -> Iterator[str]:
        """Give what the path finds in a page as texts; nothing if the page is no JSON."""
        budget = page.budget()
        for text in map(as_text, self._found(page)):
            budget.take(text)  # objects in objects give the same text again and again
            yield text

    def parts(self, page: Page, budget: Budget) -> Iterator[Part]:
        """Give what the path finds in a page; nothing if the page is no JSON."""
        for value in self._found(page):  # in a generator, so nothing is raised before the first is taken
            yield Part(budget, json=(value,))

    def _found(self, page: Page) -> list[Any]:
        try:
            documents = page.json
        except (ValueError, RecursionError):
            return []
        return self.values(*documents)


def json_path(path: str) -> JsonPath:
    """Read a path. ValueError with the reason if it is wrong.

    >>> json_path("$.a[*].b").values({"a": [{"b": 1}, {"c": 2}, {"b": 3}]})
    [1, 3]
    >>> json_path("a[*]")
    Traceback (most recent call last):
    ValueError: a path begins with $
    """
    from jsonpath import JSONPathError  # noqa: PLC0415 - a quarter of a second that only its users should pay

    if not path.startswith("$"):
        raise ValueError("a path begins with $")
    try:
        _compiled(path)
    except (JSONPathError, RecursionError) as error:
        said = fold(str(error).partition("->")[0])
        raise ValueError("it is nested too deeply" if "recursion" in said else said or "it cannot be read") from None
    return JsonPath(path)


def as_text(value: Any) -> str:
    """Give a value of JSON as text: strings as they are, null as nothing.

    >>> as_text("a"), as_text(True), as_text(1.5), as_text(None), as_text({"a": [1]})
    ('a', 'true', '1.5', '', '{"a": [1]}')
    """
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


@cache
def _compiled(path: str) -> Any:
    """Compile a path, once in each process: the result is large."""
    return _environment().compile(path)


@cache
def _environment() -> Any:
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 - as above

    class Environment(JSONPathEnvironment):
        max_recursion_depth = _DEEPEST

    return Environment(strict=True)
