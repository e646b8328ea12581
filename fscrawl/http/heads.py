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
from typing import Protocol

from fscrawl.parse.headers import listed

HEAD_BYTES = 262144  # of an answer's head and the informational answers before it; Chromium reads as much
_FRAMING = re.compile(r"^[ \t]*(?:transfer-encoding|content-length)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NAME = re.compile(r"[!-9;-~]*\Z")  # visible ASCII, without the colon
_SPACE = " \t"
_BLANK = " \t\r"  # where a CR is, the line ends (see `HeadLines`)
_PLAIN = re.compile(rb"HTTP/1\.1 ([2-5]\d\d)(?: ([^\r\n]*+))?\r\n((?:[!-9;-~]++:[^\r\n]*+\r\n)++)\r\n")
_BEYOND_ASCII = re.compile(r"[^\0-\x7f]")


class BadHeadError(ValueError):
    """The head of an answer does not say clearly where the answer ends."""


class HeadTooLargeError(ValueError):
    """The head of an answer has more than HEAD_BYTES."""


class Lines(Protocol):
    """A file of which lines are read."""

    def readline(self, limit: int, /) -> bytes: ...
    def close(self) -> None: ...


class Buffered(Protocol):
    """A file that shows what comes next."""

    def peek(self) -> bytes: ...
    def read(self, size: int, /) -> bytes: ...


class HeadLines:
    """The lines of a head, and of informational ones before it.

    BadHeadError for a CR that ends no line: some readers split heads there. HeadTooLargeError for too much: there is no
    limit of lines, and none of one line, since browsers have none.
    """

    def __init__(self, file: Lines) -> None:
        self._file = file
        self._left_bytes = HEAD_BYTES
        self.close = file.close

    def readline(self, limit: int = HEAD_BYTES) -> bytes:
        """Read a line of at most `limit` bytes."""
        line = self._file.readline(min(limit, self._left_bytes + 1))
        self._left_bytes -= len(line)
        if self._left_bytes < 0:
            raise HeadTooLargeError(f"the head of the answer has more than {HEAD_BYTES // 1024} KiB")
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
        """Read headers up to the empty line."""
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

    def texts(self) -> dict[str, str]:
        """Return the headers as all others read them (see `parse.headers`): values of a name are lines of one text."""
        return {
            name: _text(name, values[0]) if len(values) == 1 else "\n".join([_text(name, each) for each in values])
            for name, values in self._values.items()
        }


def _raw(lines: HeadLines) -> Iterator[str]:
    while (line := lines.readline()) not in (b"\r\n", b"\n", b""):
        yield line.decode("latin-1")


def _unfolded(value: str) -> str:
    """Give a value in one line: where it goes on in the next line, it has a blank (RFC 9112 5.2).

    Not by a regular expression: with white space before the end of a line, it would look for that end from each blank
    anew. A head with four lines of 64 KiB of blanks took minutes, and held up all threads of its process.
    """
    return " ".join([line.strip(_BLANK) for line in value.rstrip("\r\n").split("\n")]).strip(_SPACE)


def _text(name: str, value: str) -> str:
    """Give the text that the bytes of a value are. Of a Location that is no UTF-8, each byte is what the host is asked
    for (https://fetch.spec.whatwg.org/#concept-response-location-url), and not the character that somebody meant.

    >>> _text("a", "caf\xe9"), _text("location", "/caf\xe9"), _text("location", "/caf\xc3\xa9")
    ('café', '/caf%E9', '/café')
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return _BEYOND_ASCII.sub(lambda found: f"%{ord(found[0]):02X}", value) if name == "location" else value


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
    head.replace("content-length", different.pop())  # one length, repeated (RFC 9110 8.6)


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
