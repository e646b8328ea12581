"""A TOML file that people write. What is wrong in it is a SettingsError that names the file."""

from __future__ import annotations

import tomllib
from typing import Any

from fscrawl.errors import SettingsError
from fscrawl.util import user_text


class TomlFile:
    """The text of a file. `where`: what it is called in messages."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self.where = where

    def tables(self, hint: str = "") -> dict[str, Any]:
        """Read the file. `hint`: what the message says after all else. Raises SettingsError if it is no TOML.

        >>> TomlFile("[crawl]\\nscope = any", "crawl.toml").tables()
        Traceback (most recent call last):
        fscrawl.errors.SettingsError: crawl.toml: not valid TOML: Invalid value (at line 2, column 9)
        """
        stray = user_text.stray_byte(self._text)
        if stray is not None:
            raise SettingsError(f"not valid TOML: {stray[1]}", where=user_text.place(self.where, self._text, stray[0]))
        try:
            return tomllib.loads(self._text)
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
            raise SettingsError(f"not valid TOML: {error}{hint}", where=self.where) from None
