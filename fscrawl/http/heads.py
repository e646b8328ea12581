"""Heads of answers that two readers could read in two ways. They are refused. Pure: no disk, no socket.

A lenient proxy may pass on a head that it reads otherwise than `http.client` does. Then one of the two takes the rest
of a body for the next answer. RFC 9112 (2.2, 6.3) names the three ways that count: a carriage return (CR) without a
line feed, a length beside a transfer coding, and two lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message
from http.client import HTTPMessage
from typing import IO, TypeGuard

_FRAMING = re.compile(r"^[ \t]*(?:transfer-encoding|content-length)[ \t]*:", re.IGNORECASE | re.MULTILINE)

_BLANK = " \t\r\n"


class BadHeadError(ValueError):
    """The head of an answer does not say clearly where the answer ends."""


class HeadLines:
    """The part of a file that `http.client` reads heads with. BadHeadError for a CR that ends no line.

    `http.client` splits heads at such a CR, and others do not.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.close = file.close

    def readline(self, limit: int) -> bytes:
        """Read a line of at most `limit` bytes."""
        line = self._file.readline(limit)
        at = line.find(b"\r")
        if at >= 0 and line[at + 1 :] not in (b"\n", b""):  # b"": the connection ended there
            raise BadHeadError("the head of the answer has a carriage return that ends no line")
        return line


def check_framing(headers: HTTPMessage) -> None:
    """Raise BadHeadError if the headers do not say clearly how long the body is."""
    if headers.get_payload() and any(map(_FRAMING.search, _hidden(headers))):
        raise BadHeadError("the head of the answer has a line that is no header, and the length of the body behind it")
    lengths = headers.get_all("content-length")
    if lengths is None:
        return
    if "transfer-encoding" in headers:
        raise BadHeadError("the head of the answer has both Content-Length and Transfer-Encoding")
    different = {length.strip(_BLANK) for line in lengths for length in line.split(",")}
    if len(different) > 1:
        raise BadHeadError("the head of the answer has different values of Content-Length")
    if any(map(_is_number_for_python_only, different)):
        raise BadHeadError("the head of the answer has a Content-Length that is no number")


def _is_number_for_python_only(length: str) -> bool:
    """Tell whether `http.client` takes for a length what the standard does not.

    >>> [_is_number_for_python_only(each) for each in ("3", "", "-1", "x", "+3", "3_0", "3\x0b")]
    [False, False, False, False, True, True, True]
    """
    if length.isascii() and length.isdecimal():
        return False
    try:
        return int(length) >= 0
    except ValueError:
        return False


def _is_message(part: object) -> TypeGuard[Message]:
    return isinstance(part, Message)


def _hidden(message: Message) -> Iterator[str]:
    """Give the lines behind one that is no header. The parser takes them for a message, perhaps of several parts.

    To let it write the message down again would take quadratic time.
    """
    payload = message.get_payload()
    if isinstance(payload, str):
        yield payload
    yield from filter(None, (message.preamble, message.epilogue))
    for part in filter(_is_message, payload if isinstance(payload, list) else ()):
        yield from (f"{name}: {value}" for name, value in part.raw_items())
        yield from _hidden(part)
