"""The one way to the terminal: what comes from the web or from the tree is made safe before it is printed.

Only this module prints, and tqdm and rich, which get no text that has not gone through `plain`.

Vocabulary:
  result    what a command was asked for; it goes to standard output
  message   any other text; it goes to another stream, such as standard error

Promise: a message that cannot be written, because the disk of a log file is full or a terminal is gone, is lost without
a word: the work does not end for it. A result that cannot be written is an OutputError. A closed pipe is a
BrokenPipeError in both cases: nobody reads any more (`cli`). A letter that the encoding of a stream lacks is a question
mark.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, TextIO

from fscrawl.errors import OutputError, reason

_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")  # colours and weights, as rich writes them


def plain(text: str) -> str:
    """Replace unprintable characters, which could control a terminal or break the line of a log.

    >>> plain("http://a.example/\\x1b[31mred\\n")
    'http://a.example/?[31mred?'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def say(*lines: str, stream: TextIO | None = None, flush: bool = False) -> None:
    """Print lines, each made plain: a result, or messages on `stream`."""
    write("\n".join(map(plain, lines)) + "\n", stream, flush=flush)


def say_json(value: Any, stream: TextIO | None = None) -> None:
    """Print a value as one line of JSON, in ASCII without control characters: a result, or a message on `stream`."""
    write(json.dumps(value).replace("\x7f", "\\u007f") + "\n", stream, flush=True)


def say_styled(text: str) -> None:
    """Print the lines of a table, which may have colours; all else in them is made plain."""
    write("\n".join(map(_plain_but_styled, text.split("\n"))), flush=True)


def write(text: str, stream: TextIO | None = None, *, flush: bool = False) -> None:
    """Write what is safe already: a result, or a message on `stream`. What goes to standard output is a result."""
    to = sys.stdout if stream is None else stream
    if to is None:  # the command was started without it
        return
    try:
        try:
            to.write(text)
        except UnicodeEncodeError:  # a locale may lack letters that pages have
            to.write(text.encode(to.encoding, "replace").decode(to.encoding))
        if flush:
            to.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if to is sys.stdout:
            raise _no_output(error) from error


def flush_output() -> None:
    """Write what is left of a result."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _no_output(error) from error


def _no_output(error: OSError) -> OutputError:
    discard_output()  # so that this is written once
    return OutputError(f"standard output: {reason(error)}")


def discard_output() -> None:
    """Send what could not be written to /dev/null: Python flushes it again when it exits, and would complain."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def _plain_but_styled(line: str) -> str:
    return "".join(part if _STYLE.fullmatch(part) else plain(part) for part in _STYLE.split(line))


def show_cursor() -> None:
    """Show the cursor again, on the next line. A handler of a signal may call this in the middle of a `say`."""
    os.write(1, b"\x1b[?25h\n")


def say_error(text: str) -> None:
    """Print one line on standard error."""
    say(text, stream=sys.stderr, flush=True)
