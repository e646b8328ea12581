"""How a setting is declared: a field of a dataclass with its default, help text and check."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from fscrawl.config.checks import Check


def setting(default: Any, help_: str, check: Check | None = None, *, secret: bool = False) -> Any:
    """Declare a setting. `secret`: no message shows its value."""
    return field(default=default, metadata={"help": help_, "check": check, "secret": secret})
