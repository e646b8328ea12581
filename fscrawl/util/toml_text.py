"""Values and names as TOML writes them, for `crawl.toml` and for error messages. Pure."""

from __future__ import annotations

from typing import Any

_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def to_toml(value: Any) -> str:
    r"""Write a value as TOML, in one line of printable characters.

    >>> to_toml(("a", 'b"')), to_toml(2.0), to_toml({"x": True})
    ('["a", "b\\""]', '2', '{"x" = true}')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in value) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(to_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{to_toml(name)} = {to_toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return str(int(value))
    return str(value)


def one_line(name: str) -> str:
    """Return a name as it is, or quoted if it would break the line."""
    return name if name.isprintable() else to_toml(name)
