"""How a setting is declared, in the annotation of its field, and the types of settings: which TOML fits them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import msgspec

from fscrawl.config.checks import Check
from fscrawl.util.user_text import has_surrogates, shown, to_toml

_POWERS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_MOST = 10**18  # whole numbers are below it


class Setting(NamedTuple):
    """What the annotation of a setting says: `Annotated[type, help, check, SECRET]`.

    SECRET: no message shows its value.
    """

    type: Any
    help: str
    check: Check | None = None
    secret: bool = False


SECRET = True


def settings_of(section: type[msgspec.Struct]) -> dict[str, Setting]:
    """Give the settings of a section by their names."""
    return {name: Setting(*get_args(annotation)) for name, annotation in section.__annotations__.items()}


def written(value: Any) -> str:
    """Give a value as a message shows it.

    >>> written("fast"), written(1e3), written([1, 2])
    ('"fast"', '1000.0', '[1, 2]')
    """
    try:
        return shown(repr(value) if isinstance(value, float) else to_toml(value))
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "…"


def _is_text(value: Any) -> bool:
    """Accept strings that TOML can hold."""
    return isinstance(value, str) and not has_surrogates(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9  # more fits no float


def _size(value: Any) -> str | None:
    """Refuse whole numbers that Python reads, as hexadecimal ones, and does not write."""
    numbers = value.values() if isinstance(value, dict) else (value,)
    too_large = any(isinstance(each, int) and each >= _MOST for each in numbers)
    return "below 1e18" if too_large else None


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _as_whole_number(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():
        return str(int(value)) if abs(value) < 1e15 else None
    found = re.fullmatch(r"([0-9]{1,9})\s*([kKmMgG])?(?:i?[bB])?", value) if isinstance(value, str) else None
    return str(int(found[1]) * _POWERS[(found[2] or "").lower()]) if found else None


def _as_number(value: Any) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"[0-9]{1,8}(\.[0-9]+)?", value) else None


def _as_truth(value: Any) -> str | None:
    word = str(value).lower()
    return "true" if word in ("true", "yes", "on", "1") else "false" if word in ("false", "no", "off", "0") else None


def _as_text(value: Any) -> str | None:
    return to_toml(value[0]) if isinstance(value, list) and len(value) == 1 and _is_text(value[0]) else None


def _as_list(value: Any) -> str | None:
    return to_toml([value]) if _is_text(value) and len(value) < 60 else None


class _Type(NamedTuple):
    """A type of settings.

    `name`: for people. `fits`: which values of TOML it takes, and `convert`: how they become the field's value.
    `meant`: of another value, the text that was probably meant; `example`: what is shown if it gives None.
    """

    name: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any]
    meant: Callable[[Any], str | None] = lambda _: None
    example: str = ""

    def right(self, value: Any, *, secret: bool) -> str:
        """Say what a value that does not fit must be."""
        example = (None if secret else self.meant(value)) or self.example
        return f"{self.name}, for example {example}" if example else self.name


_WHOLE_NUMBER = _Type("a whole number", _is_whole_number, int, _as_whole_number, "10")
_TEXT = _Type("a string", _is_text, str, _as_text, '"text"')
_TYPES: dict[Any, _Type] = {
    bool: _Type("true or false", lambda value: isinstance(value, bool), bool, _as_truth),
    int: _WHOLE_NUMBER,
    int | None: _WHOLE_NUMBER,
    float: _Type("a number of seconds", _is_number, float, _as_number, "2.5"),
    str: _TEXT,
    str | None: _TEXT,
    tuple[str, ...]: _Type(
        "a list of strings",
        lambda value: isinstance(value, list) and all(map(_is_text, value)),
        tuple,
        _as_list,
        '["a", "b"]',
    ),
    dict[str, str]: _Type(
        "a table of strings",
        lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
        dict,
        example='{a = "b"}',
    ),
}


def checked(setting: Setting, value: Any) -> Any:
    """Return a value of TOML as the field of a section holds it; ValueError with what it must be."""
    kind, check = _TYPES[setting.type], setting.check
    if not kind.fits(value):
        in_a_list = [value] if kind.meant is _as_list and _is_text(value) else None
        problem = check(tuple(in_a_list)) if check and in_a_list else None  # what was meant would not do either
        raise ValueError(problem or kind.right(value, secret=setting.secret))
    value = kind.convert(value)
    right = (check(value) if check else None) or _size(value)
    if right:
        raise ValueError(right)
    return value
