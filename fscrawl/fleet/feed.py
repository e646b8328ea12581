"""Feeds: the URLs that a machine has discovered, for the machines that hold their shards.

Vocabulary:
  line       b"<shard> <depth> <referrer> <url>[ <flags>]"; a normal form has no space
  flags      what is special about a URL (`flags.py`): "sitemap", "again=…"
  sent       how many bytes this machine has written to its own feed
  consumed   how many bytes of all feeds, including its own, this machine has read

Promise: what `FeedWriter.flush` has written can be read by all machines when it returns. A reader skips and counts
lines that it cannot parse. A lost or repeated line does no harm: the link files are the truth, the feeds only an index.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Generator, Iterator
from typing import NamedTuple, Protocol

from fscrawl.fleet.logs import SEGMENT_BYTES
from fscrawl.frontier.flags import NO_FLAGS, Flags, format_flags, parse_flags
from fscrawl.storage.append_log import Log


class Found(NamedTuple):
    """A discovered URL: its shard, its depth, the key of the page that links to it ("" for a seed), its normal form."""

    shard: int
    depth: int
    referrer: str
    url: str
    flags: Flags = NO_FLAGS


def parse_line(line: bytes) -> Found:
    """Read a line without its newline; ValueError if it is damaged.

    >>> parse_line(b"7 1 599370d5687c3fd078c314ad http://a.example/ sitemap").depth
    1
    """
    shard, depth, referrer, url, *word = line.decode("ascii").split(" ")
    if len(word) > 1 or not url.startswith(("http://", "https://")):  # two lines in one, after a cut
        raise ValueError(line)
    return Found(int(shard), int(depth), referrer, url, parse_flags(word[0]) if word else NO_FLAGS)


class Feeds(Protocol):
    """The part of the tree that feeds need (`logs.Logs` has it)."""

    def feeds(self) -> dict[str, int]: ...
    def feed_log(self, segment: int) -> Log: ...
    def read_feed(self, machine: str, segment: int, offset: int) -> bytes: ...


class FeedWriter:
    """Writes this machine's feed. The file is created by `open`, or when there is something to write."""

    def __init__(self, shared: Feeds, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._shared = shared
        self._segment_bytes = segment_bytes
        self._segment = 0
        self._closed_bytes = 0  # of the segments before
        self._log: Log | None = None
        self._lines: list[str] = []

    def open(self) -> None:
        """Create the file before there is anything to write: on sshfs, a listing shows a new file 20 s late."""
        self._log = self._shared.feed_log(0)

    def add(self, found: Found) -> None:
        flags = "" if found.flags is NO_FLAGS else f" {format_flags(found.flags)}"
        self._lines.append(f"{found.shard} {found.depth} {found.referrer} {found.url}{flags}\n")

    @property
    def sent(self) -> int:
        """Bytes in all files of the feed. A reader that has read the whole feed has consumed as many."""
        return self._closed_bytes + (self._log.size if self._log else 0)

    @property
    def end(self) -> tuple[int, int]:
        """The last segment, and how many bytes are in it."""
        return self._segment, self._log.size if self._log else 0

    @property
    def is_empty(self) -> bool:
        """All lines that were added have been flushed."""
        return not self._lines

    def flush(self) -> None:
        """Write the lines that were added, by one write and one fsync."""
        if not self._lines:
            return
        if self._log is None:
            self.open()
        elif self._log.size >= self._segment_bytes:
            self._roll_over()
        assert self._log is not None
        self._log.append("".join(self._lines).encode())
        self._lines = []

    def _roll_over(self) -> None:
        assert self._log is not None
        self._log.close()
        self._closed_bytes += self._log.size
        self._segment += 1
        self._log = self._shared.feed_log(self._segment)

    def close(self) -> None:
        if self._log is not None:
            self._log.close()


class FeedReader:
    """Reads the feeds of all other machines. Each reading goes on where the last one ended."""

    def __init__(self, shared: Feeds, machine: str) -> None:
        self.offsets: dict[str, int] = {}  # bytes read of each machine's feed, all segments together
        self.needed: set[int] = set()  # shards that have at least one line
        self.unreadable = 0
        self.damaged: set[str] = set()  # machines whose feed has become shorter
        self._shared = shared
        self._machine = machine
        self._places: dict[str, tuple[int, int]] = {}  # machine → (segment, offset in it)

    @property
    def consumed(self) -> int:
        """Bytes read of other machines' feeds."""
        return sum(self.offsets.values())

    def read(self, shards: Container[int], told: Collection[str] = (), quiet: Container[str] = ()) -> Iterator[Found]:
        """Return the new lines of `shards`. Note in `needed` which shards have lines at all.

        `told`: machines that say in their heartbeats that they have sent lines; a listing may not show their feeds yet.
        `quiet`: machines whose feeds have nothing new.
        """
        for machine, last in {**dict.fromkeys(told, 0), **self._shared.feeds()}.items():
            if machine != self._machine and machine not in quiet:
                yield from self._read_one(machine, last, shards)

    def _read_one(self, machine: str, last: int, shards: Container[int]) -> Iterator[Found]:
        segment, offset = self._places.get(machine, (0, 0))
        while True:
            data = self._shared.read_feed(machine, segment, offset)
            if data:
                offset += len(data)
                yield from self._parse(data, shards, note=True)
                self._places[machine] = segment, offset
                self.offsets[machine] = self.offsets.get(machine, 0) + len(data)
            elif segment < last:  # a segment is closed before the next begins
                segment, offset = segment + 1, 0
            else:
                return

    def read_again(self, shards: Container[int], own: FeedWriter) -> Iterator[Found]:
        """Return all lines of `shards` up to this reader's position: one pass over the feeds for newly taken shards.

        Of this machine's own feed, all lines that were flushed. It uses no listing, because that may be out of date, or
        the share may be gone. A pass may take many rounds, and feeds grow meanwhile: position and size are those of its
        beginning.
        """
        ends = {**self._places, self._machine: own.end}
        sizes = {**self.offsets, self._machine: own.sent}
        for machine, end in ends.items():
            there = yield from self._pass_over(machine, end, shards)
            if there < sizes[machine]:
                self.damaged.add(machine)

    def _pass_over(self, machine: str, end: tuple[int, int], shards: Container[int]) -> Generator[Found, None, int]:
        """Yield the lines of `shards`. Return how many bytes were read."""
        there = 0
        for segment in range(end[0] + 1):
            stop = end[1] if segment == end[0] else None
            offset = 0
            while stop is None or offset < stop:
                data = self._shared.read_feed(machine, segment, offset)
                if stop is not None:
                    data = data[: stop - offset]
                if not data:
                    break
                offset += len(data)
                yield from self._parse(data, shards, note=False)
            there += offset
        return there

    def _parse(self, data: bytes, shards: Container[int], *, note: bool) -> Iterator[Found]:
        for line in data.split(b"\n")[:-1]:
            if not line:  # an empty line stands before lines that were written a second time
                continue
            try:
                shard = int(line[: line.index(b" ")])
                if note:
                    self.needed.add(shard)
                if shard in shards:
                    yield parse_line(line)
            except ValueError:  # NULs after a crash of the server, or a line that a killed writer did not finish
                self.unreadable += 1
