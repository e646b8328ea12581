"""The types of settings: which values of TOML fit a field, and what they become. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import Field
from typing import Any, NamedTuple

from fscrawl.config.toml_text import to_toml
from fscrawl.errors import SettingsError


def _is_text(value: Any) -> bool:
    """Accept strings without lone surrogates, which come from arguments that are not UTF-8: TOML cannot hold them."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9  # more fits no float


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class _Type(NamedTuple):
    """A type of settings: its name for people, which values of TOML fit, and how they become the field's value."""

    name: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any]


_WHOLE_NUMBER = _Type("a whole number, for example 10", _is_whole_number, int)
_TEXT = _Type('a string, for example "text"', _is_text, str)
_TYPES = {
    "bool": _Type("true or false", lambda value: isinstance(value, bool), bool),
    "int": _WHOLE_NUMBER,
    "int | None": _WHOLE_NUMBER,
    "float": _Type("a number below 1e9, for example 2.5", _is_number, float),
    "str": _TEXT,
    "str | None": _TEXT,
    "tuple[str, ...]": _Type(
        'a list of strings, for example ["a", "b"]',
        lambda value: isinstance(value, list) and all(map(_is_text, value)),
        tuple,
    ),
    "dict[str, str]": _Type(
        'a table of strings, for example {a = "b"}',
        lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
        dict,
    ),
}


def checked(setting: Field[Any], value: Any, name: str) -> Any:
    """Return a value of TOML as the field of a settings class holds it; SettingsError if it does not fit.

    `name`: of the setting, as errors call it.
    """
    kind = _TYPES[str(setting.type)]
    said = name if setting.metadata.get("secret") else f"{name} = {to_toml(value)}"
    if not kind.fits(value):
        raise SettingsError(f"{said}: must be {kind.name}")
    value = kind.convert(value)
    check = setting.metadata["check"]
    right = check(value) if check else None
    if right:
        raise SettingsError(f"{said}: must be {right}")
    return value
