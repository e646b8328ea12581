"""Snapshots: what is known of a shard, and up to which place in every log.

A machine that takes a shard reads its newest snapshot, and only what stands behind it in the logs. A snapshot is made
from files: the one before, and the lines since then (see `snapshots`). It is written once.

    head      a JSON line: whose state it is, up to which places, and how much follows
    text      URLs that wait or have failed: facts (see below), one a line, sorted by fingerprint
    told      URLs that are told: groups of at most 65,536, sorted by fingerprint
    digest    SHA-256 of all before, as a line of 64 hex digits

    group     fingerprints (8 bytes each); if there is a limit of depth, known depths and told depths (2 bytes each).
              Little-endian. A depth of 65,535: none is known

Each URL is in one of the parts.

Vocabulary:
  epoch, number   who wrote it: the holder in that epoch of the shard's lease, and its how manyth snapshot it is
  at              the place in each log up to which its lines are in; no line counts twice, and none harms if it does
  known           the least depth of all lines that found the URL
  told            the least depth of all marks of success
  settled         nothing is left to do: told, where depths matter at no greater depth than known; or failed

A fact is what lines say of one URL, put together from any number of them. It begins with the URL's
fingerprint in 16 hex digits, so that facts that are sorted stand together by URL. A state is written as one fact, too:

    <fingerprint> u <depth> <referrer or -> <url>[ <word>…]    found: waiting, with all that is needed to fetch it
    <fingerprint> f <depth or -> [ <word>…]                    failed, and nobody asks for another try
    <fingerprint> t <depth or -> <told depth>                  told

    sitemap, sitemap-part     it is one (see `frontier.flags`)
    stored                    its page is stored, so it needs no fetch: its links are told again, from its record, since
                              a shorter way to it was found
    e<failed_at>              it failed at that time
    a<failed_at>              a user asked for another try, because it failed at that time
    l[<label>]                it was found as part of this task, percent-encoded; "l" alone: as part of none. Without
                              such a word it was found as part of none only

Rules for what is not told:
  A page that is stored is wanted until it is told. What failed before, and who asked for another try, is over.
  A failure counts unless another try was asked for because of that very failure. So a URL is wanted again as long as
  that is so of all its failures; a failure of another time settles it.
  A user asks because of the latest failure only, so this needs no clock, and no order of the lines.

Promise: a snapshot that is torn or damaged is told from a whole one, and then it is a RecordError that says how.
Facts may come in any order, repeatedly, and put together by way of states. The last two kinds keep no text; what is
lost with it (the URL, its referrer) is needed only when a line comes that has it.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
from array import array
from collections.abc import Iterator
from typing import Annotated

import msgspec

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.fleet.lines import Found, Told, is_url, number_of
from fscrawl.frontier.flags import Flags, flags_of
from fscrawl.labels import escaped, unescaped
from fscrawl.storage.layout import snapshot_directory, snapshot_of, snapshot_path
from fscrawl.store import TreeFiles

DIGITS = 16
WAITING, FAILED, TOLD = "u", "f", "t"
KIND_AT = DIGITS + 1  # where the kind stands in a fact

_NONE = "-"
_STORED = "stored"
_MOST_LABELS = 100  # of one URL; more tasks that lead to it are forgotten, the last by name
GROUP = 65_536
NO_DEPTH = 0xFFFF
END_BYTES = 65  # the digest and its newline
CHUNK_BYTES = 1 << 20
_LINE = re.compile(rb"[0-9a-f]{16} [%b%b] (?:-|[0-9]{1,15})(?: |\Z)" % (WAITING.encode(), FAILED.encode()))
_MOST_LINE_BYTES = 1 << 20  # of the text: a URL, and when it failed
_HEAD_BYTES = 1 << 16
_MOST_HEAD_BYTES = 1 << 24
_KEPT_BYTES = 1 << 24  # a smaller snapshot is read once; a larger one once for its digest, and once for its content
_Count = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
_DEEP = "QHH"
Columns = tuple["array[int]", ...]
"""Some URLs, sorted: fingerprints, and where depths are kept known depths and told depths. A known depth of `NO_DEPTH`:
no line has found it. A told depth of 0 counts, whatever depth is known.
"""


def fact_of_found(found: Found) -> bytes:
    """Give the fact in a line that says that a URL was found.

    >>> fact_of_found(Found(7, 1, "", "http://example.com/"))
    b'599370d5687c3fd0 u 1 - http://example.com/'
    """
    words = [f"{urls.key(found.url)[:DIGITS]} u {found.depth} {found.referrer or _NONE} {found.url}"]
    if found.flags.sitemap:
        words.append(found.flags.sitemap)
    if found.flags.retry_of:
        words.append(f"a{found.flags.retry_of}")
    if found.flags.label:
        words.append(f"l{escaped(found.flags.label)}")
    return " ".join(words).encode("ascii")


def fact_of_told(told: Told) -> bytes:
    """Give the fact in a told mark.

    >>> fact_of_told(Told(7, "599370d5687c3fd078c314ad", 1))
    b'599370d5687c3fd0 t - 1'
    """
    fact = f"f - e{told.failed_at}" if told.failed_at else f"t - {told.depth}"
    return f"{told.key[:DIGITS]} {fact}".encode("ascii")


def fact_of_entry(fingerprint: int, known: int | None, told: int) -> bytes:
    """Give the fact in what a snapshot keeps of a URL that is told."""
    return f"{fingerprint:016x} t {_NONE if known is None else known} {told}".encode("ascii")


class UrlState:
    """The state of one URL."""

    __slots__ = ("again", "failures", "known", "labels", "sitemap", "stored", "told", "way")

    def __init__(self) -> None:
        self.known: int | None = None
        self.told: int | None = None
        self.stored = False
        self.way: tuple[int, str, str] | None = None  # depth, referrer, URL: the line to keep
        self.sitemap = ""
        self.failures: set[str] = set()
        self.again: set[str] = set()
        self.labels: set[str] = set()  # of the tasks that it was found for; "": for none

    def take(self, fact: bytes) -> None:
        """Put a fact to what is known; ValueError if it is damaged."""
        _, kind, depth, *words = fact.decode("ascii").split(" ")
        known = None if depth == _NONE else number_of(depth)
        if known is not None:
            self.known = known if self.known is None else min(known, self.known)
        if kind == WAITING:
            referrer, url, *words = words
            if known is None or not is_url(url):
                raise ValueError(fact)
            way = (known, referrer, url)
            self.way = way if self.way is None else min(way, self.way)
            self._take_words(words)
            self._take_labels(words)
        elif kind == FAILED:
            self._take_words(words)
        elif kind == TOLD:
            self.stored = True
            told = number_of(words[0])
            self.told = told if self.told is None else min(told, self.told)
        else:
            raise ValueError(fact)

    def _take_words(self, words: list[str]) -> None:
        for word in words:
            if word == _STORED:
                self.stored = True
            elif word.startswith("e"):
                self.failures.add(word[1:])
            elif word.startswith("a"):
                self.again.add(word[1:])
            elif not word.startswith("l"):  # "sitemap" counts more than "sitemap-part"
                self.sitemap = min(word, self.sitemap or word)

    def _take_labels(self, words: list[str]) -> None:
        self.labels.update([unescaped(word[1:]) for word in words if word.startswith("l")] or [""])
        if len(self.labels) > _MOST_LABELS:
            self.labels = set(sorted(self.labels)[:_MOST_LABELS])

    def kind(self, *, deep: bool) -> str | None:
        """Give the kind of fact that keeps this state; None if nothing needs to be kept. `deep`: depths matter."""
        if self.told is not None and (not deep or self.known is None or self.told <= self.known):
            return TOLD
        if not self.stored and not self.failures <= self.again:
            return FAILED
        return WAITING if self.way is not None else None

    def text(self, fingerprint: str, *, deep: bool) -> bytes:
        """Give the fact that keeps this state, if its kind is WAITING or FAILED."""
        depth = _NONE if self.known is None else self.known
        words = [fingerprint, FAILED, str(depth)]
        if self.kind(deep=deep) == WAITING:
            assert self.way is not None
            words = [fingerprint, WAITING, str(depth), *self.way[1:]]
        if self.sitemap:
            words.append(self.sitemap)
        if self.stored:
            words.append(_STORED)
        else:
            words += [f"e{failed_at}" for failed_at in sorted(self.failures)]
            words += [f"a{failed_at}" for failed_at in sorted(self.again)]
        if words[1] == WAITING and self.labels != {""}:
            words += [f"l{escaped(label)}" for label in sorted(self.labels)]
        return " ".join(words).encode("ascii")


def founds_of(shard: int, fact: bytes) -> Iterator[Found]:
    """Give a URL that waits as lines that found it: one for each task, and of these one for each failure because of
    which it is tried again.

    Which of these failures is the latest is seen in the tree only. The lines for the others are spent by then.

    >>> [found.flags.retry_of for found in founds_of(7, b"599370d5687c3fd0 u 1 - http://example.com/ e9 a9")]
    ['9']
    """
    state = UrlState()
    state.take(fact)
    if state.way is None:
        raise ValueError(fact)
    depth, referrer, url = state.way
    found = Found(shard, depth, "" if referrer == _NONE else referrer, url)
    for label in sorted(state.labels):
        if state.again and not state.stored:
            again = (Flags(state.sitemap, retry_of=failed_at, label=label) for failed_at in sorted(state.again))
            yield from (found._replace(flags=flags) for flags in again)
        else:
            yield found._replace(flags=flags_of(state.sitemap, label=label))


class SnapshotHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a snapshot.

    deep       the link rules of the generation have a limit of depth, so depths are kept
    surveyed   some line says that the shard was surveyed
    at         by machine, how many bytes of its log
    text_bytes, waiting, failed, told      how long the text is; how many URLs there are of each kind
    """

    generation: _Count
    shard: _Count
    epoch: _Count
    number: _Count
    deep: bool
    surveyed: bool = False
    at: dict[str, _Count] = {}
    text_bytes: _Count = 0
    waiting: _Count = 0
    failed: _Count = 0
    told: _Count = 0

    @property
    def path(self) -> str:
        return snapshot_path(self.generation, self.shard, self.epoch, self.number)

    @property
    def urls(self) -> int:
        """How many URLs are in it."""
        return self.waiting + self.failed + self.told

    @property
    def columns(self) -> str:
        """The types of the columns of those that are told, as `array` names them."""
        return _DEEP if self.deep else "Q"

    @property
    def body_bytes(self) -> int:
        """The length of all that follows the head."""
        return self.text_bytes + self.told * _width(self.columns) + END_BYTES

    def to_json(self) -> bytes:
        """Give the line, with its newline."""
        return msgspec.json.encode(self) + b"\n"


_DECODER = msgspec.json.Decoder(SnapshotHead)


def column_bytes(columns: Columns) -> bytes:
    """Give the bytes of a group."""
    return b"".join(_little_endian(column).tobytes() for column in columns)


def _width(columns: str) -> int:
    return sum(8 if kind == "Q" else 2 for kind in columns)


class Snapshot:
    """A snapshot that can be read. Every method may raise RecordError: it is damaged, or was removed meanwhile."""

    def __init__(self, files: TreeFiles, head: SnapshotHead, head_bytes: int) -> None:
        """`head_bytes`: the length of the head's line."""
        self.head = head
        self._files = files
        self._text_at = head_bytes
        self._kept: bytes | None = None  # the whole file, if it is small

    def pending(self) -> Iterator[Found]:
        """Give the URLs that wait, set-aside ones too."""
        for lines in self.text():
            with self.readable():
                waiting = (line for line in lines if line[KIND_AT] == ord(WAITING))
                founds = [found for line in waiting for found in founds_of(self.head.shard, line)]
            yield from founds

    def failed(self) -> Iterator[tuple[array[int], array[int]]]:
        """Give the URLs that have failed: fingerprints and known depths, in any case."""
        for lines in self.text():
            with self.readable():
                rows = [line.split(b" ", 3) for line in lines if line[KIND_AT] == ord(FAILED)]
                fingerprints = array("Q", (int(digits, 16) for digits, *_ in rows))
                depths = (NO_DEPTH if depth == b"-" else min(int(depth), NO_DEPTH - 1) for _, _, depth, *_ in rows)
                known = array("H", depths)
            if rows:
                yield fingerprints, known

    def told(self) -> Iterator[Columns]:
        """Give the URLs that are told."""
        offset, columns = self._text_at + self.head.text_bytes, self.head.columns
        for start in range(0, self.head.told, GROUP):
            length = min(GROUP, self.head.told - start)
            data = self._read(offset, length * _width(columns))
            offset += len(data)
            yield tuple(_columns_in(data, length, columns))

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Make a RecordError of what cannot be read in a line."""
        try:
            yield
        except (ValueError, LookupError, OverflowError) as error:
            raise self._damaged(f"a line of its text: {error}") from error

    def text(self) -> Iterator[list[bytes]]:
        """Give the lines of the text, some at a time."""
        offset, left, rest = self._text_at, self.head.text_bytes, b""
        while left:
            data = self._read(offset, min(left, CHUNK_BYTES))
            offset, left = offset + len(data), left - len(data)
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _MOST_LINE_BYTES:
                raise self._damaged("a line of its text has no end")
            if not all(map(_LINE.match, lines)):
                raise self._damaged("a line of its text is none")
            if lines:
                yield lines
        if rest:
            raise self._damaged("its text does not end with a line")

    def check(self) -> None:
        """Read all of it; RecordError if it is not as it was written."""
        size = self._text_at + self.head.body_bytes
        digest, offset, kept = hashlib.sha256(), 0, []
        while offset < size - END_BYTES:
            data = self._read(offset, min(CHUNK_BYTES, size - END_BYTES - offset))
            digest.update(data)
            offset += len(data)
            if size <= _KEPT_BYTES:
                kept.append(data)
        if self._read(offset, END_BYTES) != digest.hexdigest().encode() + b"\n":
            raise self._damaged("its digest is another one")
        if size <= _KEPT_BYTES:
            self._kept = b"".join(kept)

    def _read(self, offset: int, length: int) -> bytes:
        if self._kept is not None:
            return self._kept[offset : offset + length]
        data = self._files.read_range(self.head.path, offset, length)
        if data is None or len(data) < length:
            raise self._damaged("it is missing" if data is None else "it is shorter than its head says")
        return data

    def _damaged(self, how: str) -> RecordError:
        return RecordError(f"{self.head.path}: {how}")


def _columns_in(data: bytes, length: int, kinds: str) -> Iterator[array[int]]:
    at = 0
    for kind in kinds:
        column = array(kind)
        column.frombytes(data[at : at + length * column.itemsize])
        at += length * column.itemsize
        yield _little_endian(column)


def _little_endian(column: array[int]) -> array[int]:
    """Change a column between this machine's order of bytes and that of the file."""
    if sys.byteorder == "big":  # pragma: no cover
        column = column[:]
        column.byteswap()
    return column


def open_snapshot(files: TreeFiles, generation: int, shard: int, epoch: int, number: int) -> Snapshot:
    """Open a snapshot by one small read and a look at its size; RecordError if it is torn or missing.

    Damage in the middle is found by `check` only.
    """
    path = snapshot_path(generation, shard, epoch, number)
    length = _HEAD_BYTES
    while b"\n" not in (data := files.read_range(path, 0, length) or b""):
        if len(data) < length or length >= _MOST_HEAD_BYTES:
            raise RecordError(f"{path}: it has no head")
        length *= 16
    line = data[: data.index(b"\n") + 1]
    try:
        head = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: no head of a snapshot: {error}") from error
    if head.path != path:
        raise RecordError(f"{path}: it is the snapshot {head.path}")
    if files.size(path) != len(line) + head.body_bytes:
        raise RecordError(f"{path}: it is shorter or longer than its head says")
    return Snapshot(files, head, len(line))


def list_snapshots(files: TreeFiles, generation: int) -> dict[int, list[tuple[int, int]]]:
    """List the (epoch, number) of each shard's snapshots, the newest first."""
    found: dict[int, list[tuple[int, int]]] = {}
    for name in files.names(snapshot_directory(generation)):
        named = snapshot_of(name)
        if named is not None:
            found.setdefault(named[0], []).append(named[1:])
    return {shard: sorted(numbers, reverse=True) for shard, numbers in found.items()}
