"""Bodies come out of every coding whole, or not at all."""

import gzip
import io
import zlib
from types import SimpleNamespace

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.http import bodies
from fscrawl.http.answers import CodingError, Limits, ProtocolError, TooLargeError
from fscrawl.http.bodies import codings, read_body
from fscrawl.http.framing import content_length

MAX_BYTES = 1_000_000
TEXT = bytes(range(256)) * 1000


def _raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": bodies.zstd.compress,
}


def read(body, coding, *, step=65536, max_bytes=MAX_BYTES):
    """Read a body that comes in pieces of `step` bytes."""
    source = io.BytesIO(body)
    reply = SimpleNamespace(
        length=None,
        headers={"content-encoding": coding},
        pieces=lambda _: iter(lambda: source.read(step), b""),
        release=lambda: None,
    )
    return read_body(reply, Limits(1.0, max_bytes))


@pytest.mark.gate
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("step", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 98272, 200_000])
def test_whole(coding, step, size):
    """Whatever the sizes of the pieces and of the body, it comes out as it went in."""
    assert read(CODINGS[coding](TEXT[:size]), coding, step=step) == TEXT[:size]
    assert read(CODINGS[coding](bytes(size)), coding, step=step) == bytes(size)


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_raw_deflate(step):
    """A deflate body without zlib's header is one all the same."""
    assert read(_raw_deflate(TEXT), "deflate", step=step) == TEXT


@given(st.lists(st.sampled_from(sorted(CODINGS)), min_size=1, max_size=5), st.binary(max_size=500), st.integers(1, 99))
def test_layers(names, body, step):
    """Codings one upon the other are undone from the outside in."""
    coded = body
    for name in names:
        coded = CODINGS[name](coded)
    assert read(coded, ", ".join(names), step=step) == body


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("step", [1, 10, 1 << 20])
def test_parts(coding, step):
    """Several members or frames are one body, and garbage behind them is passed over."""
    pack = CODINGS[coding]
    assert read(pack(b"a") + pack(b"") + pack(b"c"), coding, step=step) == b"ac"
    assert read(pack(b"a") + b"\0\0\0\0 garbage" * 9, coding, step=step) == b"a"
    assert read(pack(b"a") + b"\n", coding, step=step) == b"a"


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_garbage_behind_deflate(step):
    """What stands behind a deflate stream is passed over."""
    assert read(zlib.compress(b"a") + b"x" * 200_000, "deflate", step=step) == b"a"


def test_garbage_behind_brotli():
    """What comes after the end of a brotli stream is passed over."""
    packed = brotli.compress(b"a")
    assert read(packed + b"x" * len(packed), "br", step=len(packed)) == b"a"


@pytest.mark.parametrize("coding", CODINGS)
def test_cut_short(coding):
    """A body that ends before its coding does is not taken for whole."""
    packed = CODINGS[coding](TEXT)
    with pytest.raises(ProtocolError):
        read(packed[: len(packed) // 2], coding)


def test_second_member_cut_short():
    """A second member that ends early is missed too."""
    with pytest.raises(ProtocolError):
        read(gzip.compress(b"a") + gzip.compress(TEXT * 2)[:-20], "gzip", max_bytes=9_000_000)


@pytest.mark.parametrize("coding", CODINGS)
def test_broken(coding):
    """What is not in the coding, or breaks in its middle, is refused."""
    with pytest.raises(CodingError):
        read(b"<p>not packed at all" * 50, coding)
    packed = CODINGS[coding](TEXT)
    middle = len(packed) // 2
    with pytest.raises((CodingError, ProtocolError)):
        read(packed[:middle] + bytes(b ^ 0xFF for b in packed[middle:]), coding)


def test_second_member_broken():
    """A second member that breaks after it gave something is no garbage."""
    second = bytearray(gzip.compress(TEXT * 2))
    second[-8] ^= 1  # the checksum
    with pytest.raises(CodingError):
        read(gzip.compress(b"a") + bytes(second), "gzip", max_bytes=9_000_000)


@pytest.mark.parametrize("coding", CODINGS)
def test_limits(coding):
    """The limit holds for what is received, for what comes out, and for what is between two codings."""
    pack = CODINGS[coding]
    assert len(read(pack(bytes(MAX_BYTES)), coding)) == MAX_BYTES
    with pytest.raises(TooLargeError):
        read(pack(bytes(MAX_BYTES + 1)), coding)
    with pytest.raises(TooLargeError):
        read(pack(_raw_deflate(b"") * MAX_BYTES), f"deflate, {coding}")
    with pytest.raises(TooLargeError):
        read(b"x" * (MAX_BYTES + 1), "identity")


def test_endless_stream_without_output():
    """A deflate stream of empty blocks ends at the limit, though nothing ever comes out of it."""
    with pytest.raises(TooLargeError):
        read(b"\x00\x00\x00\xff\xff" * MAX_BYTES, "deflate")


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_many_parts(coding):
    """A body of ten thousand empty members is none."""
    with pytest.raises(CodingError, match="in a row"):
        read(CODINGS[coding](b"") * 10_000, coding)


def test_zstd_window():
    """A zstd frame that asks for a window of 128 MiB is refused, as RFC 9659 has it."""
    zstd = bodies.zstd
    streamed = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    parts = streamed.compress(TEXT, zstd.ZstdCompressor.FLUSH_BLOCK) + streamed.flush()
    with pytest.raises(CodingError, match="memory"):
        read(parts, "zstd")


@pytest.mark.parametrize(
    "header",
    ["", "identity", " , ", "Identity,", "none", "UTF-8", "binary", "8bit", "text/html", "snappy", "*", "a" * 5000],
)
def test_no_coding(header):
    """No coding, said in any way, is none, and so is what nobody has heard of."""
    assert read(b"as it is", header) == b"as it is"


@pytest.mark.parametrize("header", ["gzip, UTF-8", "none\ngzip", "none,gzip,identity"])
def test_a_coding_beside_none(header):
    """Names that are no codings do not hide one that is."""
    assert read(gzip.compress(b"as it was"), header) == b"as it was"


@pytest.mark.parametrize("header", ["compress", "X-Compress", "gzip, exi", "none\nbzip2"])
def test_a_coding_that_cannot_be_undone(header):
    """A body in a real coding that we did not ask for is refused."""
    with pytest.raises(CodingError, match="cannot be undone"):
        read(b"x", header)


def test_too_many_codings():
    """Six layers are more than anybody needs."""
    assert codings({"content-encoding": "gzip" + ", gzip" * 4}) == ["gzip"] * 5
    with pytest.raises(CodingError, match="6 content codings"):
        codings({"content-encoding": "gzip" + ", gzip" * 5})


@pytest.mark.parametrize(
    ("text", "length"),
    [("0", 0), ("5", 5), ("007", 7), ("9" * 5000, 10**18), ("-1", None), ("5, 5", None), ("٥", None), ("", None)],
)
def test_content_length(text, length):
    """A length is a plain number; one beyond all bounds is very large."""
    assert content_length({"content-length": text}) == length


@given(st.binary(max_size=300), st.sampled_from(sorted(CODINGS)))
def test_any_bytes(body, coding):
    """Any bytes in any coding are a body, or one of the errors."""
    try:
        assert len(read(body, coding)) <= MAX_BYTES
    except (CodingError, ProtocolError, TooLargeError) as error:
        assert str(error)  # noqa: PT017 - one of two ways
