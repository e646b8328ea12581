"""What a reader of logs gives, and what it costs."""

import itertools

import pytest

from fscrawl.fleet.lines import Surveyed, Told
from fscrawl.fleet.log_reader import GAP_BYTES, HEAD_BYTES, LogReader
from fscrawl.frontier.flags import Flags
from tests.support.log_files import ALL, LogsInMemory, found

KEY = "599370d5687c3fd078c314ad"
TOLD = Told(1, KEY, 2)
FAILED = Told(2, KEY, 2, "2026-01-02T03:04:05.678Z")


@pytest.fixture
def writer(make_writer):
    return make_writer()


def test_what_was_written(writer, reader, write):
    """A reader gets each line of its shards once, also the writer's own; the heads name all shards."""
    flagged = found(3)._replace(flags=Flags(retry_of="2026-01-02T03:04:05.678Z"), referrer="")
    write(writer, found(1), flagged, TOLD, FAILED, own=[Surveyed(4), found(5)])
    assert set(reader.read("a", {1, 3, 4})) == {found(1), flagged, TOLD, Surveyed(4)}
    assert list(reader.read("a", {1, 3, 4})) == []
    assert reader.places == {"a": writer.place}
    assert reader.needed == {1, 2, 3, 4, 5}
    assert reader.damaged == {}


def test_order(writer, reader, write):
    """Lines of a shard come as they were written, in one block and over several."""
    lines = [found(1, number) for number in (5, 3, 4)]
    for block in (lines[:2], lines[2:]):
        write(writer, *block)
    assert list(reader.read("a", {1})) == lines


def test_nothing_new(writer, reader, files, write):
    """A log that its writer says has not grown is not looked at."""
    write(writer, found(1))
    assert list(reader.read("a", ALL, until=writer.place)) == [found(1)]
    files.calls.clear()
    assert list(reader.read("a", ALL, until=writer.place)) == []
    assert not files.calls


def test_until(writer, reader, write):
    """Nothing is read behind the place that was asked for."""
    write(writer, found(1))
    place = writer.place
    write(writer, found(2))
    assert list(reader.read("a", ALL, until=place)) == [found(1)]
    assert reader.places["a"] == place
    assert list(reader.read("a", ALL, until=writer.place)) == [found(2)]


def test_a_long_name(make_writer, reader, write):
    """Names of machines may have 200 bytes."""
    name = "m" * 200
    writer = make_writer(name)
    write(writer, found(1))
    write(writer, found(2))
    assert list(reader.read(name, ALL)) == [found(1), found(2)]


def test_no_log(reader):
    """A machine without a log has nothing to read, and nothing is missing."""
    assert list(reader.read("nobody", ALL)) == []
    assert (reader.places, reader.damaged) == ({}, {})


# -- every prefix


def test_every_torn_prefix(make_writer, reader, files, write):
    """Of what is there only whole blocks are read, and each of them once, whatever the view shows next."""
    writer = make_writer()
    ends = {0: 0}
    lines = [found(1, number, length=20 * number) for number in range(4)]
    for number, line in enumerate(lines, 1):
        write(writer, line, found(2), own=[TOLD._replace(shard=3)])
        ends[writer.place] = number
    got = []
    for size in range(writer.place + 1):
        files.sizes["a"] = size
        got += reader.read("a", {1})
        whole = max(end for end in ends if end <= size)
        assert got == lines[: ends[whole]]
        assert reader.places.get("a", 0) == whole
        assert list(LogReader(files).read("a", {1})) == got
        assert reader.damaged == {}, "a prefix is no damage if nobody says that there is more"


def test_every_torn_prefix_of_a_promise(make_writer, reader, files, write):
    """If the writer says that there is more, a prefix is damage, until all is there."""
    writer = make_writer()
    write(writer, found(1))
    for size in range(writer.place):
        files.sizes["a"] = size
        assert list(reader.read("a", {1}, until=writer.place)) == []
        assert reader.damaged["a"][1:] == (0, writer.place)
    files.sizes.clear()
    assert list(reader.read("a", {1}, until=writer.place)) == [found(1)]
    assert reader.damaged == {}


# -- what it costs


def filled(writer, write, shards, *, each=20, length=100):
    """Write a block with `each` lines for every shard; give its lines."""
    lines = [found(shard, number, length=length) for shard in shards for number in range(each)]
    write(writer, *lines)
    return lines


def test_only_the_ranges(make_writer, reader, files, write):
    """Of a long block the head and the wanted range are read, by two calls."""
    holders = {shard: f"m{shard % 5}" for shard in range(50)}
    writer = make_writer(holder_of=holders.__getitem__)
    write(writer, found(0))
    list(reader.read("a", ()))
    mine = {shard for shard in holders if holders[shard] == "m2"}
    lines = filled(writer, write, range(50))
    files.calls.clear()
    files.reads.clear()
    got = list(reader.read("a", mine, until=writer.place))
    wanted = [line for line in lines if line.shard in mine]
    assert got == wanted
    assert dict(files.calls) == {"open": 1, "read": 2}
    bytes_of_mine = files.reads[1][1]
    assert bytes_of_mine == sum(len(f"u 1 {line.referrer} {line.url}\n") for line in wanted)
    assert files.reads[0][1] == HEAD_BYTES


def test_nothing_for_me(make_writer, reader, files, write):
    """Of a block without lines for this machine only the head is read."""
    writer = make_writer()
    list(reader.read("a", ()))
    filled(writer, write, range(5))
    files.reads.clear()
    assert list(reader.read("a", {77}, until=writer.place)) == []
    assert [length for _, length in files.reads] == [HEAD_BYTES]


def test_a_short_block(make_writer, reader, files, write):
    """A block of a few lines is read by one call."""
    writer = make_writer()
    list(reader.read("a", ()))
    write(writer, found(1), found(2))
    files.calls.clear()
    assert list(reader.read("a", {2}, until=writer.place)) == [found(2)]
    assert dict(files.calls) == {"open": 1, "read": 1}


def test_gaps(make_writer, reader, files, write):
    """Across a small gap it is read on; a large one costs a call and not its bytes."""
    writer = make_writer()
    list(reader.read("a", ()))
    lines = [found(0, length=HEAD_BYTES), found(1), found(2, length=GAP_BYTES // 2), found(3), found(4, length=5000)]
    write(writer, *lines, found(5))
    files.reads.clear()
    assert list(reader.read("a", {1, 3, 5}, until=writer.place)) == [lines[1], lines[3], found(5)]
    assert len(files.reads) == 3
    assert files.read_bytes < HEAD_BYTES + 2 * GAP_BYTES


def test_on_to_the_next_head(make_writer, reader, files, write):
    """Where a wanted range ends with its block, the same call brings the next head."""
    writer = make_writer()
    list(reader.read("a", ()))
    for _ in range(4):
        filled(writer, write, range(5))
    files.calls.clear()
    assert len(list(reader.read("a", {4}, until=writer.place))) == 4 * 20
    assert dict(files.calls) == {"open": 1, "read": 5}


def test_a_long_head(make_writer, reader, files, write):
    """A head that does not fit into the first call is read on; the next is expected to be as long."""
    writer = make_writer()
    filled(writer, write, range(700), each=1)
    assert len(list(reader.read("a", {699}, until=writer.place))) == 1
    filled(writer, write, range(700), each=1)
    files.calls.clear()
    assert len(list(reader.read("a", {699}, until=writer.place))) == 1
    assert dict(files.calls) == {"open": 1, "read": 2}


def test_six_machines_read_little_more_than_two(store, make_writer):
    """On a small web, where blocks are short, six machines read at most six times as much as two, for the same lines.

    That is five readings of what two machines read once, and no more.
    """
    read = {}
    for count in (2, 6):
        names = [f"m{count}{number}" for number in range(count)]
        holders = {shard: names[shard % count] for shard in range(40)}
        writers = [make_writer(name, holder_of=holders.__getitem__) for name in names]
        views = [LogsInMemory(store) for _ in names]
        readers = [LogReader(view) for view in views]
        for step in range(60 // count):  # the same pages, shared by the machines
            for writer, name in zip(writers, names, strict=True):
                for number in range(10):
                    line = found(7 * number % 40, step, length=60)
                    writer.add(line, own=holders[line.shard] == name)
                writer.flush()
            for reader, name in zip(readers, names, strict=True):
                mine = {shard for shard in holders if holders[shard] == name}
                for writer, other in zip(writers, names, strict=True):
                    if other != name:
                        list(reader.read(other, mine, until=writer.place))
        read[count] = sum(view.read_bytes for view in views)
    assert read[6] <= 6 * read[2]


# -- takes


def test_read_shards(make_writer, reader, write):
    """A take reads between two places, foreign and own parts; nothing moves."""
    writer = make_writer()
    places = [0]
    for number in range(6):
        write(writer, found(1, number), found(2, number), own=[found(3, number)])
        places.append(writer.place)
    for begin, end in itertools.combinations(range(len(places)), 2):
        got = list(reader.read_shards("a", {1, 3}, places[begin], places[end]))
        assert got == [line for number in range(begin, end) for line in (found(1, number), found(3, number))]
    assert list(reader.read_shards("a", {1}, places[3], places[3])) == []
    assert (reader.places, reader.damaged) == ({}, {})


def test_read_shards_reads_ranges(make_writer, reader, files, write):
    """A take reads only what it needs of long blocks."""
    writer = make_writer()
    filled(writer, write, range(40))
    assert len(list(reader.read_shards("a", {7, 8}, 0, writer.place))) == 40
    assert files.read_bytes < 40 * 140 + 2 * HEAD_BYTES
