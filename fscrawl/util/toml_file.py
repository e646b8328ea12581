"""A TOML file that people write: its values, and the places that messages about it name.

Promise: a file that is no TOML is a SettingsError with file, line, column and advice. Nothing of the text is repeated.
What `tables` gives can be walked by recursion.
"""

from __future__ import annotations

import tomllib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fscrawl.errors import SettingsError
from fscrawl.util import user_text

if TYPE_CHECKING:
    from fscrawl.util.toml_places import Entry


_MAX_LEVELS = 100  # of tables and lists; Python nests some hundred calls, and TOML may nest more with names like a.b.c


class TomlFile:
    """The text of a file, and what it is called in messages."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self._where = where

    def tables(self, hint: str = "") -> dict[str, Any]:
        """Read the file. `hint`: what the message says after all else. Raises SettingsError if it is no TOML."""
        stray = user_text.stray_byte(self._text)
        if stray is not None:
            raise SettingsError(f"{self._place(stray[0])}: not valid TOML: {stray[1]}")
        try:
            tables = tomllib.loads(self._text)
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
            from fscrawl.util.toml_advice import explain  # noqa: PLC0415 - a crawl need not load it

            offset, said = explain(self._text, str(error))
            at = self._where if offset is None else self._place(offset)
            raise SettingsError(f"{at}: not valid TOML: {said}{hint}") from None
        if _is_deep(tables):
            raise SettingsError(f"{self._where}: not valid TOML: values are nested too deeply{hint}")
        return tables

    def key(self, *path: str) -> str:
        """Name the place of a key or of the head of a section; if it is not there, of what it belongs to."""
        entry = self._find(path)
        return self._where if entry is None else self._place(entry.key)

    def value(self, *path: str) -> str:
        """Name the place of a value; if it is not there, of what it belongs to."""
        entry = self._find(path)
        return self._where if entry is None else self._place(entry.value)

    def typed(self, *path: str) -> str:
        """Return a value as it is written in the file, shortened."""
        from fscrawl.util.toml_places import find  # noqa: PLC0415 - a crawl need not load it

        entry = find(self._entries, path)  # what it belongs to may have a password
        return "…" if entry is None else user_text.shown(self._text[entry.value : entry.end])

    def _place(self, offset: int) -> str:
        return user_text.place(self._where, self._text, offset)

    def _find(self, path: tuple[str, ...]) -> Entry | None:
        from fscrawl.util.toml_places import find  # noqa: PLC0415 - a crawl need not load it

        ends = range(len(path), 0, -1)
        return next((entry for end in ends if (entry := find(self._entries, path[:end])) is not None), None)

    @cached_property
    def _entries(self) -> list[Entry]:
        from fscrawl.util.toml_places import entries  # noqa: PLC0415 - a crawl need not load it

        return entries(self._text)


def _is_deep(tables: dict[str, Any]) -> bool:
    level: list[Any] = [tables]
    for _ in range(_MAX_LEVELS):
        outer = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [value for values in outer for value in values]
    return bool(level)
