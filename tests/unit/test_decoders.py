"""Encodings of which Python knows less than browsers do."""

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.parse import decoders
from fscrawl.parse.encoding import decode

WINDOWS = [f"windows-{number}" for number in (874, *range(1250, 1259))]


@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("windows-1252", b"\x80\x81\x8d\x9d\xff", "€\x81\x8d\x9dÿ"),
        ("windows-1253", b"\x81\xaa\xd2\xe1", "\x81\ufffd\ufffdα"),
        ("windows-874", b"\x80\x81\xa1\xdb", "€\x81ก\ufffd"),
        ("koi8-u", b"\xae\xbe\xc1\xf1", "ўЎаЯ"),
        ("gbk", b"a\x80\x81\x40\x81\x80\xff<", "a€丂亐\ufffd<"),
        ("gbk", b"\x81\x30\x81\x30", "\x80"),
        ("gbk", b"\x81\x30<", "\ufffd0<"),
        ("gb18030", b"\x80\x80", "€€"),
        ("gb18030", b"\x8012", "€12"),
        ("euc-jp", b"\xb0\xa1\xad\xa1\xad\xea\xf9\xa1<", "亜①㈱纊<"),
        ("euc-jp", b"\xad<p>\xad", "\ufffd<p>\ufffd"),
        ("euc-jp", b"\xaf\xafa\x8e\xb1\x8f", "\ufffdaｱ\ufffd"),
        ("iso-2022-jp", b"\x1b$B0!-!-j\x1b(Ba\xff", "亜①㈱a\ufffd"),
        ("iso-2022-jp", b"\x1b(I1\x1b(Ba", "ｱa"),
        ("iso-2022-jp", b"\x1b$B0!" + b"0!" * 3000 + b"-!", "亜" * 3001 + "\ufffd"),  # too far from what begins it
        ("shift_jis", b"\x87\x40\x87\x8a", "①㈱"),
    ],
)
def test_as_in_browsers(encoding, body, text):
    """Bytes mean what they mean in browsers, and what means nothing there takes nothing else along."""
    assert decode(body, encoding) == text


@pytest.mark.parametrize("encoding", WINDOWS)
def test_what_python_knows(encoding):
    """Of the encodings of Windows, all bytes are as Python has them, but for controls."""
    python = webencodings.lookup(encoding).codec_info.decode(bytes(range(256)), "replace")[0]
    ours = decode(bytes(range(256)), encoding)
    differ = {byte for byte in range(256) if ours[byte] != python[byte]}
    assert all(0x80 <= byte < 0xA0 and (python[byte], ours[byte]) == ("\ufffd", chr(byte)) for byte in differ)


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "euc-jp", "iso-2022-jp"])
@given(
    st.lists(
        st.binary(max_size=4) | st.sampled_from([b"\x1b$B", b"\x1b(B", b"\x1b(J", b"\x1b$@", b"0!", b"\xb0\xa1", b"\n"])
    ).map(b"".join)
)
def test_without_an_error(encoding, body):
    """What Python decodes without an error is decoded as before."""
    try:
        expected = webencodings.lookup(encoding).codec_info.decode(body, "strict")[0]
    except UnicodeDecodeError:
        return
    assert decode(body, encoding) == expected


@pytest.mark.parametrize("encoding", ["gbk", "euc-jp", "iso-2022-jp"])
def test_errors_without_end(monkeypatch, encoding):
    """A page that is all wrong is decoded as Python does, which takes no longer for each error."""
    monkeypatch.setattr(decoders, "_MOST_REPAIRS", 10)
    assert decode(b"\xff" * 10, encoding) == "\ufffd" * 10
    assert decode(b"\x80\xff" * 10, encoding) == "\ufffd" * 20
