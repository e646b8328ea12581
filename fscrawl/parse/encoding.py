"""The character encoding of a page. Pure: no disk, no socket.

Vocabulary:
  label      the name of an encoding as a page or server writes it, in many spellings: "Latin1", "x-sjis", "UTF8"
  encoding   what a label means by https://encoding.spec.whatwg.org/, in the spelling of webencodings: "windows-1252"
  prescan    the search for a declaration in the first 1024 bytes, by a tokeniser that knows comments and attributes

Promise: `sniff_encoding` finds an encoding for any bytes. If the page or the server declares one, it is the one that
browsers use. `decode` turns any bytes into text, and bytes that cannot be decoded into U+FFFD.
"""

from __future__ import annotations

import codecs
import re

import webencodings

from fscrawl.parse import decoders
from fscrawl.parse.headers import charset

FALLBACK = "windows-1252"  # what browsers use for a page without a declaration that is not UTF-8

_PRESCAN_BYTES = 1024
_LATE_BYTES = 65536  # a page that is not UTF-8 is searched so far for a declaration
_SAMPLE_BYTES = 4096  # for guessing, which takes some 10 ms for so many
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))

# Pages without a declaration have one of these encodings: the codec of Python, and its encoding. Otherwise a hundred
# code pages of mainframes would be guessed, few of which a browser can read. The encodings that are almost the same as
# windows-1252 and -1250 (-1254, -1257, iso-8859-2) are left out: French was taken for Baltic. gb18030 is guessed by its
# part gbk: charset_normalizer remembers every character that it has met, and gb18030 has a million of them, 280 MB.
_GUESSES = {
    "cp1252": "windows-1252",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1253": "windows-1253",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "koi8_r": "koi8-r",
    "cp932": "shift_jis",
    "euc_jp": "euc-jp",
    "gbk": "gb18030",
    "big5": "big5",
    "cp949": "euc-kr",
}


def sniff_encoding(body: bytes, content_type: str | None = None) -> str:
    """Return the WHATWG name of a page's encoding, by byte order mark, HTTP, prescan or detection, in this order.

    `content_type`: the value of the HTTP header. A wrong declaration is followed, as in browsers.

    >>> sniff_encoding(b"<meta charset=utf-8>", "text/html; charset=Shift-JIS")
    'shift_jis'
    >>> sniff_encoding(b"<meta charset=latin1>")
    'windows-1252'
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    return _of_header(content_type) or _prescan(body[:_PRESCAN_BYTES]) or _detect(body)


def decode(body: bytes, encoding: str) -> str:
    """Decode bytes by an encoding that `sniff_encoding` returned, without the byte order mark.

    >>> decode(bytes.fromhex("efbbbf 61 ff"), "utf-8")
    'a\\ufffd'
    """
    for mark, name in _BOMS:
        if name == encoding and body.startswith(mark):
            body = body[len(mark) :]
    if encoding != "utf-8" and (text := decoders.decode(body, encoding)) is not None:
        return text
    found = webencodings.lookup(encoding)
    return found.codec_info.decode(body, "replace")[0] if found else body.decode("utf-8", "replace")


def _of_header(content_type: str | None) -> str | None:
    label = charset(content_type)
    return _lookup(label) if label else None


def _lookup(label: str | bytes) -> str | None:
    found = webencodings.lookup(label if isinstance(label, str) else label.decode("latin-1"))
    return found.name if found else None


# The prescan: https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding

_MARKUP = re.compile(rb"<(?:(!--)|(meta)[\t\n\f\r /]|/?[a-z][^\t\n\f\r >]*|([!/?]))", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*
    (=[^\t\n\f\r =/>]*|[^\t\n\f\r =/>]+)
    (?:[\t\n\f\r ]*=[\t\n\f\r ]*
        (?:"([^"]*)(?:"|\Z) | '([^']*)(?:'|\Z) | ([^\t\n\f\r >"'][^\t\n\f\r >]*))?
    )?""",
    re.VERBOSE,
)
_TAG_END = re.compile(rb"[\t\n\f\r /]*")
_CONTENT_CHARSET = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;]+))""", re.IGNORECASE
)
_XML = re.compile(rb"""<\?xml[^>]*?encoding[\x00-\x20]*=[\x00-\x20]*(["'])([^"'>]*)\1""")
# How most pages begin. To see that takes a fifth of the time of looking at each tag.
_USUAL = re.compile(
    rb"""[\t\n\f\r ]*+(?:<!doctype[ ]html>[\t\n\f\r ]*+)?
    <html(?:[\t\n\f\r ]++[a-z:-]++="[^"]*+")*+>[\t\n\f\r ]*+
    <head>[\t\n\f\r ]*+(?:<!--[^<>-]*+-->[\t\n\f\r ]*+)*+
    <meta[ ]charset="utf-8"[ ]?/?>""",
    re.VERBOSE | re.IGNORECASE,
)
_XML_UTF16 = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))


def _prescan(head: bytes) -> str | None:
    for mark, name in _XML_UTF16:
        if head.startswith(mark):
            return name
    if _USUAL.match(head):
        return "utf-8"
    return _meta_encoding(head) or _xml_encoding(head)


def _xml_encoding(head: bytes) -> str | None:
    found = _XML.match(head)
    return _declared(found[2]) if found else None


def _declared(label: bytes) -> str | None:
    """Return the encoding of a label that was found in ASCII text. Since it could be read, it is not UTF-16."""
    name = _lookup(label)
    if name in {"utf-16be", "utf-16le"}:
        return "utf-8"
    return FALLBACK if name == "x-user-defined" else name


def _meta_encoding(head: bytes) -> str | None:
    position = 0
    while found := _MARKUP.search(head, position):
        comment, meta, declaration = found.groups()
        if comment:
            position = _after(head, b"-->", found.start() + 2)  # "<!-->" is a complete comment
        elif declaration:
            position = _after(head, b">", found.end())
        else:
            values, position = _attributes(head, found.end())
            name = _of_meta(values) if meta and position >= 0 else None
            if name:
                return name
        if position < 0:  # the tag or comment goes on behind the 1024 bytes
            break
    return None


def _after(head: bytes, end: bytes, position: int) -> int:
    found = head.find(end, position)
    return found + len(end) if found >= 0 else -1


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Read attributes up to the end of the tag. Return them and the position after it, -1 if the bytes end before."""
    values: dict[bytes, bytes] = {}
    while found := _ATTRIBUTE.match(head, position):
        name, double, single, bare = found.groups()
        values.setdefault(name.lower(), double or single or bare or b"")
        position = found.end()
    end = _TAG_END.match(head, position)
    position = end.end() if end else position
    return values, position + 1 if position < len(head) else -1


def _of_meta(values: dict[bytes, bytes]) -> str | None:
    if b"charset" in values:
        return _declared(values[b"charset"])
    if values.get(b"http-equiv", b"").lower() == b"content-type":
        found = _CONTENT_CHARSET.search(values.get(b"content", b""))
        if found:
            return _declared(found[1] or found[2] or found[3] or b"")
    return None


# Detection: there is no declaration


def _detect(body: bytes) -> str:
    try:
        # Not final: a body cut at its size limit may end within a character.
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError as error:
        return _guess(body, error.start)
    return "utf-8"


def _guess(body: bytes, position: int) -> str:
    """Use a late declaration, or guess from the text around the first byte that is not UTF-8."""
    late = _meta_encoding(body[:_LATE_BYTES])  # browsers start again when they find one
    if late:
        return late
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few pages need it, and it takes 10 ms to load

    start = max(0, position - _SAMPLE_BYTES // 8)
    sample = body[start : start + _SAMPLE_BYTES]
    best = from_bytes(sample, cp_isolation=list(_GUESSES), preemptive_behaviour=False).best()
    return _GUESSES.get(best.encoding, FALLBACK) if best else FALLBACK
