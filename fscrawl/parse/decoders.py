"""Decoders of the encodings of browsers (https://encoding.spec.whatwg.org/) of which Python knows less. Pure.

    windows-*      bytes from 80 to 9F that have no character are control characters
    koi8-u         has the two letters of Belarusian
    gbk, gb18030   are one decoder, in which 80 alone is the euro
    euc-jp, iso-2022-jp   have the characters of NEC and IBM, such as ① and ㈱, which Python's shift_jis of Windows has;
                   the latter has kana of half width

Promise: what Python decodes without an error is decoded as before, except for the two letters of koi8-u. Bytes that no
browser can decode become U+FFFD. Bytes that are all wrong take no longer than others: `_MOST_REPAIRS`.
"""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable
from functools import cache

_UNDEFINED = "\ufffe"  # for `charmap_decode`
_BELARUSIAN = {0xAE: "ў", 0xBE: "Ў"}
_MOST_REPAIRS = 100_000  # of a page; each takes a microsecond
_FAR_BYTES = 4096
_TWO_BYTES = (b"\x1b$B", b"\x1b$@")  # what begins two bytes a character in iso-2022-jp


class _TooManyError(Exception):
    """A page has more errors than characters that Python does not know."""


class _Repairs(threading.local):
    left = 0


_repairs = _Repairs()


def decode(body: bytes, name: str) -> str | None:
    """Decode bytes by an encoding, in the spelling of webencodings; None if Python's decoder does as browsers do.

    >>> decode(bytes.fromhex("61 80 81"), "windows-1252"), decode(bytes.fromhex("ada1 ff 61"), "euc-jp")
    ('a€\\x81', '①\ufffda')
    """
    if name.startswith("windows-") or name == "koi8-u":
        return codecs.charmap_decode(body, "replace", _table(name))[0]
    decoder = _DECODERS.get(name)
    return None if decoder is None else decoder(body)


@cache
def _table(name: str) -> str:
    """Give the characters of all bytes."""
    python = codecs.lookup(name.replace("windows-", "cp"))
    found = [python.decode(bytes([byte]), "replace")[0] for byte in range(256)]
    for byte, character in enumerate(found):
        if character == "\ufffd":
            found[byte] = chr(byte) if byte < 0xA0 else _UNDEFINED
        elif name == "koi8-u":
            found[byte] = _BELARUSIAN.get(byte, character)
    return "".join(found)


def _repaired(codec: str, errors: str) -> Callable[[bytes], str]:
    def decode(body: bytes) -> str:
        _repairs.left = _MOST_REPAIRS
        try:
            return body.decode(codec, errors)
        except _TooManyError:
            return body.decode(codec, "replace")

    return decode


def _count() -> None:
    _repairs.left -= 1
    if _repairs.left < 0:
        raise _TooManyError


def _character(error: UnicodeError, pair: bytes) -> tuple[str, int]:
    """Give the character of two bytes, as they are in iso-2022-jp, and where decoding goes on."""
    assert isinstance(error, UnicodeDecodeError)
    _count()
    if len(pair) < 2 or not (min(pair) >= 0x21 and max(pair) <= 0x7E):
        return "\ufffd", error.end
    row, cell = pair[0] - 0x21, pair[1] - 0x21
    first = row // 2 + (0x81 if row < 62 else 0xC1)
    second = cell + 0x9F if row % 2 else cell + 0x40 + (cell >= 63)
    return bytes([first, second]).decode("cp932", "replace")[:1], error.start + 2


def _repair_gb(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    _count()
    return "€" if error.object[error.start] == 0x80 else "\ufffd", error.start + 1


def _repair_euc(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _character(error, bytes(byte ^ 0x80 for byte in error.object[error.start : error.start + 2]))


def _repair_iso(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    escape = error.object.rfind(b"\x1b", max(0, error.start - _FAR_BYTES), error.start)
    is_pair = escape >= 0 and error.object[escape : escape + 3] in _TWO_BYTES
    return _character(error, error.object[error.start : error.start + 2] if is_pair else b"")


codecs.register_error("fscrawl-gb18030", _repair_gb)
codecs.register_error("fscrawl-euc-jp", _repair_euc)
codecs.register_error("fscrawl-iso-2022-jp", _repair_iso)
_DECODERS = {
    "gbk": _repaired("gb18030", "fscrawl-gb18030"),
    "gb18030": _repaired("gb18030", "fscrawl-gb18030"),
    "euc-jp": _repaired("euc_jp", "fscrawl-euc-jp"),
    "iso-2022-jp": _repaired("iso2022_jp_ext", "fscrawl-iso-2022-jp"),
}
