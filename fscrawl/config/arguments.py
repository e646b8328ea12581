"""The arguments of `--set`, as they were typed. Pure."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from fscrawl.util.user_text import shown


def name_in(assignment: str) -> str:
    """Give what stands before the value, which may be a password.

    >>> name_in("politeness.delay"), name_in("fetch.auth:{'a.example'='me:pw'}")
    ('politeness.delay', 'fetch.auth…')
    """
    name = re.match(r"[\w.]*", assignment)
    return assignment if name is None or name[0] == assignment else f"{name[0]}…"


def assigned(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


class Argument:
    """The value of one `--set`, with the methods of `TomlFile` that messages need."""

    def __init__(self, text: str) -> None:
        self._text = text

    def key(self, *path: str) -> str:  # noqa: ARG002 - an argument is its own place
        return "--set"

    value = key

    def typed(self, *path: str) -> str:  # noqa: ARG002
        return shown(self._text) or '""'
