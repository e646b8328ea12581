"""The one way to the terminal: what comes from the web or from the tree is made safe before it is printed.

Only this module prints, and tqdm and rich, which get no text that has not gone through `plain`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, TextIO

_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")  # colours and weights, as rich writes them


def plain(text: str) -> str:
    """Replace unprintable characters, which could control a terminal or break the line of a log.

    >>> plain("http://a.example/\\x1b[31mred\\n")
    'http://a.example/?[31mred?'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def say(*lines: str, stream: TextIO | None = None, flush: bool = False) -> None:
    """Print lines, each made plain, on `stream` (default: standard output)."""
    print(*map(plain, lines), sep="\n", file=stream, flush=flush)


def say_json(value: Any, stream: TextIO | None = None) -> None:
    """Print a value as one line of JSON, in ASCII without control characters."""
    print(json.dumps(value).replace("\x7f", "\\u007f"), file=stream, flush=True)


def say_styled(text: str) -> None:
    """Print the lines of a table, which may have colours; all else in them is made plain."""
    print(*map(_plain_but_styled, text.split("\n")), sep="\n", end="", flush=True)


def _plain_but_styled(line: str) -> str:
    return "".join(part if _STYLE.fullmatch(part) else plain(part) for part in _STYLE.split(line))


def show_cursor() -> None:
    """Show the cursor again, on the next line. A handler of a signal may call this in the middle of a `say`."""
    os.write(1, b"\x1b[?25h\n")


def say_error(text: str) -> None:
    """Print one line on standard error."""
    say(text, stream=sys.stderr, flush=True)
