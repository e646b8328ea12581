"""The character encoding of a page. Pure: no disk, no socket.

Vocabulary:
  label      the name of an encoding as a page or server writes it, in many spellings: "Latin1", "x-sjis", "UTF8"
  encoding   what a label means by https://encoding.spec.whatwg.org/, in the spelling of webencodings: "windows-1252"
  prescan    the search for a declaration in the first 1024 bytes, by a tokeniser that knows comments and attributes
  guess      what the bytes look like, where neither server nor page declares anything

Promise: `sniff` finds an encoding for any bytes. If the page or the server declares one, it is the one that browsers
use. XML that declares none is UTF-8. `decode` turns any bytes into text, and bytes that cannot be decoded into U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal, NamedTuple

import webencodings

from fscrawl.parse import legacy_encodings
from fscrawl.parse.headers import charset, media_type

FALLBACK = "windows-1252"  # what browsers use for a page without a declaration that is not UTF-8

_PRESCAN_BYTES = 1024
_LATE_BYTES = 65536  # a page is searched so far for a declaration
# A guess reads on until it has seen so many bytes that are not ASCII, at most so many in all: the first may be the © of
# a script. It takes 0.04 ms for 1,000 bytes of text, and less where they are ASCII.
_LETTERS, _SAMPLE_BYTES, _PIECE_BYTES = 512, 1 << 18, 4096
_XML_TYPE = re.compile(r"(?:application|text)/xml|.+\+xml")
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))


class Sniffed(NamedTuple):
    """A WHATWG name, and where it comes from."""

    name: str
    source: Literal["declared", "guessed"]


def sniff(body: bytes, content_type: str | None = None, url: str = "") -> Sniffed:
    """Find a page's encoding by byte order mark, HTTP, prescan, late declaration or guess, in this order.

    `content_type`: the value of the HTTP header; `url`: of the page, whose country counts in a guess. A wrong
    declaration is followed, as in browsers. What is XML by its type, XHTML included, is in what `sniff_xml` says.

    >>> sniff(b"<meta charset=utf-8>", "text/html; charset=Shift-JIS")
    Sniffed(name='shift_jis', source='declared')
    >>> sniff(b"<title>Voil\\xe0</title><p>Voil\\xe0 la page.", None, "http://a.example.fr/")
    Sniffed(name='windows-1252', source='guessed')
    """
    if _XML_TYPE.fullmatch(media_type({"content-type": content_type or ""})):
        return Sniffed(sniff_xml(body[:_PRESCAN_BYTES], content_type), "declared")
    declared = _of_mark(body) or of_header(content_type) or _prescan(body[:_PRESCAN_BYTES]) or _late(body)
    return Sniffed(declared, "declared") if declared else Sniffed(_guess(body, url), "guessed")


def sniff_encoding(body: bytes, content_type: str | None = None, url: str = "") -> str:
    """Give the name that `sniff` finds.

    >>> sniff_encoding(b"<meta charset=latin1>")
    'windows-1252'
    """
    return sniff(body, content_type, url).name


def sniff_xml(head: bytes, content_type: str | None = None) -> str:
    """Give the encoding of XML: by byte order mark, HTTP, its declaration, else UTF-8 (RFC 7303, 3).

    Nothing is guessed. `head`: its first bytes, perhaps with white space before the declaration.

    >>> sniff_xml(b"<?xml version='1.0' encoding='koi8-r'?>"), sniff_xml(b"<rss>", "text/xml; charset=latin1")
    ('koi8-r', 'windows-1252')
    """
    head = head.lstrip(b" \t\r\n")
    return _of_mark(head) or of_header(content_type) or _of_utf16(head) or _xml_encoding(head) or "utf-8"


def _of_mark(body: bytes) -> str | None:
    return next((name for mark, name in _BOMS if body.startswith(mark)), None)


def decode(body: bytes, encoding: str) -> str:
    """Decode bytes by an encoding that `sniff_encoding` returned, without the byte order mark.

    >>> decode(bytes.fromhex("efbbbf 61 ff"), "utf-8")
    'a\\ufffd'
    """
    for mark, name in _BOMS:
        if name == encoding and body.startswith(mark):
            body = body[len(mark) :]
    return body.decode("utf-8", "replace") if encoding == "utf-8" else legacy_encodings.decode(body, encoding)


def of_header(content_type: str | None) -> str | None:
    """Give the encoding that HTTP declares; None without one that is known."""
    label = charset(content_type)
    return _lookup(label) if label else None


def _lookup(label: str | bytes) -> str | None:
    found = webencodings.lookup(label if isinstance(label, str) else label.decode("latin-1"))
    return found.name if found else None


# The prescan: https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding

_MARKUP = re.compile(
    rb"<(?:(!--)|(meta)[\t\n\f\r /]|(script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\t\n\f\r />])"
    rb"|/?[a-z][^\t\n\f\r >]*|([!/?]))",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*
    (=[^\t\n\f\r =/>]*|[^\t\n\f\r =/>]+)
    (?:[\t\n\f\r ]*=[\t\n\f\r ]*
        (?:"([^"]*)(?:"|\Z) | '([^']*)(?:'|\Z) | ([^\t\n\f\r >"'][^\t\n\f\r >]*))?
    )?""",
    re.VERBOSE,
)
_LATE_META = re.compile(rb"<meta[\t\n\f\r /][^<>]*charset")  # to see that there is none takes no walk from tag to tag
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


def _of_utf16(head: bytes) -> str | None:
    for mark, name in _XML_UTF16:
        if head.startswith(mark):
            return name
    return None


def _prescan(head: bytes) -> str | None:
    if _USUAL.match(head):
        return "utf-8"
    return _of_utf16(head) or _meta_encoding(head) or _xml_encoding(head)


def _late(body: bytes) -> str | None:
    """Give what a meta element behind the prescan says: a browser that comes to one begins again, or changes over.

    Its parser knows that there are none in scripts, which the prescan does not know.
    """
    if len(body) <= _PRESCAN_BYTES:
        return None
    beginning = body[:_LATE_BYTES]
    lowered = beginning.lower()
    return _meta_encoding(beginning, lowered) if _LATE_META.search(lowered) else None


def _xml_encoding(head: bytes) -> str | None:
    found = _XML.match(head)
    return _declared(found[2]) if found else None


def _declared(label: bytes) -> str | None:
    """Return the encoding of a label that was found in ASCII text. Since it could be read, it is not UTF-16."""
    name = _lookup(label)
    if name in {"utf-16be", "utf-16le"}:
        return "utf-8"
    return FALLBACK if name == "x-user-defined" else name


def _meta_encoding(head: bytes, lowered: bytes | None = None) -> str | None:
    """Read tag by tag. `lowered`: the same in lower case, if what stands in scripts and the like is no tag."""
    position = 0
    while found := _MARKUP.search(head, position):
        comment, meta, raw, declaration = found.groups()
        if comment:
            position = _after(head, b"-->", found.start() + 2)  # "<!-->" is a complete comment
        elif declaration:
            position = _after(head, b">", found.end())
        else:
            values, position = _attributes(head, found.end())
            name = _of_meta(values) if meta and position >= 0 else None
            if name:
                return name
            if raw and lowered and position >= 0:
                position = lowered.find(b"</" + raw.lower(), position)
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


# Guesses: there is no declaration

_NAMES = {"gb18030": "gbk", "cp874": "windows-874"}  # chardetng_py gives Python's names for these two

_ASCII = bytes(range(128))

# The last name of a host is a hint: the country, as in Firefox. Numbers and names without a dot have none.
_COUNTRY = re.compile(r"[a-z]+://[^/?#]*\.([a-z][a-z0-9-]*)\.?(?::[0-9]*)?(?![^/?#])", re.IGNORECASE)


def _guess(body: bytes, url: str) -> str:
    """Take what is valid UTF-8 for UTF-8, and otherwise guess as Firefox does, from the first bytes that are not."""
    if body.isascii():
        position = body.find(b"\x1b")  # of iso-2022-jp, whose bytes are ASCII
        if position < 0:
            return "utf-8"
    else:
        try:
            # Not final: a body cut at its size limit may end within a character.
            codecs.getincrementaldecoder("utf-8")().decode(body)
            return "utf-8"
        except UnicodeDecodeError as error:
            position = error.start
    try:
        from chardetng_py import EncodingDetector  # noqa: PLC0415 - few pages need it
    except ModuleNotFoundError:  # there is none for each computer (see pyproject.toml)
        return FALLBACK
    detector, letters = EncodingDetector(), _LETTERS
    start = max(body.rfind(b"<", 0, position), 0)  # all before it is ASCII, or nearly
    for begin in range(start, min(len(body), start + _SAMPLE_BYTES), _PIECE_BYTES):
        piece = body[begin : begin + _PIECE_BYTES]
        detector.feed(piece, last=begin + len(piece) == len(body))  # otherwise it may end within a character
        letters -= len(piece.translate(None, _ASCII)) or len(piece) * (b"\x1b" in piece)
        if letters <= 0:
            break
    country = _COUNTRY.match(url)
    guess = detector.guess(tld=country[1].lower().encode("ascii") if country else None, allow_utf8=False)
    return _lookup(_NAMES.get(guess, guess)) or FALLBACK
