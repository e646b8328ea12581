"""Where an answer ends: its head, and the chunks of its body (RFC 9112). Pure: no disk, no socket.

A lenient proxy may pass on a head that it reads otherwise than this crawler does. Then one of the two takes the rest
of a body for the next answer. RFC 9112 (2.2, 6.3) names the three ways that count: a carriage return (CR) without a
line feed, a length beside a transfer coding, and two lengths. The same holds for chunks: who reads `0x5`, `-1` or
`5_0` as a size sees the body end elsewhere.

What is not well formed, and does no harm, is read as Python's `http.client` reads it: that is what servers are used to
being read by. Here it takes a tenth of the time, since a head is no e-mail.

Each chunk costs a microsecond, and a body of `fetch.max_bytes` may consist of millions of them, a byte each. To read it
would take seconds, in which the other threads of the process hardly get on. So their lines are bounded.

Promise: a head that two readers could read in two ways is a BadHeadError, what is no chunk a ProtocolError. Whatever
lines there are, they are bounded: more is a TooLargeError. A line may end in a line feed alone, as for browsers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple

from fscrawl.http.answers import BadHeadError, ProtocolError, TooLargeError
from fscrawl.parse.headers import listed

HEAD_BYTES = 262144  # of an answer's head and the informational answers before it; Chromium reads as much
_MAX_INFORMATIONAL = 20  # a server may send 103 Early Hints a few times
_STATUS = re.compile(r"[ \t]*HTTP/(0\.9|1\.[0-9]{1,9})[ \t]+([1-9][0-9]{2})(?:[ \t].*)?\r?\n?")
_FRAMING = re.compile(r"^[ \t]*(?:transfer-encoding|content-length)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NAME = re.compile(r"[!-9;-~]*\Z")  # visible ASCII, without the colon
_SPACE = " \t"
_BLANK = " \t\r"  # where a CR is, the line ends (see `Lines`)
_PLAIN = re.compile(rb"HTTP/1\.1 ([2-5]\d\d)(?: [^\r\n]*+)?\r\n((?:[!-9;-~]++:[^\r\n]*+\r\n)++)\r\n")
_BEYOND_ASCII = re.compile(r"[^\0-\x7f]")
_LIKE_A_NUMBER = re.compile(r"[\s+]*[0-9][0-9_]*\s*", re.ASCII)  # for some readers

_LINE_BYTES = 65536
# Of all lines of chunks; and an eighth of the body, so chunks of 50 bytes may go on. Of one byte there may be 100,000.
_LINES_BYTES = 524_288
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_ENDS = (b"\r\n", b"\n")


class Head(NamedTuple):
    """The head of an answer. `minor`: of its version, HTTP/1.x.

    `raw`: the headers (see `parse.headers`), each byte a character: so a cookie is sent back as it came.
    """

    minor: int
    status: int
    raw: dict[str, str]

    def texts(self) -> dict[str, str]:
        """Give the headers as all others read them."""
        if all(map(str.isascii, self.raw.values())):
            return self.raw
        return {name: "\n".join([_text(name, line) for line in text.split("\n")]) for name, text in self.raw.items()}


def read_head(file: BufferedReader[Any]) -> Head:
    """Read the head of an answer, and skip all informational answers before it."""
    head, hidden = read_plain(file), ""
    if head is None:
        head, hidden = _read_by_line(file)
    _check(head.raw, hidden)
    return head


def read_plain(file: BufferedReader[Any]) -> Head | None:
    """Read a head if it is as clear as most are, and has come in one piece.

    If not, nothing is read, and None is given: whatever is odd must be read line by line.
    """
    found = _PLAIN.match(file.peek())
    if found is None:
        return None
    file.read(found.end())
    status, lines = found.groups()
    raw: dict[str, str] = {}
    for line in lines.decode("latin-1").split("\r\n")[:-1]:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip(_SPACE)
        raw[name] = f"{raw[name]}\n{value}" if name in raw else value
    return Head(1, int(status), raw)


def _read_by_line(file: BinaryIO) -> tuple[Head, str]:
    lines = Lines(file)
    for _ in range(_MAX_INFORMATIONAL + 1):
        first = lines.next()
        if not first:
            raise ConnectionResetError("the connection was closed without an answer")
        found = _STATUS.fullmatch(first)
        if found is None:
            raise ProtocolError(f"the answer begins with {first[:40]!a}")
        raw, hidden = read_headers(lines)
        status = int(found[2])
        if status >= 200 or status == 101:
            minor = 0 if found[1] == "0.9" else int(found[1][2:])  # some say 0.9, and mean 1.0
            return Head(minor, status, raw), hidden
    raise BadHeadError("the server sent too many informational (1xx) answers")


class Lines:
    """The lines of a head, and of informational ones before it.

    There is no limit of lines, and none of one line, since browsers have none.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left_bytes = HEAD_BYTES

    def next(self) -> str:
        """Read a line; "" at the end of the file."""
        line = self._file.readline(self._left_bytes + 1)
        self._left_bytes -= len(line)
        if self._left_bytes < 0:
            raise TooLargeError(f"the head of the answer has more than {HEAD_BYTES // 1024} KiB")
        at = line.find(b"\r")
        if at >= 0 and line[at + 1 :] not in (b"\n", b""):  # b"": the connection ended there
            raise BadHeadError("the head of the answer has a carriage return that ends no line")
        return line.decode("latin-1")


def read_headers(lines: Lines) -> tuple[dict[str, str], str]:
    """Read headers line by line up to the empty line.

    Give also the lines behind one that is no header, which readers take for headers or not; "" if there is none.
    """
    found: dict[str, list[list[str]]] = {}  # name → values, each the lines of one
    value: list[str] = []
    hidden: list[str] = []
    while (line := lines.next()) not in ("\r\n", "\n", ""):
        name, colon, begin = line.partition(":")
        if hidden:
            hidden.append(line)
        elif line[0] in " \t":
            value.append(line)
        elif line.startswith("From "):  # of old mail boxes
            value = []
        elif not colon or not _NAME.match(name):
            hidden.append(line)
        else:
            value = [begin]
            if name:  # ":x" is no header, and no end either
                found.setdefault(name.lower(), []).append(value)
    texts = {name: "\n".join([_unfolded("".join(each)) for each in values]) for name, values in found.items()}
    return texts, "".join(hidden)


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


def _check(raw: dict[str, str], hidden: str) -> None:
    """Raise BadHeadError if the headers do not say clearly how long the body is."""
    if hidden and _FRAMING.search(hidden):
        raise BadHeadError("the head of the answer has a line that is no header, and the length of the body behind it")
    length = raw.get("content-length")
    if length is None:
        return
    if "transfer-encoding" in raw:
        raise BadHeadError("the head of the answer has both Content-Length and Transfer-Encoding")
    if length.isascii() and length.isdecimal():
        return  # nearly always
    different = {each.strip(_SPACE) for each in re.split("[\n,]", length)}
    if len(different) > 1:
        raise BadHeadError("the head of the answer has different values of Content-Length")
    raw["content-length"] = only = different.pop()  # one length, repeated (RFC 9110 8.6)
    if not only.isdecimal() and _LIKE_A_NUMBER.fullmatch(only):
        raise BadHeadError("the head of the answer has a Content-Length that is no number")


def content_length(headers: dict[str, str]) -> int | None:
    """Return the length in the header, or None if there is none. `headers`: names in lower case.

    >>> content_length({"content-length": "12"}), content_length({"content-length": "-1"}), content_length({})
    (12, None, None)
    """
    text = headers.get("content-length", "")
    if not (text.isdecimal() and text.isascii()):
        return None
    return int(text) if len(text) <= 18 else 10**18  # int() raises for 4,301 digits


def ends_connection(minor: int, raw: dict[str, str]) -> bool:
    """Tell whether the server ends the connection with an answer (RFC 9112 9.3).

    >>> ends_connection(1, {}), ends_connection(1, {"connection": "x, Close"}), ends_connection(0, {})
    (False, True, True)
    >>> ends_connection(0, {"connection": "keep-alive"}), ends_connection(0, {"keep-alive": "timeout=5"})
    (False, False)
    """
    options = listed(raw["connection"]) if "connection" in raw else []
    if "close" in options or minor >= 1:
        return "close" in options
    is_kept = "keep-alive" in options or "keep-alive" in listed(raw.get("proxy-connection", ""))
    return not (is_kept or raw.get("keep-alive"))


def chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Read a body that comes in chunks, and give it in pieces of `size` bytes, the last of which may have fewer.

    >>> import io
    >>> list(chunks(io.BytesIO(b"3\\r\\nabc\\r\\n2;x=y\\r\\nde\\r\\n0\\r\\nTrailer: z\\r\\n\\r\\n"), 4))
    [b'abcd', b'e']
    """
    parts: list[bytes] = []
    space = size
    lines = _ChunkLines(file)
    while left := _size(lines.next()):
        lines.may_have(left)
        while left:
            part = file.read(min(left, space))
            if not part:
                raise ProtocolError(f"the connection ended {left} bytes before a chunk of the body did")
            parts.append(part)
            left -= len(part)
            space -= len(part)
            if not space:
                yield b"".join(parts)
                parts, space = [], size
        if file.readline(2) not in _LINE_ENDS:
            raise ProtocolError("a chunk of the body does not end where its size says")
    while lines.next() not in (*_LINE_ENDS, b""):  # the trailer; some servers end the connection in place of it
        pass
    if parts:
        yield b"".join(parts)


def begins_with_chunk(body: bytes) -> bool:
    """Tell whether a body comes in chunks, as its head says.

    >>> begins_with_chunk(b"3\\r\\nabc"), begins_with_chunk(b"<p>")
    (True, False)
    """
    return _SIZE.match(body) is not None


class _ChunkLines:
    """The lines of a body: sizes of chunks, and the trailer."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = 8 * _LINES_BYTES  # an eighth of it in bytes

    def may_have(self, body_bytes: int) -> None:
        """Allow for the lines of some more bytes of the body."""
        self._left += body_bytes

    def next(self) -> bytes:
        line = self._file.readline(_LINE_BYTES + 1)
        if len(line) > _LINE_BYTES:
            raise ProtocolError(f"a line of the body has more than {_LINE_BYTES} bytes")
        self._left -= 8 * (len(line) + 2)  # a chunk has an end of line behind it, too
        if self._left < 0:
            raise TooLargeError("the body comes in chunks that are too small: their lines take an eighth of it")
        return line


def _size(line: bytes) -> int:
    """Read the size of a chunk.

    >>> _size(b"1F\\r\\n"), _size(b"0005 \\r\\n"), _size(b"a;name=value\\n")
    (31, 5, 10)
    """
    found = _SIZE.fullmatch(line)
    if found is None:
        what = f"the size of a chunk of the body is {line[:40]!a}"
        raise ProtocolError(what if line else "the connection ended before the last chunk of the body")
    return int(found[1], 16)
