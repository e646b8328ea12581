"""Where parts that are made stand in documents, and how they get there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

BEGIN = "<!-- made from the code, by make docs-write: {} -->"
END = "<!-- end of what is made -->"
_HEAD, _TAIL = map(re.escape, BEGIN.split("{}"))
_PART = re.compile(rf"^{_HEAD}(.*?){_TAIL}\n(.*?)^{re.escape(END)}$", re.MULTILINE | re.DOTALL)
_ANY = re.compile(rf"^(?:{_HEAD}.*|{re.escape(END)})$", re.MULTILINE)


class Make(Protocol):
    """What makes the text of a part: Markdown."""

    def __call__(self) -> str: ...


class Part(NamedTuple):
    """A part: the document it belongs into, and what makes it."""

    document: str
    make: Make


class PartError(Exception):
    """A document has not the parts that it should have. The message names document, part and what to write."""


def updated(checkout: Path, makers: Mapping[str, Part]) -> dict[Path, str]:
    """Give the documents that must be written again, with their new text; PartError if parts are missing."""
    changed = {}
    found: list[str] = []
    for path in sorted((checkout / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        document = str(path.relative_to(checkout))
        new, names = with_parts(text, document, makers)
        found += names
        if new != text:
            changed[path] = new
    for name, part in makers.items():
        if found.count(name) != 1:
            lines = f"{BEGIN.format(name)}\n{END}"
            raise PartError(
                f"{part.document}: the part {name!r} must stand there once, and does {found.count(name)} times. Write"
                f" these two lines where it belongs, then make docs-write:\n{lines}"
            )
    return changed


def with_parts(text: str, document: str, makers: Mapping[str, Part]) -> tuple[str, list[str]]:
    """Give a document's text with its parts as they should be, and the names of the parts."""
    names = []

    def made(match: re.Match[str]) -> str:
        name = match[1]
        if name not in makers:
            raise PartError(f"{document}: nothing makes the part {name!r}; is it still in the code?")
        names.append(name)
        text = makers[name].make().strip("\n")
        # with blank lines, or some programs take the comment for a part of what follows
        return f"{BEGIN.format(name)}\n\n{text}\n\n{END}"

    new = _PART.sub(made, text)
    if len(_ANY.findall(text)) != 2 * len(names):
        raise PartError(f"{document}: each line {BEGIN.format('…')} must be followed by one {END}")
    return new, names
