"""The arguments of `--set`, as they were typed. Pure."""

from __future__ import annotations

import re
import tomllib
from typing import Any


def name_in(assignment: str) -> str:
    """Give what stands before the value, which may be a password.

    >>> name_in("politeness.delay"), name_in("fetch.auth:{'a.example'='me:pw'}")
    ('politeness.delay', 'fetch.auth…')
    """
    name = re.match(r"[\w.]*", assignment)
    return assignment if name is None or name[0] == assignment else f"{name[0]}…"


def assigned(text: str) -> Any:
    """Read a value as TOML; what is none is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
