"""Targets that read what a server sends before the body, and what is shown of it."""

from __future__ import annotations

import io
import re

from fscrawl.http.answers import ExchangeError
from fscrawl.http.framing import content_length, read_head
from fscrawl.util import terminal
from tests.support.fuzz.target import Target, string, words

_FRAMING = re.compile(rb"(content-length|transfer-encoding)[ \t]*:(.*)", re.IGNORECASE)


def _heads(data: bytes) -> None:
    """A head that is taken is clear to a strict reader, who knows only of lines that end with a line feed."""
    file = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
    try:
        answer = read_head(file)
    except (ExchangeError, ConnectionResetError):
        return
    head = data[: len(data) - len(file.read())]
    assert b"\r" not in head.replace(b"\r\n", b"\n").removesuffix(b"\r"), head
    unfolded = re.sub(rb"\r?\n[ \t]+", b" ", head)
    lines = re.split(rb"\n\r?\n", unfolded.strip(b"\r\n"))[-1].split(b"\n")
    found = [(match[1].lower(), match[2].strip(b" \t")) for line in lines if (match := _FRAMING.match(line))]
    lengths = {value for name, value in found if name == b"content-length"}
    assert len(lengths) <= 1 or all(b"," in each or not each.isdigit() for each in lengths), found
    assert not (lengths and any(name == b"transfer-encoding" for name, _ in found)), found
    length = content_length(answer.raw)
    if length is not None and lengths:
        assert {int(part) for each in lengths for part in each.split(b",")} == {length}, found


def _terminal(data: bytes) -> None:
    """What is shown is one line without control characters, however long the text."""
    text = string(data)
    shown = terminal.plain(text)
    assert shown.isprintable()
    assert len(shown) == len(text)
    styled = terminal._plain_but_styled(text)
    assert re.sub(r"\x1b\[[0-9;]*m", "", styled).isprintable()


_HEAD = words(r"""
HTTP/1.1 200 OK
HTTP/1.1 103 Early Hints
HTTP/1.0 204 None
\r\n
\r
\n
\r\n\r\n
\n\n
Content-Length: 3
content-length:
Content-Length : 3
Transfer-Encoding: chunked
transfer-encoding: \x0bchunked
3, 3
+3
3_0
0x3
\x20
\t
X: y
no header
:
\0
\x0b
\x0c
\x1c
\x85
\xff
Connection: close
""")
_HEADS = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\n<p>",
    b"HTTP/1.1 200 OK\r\nX: \xff" + b"i" * 60_000 + b"\r\nno header\r\n\r\n",  # to write it down again takes a minute
    b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
)
_SHOWN = words(r"""
http://a.example/
\x1b[31m
\x1b]0;owned\x07
\x9b
\xe2\x80\xae
\r
\n
\x7f
\xed\xa0\x80
\x1b[
""")

TARGETS = (
    Target("heads", _heads, _HEAD, _HEADS),
    Target("terminal", _terminal, _SHOWN),
)
