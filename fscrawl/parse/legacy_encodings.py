"""The encodings of browsers beside UTF-8, as https://encoding.spec.whatwg.org/ has them: bytes ↔ text. Pure.

Vocabulary:
  pair      the two bytes of a character, in the encodings of China, Japan and Korea
  known     the pairs that Python's codec takes for wrong, and their characters
  changed   the characters for which Python's codec takes some pairs, and the right ones

Promise: any bytes are decoded to the text that the standard says, and any query is encoded to its bytes. Python's
codecs do the work; the few hundred characters in which they differ are corrected. A wrong pair becomes one U+FFFD, and
its second byte is read again if it is ASCII: it may be the "<" of a tag. A page that is all wrong takes no longer than
others.
"""

from __future__ import annotations

import codecs
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

import webencodings

_MOST_WRONG = 100_000  # of a page; each takes half a microsecond
_WRONG = "\ufffd"

# Single bytes: what Python's codecs lack or have otherwise. In those of Windows, bytes from 80 to 9F that have no
# character are control characters.
_OTHER_BYTES = {"koi8-u": {0xAE: "ў", 0xBE: "Ў"}, "windows-1255": {0xCA: "\u05ba"}}
_UNDEFINED = "\ufffe"  # for `charmap_decode`

# Big5: the pairs that have no character, or another one, in both codecs of Python: a pair and its character, or those
# of the pairs from it on.
_BIG5 = """
877a㡵𡵓𣚞𦀡㻬𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄𥶹瓆鿇垳䤯呌䄱𣚎堘穲𧭥讏䚮𦺈䆁𥶙箮𢒼鿈𢓁𢓉𢓌鿉
87d7蔄𣖻䂴鿊䓡𪷿拁灮鿋 8e69箸 8e6f簆 8e7e糎 8eab緒 8eb4縝 8ecd者 8ed0耨 8f57菁 8f69蒨 8f6e萏 8fcb覦覩 8ffe起 906d都
907a銹 90dc靜 90f1響 91bf鼖 9244蔃 92af兙兛兝兞 92c8鍮 92d1瑹 9447浧 94ca禛 95d9邗 9644靝 96ed瀞 96fc嬨 9b76爁 9b78矗
9b7b纇 9bc6駖 9bde釔 9bec惞 9bf6澶 9c42輶 9c53侻 9c62營 9c68鄄 9c6b鷰 9c77菏 9cbc尐秣 9cd0婧 9d57輋 9d5a筑 9dc4拐
9ea9恢 9eef痹 9efd汊 9f60鬮 9f66鼗 9fcb僭 9fd8弌 a063蠏 a077拎 a0d5瑨 a0df煢 a0e4牐
a3c0␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡ c6cf廴 c6d3无 c6d5癶 c6d7隶 c6de〃仝 fa5f倩 fa66偽 fabd包 fac5卄 fad5卿 fb48嘅
fbb8婷 fbf3幵 fbf9廐 fc4f彘 fc6c悤 fcb9撐 fce2晴 fcf1杞 fdb7沜渝 fdbb港 fdf1煮 fe52猪 fe6f瑜 feaa瓩 fedd砉
"""

# GB 18030: characters that have left the private use area since Python's table was made, and two of their own.
_GB = {"\ue5e5": "\u3000", "\ue7c7": "ḿ", "ḿ": "\ue7c7"} | dict(
    zip("\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793\ue794\ue795\ue796", "︐︒︑︓︔︕︖︗︘︙", strict=True)
)
_GB |= dict(zip("\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864", "龴龵龶龷龸龹龺龻", strict=True))


class _Codec(NamedTuple):
    """One encoding of two bytes a character.

    python   the codec that does the work
    wrong    the bytes that one U+FFFD stands for, where no character begins
    leads    the first bytes of pairs
    right    the characters of pairs, where Python's codec may not have them; "" where there is none
    """

    python: str
    wrong: str
    leads: range
    right: Callable[[list[bytes]], list[str]] | None = None

    def pairs(self) -> list[bytes]:
        trails = range(0xA1 if self.python == "euc_jp" else 0x40, 0xFF)
        return [bytes([lead, trail]) for lead in self.leads for trail in trails]


def _python(pairs: list[bytes], codec: str) -> list[str]:
    found = b"\n".join(pairs).decode(codec, "replace").split("\n")  # one by one, it takes ten times as long
    return ["" if each.startswith(_WRONG) else each for each in found]


def _big5(pairs: list[bytes]) -> list[str]:
    trails = bytes([*range(0x40, 0x7F), *range(0xA1, 0xFF)])
    table = {}
    for run in _BIG5.split():
        first = bytes.fromhex(run[:4])
        for trail, character in zip(trails[trails.index(first[1]) :], run[4:], strict=False):
            table[bytes([first[0], trail])] = character
    found = zip(pairs, _python(pairs, "cp950"), _python(pairs, "big5hkscs"), strict=True)
    return [table.get(pair) or (windows if 0xA1 <= pair[0] <= 0xA3 else other) for pair, windows, other in found]


def _jis(pairs: list[bytes]) -> list[str]:
    """Give the characters of pairs of euc-jp: Windows' shift_jis has them at the same rows and cells."""
    shifted = []
    for lead, trail in pairs:
        row, cell = lead - 0xA1, trail - 0xA1
        first = row // 2 + (0x81 if row < 62 else 0xC1)
        shifted.append(bytes([first, cell + 0x9F if row % 2 else cell + 0x40 + (cell >= 63)]))
    return _python(shifted, "cp932")


_CODECS = {
    # Four bytes that the end cuts are one error; elsewhere the first of them is one, and the others are read again.
    "gb18030": _Codec(
        "gb18030", r"[\x81-\xfe](?:[0-9]\Z|[0-9][\x81-\xfe](?:\Z|[0-9])|[\x80-\xff])?|.", range(0x81, 0xFF)
    ),
    "big5": _Codec("cp950", r"[\x81-\xfe][\x80-\xff]?|.", range(0x81, 0xFF), _big5),
    "euc-kr": _Codec("cp949", r"[\x81-\xfe][\x80-\xff]?|.", range(0x81, 0xFF)),
    "shift_jis": _Codec("cp932", r"[\x81-\x9f\xe0-\xfc][\x80-\xff]?|.", range(0x81, 0xFD)),
    "euc-jp": _Codec("euc_jp", r"(?:\x8f[\xa1-\xfe]|[\x8e\x8f\xa1-\xfe])[\x80-\xff]?|.", range(0xA1, 0xFF), _jis),
}
_AS_A_WHOLE = ("euc-jp", "iso-2022-jp", "replacement")
_CODECS["gbk"] = _CODECS["gb18030"]  # one decoder by the standard


class _Corrections(NamedTuple):
    errors: str  # the name of the handler of Python's errors
    changed: dict[str, str]
    has_changed: re.Pattern[str] | None


class _TooManyError(Exception):
    """A page has too many wrong bytes to look at each."""


class _Wrong(threading.local):
    left = 0


_wrong = _Wrong()


def decode(body: bytes, name: str) -> str:
    """Decode bytes by an encoding, in the spelling of webencodings.

    >>> decode(bytes.fromhex("61 80 81"), "windows-1252"), decode(bytes.fromhex("ada1 ff 61"), "euc-jp")
    ('a€\\x81', '①\ufffda')
    """
    if name in _CODECS:
        return _decode_pairs(body, name)
    if name == "iso-2022-jp":
        return _decode_iso_2022_jp(body)
    if name.startswith("windows-") or name == "koi8-u":
        return codecs.charmap_decode(body, "replace", _characters(name))[0]
    if name == "replacement":  # of encodings that are dangerous: one error, whatever the bytes
        return _WRONG if body else ""
    return _webencoding(name).codec_info.decode(body, "replace")[0]


def _webencoding(name: str) -> webencodings.Encoding:
    return webencodings.lookup(name) or webencodings.UTF8


def decode_pieces(pieces: Iterable[bytes], name: str) -> Iterator[str]:
    """Decode a document piece by piece. Some of Japan's are decoded as a whole: nobody sends large ones in these."""
    if name in _AS_A_WHOLE:
        yield decode(b"".join(pieces), name)
    elif name in _CODECS:
        decoder = codecs.getincrementaldecoder(_CODECS[name].python)(_corrections(name).errors)
        for piece in pieces:
            _wrong.left = len(piece) + 8
            yield _changed(decoder.decode(piece), name)
        yield _decode_pairs(decoder.getstate()[0], name)  # by itself it would lose what is behind an error at the end
    elif name.startswith("utf-"):
        decoder = _webencoding(name).codec_info.incrementaldecoder("replace")
        yield from map(decoder.decode, pieces)
        yield decoder.decode(b"", final=True)
    else:
        yield from (decode(piece, name) for piece in pieces)


@cache
def _characters(name: str) -> str:
    """Give the characters of all bytes."""
    found = bytes(range(256)).decode(name.replace("windows-", "cp"), "replace")
    other = _OTHER_BYTES.get(name, {})
    unknown = [chr(byte) if byte < 0xA0 else _UNDEFINED for byte in range(256)]
    return "".join(
        other.get(byte, unknown[byte] if character == _WRONG else character) for byte, character in enumerate(found)
    )


def _decode_pairs(body: bytes, name: str) -> str:
    if name == "euc-jp":  # of all, the only one that Python takes for ASCII
        body = body.replace(b"\x8f\xa2\xb7", b"\xa1\xc1")
    _wrong.left = _MOST_WRONG
    try:
        text = body.decode(_CODECS[name].python, _corrections(name).errors)
    except _TooManyError:
        text = body.decode(_CODECS[name].python, "replace")
    return _changed(text, name)


def _changed(text: str, name: str) -> str:
    corrections = _corrections(name)
    if corrections.has_changed is None:
        return text
    return corrections.has_changed.sub(lambda found: corrections.changed[found[0]], text)


@cache
def _corrections(name: str) -> _Corrections:
    """Find out where Python's codec is wrong, which takes some milliseconds."""
    codec = _CODECS[name]
    known: dict[bytes, str] = {}
    changed: dict[str, str] = {}
    if codec.python == "gb18030":
        known, changed = {b"\x80": "€"}, _GB
    elif codec.python == "cp932":
        changed = dict.fromkeys("\uf8f0\uf8f1\uf8f2\uf8f3", _WRONG)  # A0, FD, FE, FF
    elif codec.right is not None:
        pairs = codec.pairs()
        known, changed = _differences(pairs, _python(pairs, codec.python), codec.right(pairs))
    errors = f"fscrawl.{name}"
    codecs.register_error(errors, _handler(re.compile(codec.wrong.encode("latin-1"), re.DOTALL), known))
    return _Corrections(errors, changed, re.compile(f"[{''.join(sorted(changed))}]") if changed else None)


def _differences(pairs: list[bytes], python: list[str], right: list[str]) -> tuple[dict[bytes, str], dict[str, str]]:
    known = {pair: it for pair, wrong, it in zip(pairs, python, right, strict=True) if it and not wrong}
    changed = {wrong: it for wrong, it in zip(python, right, strict=True) if wrong != it and wrong}
    for pair, it in known.items():
        if it in changed:  # must not be changed: in place of it stands one for private use, which no pair is
            known[pair] = chr(0xE000 + len(changed))
            changed[known[pair]] = it
    return known, changed


def _handler(wrong: re.Pattern[bytes], known: dict[bytes, str]) -> Callable[[UnicodeError], tuple[str, int]]:
    def handle(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        _wrong.left -= 1
        if _wrong.left < 0:
            raise _TooManyError
        body, start = error.object, error.start
        pair = body[start : start + 2]
        if (character := known.get(pair)) is not None:
            return character, start + len(pair)
        found = wrong.match(body, start)
        assert found is not None
        return known.get(found[0], _WRONG), found.end()

    return handle


# iso-2022-jp: escape sequences say what the bytes behind them are. All that euc-jp has, too, is decoded by that: pairs
# have the same bytes there, with the high bit.

_ESCAPES = re.compile(rb"\x1b(\([BJI]|\$[@B])")
_NOT_PAIRS = re.compile(rb"((?:[!-~]{2})++)|[!-~][^\x1b]?|.", re.DOTALL)
_TO_PAIRS = bytes(byte | 0x80 for byte in range(256))
_TO_ASCII = bytes(0xFF if byte in (0x0E, 0x0F, 0x1B) or byte > 0x7F else byte for byte in range(256))
_NOT_EUC = {
    b"(J": "".join(_UNDEFINED if byte in (0x0E, 0x0F, 0x1B) else chr(byte) for byte in range(128)).translate(
        {0x5C: "¥", 0x7E: "‾"}
    ),
    b"(I": "".join(chr(0xFF40 + byte) if 0x21 <= byte < 0x60 else _UNDEFINED for byte in range(128)),
}


def _decode_iso_2022_jp(body: bytes) -> str:
    pieces = _ESCAPES.split(body)
    texts, euc = [], [pieces[0].translate(_TO_ASCII)]
    for position in range(2, len(pieces), 2):
        set_, piece = pieces[position - 1], pieces[position]
        if set_ in _NOT_EUC:
            texts.append(_decode_pairs(b"".join(euc), "euc-jp"))
            texts.append(codecs.charmap_decode(piece, "replace", _NOT_EUC[set_])[0])
            euc.clear()
        elif set_ == b"(B":
            euc.append(piece.translate(_TO_ASCII))
        else:
            euc.append(_NOT_PAIRS.sub(lambda found: found[1] or b"\xff", piece).translate(_TO_PAIRS))
        if not piece and position < len(pieces) - 1:
            euc.append(b"\xff")  # an escape sequence without a character behind it is an error: it may hide something
    return "".join(texts) + _decode_pairs(b"".join(euc), "euc-jp")


# Encoding: of the queries of links

_IN_QUERY = "!$%&()*+,/:;=?@[\\]^`{|}"  # needs no escape in a query, like letters, digits and "_.-~"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_LAST_OF_BIG5 = "═╞╡╪十卅"  # have two pairs, of which the last one counts
_ROMAN = {"¥": b"\\", "‾": b"~"}
_KANA = "".join(map(chr, range(0xFF61, 0xFFA0)))  # of half width
_FULL_WIDTH = {each: unicodedata.normalize("NFKC", each) for each in _KANA} | {"ﾞ": "゛", "ﾟ": "゜"}


def encode_query(query: str, name: str) -> str:
    """Encode what is not ASCII in a query, as the URL standard says ("percent-encode after encoding").

    A character that the encoding lacks becomes "&#NNNN;". `name`: in the spelling of webencodings.

    >>> encode_query("q=ä€", "windows-1251"), encode_query("q=ä", "utf-8")
    ('q=%26%23228%3B%88', 'q=ä')
    """
    if name in {"utf-8", "utf-16le", "utf-16be", "replacement"}:
        return query
    if name == "iso-2022-jp":
        return _encode_iso_2022_jp(query)
    table = _bytes_of(name)
    return _NOT_ASCII.sub(lambda run: "".join(_escaped(each, _bytes(each, name, table)) for each in run[0]), query)


def _escaped(character: str, data: bytes | None) -> str:
    return f"%26%23{ord(character)}%3B" if data is None else quote(data, _IN_QUERY)


def _bytes(character: str, name: str, table: dict[str, bytes]) -> bytes | None:
    found = table.get(character)
    if found is None and name == "gb18030" and character != "\ue5e5":
        return character.encode("gb18030", "replace")  # in four bytes
    return found


@cache
def _bytes_of(name: str) -> dict[str, bytes]:
    """Turn decoding round: character → bytes. It takes some ten milliseconds for pairs."""
    codec = _CODECS.get(name)
    if codec is None:
        text = decode(bytes(range(256)), name)
        return {character: bytes([byte]) for byte, character in enumerate(text) if character != _WRONG}
    # Not all pairs that are read are written: not those of Hong Kong; in shift_jis, not those of NEC's rows that are
    # IBM's, too, and not those of private use.
    not_written = {"big5": range(0xA1), "shift_jis": (0xED, 0xEE, *range(0xF0, 0xFA))}.get(name, ())
    pairs = [pair for pair in codec.pairs() if pair[0] not in not_written]
    table: dict[str, bytes] = {}
    for pair, character in zip(pairs, _decode_pairs(b"\n".join(pairs), name).split("\n"), strict=True):
        if len(character) == 1 and (character not in table or (name == "big5" and character in _LAST_OF_BIG5)):
            table[character] = pair
    table.pop(_WRONG, None)
    if name in ("euc-jp", "shift_jis"):
        lead = b"\x8e" if name == "euc-jp" else b""
        table |= {character: lead + bytes([byte]) for byte, character in enumerate(_KANA, 0xA1)}
        table |= {"−": table["－"], **_ROMAN}
    if name == "shift_jis":
        table["\x80"] = b"\x80"
    if codec.python == "gb18030":  # the pairs of 2005 are still written, but for two
        table = {each: each.encode("gb18030") for each in _GB} | table
        table |= {"\ue7c7": b"\x81\x35\xf4\x37"}
        del table["\ue5e5"]
    if name == "gbk":
        table["€"] = b"\x80"
        del table["\ue7c7"]
    return table


def _encode_iso_2022_jp(query: str) -> str:
    """Write a query with its escape sequences. What is not in the sets is written in ASCII."""
    table = _bytes_of("euc-jp")
    parts, state = [], "(B"
    for character in query:
        pair = table.get(_FULL_WIDTH.get(character, character), b"")
        if character.isascii() or not pair:
            needed = "(J" if state == "(J" and character not in "\\~" else "(B"
            part = character if character.isascii() else _escaped(character, None)
            if character in "\x0e\x0f\x1b":
                part = _escaped(_WRONG, None)
        elif character in _ROMAN:
            needed, part = "(J", _ROMAN[character].decode()
        else:
            needed, part = "$B", quote(bytes(byte & 0x7F for byte in pair), _IN_QUERY)
        if needed != state:
            parts.append("%1B" + needed)
            state = needed
        parts.append(part)
    return "".join(parts) + ("%1B(B" if state != "(B" else "")
