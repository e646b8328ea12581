"""What a page's record says of its rendering: the object `rendered` in links/<host>/<key>.json. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

from fscrawl.util.humanize import number_of, size

DOM_TYPE = "text/html; charset=utf-8"  # the media type of every stored DOM
_MAX_NUMBER = 1e15


@dataclass(frozen=True, slots=True)
class RenderRecord:
    """How a page was rendered.

    why          "host": `render.hosts` names its host; "always" or "empty": `render.when`
    ended        "done"; "timeout": it was still busy, and was taken as it was; "failed": there is no DOM
    seconds      that it took
    bytes        of the DOM as stored, 0 if there is none
    sha256       of the DOM, "" if there is none
    loaded       bytes that its requests have loaded
    requests     how many requests it made beside its own, by host
    blocked      how many requests brought nothing, by why: a rule, such as "robots", or a failure, such as "http-5xx"
    errors       what its scripts complained of
    screenshot   bytes of the picture, 0 if there is none
    """

    why: str
    ended: str
    seconds: float = 0.0
    bytes: int = 0
    sha256: str = ""
    loaded: int = 0
    requests: dict[str, int] | None = None
    blocked: dict[str, int] | None = None
    errors: tuple[str, ...] | None = None
    screenshot: int = 0

    def values(self) -> dict[str, Any]:
        """Give what JSON takes; what says nothing is left out."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value or name in ("why", "ended")}

    def shown(self) -> str:
        """Say it to a person, in a line."""
        loaded = sum((self.requests or {}).values())
        parts = [f"{self.ended}, in {self.seconds:g} s"]
        parts += [f"{number_of(loaded, 'request')} and {size(self.loaded)} beside the page"] if loaded else []
        lacking = ", ".join(f"{why} {number}" for why, number in (self.blocked or {}).items())
        parts += [f"requests that failed or were not allowed: {lacking}"] if lacking else []
        return "; ".join([*parts, *(self.errors or ())])

    @classmethod
    def read(cls, values: Any) -> Self | None:
        """Read what `values` gave; None if it is something else. Unknown names are ignored."""
        if type(values) is not dict:
            return None
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        if not all(_FITS[name](value) for name, value in given.items()) or not {"why", "ended"} <= given.keys():
            return None
        if "errors" in given:
            given["errors"] = tuple(given["errors"])
        return cls(**given)


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MAX_NUMBER


def _are_counts(value: Any) -> bool:
    return type(value) is dict and all(map(_is_count, value.values()))


_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("why", "ended", "sha256"), _is_text),
    **dict.fromkeys(("bytes", "loaded", "screenshot"), _is_count),
    **dict.fromkeys(("requests", "blocked"), _are_counts),
    "seconds": lambda value: type(value) in (int, float) and 0 <= value < _MAX_NUMBER,
    "errors": lambda value: type(value) is list and all(map(_is_text, value)),
}
