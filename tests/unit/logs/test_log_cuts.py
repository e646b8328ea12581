"""Logs that hold less than they should, or what cannot be read."""

import pytest

from fscrawl.errors import MemoryGone
from fscrawl.fleet.log_reader import Cut, LogReader
from fscrawl.fleet.log_writer import Place
from tests.support.log_files import ALL, found

BEGINNING = Place(0, 0)
SHARD = {1}


@pytest.fixture
def log(make_writer, write):
    """Write a log of some blocks with one line each: the places where they end, that of the first line among them."""

    def log(blocks, **options):
        writer = make_writer(**options)
        places = [writer.place]
        for number in range(blocks):
            write(writer, found(1, number), found(2, number))
            places.append(writer.place)
        return places

    return log


def lines(*numbers):
    return [found(1, number) for number in numbers]


def zeros(store, begin, end):
    assert begin.segment == end.segment
    store.files["a", begin.segment][begin.bytes : end.bytes] = bytes(end.bytes - begin.bytes)


# -- less than there was


def test_shorter_than_read(log, reader, store, files):
    """A log that is shorter than what was read of it is a cut, until it shows all again, or the cut is accepted."""
    places = log(3)
    assert list(reader.read("a", SHARD)) == lines(0, 1, 2)
    files.sizes["a", 0] = places[1].bytes
    assert list(reader.read("a", SHARD)) == []
    assert reader.cuts == {"a": Cut("a", places[3], places[1])}
    files.thaw()
    assert list(reader.read("a", SHARD)) == []
    assert reader.cuts == {}
    store.cut("a", 0, places[1].bytes)
    assert list(reader.read("a", SHARD)) == []
    reader.accept("a")
    assert list(reader.read("a", SHARD, until=places[3])) == lines(0), "the segment is read again"
    assert reader.places["a"] == places[1]
    assert reader.cuts == {}, "what was accepted is not reported again"


def test_a_cut_that_is_forgiven_while_it_is_being_read(log, reader, store):
    """A shard is put together bit by bit. Nobody would forgive the cut once more."""
    places = log(2)
    store.cut("a", 0, places[1].bytes)
    reading = reader.read_shards("a", SHARD, BEGINNING, places[2])
    assert next(reading) == found(1, 0)
    reader.forgive("a", places[2])
    assert list(reading) == []
    assert reader.cuts == {}


def test_a_cut_that_has_passed(log, reader, files):
    """A look at a log that does not grow tells that it is whole again."""
    places = log(2)
    list(reader.read("a", SHARD, until=places[2]))
    files.sizes["a", 0] = 20
    list(reader.read("a", SHARD))
    assert reader.cuts
    files.thaw()
    list(reader.read("a", SHARD, until=places[2]))
    assert not reader.cuts


def test_gone(log, reader, store):
    """A log that is gone as a whole."""
    places = log(2)
    list(reader.read("a", SHARD))
    store.remove("a", 0)
    assert list(reader.read("a", SHARD)) == []
    assert reader.cuts == {"a": Cut("a", places[2], None)}
    reader.accept("a")
    assert list(reader.read("a", SHARD, until=places[2])) == []
    assert (reader.places["a"], reader.cuts) == (BEGINNING, {})


def test_accepted_and_then_more(log, reader, store, make_writer, write):
    """After a cut was accepted, what is missing later is another cut."""
    places = log(2)
    reader.places["a"] = places[2]
    store.cut("a", 0, places[1].bytes)
    list(reader.read("a", SHARD))
    reader.accept("a")
    later = places[2]._replace(bytes=places[2].bytes + 1)
    list(reader.read("a", SHARD, until=later))
    assert reader.cuts == {"a": Cut("a", later, places[1])}


# -- segments


def test_an_old_size_when_the_next_segment_appears(log, reader, files):
    """A segment of which less is shown than counts is not left, in live reading."""
    places = log(4, segment_bytes=150)
    assert places[3].segment == 1
    files.sizes["a", 0] = places[1].bytes
    for until in (None, places[4]):
        assert list(LogReader(files, "me").read("a", SHARD, until=until)) == lines(0)
    assert list(reader.read("a", SHARD)) == lines(0)
    assert reader.cuts == {"a": Cut("a", places[2], places[1])}
    files.thaw()
    assert list(reader.read("a", SHARD)) == lines(1, 2, 3)
    assert reader.cuts == {}


def test_a_segment_that_is_shorter_than_counts(log, reader, store):
    """When that is believed, reading goes on in the next segment."""
    places = log(4, segment_bytes=150)
    store.cut("a", 0, places[2].bytes - 1)
    assert list(reader.read("a", SHARD)) == lines(0)
    reader.accept("a")
    assert list(reader.read("a", SHARD)) == lines(0, 2, 3), "what is there of it is read again"
    assert (reader.places["a"], reader.cuts) == (places[4], {})


def test_a_first_segment_above_the_place(log, reader, store, files):
    """Segments that were removed before this reader had read them are a cut."""
    places = log(4, segment_bytes=1)
    store.remove("a", 0)
    store.remove("a", 1)
    assert list(reader.read("a", SHARD)) == []
    assert reader.cuts == {"a": Cut("a", places[1], Place(2, 0))}
    reader.accept("a")
    assert list(reader.read("a", SHARD)) == lines(1, 2, 3)
    other = LogReader(files, "other")
    assert list(other.read_shards("a", SHARD, BEGINNING, places[4])) == lines(1, 2, 3)
    assert other.cuts == {"a": Cut("a", places[1], Place(2, 0))}


def test_a_removed_segment_that_was_read(log, reader, store):
    """Who has read all that counts of a segment does not miss it."""
    places = log(4, segment_bytes=1)
    list(reader.read("a", SHARD, until=places[2]))
    store.remove("a", 1)
    store.remove("a", 2)
    assert list(reader.read("a", SHARD, until=places[4])) == lines(2, 3)
    assert list(reader.read_shards("a", SHARD, places[2], places[4])) == lines(2, 3)
    assert reader.cuts == {}


def test_a_segment_that_is_not_shown(log, reader, files):
    """A segment in the middle that a view does not show is waited for."""
    places = log(4, segment_bytes=1)
    files.sizes["a", 2] = None
    for until in (None, places[4]):
        fresh = LogReader(files, "me")
        assert list(fresh.read("a", SHARD, until=until)) == lines(0)
        assert fresh.cuts["a"].expected == places[2]
        files.thaw()
        assert list(fresh.read("a", SHARD, until=until)) == lines(1, 2, 3)
        assert fresh.cuts == {}
        files.sizes["a", 2] = None


def test_a_next_segment_that_is_not_shown(log, reader, files):
    places = log(2, segment_bytes=1)
    files.sizes["a", 2] = None
    assert list(reader.read("a", SHARD, until=places[2])) == lines(0)
    assert reader.cuts == {"a": Cut("a", places[2], places[1])}


# -- damage


@pytest.mark.parametrize("whole", [True, False])
def test_zeros_in_the_middle(log, reader, store, files, whole):
    """What cannot be read is waited for, reported, and skipped when it is believed; the next head is found."""
    places = log(4)
    kept = bytes(store.files["a", 0])
    begin = places[1] if whole else places[1]._replace(bytes=places[1].bytes + 30)
    zeros(store, begin, places[2])
    for until in (None, places[4]):
        fresh = LogReader(files, "me")
        assert list(fresh.read("a", SHARD, until=until)) == lines(0)
        assert fresh.places["a"] == places[1]
        assert fresh.cuts == {"a": Cut("a", places[2], places[1])}
        fresh.accept("a")
        assert list(fresh.read("a", SHARD, until=until)) == lines(2, 3)
        assert fresh.cuts == {}
    list(reader.read("a", SHARD))
    store.files["a", 0][:] = kept
    assert list(reader.read("a", SHARD)) == lines(1, 2, 3), "they were shown before their content"
    assert reader.cuts == {}


def test_damage_in_a_take(log, reader, store, files):
    """A take goes over damage at once, and reports it until a take over the same range finds none."""
    places = log(4)
    kept = bytes(store.files["a", 0])
    zeros(store, places[1], places[2])
    assert list(reader.read_shards("a", SHARD, BEGINNING, places[4])) == lines(0, 2, 3)
    assert reader.cuts == {"a": Cut("a", places[2], places[1])}
    list(reader.read_shards("a", SHARD, places[2], places[4]))
    assert reader.cuts, "that take did not look there"
    store.files["a", 0][:] = kept
    assert list(reader.read_shards("a", SHARD, BEGINNING, places[4])) == lines(0, 1, 2, 3)
    assert reader.cuts == {}
    zeros(store, places[1], places[2])
    list(reader.read_shards("a", SHARD, BEGINNING, places[4]))
    reader.accept("a")
    assert list(reader.read_shards("a", SHARD, BEGINNING, places[4])) == lines(0, 2, 3)
    assert reader.cuts == {}


def test_damage_that_does_not_count(make_writer, reader, store, write):
    """What a failed append left is gone over, whatever it is."""
    writer = make_writer()
    write(writer, found(1, 0))
    writer._spoilt = True
    store.files["a", 0] += b"\0" * 50
    assert list(reader.read("a", SHARD, until=writer.place)) == lines(0)
    write(writer, found(1, 1))
    assert list(reader.read("a", SHARD, until=writer.place)) == lines(1)
    assert list(reader.read_shards("a", SHARD, BEGINNING, writer.place)) == lines(0, 1)
    assert list(LogReader(reader._files, "other").read("a", SHARD)) == lines(0, 1)
    assert reader.cuts == {}


def test_zeros_at_the_end(log, reader, store):
    """A last block that cannot be read has no head behind it."""
    places = log(2)
    zeros(store, places[1], places[2])
    assert list(reader.read("a", SHARD)) == lines(0)
    assert reader.cuts == {"a": Cut("a", places[2], places[1])}
    reader.accept("a")
    assert reader.places["a"] == places[2]


def test_a_head_that_says_too_much(log, reader, store):
    """A block that is longer than what its writer says is there cannot be right."""
    places = log(2)
    data = store.files["a", 0]
    data[places[1].bytes : places[2].bytes] = b"B 9999 0 1:9999\n".ljust(places[2].bytes - places[1].bytes, b"x")
    assert list(reader.read("a", SHARD)) == lines(0)
    assert reader.cuts == {}, "the rest may come"
    list(reader.read("a", SHARD, until=places[2]))
    assert reader.cuts == {"a": Cut("a", places[2], places[1])}


def test_a_damaged_first_line(log, reader, store):
    """A segment whose first line is damaged is read from its first head on, when that is believed."""
    places = log(4, segment_bytes=150)
    store.files["a", 1][:4] = bytes(4)
    assert list(reader.read("a", SHARD, until=places[4])) == lines(0, 1)
    assert reader.cuts["a"].expected == places[4]
    reader.accept("a")
    got = []
    for _ in range(2):
        got += reader.read("a", SHARD, until=places[4])
        if reader.cuts:
            reader.accept("a")
    assert got == lines(2, 3)


@pytest.mark.parametrize("cut_to", [5, 6, 8])
def test_a_first_line_that_was_cut_and_written_on(make_writer, write, reader, files, store, cut_to):
    """Who was in the segment when it was cut and who comes later agree on where the log ends, once it is forgiven.

    The writer was about to append a block: that is the last thing it does with this log.
    """
    writer = make_writer(segment_bytes=30)
    write(writer, found(1))
    write(writer, found(1, 1))
    place = writer.place
    assert (place.segment, list(reader.read("a", SHARD))) == (1, lines(0))
    store.cut("a", 1, cut_to)
    assert list(reader.read("a", SHARD)) == []
    assert reader.cuts["a"].expected == place
    with pytest.raises(MemoryGone):
        write(writer, found(1, 1))
    later = LogReader(files, "later")
    for each in (reader, later):
        each.forgive("a", place)
        list(each.read("a", SHARD))
        list(each.read("a", SHARD))
    assert reader.cuts == later.cuts
    assert reader.places == later.places


def test_a_take_up_to_a_torn_end(log, reader, store):
    """The end of a dead machine's log may lie within a block. That is no cut, since nobody says that more was there."""
    places = log(2)
    store.cut("a", 0, places[2].bytes - 5)
    assert list(reader.read_shards("a", SHARD, BEGINNING, reader.end_of("a"))) == lines(0)
    assert reader.cuts == {}
    assert list(reader.read_shards("a", SHARD, BEGINNING, places[2])) == lines(0)
    assert reader.cuts == {"a": Cut("a", places[2], reader.end_of("a"))}


def test_a_file_that_shrinks_while_it_is_read(log, reader, store, files, monkeypatch):
    """Less than the size that was just shown: nothing is read, and the next look tells."""
    places = log(2)
    real = files.open_segment

    def shrinking(machine, segment):
        view = real(machine, segment)
        store.cut("a", 0, places[1].bytes)
        return view

    monkeypatch.setattr(files, "open_segment", shrinking)
    assert list(reader.read("a", SHARD, until=places[2])) == []
    assert reader.cuts == {"a": Cut("a", places[2], places[1])}


def test_damage_in_many_mebibytes(log, reader, store, monkeypatch):
    """The next head is looked for piece by piece."""
    monkeypatch.setattr("fscrawl.fleet.log_walk._SEARCH_BYTES", 64)
    places = log(9)
    zeros(store, places[1], places[7])
    assert list(reader.read_shards("a", SHARD, BEGINNING, places[9])) == lines(0, 7, 8)
    assert list(reader.read_shards("a", ALL, places[8], places[9])) == [found(1, 8), found(2, 8)]
