"""Plain text of the code as Markdown, for GitHub and for the site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]+`)")


def prose(text: str) -> str:
    r"""Give a text whose signs mean themselves, but for `code`.

    >>> prose('"image/*" or <title>, `a*b`')
    '"image/\\*" or &lt;title>, `a*b`'
    """
    parts = _CODE.split(text)
    parts[::2] = [part.replace("<", "&lt;").replace("*", r"\*") for part in parts[::2]]
    return "".join(parts)


def cell(text: str) -> str:
    r"""Give a text for a cell of a table.

    >>> cell("one|two")
    'one\\|two'
    """
    return prose(text).replace("|", r"\|")


def code(text: str) -> str:
    """Give a text as code; nothing for no text.

    >>> code("--root"), code("")
    ('`--root`', '')
    """
    return f"`{text}`" if text else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table. The cells are Markdown.

    >>> print(table(["a", "b"], [["1", ""]]), end="")
    | a | b |
    |---|---|
    | 1 | |
    """
    lines = [heads, *rows]
    written = ["|" + "".join(f" {each} |" if each else " |" for each in line) for line in lines]
    written.insert(1, "|" + "---|" * len(heads))
    return "".join(f"{line}\n" for line in written)
