"""References of a page or document → links, within bounds. Pure."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from urllib.parse import quote

import webencodings

from fscrawl.urls import MAX_URL_CHARS, Joiner

SPACE = " \t\n\f\r"  # ASCII white space of the HTML standard; str.strip() alone would take more
MAX_CHARS = 8_000_000  # of all links of a page: short references may stand below a base of 2,000 characters


@dataclass(slots=True)
class Room:
    """How many characters of links may still be kept of a page, and how many references were too long so far."""

    chars: int = MAX_CHARS
    too_long: int = 0


def base_of(reference: str | None, joiner: Joiner, url: str, room: Room) -> str:
    """Return what the references of a page are relative to. A base that is too long or not http(s) is ignored."""
    base = None if reference is None else joiner.join(url, reference)
    if reference is not None and base is None:
        room.too_long += len(reference) > MAX_URL_CHARS
    return base or url


def resolve_all(
    hrefs: list[str], joiner: Joiner, base: str, room: Room, *, url: str, encoding: str, limit: int
) -> tuple[dict[str, None], bool]:
    """Return the unique links of `hrefs` without `url`, at most `limit`, and whether there were more.

    Fragments and repeats are removed first: of 2,454 anchors in the index of a manual, 60 references remain to join.
    """
    references = dict.fromkeys([href.partition("#")[0].strip(SPACE) for href in hrefs])
    if base == url:
        references.pop("", None)
    links: dict[str, None] = {}
    join = joiner.join
    for reference in references:
        if len(reference) > MAX_URL_CHARS:
            room.too_long += 1
            continue
        link = join(base, reference if reference.isascii() else _encode_query(reference, encoding))
        if link is None or link == url or link in links:
            continue
        if len(links) == limit or len(link) > room.chars:
            return links, True
        room.chars -= len(link)
        links[link] = None
    return links, False


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_IN_QUERY = "!$%&()*+,/:;=?@[\\]^`{|}"  # needs no escape in a query, like letters, digits and "_.-~"


def _as_reference(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(f"%26%23{ord(c)}%3B" for c in error.object[error.start : error.end]), error.end


codecs.register_error("fscrawl.reference", _as_reference)


def _encode_query(reference: str, encoding: str) -> str:
    """Encode the query in the page's encoding, as forms do. A character that it lacks becomes "&#NNNN;" (WHATWG).

    >>> _encode_query("ä?q=ä€", "windows-1251")
    'ä?q=%26%23228%3B%88'
    """
    path, mark, query = reference.partition("?")
    found = webencodings.lookup(encoding)
    if not mark or found is None or encoding in {"utf-8", "utf-16le", "utf-16be", "replacement"}:
        return reference

    def encoded(run: re.Match[str]) -> str:
        return quote(found.codec_info.encode(run[0], "fscrawl.reference")[0], _IN_QUERY)

    return path + mark + _NOT_ASCII.sub(encoded, query)
