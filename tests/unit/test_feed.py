"""Feeds between machines, on a tree in memory."""

import pytest

from fscrawl.fleet.feed import FeedReader, FeedWriter, Found
from fscrawl.frontier.flags import SITEMAP, Flags

A = Found(3, 1, "ab" * 12, "http://a.example/?x=1")
B = Found(4, 0, "", "http://b.example/")
C = Found(3, 2, "", "http://a.example/c")
FLAGGED = Found(3, 0, "", "https://a.example/d", Flags(retry_of="2026-01-02T03:04:05.678Z"))


class Log:
    def __init__(self, files, name):
        self._files, self._name = files, name
        self.closed = False
        files.setdefault(name, b"")

    def append(self, data):
        self._files[self._name] += data

    @property
    def size(self):
        return len(self._files[self._name])

    def close(self):
        self.closed = True


class Shared:
    """Feeds in memory, as `machine` sees them; `piece`: bytes a read gives at most, `sizes`: stale ones."""

    def __init__(self):
        self.files, self.logs, self.sizes, self.machine = {}, [], {}, "me"
        self.piece = 1 << 20

    def feeds(self):
        last = {}
        for machine, segment in self.files:
            last[machine] = max(last.get(machine, 0), segment)
        return last

    def feed_log(self, segment):
        self.logs.append(Log(self.files, (self.machine, segment)))
        return self.logs[-1]

    def read_feed(self, machine, segment, offset):
        data = self.files.get((machine, segment), b"")[: self.sizes.get((machine, segment))]
        data = data[offset : offset + self.piece]
        return data[: data.rfind(b"\n") + 1]


@pytest.fixture
def shared():
    return Shared()


@pytest.fixture
def reader(shared):
    return FeedReader(shared, "me")


@pytest.fixture
def own(shared):
    """The writer of the reader's machine, which has written nothing."""
    return FeedWriter(shared)


def write(shared, *found, machine="b", segment_bytes=1 << 20, flushes=False):
    shared.machine = machine
    writer = FeedWriter(shared, segment_bytes)
    for each in found:
        writer.add(each)
        if flushes:
            writer.flush()
    writer.flush()
    writer.close()
    return writer


def line(found):
    return f"{found.shard} {found.depth} {found.referrer} {found.url}\n".encode()


def test_round_trip(shared, reader):
    """What one machine adds, another reads: the lines of the shards it asks for, each once."""
    write(shared, A, B, C)
    assert list(reader.read({3})) == [A, C]
    assert list(reader.read({3, 4})) == []


def test_mark(shared, reader, own):
    """A line's flags come along, also for those who read it later."""
    write(shared, A, FLAGGED, C._replace(flags=Flags(SITEMAP)))
    assert list(reader.read({3})) == [A, FLAGGED, C._replace(flags=Flags(SITEMAP))]
    assert list(reader.read_again({3}, own)) == [A, FLAGGED, C._replace(flags=Flags(SITEMAP))]
    assert shared.files["b", 0].splitlines()[1] == b"3 0  https://a.example/d again=2026-01-02T03:04:05.678Z"


def test_lines_that_ran_together(shared, reader):
    """A line that was cut, with the next one behind it, is counted and skipped, wherever the cut is."""
    cuts = range(2, len(line(A)) - 1)
    for cut in cuts:
        shared.files[f"m{cut}", 0] = line(A)[:cut] + line(B)
    assert list(reader.read(range(100))) == []
    assert reader.unreadable == len(cuts)


def test_writer(shared):
    """What a writer has sent is what was flushed, and a flush of nothing writes nothing."""
    writer = FeedWriter(shared)
    writer.flush()
    assert (b"".join(shared.files.values()), writer.sent, writer.is_empty) == (b"", 0, True)
    writer.add(A)
    assert (writer.sent, writer.is_empty) == (0, False)
    writer.flush()
    assert (writer.sent, writer.is_empty) == (len(line(A)), True)
    assert shared.files == {("me", 0): line(A)}
    writer.close()
    assert shared.logs[0].closed
    FeedWriter(shared).close()


def test_segments(shared, reader):
    """A segment that is full is closed before the next begins; readers follow, and nothing is lost between."""
    writer = write(shared, A, B, C, A, segment_bytes=len(line(A)) + 1, flushes=True)
    assert shared.files == {("b", 0): line(A) + line(B), ("b", 1): line(C) + line(A)}
    assert [log.closed for log in shared.logs] == [True, True]
    assert list(reader.read({3})) == [A, C, A]
    assert reader.offsets == {"b": writer.sent}


def test_segment_listed_early(shared, reader):
    """A segment that is listed before the one before it was read to its end waits for that."""
    shared.piece = len(line(A)) + 3
    write(shared, A, B, C, flushes=True)
    shared.files["b", 1] = line(B)
    assert list(reader.read({3, 4})) == [A, B, C, B]


def test_growing(shared, reader):
    """A reader goes on where it was: at a size that was stale, after half a line, in a segment that came later."""
    shared.files["b", 0] = line(A) + line(B) + line(C)[:7]
    shared.sizes["b", 0] = len(line(A)) + 4
    assert list(reader.read({3, 4})) == [A]
    assert reader.offsets == {"b": len(line(A))}
    del shared.sizes["b", 0]
    assert list(reader.read({3, 4})) == [B]
    shared.files["b", 0] += line(C)[7:]
    assert list(reader.read({3, 4})) == [C]
    shared.files["b", 1] = line(A)
    assert list(reader.read({3, 4})) == [A]
    assert reader.consumed == sum(map(len, shared.files.values()))


def test_many_feeds(shared, reader):
    """All machines' feeds are read but one's own, and their bytes are counted by machine."""
    write(shared, A, machine="b")
    write(shared, B, machine="c")
    write(shared, C, machine="me")
    assert sorted(reader.read({3, 4})) == sorted([A, B])
    assert reader.offsets == {"b": len(line(A)), "c": len(line(B))}
    assert reader.consumed == len(line(A)) + len(line(B))


def test_told_and_quiet(shared, reader, monkeypatch):
    """A feed that no listing shows yet is read of machines that say to have sent; one known to be quiet is not."""
    write(shared, A, machine="b")
    write(shared, B, machine="c")
    listed = {"c": 0}
    monkeypatch.setattr(shared, "feeds", lambda: listed)
    assert list(reader.read({3, 4}, quiet={"c"})) == []
    assert list(reader.read({3, 4}, told=["b"], quiet={"c"})) == [A]
    assert list(reader.read({3, 4}, told=["b"])) == [B]


def test_needed(shared, reader, own):
    """Every shard that has a line is needed, whoever holds it; a second pass does not say so of shards unread."""
    write(shared, A, B)
    assert list(reader.read_again({3}, own)) == []
    assert reader.needed == set()
    list(reader.read(set()))
    assert reader.needed == {3, 4}


def test_unreadable(shared, reader):
    """NULs, torn lines and what is no line are counted and skipped; the lines around them are read."""
    bad = b"\0\0\0\0\n3 1 http://cut\nnonsense\n3 x  http://a.example/\n3 0  http://\xff/\n\n"
    bad += b"3 0  nonsense\n3 0  ftp://a.example/ mark\n3 0  http://a.example/ two marks\n"
    shared.files["b", 0] = line(A) + bad + line(C)
    assert list(reader.read({3})) == [A, C]
    assert reader.unreadable == 8  # a blank line stands before one that was written once more


def test_read_again(shared, reader, own):
    """Shards newly taken get their lines up to where the reader is: what comes after, it reads anyway."""
    write(shared, A, B, machine="b")
    write(shared, C, machine="c")
    list(reader.read(set()))
    write(shared, C, machine="b")
    write(shared, B, machine="d")
    assert list(reader.read_again({3, 4}, own)) == [A, B, C]
    assert list(reader.read({3, 4})) == [C, B]
    assert sorted(reader.read_again({4}, own)) == [B, B]


def test_feeds_that_grow_during_a_pass(shared, reader):
    """What is read or written while a pass is under way belongs to no part of it, and its feed is not damaged."""
    own = FeedWriter(shared)
    own.add(A)
    own.flush()
    write(shared, A, C, machine="b")
    write(shared, C, machine="c")
    list(reader.read(set()))
    again = reader.read_again({3, 4}, own)
    found = [next(again)]
    write(shared, B, machine="b")
    write(shared, B, machine="c")
    own.add(B)
    own.flush()
    assert list(reader.read({4})) == [B, B]
    found += again
    assert sorted(found) == sorted([A, C, C, A])
    assert reader.damaged == set()


def test_read_again_across_segments(shared, reader, own):
    """The same, where the reader is in a later segment, and reads give less than a segment."""
    shared.piece = len(line(A)) + 3
    shared.files |= {("b", 0): line(A) + line(B), ("b", 1): line(C)}
    list(reader.read(set()))
    shared.files["b", 1] += line(B)
    shared.files["b", 2] = line(A)
    assert list(reader.read_again({3, 4}, own)) == [A, B, C]


def test_read_own_again(shared, reader):
    """Of one's own feed a pass gives all that was flushed: URLs of shards that were another's then."""
    own = write(shared, A, B, C, machine="me", segment_bytes=1, flushes=True)
    assert list(reader.read_again({3}, own)) == [A, C]
    assert (reader.needed, reader.consumed, reader.damaged) == (set(), 0, set())


def test_feed_that_is_gone(shared, reader, own):
    """A feed that was deleted ends a pass over it; what was counted of it stays."""
    write(shared, A)
    list(reader.read({3}))
    shared.files["b", 0] = b""
    assert list(reader.read_again({3}, own)) == []
    assert list(reader.read({3})) == []
    assert reader.consumed == len(line(A))
    assert reader.damaged == {"b"}


def test_feeds_that_no_listing_shows(shared, reader, monkeypatch):
    """A pass asks no listing: an old one, or that of a share that has gone, would leave URLs out unnoticed."""
    own = write(shared, A, machine="me")
    write(shared, C)
    list(reader.read(set()))
    monkeypatch.setattr(shared, "feeds", dict)
    assert sorted(reader.read_again({3}, own)) == sorted([A, C])
    assert reader.damaged == set()


def test_own_feed_that_is_gone(shared, reader):
    """One's own feed is missed as those of others are, whichever segment has gone."""
    own = write(shared, A, B, C, machine="me", segment_bytes=1, flushes=True)
    del shared.files["me", 1]
    assert list(reader.read_again({3}, own)) == [A, C]
    assert reader.damaged == {"me"}
