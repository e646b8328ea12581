"""The encodings of browsers, both ways: where Python's codecs differ, and all pairs at once."""

import hashlib
from urllib.parse import unquote_to_bytes

import pytest
import webencodings
from hypothesis import example, given
from hypothesis import strategies as st

from fscrawl.parse import legacy_encodings
from fscrawl.parse.legacy_encodings import decode, decode_pieces, encode_query

OTHERS = ("iso-2022-jp", "utf-8", "utf-16le", "utf-16be", "replacement")
MULTIBYTE = ("big5", "euc-jp", "euc-kr", "gb18030", "gbk", "shift_jis")


@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("windows-1252", "80 81 8d 9d ff", "€\x81\x8d\x9dÿ"),
        ("windows-1253", "81 aa d2 e1", "\x81\ufffd\ufffdα"),
        ("windows-1255", "ca e0", "\u05baא"),
        ("windows-874", "80 81 a1 db", "€\x81ก\ufffd"),
        ("koi8-u", "ae be c1 f1", "ўЎаЯ"),
        ("x-user-defined", "61 80 ff", "a\uf780\uf7ff"),
        ("replacement", "61 62", "\ufffd"),
        ("replacement", "", ""),
        ("utf-16le", "61 00 00 d8 62 00 63", "a\ufffdb\ufffd"),
        ("gbk", "61 80 8140 8180 ff 3c", "a€丂亐\ufffd<"),
        ("gbk", "a3a0 a6d9 a8bc fe59 8135f437", "\u3000︐ḿ龴\ue7c7"),
        ("gbk", "8130 3c", "\ufffd0<"),
        ("gb18030", "81308130 8130 81", "\x80\ufffd"),
        ("gb18030", "8432a530 8130 ff 81 3c", "\ufffd\ufffd0\ufffd\ufffd<"),
        ("gb18030", "8031 32", "€12"),
        ("big5", "a145 a14e a241 a1fe a3c0 a3e1 c6a1 c7fd 877a fb48 f9fe", "‧﹑∕／␀€①Й㡵嘅￭"),
        ("big5", "8862 8864 88a3 88a5", "Ê̄Ê̌ê̄ê̌"),
        ("big5", "ff 81 3c a1ff 80 a1", "\ufffd\ufffd<\ufffd\ufffd\ufffd"),
        ("euc-kr", "b0a1 81 41 c9a1 b0 3c c9", "가갂\ufffd\ufffd<\ufffd"),
        ("euc-jp", "b0a1 ada1 adea f9a1 3c a1c1 a1dd a2cc", "亜①㈱纊<～－￢"),
        ("euc-jp", "8fa2b7 8fb0a1 8ffefe 8fa2 3c 8f 3c 7e", "～丂\ufffd\ufffd<\ufffd<~"),
        ("euc-jp", "ad 3c ad", "\ufffd<\ufffd"),
        ("euc-jp", "afaf 61 8eb1 8ee0 8f", "\ufffdaｱ\ufffd\ufffd"),
        ("shift_jis", "8740 878a b1 80 a0 fd ff 81 3c f040 5c 7e", "①㈱ｱ\x80\ufffd\ufffd\ufffd\ufffd<\ue000\\~"),
        ("iso-2022-jp", "1b2442 3021 2d21 2d6a 1b2842 61 ff 0e", "亜①㈱a\ufffd\ufffd"),
        ("iso-2022-jp", "1b2849 31 60 1b284a 5c 7e 1b2842 5c", "ｱ\ufffd¥‾\\"),
        ("iso-2022-jp", "1b2440 3021 30", "亜\ufffd"),  # the end, between two bytes
        ("iso-2022-jp", "1b2442 30 1b2842 61", "\ufffda"),
        ("iso-2022-jp", "1b2442 30 0a 3021 2121 2931", "\ufffd亜\u3000\ufffd"),
        ("iso-2022-jp", "1b2442 1b2842 61", "\ufffda"),  # nothing between two escape sequences
        ("iso-2022-jp", "1b2842 61 1b 62 1b28 63 1b", "a\ufffdb\ufffd(c\ufffd"),
    ],
)
def test_decoding(encoding, body, text):
    """Bytes mean what the Encoding Standard says, and what means nothing takes no ASCII along."""
    assert decode(bytes.fromhex(body), encoding) == text


@pytest.mark.parametrize(
    ("encoding", "query", "expected"),
    [
        ("windows-1252", "é€\x81Ω", "%E9%80%81%26%23937%3B"),
        ("windows-1255", "\u05ba", "%CA"),
        ("koi8-u", "ў", "%AE"),
        ("x-user-defined", "\uf780", "%80"),
        (
            "gbk",
            "€\u3000\ue5e5︐\ue78dḿ\ue7c7丂é😀",
            "%80%A1%A1%26%2358853%3B%A6%D9%A6%D9%A8%BC%26%2359335%3B%81@%A8%A6%26%23128512%3B",
        ),
        ("gb18030", "€\ue5e5\ue7c7\ue78d×ÿ😀", "%A2%E3%26%2358853%3B%815%F47%A6%D9%A1%C1%810%8B7%949%FC6"),
        ("big5", "①═十‧㡵é∕／", "%C6%A1%F9%F9%A4Q%A1E%26%2314453%3B%26%23233%3B%A2A%A1%FE"),
        ("euc-kr", "가갂é", "%B0%A1%81A%26%23233%3B"),
        ("euc-jp", "㈱丸纊～〜ｱ¥‾−丂", "%AD%EA%B4%DD%F9%A1%A1%C1%26%2312316%3B%8E%B1\\~%A1%DD%26%2319970%3B"),
        ("shift_jis", "㈱丸纊～ｱ¥‾−\x80\ue000", "%87%8A%8A%DB%FA\\%81`%B1\\~%81|%80%26%2357344%3B"),
        ("iso-2022-jp", "a=亜ｱﾞ①&é", "a=%1B$B0!%%22!+-!%1B(B&%26%23233%3B"),
        ("iso-2022-jp", "¥a‾~é¥", "%1B(J\\a~%1B(B~%26%23233%3B%1B(J\\%1B(B"),
        ("iso-2022-jp", "亜\x0e", "%1B$B0!%1B(B%26%2365533%3B"),
        ("utf-8", "é", "é"),
        ("replacement", "é", "é"),
    ],
)
def test_encoding(encoding, query, expected):
    """Queries are encoded by the standard's encoders; a character that one lacks becomes a reference."""
    assert encode_query(query, encoding) == expected


def digest(texts):
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("encoding", "decoded", "encoded"),
    [
        ("big5", "708b047dd842085a", "67c63007ed3f8deb"),
        ("euc-jp", "f5bce45af155bc68", "9f248bcf5795d617"),
        ("euc-kr", "a70cb0db6c6f738b", "678e9322a62c44fa"),
        ("gb18030", "ee552985d349aaa6", "bed6229115388f92"),
        ("gbk", "ee552985d349aaa6", "5d2235092a71af41"),
        ("shift_jis", "dc41c920ca79b540", "c422e6ee5f92080f"),
        ("iso-2022-jp", "d84175aa6184bf7e", "d19be55bed614e43"),
    ],
)
def test_all_pairs(encoding, decoded, encoded):
    """All pairs, and all characters of two planes, are as in the standard's index tables.

    The digests are those of another implementation (the npm package @exodus/bytes 1.16) and, of what is encoded, of
    Chromium 156. tests/system/browser/test_encodings.py asks the browser again.
    """
    bytes_ = range(0x80) if encoding == "iso-2022-jp" else range(0x80, 0x100)
    pairs = [bytes([lead, trail]) for lead in bytes_ for trail in range(bytes_.stop)]
    if encoding == "euc-jp":
        pairs += [b"\x8f" + pair for pair in pairs if pair[1] >= 0x80]
    begin = b"\x1b$B" if encoding == "iso-2022-jp" else b""
    assert digest(decode(begin + pair, encoding) for pair in pairs) == decoded
    characters = map(chr, [*range(0x80, 0xD800), *range(0xE000, 0x10000), *range(0x20000, 0x2A6E0)])
    assert digest(encode_query(character, encoding) for character in characters) == encoded


def test_single_bytes():
    """The bytes of all encodings of one byte a character mean what they mean in that other implementation."""
    names = sorted({*webencodings.LABELS.values()} - {*MULTIBYTE, *OTHERS})
    assert digest(decode(bytes(range(256)), name) for name in names) == "b679529dec5d3901"
    for name in names:
        text = decode(bytes(range(0x80, 0x100)), name).replace("\ufffd", "")
        assert decode(unquote_to_bytes(encode_query(text, name)), name) == text


@pytest.mark.parametrize("encoding", [*MULTIBYTE, "iso-2022-jp", "windows-1252", "utf-16be", "replacement"])
@given(st.binary(max_size=12) | st.text(alphabet="a①¥あ가个<", max_size=6).map(str.encode), st.integers(0, 12))
@example(b"\x800", 0)
@example(b"\x8f\xa2\xb7", 0)  # in euc-jp, the only one of its characters that Python takes for ASCII
def test_pieces(encoding, body, position):
    """A document that comes in pieces is decoded as one that comes as a whole."""
    pieces = [body[:position], body[position:]]
    assert "".join(decode_pieces(iter(pieces), encoding)) == decode(body, encoding)


@pytest.mark.parametrize("encoding", [*MULTIBYTE, "iso-2022-jp"])
def test_errors_without_end(monkeypatch, encoding):
    """A page that is all wrong is decoded as Python does, which takes no longer for each error."""
    monkeypatch.setattr(legacy_encodings, "_MOST_WRONG", 10)
    assert decode(b"\xff" * 10, encoding) == "\ufffd" * 10
    assert decode(b"\xff" * 30, encoding) == "\ufffd" * 30


@given(st.binary(), st.sampled_from(sorted(set(webencodings.LABELS.values()))))
def test_any_bytes(body, encoding):
    """Every encoding decodes any bytes."""
    assert isinstance(decode(body, encoding), str)
