"""Heads of answers: reading one, and refusing one that two readers could read in two ways. Pure: no disk, no socket.

A lenient proxy may pass on a head that it reads otherwise than this crawler does. Then one of the two takes the rest
of a body for the next answer. RFC 9112 (2.2, 6.3) names the three ways that count: a carriage return (CR) without a
line feed, a length beside a transfer coding, and two lengths.

What is not well formed, and does no harm, is read as Python's `http.client` reads it: that is what servers are used to
being read by. Here it takes a tenth of the time, since a head is no e-mail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPException, LineTooLong
from typing import Protocol

_MOST_LINES = 100
_LINE_BYTES = 65536
_FRAMING = re.compile(r"^[ \t]*(?:transfer-encoding|content-length)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NAME = re.compile(r"[!-9;-~]*\Z")  # visible ASCII, without the colon
_SPACE = " \t"
_BLANK = " \t\r"  # where a CR is, the line ends (see `HeadLines`)
_PLAIN = re.compile(
    rb"HTTP/1\.1 ([2-5]\d\d)(?: ([^\r\n]*+))?\r\n((?:[!-9;-~]++:[^\r\n]*+\r\n){1,%d}+)\r\n" % _MOST_LINES
)


class BadHeadError(ValueError):
    """The head of an answer does not say clearly where the answer ends."""


class Lines(Protocol):
    """A file of which lines are read."""

    def readline(self, limit: int, /) -> bytes: ...
    def close(self) -> None: ...


class Buffered(Protocol):
    """A file that shows what comes next."""

    def peek(self) -> bytes: ...
    def read(self, size: int, /) -> bytes: ...


class HeadLines:
    """The lines of a head. BadHeadError for a CR that ends no line: some readers split heads there."""

    def __init__(self, file: Lines) -> None:
        self._file = file
        self.close = file.close

    def readline(self, limit: int) -> bytes:
        """Read a line of at most `limit` bytes."""
        line = self._file.readline(limit)
        at = line.find(b"\r")
        if at >= 0 and line[at + 1 :] not in (b"\n", b""):  # b"": the connection ended there
            raise BadHeadError("the head of the answer has a carriage return that ends no line")
        return line


class Head:
    """The headers of an answer.

    Names are in lower case. `hidden`: the lines behind one that is no header, which readers take for headers or not.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self.hidden = ""

    @classmethod
    def read(cls, lines: HeadLines) -> Head:
        """Read headers up to the empty line. HTTPException if there are too many of them, or one is too long."""
        head = cls()
        values: list[str] | None = None  # those of the last name
        raw = list(_raw(lines))
        for number, line in enumerate(raw):
            if line[0] in " \t":
                if values is not None:
                    values[-1] += line
                continue
            name, colon, value = line.partition(":")
            if line.startswith("From "):  # of old mail boxes
                values = None
                continue
            if not colon or not _NAME.match(name):
                head.hidden = "".join(raw[number:])
                break
            values = head._values.setdefault(name.lower(), []) if name else []  # ":x" is no header, and no end either
            values.append(value)
        for found in head._values.values():
            found[:] = map(_unfolded, found)
        return head

    @classmethod
    def read_plain(cls, file: Buffered) -> tuple[int, str, Head] | None:
        """Read status, reason and headers of an answer if they are as clear as most are, and have come in one piece.

        If not, nothing is read, and None is given: whatever is odd must be read line by line.
        """
        found = _PLAIN.match(file.peek())
        if found is None:
            return None
        file.read(found.end())
        status, reason, lines = found.groups()
        head = cls()
        for line in lines.decode("latin-1").split("\r\n")[:-1]:
            name, _, value = line.partition(":")
            head._values.setdefault(name.lower(), []).append(value.strip(_SPACE))
        return int(status), (reason or b"").decode("latin-1"), head

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a name in lower case."""
        found = self._values.get(name)
        return found[0] if found else default

    def get_all(self, name: str) -> list[str]:
        """Return all values of a name in lower case, without the white space around them (RFC 9110 5.5)."""
        return self._values.get(name, [])

    def listed(self, name: str) -> list[str]:
        """Return the elements of a list, of all lines of a name in lower case (see `listed`)."""
        values = self._values.get(name)
        return listed(",".join(values)) if values else []

    def replace(self, name: str, value: str) -> None:
        """Let a name in lower case have this value alone."""
        self._values[name] = [value]

    def joined(self) -> dict[str, str]:
        """Return the headers with repeated values joined by ", " (RFC 9110 5.3), decoded as UTF-8."""
        return {
            name: _text(values[0]) if len(values) == 1 else ", ".join(map(_text, values))
            for name, values in self._values.items()
        }


def _raw(lines: HeadLines) -> Iterator[str]:
    for _ in range(_MOST_LINES + 1):
        line = lines.readline(_LINE_BYTES + 1)
        if len(line) > _LINE_BYTES:
            raise LineTooLong("header line")
        if line in (b"\r\n", b"\n", b""):
            return
        yield line.decode("latin-1")
    raise HTTPException(f"got more than {_MOST_LINES} headers")


def _unfolded(value: str) -> str:
    """Give a value in one line: where it goes on in the next line, it has a blank (RFC 9112 5.2).

    Not by a regular expression: with white space before the end of a line, it would look for that end from each blank
    anew. A head with four lines of 64 KiB of blanks took minutes, and held up all threads of its process.
    """
    return " ".join([line.strip(_BLANK) for line in value.rstrip("\r\n").split("\n")]).strip(_SPACE)


def _text(value: str) -> str:
    return value if value.isascii() else value.encode("latin-1", "replace").decode("utf-8", "replace")


def listed(value: str) -> list[str]:
    """Return the elements of a list in lower case. Empty ones do not count (RFC 9110 5.6.1).

    >>> listed("Keep-Alive , close,"), listed("")
    (['keep-alive', 'close'], [])
    """
    return [element for part in value.lower().split(",") if (element := part.strip(_SPACE))]


def check_framing(head: Head) -> None:
    """Raise BadHeadError if the headers do not say clearly how long the body is."""
    if _FRAMING.search(head.hidden):
        raise BadHeadError("the head of the answer has a line that is no header, and the length of the body behind it")
    lengths = head.get_all("content-length")
    if not lengths:
        return
    if head.get_all("transfer-encoding"):
        raise BadHeadError("the head of the answer has both Content-Length and Transfer-Encoding")
    if len(lengths) == 1 and lengths[0].isascii() and lengths[0].isdecimal():
        return  # nearly always
    different = {length.strip(_SPACE) for line in lengths for length in line.split(",")}
    if len(different) > 1:
        raise BadHeadError("the head of the answer has different values of Content-Length")
    if any(map(_is_number_for_python_only, different)):
        raise BadHeadError("the head of the answer has a Content-Length that is no number")
    head.replace("content-length", different.pop())  # one length, said several times (RFC 9110 8.6)


def _is_number_for_python_only(length: str) -> bool:
    """Tell whether `int` takes for a length what the standard does not.

    >>> [_is_number_for_python_only(each) for each in ("3", "", "-1", "x", "+3", "3_0", "3\x0b")]
    [False, False, False, False, True, True, True]
    """
    if length.isascii() and length.isdecimal():
        return False
    try:
        return int(length) >= 0
    except ValueError:
        return False
