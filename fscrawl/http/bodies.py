"""The body of an answer: reading and decoding it within a limit.

Vocabulary:
  coding    a content coding (gzip, deflate, br, zstd). A body may have several; the last one in the header is outermost
  piece     at most some 100 KB of a body. A coding reads pieces and yields pieces, however far they inflate
  part      a gzip member or a zstd frame. A body may consist of several, one after the other

Promise: at most `max_bytes` of the limits are received, come out of any coding, or are held in memory; in addition some
pieces, and the window of the coding, at most 16 MiB. The decoders of urllib3 limit their output, but not what they keep
(an endless deflate stream without output, layers of codings) nor what they have read.
"""

from __future__ import annotations

import contextlib
import io
import sys
import zlib
from collections.abc import Iterable, Iterator

import brotli

from fscrawl.http.answers import CodingError, ExchangeError, Limits, ProtocolError, TooLargeError
from fscrawl.http.wire import Reply
from fscrawl.parse.headers import listed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_PIECE_BYTES = 65536
_BEGIN_BYTES = 1445  # of a body: browsers look at so many, too (https://mimesniff.spec.whatwg.org/#resource-header)
_DRAIN = Limits(0.0, 65536)  # an unwanted body is read if it is this small, to keep the connection
_TRANSFER_CODINGS: tuple[list[str], ...] = ([], ["chunked"], ["identity"], ["identity", "chunked"])
_MAX_CODINGS = 5
# Codings that nobody has asked for: of IANA's registry of content codings, and others that servers have had.
_NOT_UNDONE = frozenset(
    {
        *("compress", "x-compress", "aes128gcm", "dcb", "dcz", "exi", "pack200-gzip"),
        *("bzip2", "x-bzip2", "xz", "x-xz", "lzma", "x-lzma", "sdch", "gzip-exi"),
    }
)
_MAX_PARTS = 1000  # each needs a new decoder; a body of empty parts would keep the processor busy
_WINDOW_LOG = 23  # 8 MiB, which RFC 9659 allows; zstd itself would accept 128 MiB


def codings(headers: dict[str, str]) -> list[str]:
    """Return the codings to undo, the outermost first. CodingError if the body has one that cannot be undone.

    What is no coding at all, such as "none", "UTF-8" or "binary", says nothing of the body: browsers show it.

    >>> codings({"content-encoding": "gzip, identity, BR, UTF-8"})
    ['br', 'gzip']
    """
    if "content-encoding" not in headers:
        return []
    names = listed(headers["content-encoding"])
    if lasting := [name for name in names if name in _NOT_UNDONE]:
        raise CodingError(f"the content coding {lasting[0]!a} cannot be undone")
    names = [name for name in names if name in _DECODERS]
    if len(names) > _MAX_CODINGS:
        raise CodingError(f"the body has {len(names)} content codings, more than {_MAX_CODINGS}")
    return names[::-1]


def read_body(reply: Reply, limits: Limits) -> bytes:
    """Read the body of an answer, and give its connection back. Raises ExchangeError, or what its connection raises."""
    length, headers = reply.length, reply.headers
    transfer = listed(headers.get("transfer-encoding", ""))
    if transfer not in _TRANSFER_CODINGS and length != 0:
        raise ProtocolError(f"the transfer coding {', '.join(transfer)[:40]!a} is unknown")
    is_larger = length is not None and length > limits.max_bytes
    if is_larger and not limits.cuts:
        raise TooLargeError(
            f"Content-Length is {length}, more than the limit of {limits.max_bytes} bytes ({limits.setting})"
        )
    if length is not None and not is_larger and "content-encoding" not in headers:  # one read, no copies
        whole = reply.whole()
        reply.release()
        return whole
    body = io.BytesIO()  # grows in place and gives its buffer away; joining a list would make a second copy
    try:
        for piece in _pieces(reply, limits):
            body.write(piece)
    except TooLargeError:
        if not limits.cuts:
            raise
        reply.close()  # the body may never end
    reply.release()
    return body.getvalue()


def skip_body(reply: Reply, *, looks: bool = False) -> bytes:
    """Do not use a body. Read it if it is small, to keep the connection; else close the connection.

    `looks`: give its first bytes, as far as they can be had.
    """
    begins = io.BytesIO()
    is_small = reply.length is not None and reply.length <= _DRAIN.max_bytes
    with contextlib.suppress(OSError, ExchangeError):  # nobody wants it
        if is_small and not looks:
            reply.whole()
            reply.release()
        elif looks:
            for piece in _pieces(reply, _DRAIN):
                begins.write(piece)
                if begins.tell() >= _BEGIN_BYTES and not is_small:
                    break
            else:
                reply.release()
    reply.close()
    return begins.getvalue()[:_BEGIN_BYTES]


def _pieces(reply: Reply, limits: Limits) -> Iterator[bytes]:
    """Give the pieces of a body without its codings; TooLargeError behind as much as it may have."""
    pieces = _limited(reply.pieces(_PIECE_BYTES), limits)
    for name in codings(reply.headers):
        pieces = _limited(_decoded(pieces, name), limits)
    return pieces


def _limited(pieces: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    left = limits.max_bytes
    for piece in pieces:
        if len(piece) > left:
            yield piece[:left]
            raise TooLargeError(f"the body is larger than the limit of {limits.max_bytes} bytes ({limits.setting})")
        left -= len(piece)
        yield piece


# Decoders: `feed` takes a piece and yields decoded pieces. `unused` is the input behind the end of the coding.


class _Inflater:
    """gzip or deflate. Deflate should have a header of zlib, but many servers send it without."""

    errors = zlib.error
    wbits = 31

    def __init__(self, first: bytes) -> None:
        self._zlib = zlib.decompressobj(self.wbits or (15 if first[0] & 15 == 8 else -15))
        self.ended = False
        self.unused = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        full = True
        while (data or full) and not self.ended:  # after a full piece there may be more output, even without input
            piece = self._zlib.decompress(data, _PIECE_BYTES)
            data, full, self.ended = self._zlib.unconsumed_tail, len(piece) == _PIECE_BYTES, self._zlib.eof
            yield piece
        self.unused = self._zlib.unused_data


class _Deflate(_Inflater):
    wbits = 0


class _Brotli:
    errors = brotli.error

    def __init__(self, first: bytes) -> None:  # noqa: ARG002 - the other decoders need it
        self._brotli = brotli.Decompressor()
        self.ended = False
        self.unused = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self.ended:
            piece = self._brotli.process(data, output_buffer_limit=_PIECE_BYTES)
            data, self.ended = b"", self._brotli.is_finished()
            yield piece
            if len(piece) < _PIECE_BYTES and self._brotli.can_accept_more_data():
                return  # after a full piece there may be more output, although it would accept more input


class _Zstd:
    errors = zstd.ZstdError

    def __init__(self, first: bytes) -> None:  # noqa: ARG002 - the other decoders need it
        self._zstd = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})
        self.ended = False
        self.unused = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self.ended:
            piece = self._zstd.decompress(data, _PIECE_BYTES)
            data, self.ended = b"", self._zstd.eof
            yield piece
            if self._zstd.needs_input:
                break
        self.unused = self._zstd.unused_data


_DECODERS: dict[str, type[_Inflater | _Brotli | _Zstd]] = {
    "gzip": _Inflater,
    "x-gzip": _Inflater,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}


def _decoded(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Undo one coding, which may have several parts. Bytes behind the last part are ignored, as in browsers."""
    part: _Inflater | _Brotli | _Zstd | None = None
    parts = 0
    has_output = False  # of the present part
    is_over = False
    for piece in pieces:
        left = piece
        while left and not is_over:
            if part is None or part.ended:
                if parts and name in ("deflate", "br"):
                    is_over = True
                    break
                part, has_output, parts = _DECODERS[name](left), False, parts + 1
                if parts > _MAX_PARTS:
                    raise CodingError(f"the body has more than {_MAX_PARTS} {name} streams in a row")
            try:
                for decoded in part.feed(left):
                    has_output = has_output or bool(decoded)
                    yield decoded
            except part.errors as error:
                if parts == 1 or has_output:
                    raise CodingError(f"{name}: {error}") from error
                is_over = True
            left = part.unused
    if part is not None and not part.ended and (parts == 1 or has_output):
        raise ProtocolError(f"the body ended in the middle of its {name} coding")
