r"""The lines of a machine's log, as bytes and as values, and the blocks in which they stand. Pure.

    u <depth> <referrer or -> <url>[ <flags>]     a URL, or another request in its spelling (`request`), was found
    t <key> <depth>[ e<failed_at>]                all links of a page stand before this line, or it failed
    s                                             all that was stored of the shard has been put in

    B <foreign bytes> <own bytes> <shard>:<bytes> … | <shard>:<bytes> …\n   the head of a block
    <lines of foreign shards, by shard in the head's order>
    <lines of own shards, by shard in the head's order>

Vocabulary:
  line       one fact about one shard. The shard is not in the line: the head of a block has it
  depth      links followed from a seed; of all lines of a URL, the least counts
  flags      what is special about a URL (`frontier.flags`)
  block      what one flush writes: lines, sorted by shard. It counts whole or not at all
  head       a block's first line: how many bytes of lines each shard has. ` | …` is missing if there are no own lines
  foreign    of a shard that another machine is believed to hold. Shards of one machine stand together, so that it reads
             its lines with one call
  own        of a shard that the writer itself holds

Promise: what is written here is read back equal; anything else is a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from fscrawl.frontier.flags import NO_FLAGS, Flags, format_flags, parse_flags
from fscrawl.request import is_spelling
from fscrawl.storage.layout import is_key

_URL = re.compile(r"https?://[^/?#@\\]+/")  # programs read such letters before the first slash in different ways
_LONGEST_NUMBER = 15  # digits, as in the names of files
_NO_REFERRER = "-"
_FAILED = "e"
_ENTRY = rb"(?: [0-9]{1,12}:[1-9][0-9]{0,11})"
_HEAD = re.compile(rb"B ([0-9]{1,12}) ([0-9]{1,12})(%b*)(?: \|(%b+))?\n" % (_ENTRY, _ENTRY))
HEAD_BEGINS = b"B "


class Found(NamedTuple):
    """A URL was found: its shard, its depth, the key of the page that links to it ("" for a seed), its normal form."""

    shard: int
    depth: int
    referrer: str
    url: str
    flags: Flags = NO_FLAGS


class Told(NamedTuple):
    """All links of a page, as the generation chooses them, stand in the log. `failed_at`: when it failed for good."""

    shard: int
    key: str
    depth: int
    failed_at: str = ""


class Surveyed(NamedTuple):
    """All that was stored of a shard when it was listed has been put into the logs of this generation."""

    shard: int


Line = Found | Told | Surveyed


def format_line(line: Line) -> bytes:
    """Give a line's bytes, with the newline. ValueError if they could not be read back.

    >>> format_line(Found(7, 1, "", "http://a.example/"))
    b'u 1 - http://a.example/\\n'
    >>> format_line(Told(7, "599370d5687c3fd078c314ad", 1, "2026-01-02T03:04:05.678Z"))
    b't 599370d5687c3fd078c314ad 1 e2026-01-02T03:04:05.678Z\\n'
    """
    text, blanks = _text_of(line)
    if not text.isascii() or not text.isprintable() or text.count(" ") != blanks:
        raise ValueError(f"a log cannot hold {line}")
    return f"{text}\n".encode("ascii")


def _text_of(line: Line) -> tuple[str, int]:
    """Give a line's text, and how many blanks should be in it."""
    if isinstance(line, Found):
        if not is_url(line.url) or line.referrer == _NO_REFERRER:
            raise ValueError(f"a log cannot hold {line}")
        text = f"u {line.depth} {line.referrer or _NO_REFERRER} {line.url}"
        return (text, 3) if line.flags is NO_FLAGS else (f"{text} {format_flags(line.flags)}", 4)
    if isinstance(line, Told):
        if not is_key(line.key):
            raise ValueError(f"a log cannot hold {line}")
        text = f"t {line.key} {line.depth}"
        return (f"{text} {_FAILED}{line.failed_at}", 3) if line.failed_at else (text, 2)
    return "s", 0


def parse_lines(shard: int, data: bytes) -> list[Line]:
    """Read whole lines; ValueError if one of them is damaged, or the last one has no newline.

    >>> parse_lines(7, b"s\\ns\\n")
    [Surveyed(shard=7), Surveyed(shard=7)]
    """
    text = data.decode("ascii")
    if not text.replace("\n", " ").isprintable():
        raise ValueError("a letter that no line has")
    lines = text.split("\n")
    if lines.pop():
        raise ValueError("the last line is not whole")
    values = [_value_of(shard, line) for line in lines]
    for value in values if "#" in text else ():  # one look for all lines: in most logs there is none
        if isinstance(value, Found) and not is_spelling(value.url):
            raise ValueError(value.url)
    return values


def is_url(text: str) -> bool:
    """Tell whether a text may be a normal form, or the spelling of a request, and leads where it seems to lead.

    >>> is_url("http://a.example/"), is_url("http://a.example:x@b.example/"), is_url("http://b.example?.a.example/")
    (True, False, False)
    >>> is_url("http://a.example/#method=POST"), is_url("http://a.example/#method=BREW")
    (True, False)
    """
    return _URL.match(text) is not None and ("#" not in text or is_spelling(text))


def number_of(text: str) -> int:
    """Give a depth of a line; ValueError if it is none, or if it was made up."""
    if len(text) > _LONGEST_NUMBER or not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _value_of(shard: int, text: str) -> Line:
    kind, *words = text.split(" ")
    if kind == "u":
        depth, referrer, url, *flags = words
        if len(flags) > 1 or _URL.match(url) is None:
            raise ValueError(text)
        found_from = "" if referrer == _NO_REFERRER else referrer
        return Found(shard, number_of(depth), found_from, url, parse_flags(flags[0]) if flags else NO_FLAGS)
    if kind == "t":
        key, depth, *failed = words
        if len(failed) > 1 or not is_key(key) or (failed and failed[0][:1] != _FAILED):
            raise ValueError(text)
        return Told(shard, key, number_of(depth), failed[0][1:] if failed else "")
    if kind == "s" and not words:
        return Surveyed(shard)
    raise ValueError(text)


class Part(NamedTuple):
    """The lines of a shard in a block: bytes `begin` to `end`, from the beginning of the block."""

    shard: int
    begin: int
    end: int


class Head(NamedTuple):
    """The head of a block. `bytes`: of the whole block, the head among them. Parts are in the block's order."""

    bytes: int
    foreign: tuple[Part, ...]
    own: tuple[Part, ...]

    def parts(self, shards: Container[int]) -> list[Part]:
        """Give the parts of some shards, in the block's order."""
        return [part for parts in (self.foreign, self.own) for part in parts if part.shard in shards]


def encode_block(
    foreign: Mapping[int, Sequence[bytes]],
    own: Mapping[int, Sequence[bytes]],
    holder_of: Callable[[int], str] = lambda shard: "",  # noqa: ARG005
) -> bytes:
    """Give a block of whole lines, by shard. `holder_of`: who is believed to hold a shard.

    >>> encode_block({7: [b"s\\n"]}, {2: [b"s\\n", b"s\\n"]})
    b'B 2 4 7:2 | 2:4\\ns\\ns\\ns\\n'
    """
    foreign_parts = [(shard, b"".join(foreign[shard])) for shard in sorted(foreign, key=lambda s: (holder_of(s), s))]
    own_parts = [(shard, b"".join(own[shard])) for shard in sorted(own)]
    foreign_list, foreign_bytes = _listed(foreign_parts)
    own_list, own_bytes = _listed(own_parts)
    head = f"B {foreign_bytes} {own_bytes}{foreign_list}{' |' if own_parts else ''}{own_list}\n".encode("ascii")
    return b"".join([head, *(data for _, data in foreign_parts), *(data for _, data in own_parts)])


def _listed(parts: Iterable[tuple[int, bytes]]) -> tuple[str, int]:
    sizes = [(shard, len(data)) for shard, data in parts]
    return "".join(f" {shard}:{size}" for shard, size in sizes), sum(size for _, size in sizes)


def parse_head(line: bytes) -> Head:
    """Read the head of a block, with its newline; ValueError if it is none, or its numbers do not fit together."""
    match = _HEAD.fullmatch(line)
    if match is None:
        raise ValueError(line[:80])
    foreign_bytes, own_bytes, foreign_list, own_list = match.groups()
    middle = len(line) + int(foreign_bytes)
    foreign = _parts(foreign_list, len(line), middle)
    own = _parts(own_list or b"", middle, middle + int(own_bytes))
    return Head(middle + int(own_bytes), foreign, own)


def _parts(listed: bytes, begin: int, end: int) -> tuple[Part, ...]:
    parts = []
    for entry in listed.split():
        shard, _, size = entry.partition(b":")
        parts.append(Part(int(shard), begin, begin + int(size)))
        begin = parts[-1].end
    if begin != end:
        raise ValueError(f"the parts of a block end at {begin}, and not at {end}")
    return tuple(parts)
