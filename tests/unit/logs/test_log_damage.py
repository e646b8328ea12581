"""Logs that hold less than was read or said, or what cannot be read."""

import pytest

from fscrawl.fleet.log_reader import Damage, LogReader
from tests.support.log_files import found

SHARD = {1}


@pytest.fixture
def log(make_writer, write):
    """Write a log of some blocks with one line each; give the places where they end, its beginning among them."""

    def log(blocks):
        writer = make_writer()
        places = [0]
        for number in range(blocks):
            write(writer, found(1, number), found(2, number))
            places.append(writer.place)
        return places

    return log


def lines(*numbers):
    return [found(1, number) for number in numbers]


def damage(place, until):
    return {"a": Damage(".fscrawl/generations/1/log/a.log", place, until)}


def zeros(store, begin, end):
    store["a"][begin:end] = bytes(end - begin)


def test_shorter_than_read(log, reader, files):
    """A log that is shorter than what was read of it is damaged, until it shows all again: nothing comes twice."""
    places = log(3)
    assert list(reader.read("a", SHARD)) == lines(0, 1, 2)
    for size in (places[1], 20, None):
        files.sizes["a"] = size
        assert list(reader.read("a", SHARD)) == []
        assert reader.damaged == damage(size or 0, places[3])
        files.sizes.clear()
        assert list(reader.read("a", SHARD, until=places[3])) == [], "a look at a log that does not grow tells"
        assert reader.damaged == {}


def test_gone(log, reader, store):
    """Of a log that is gone, or was never seen, all is missing that was read or said."""
    places = log(2)
    list(reader.read("a", SHARD, until=places[1]))
    del store["a"]
    assert list(reader.read("a", SHARD, until=places[2])) == []
    assert reader.damaged == damage(0, places[2])
    assert list(reader.read("b", SHARD, until=8)) == []
    assert reader.damaged["b"].text == ".fscrawl/generations/1/log/b.log: 0 of 8 bytes can be read"


@pytest.mark.parametrize("offset", [0, 30])
def test_zeros_in_the_middle(log, reader, store, offset):
    """Nothing behind damage is read, whole blocks before it are; all is read when its content is there."""
    places = log(4)
    kept = bytes(store["a"])
    zeros(store, places[1] + offset, places[2])
    assert list(reader.read("a", SHARD, until=places[4])) == lines(0)
    assert reader.places["a"] == places[1]
    assert reader.damaged == damage(places[1], places[4])
    store["a"][:] = kept
    assert list(reader.read("a", SHARD)) == lines(1, 2, 3), "they were shown before their content"
    assert reader.damaged == {}


def test_damage_in_a_take(log, reader, store, files):
    """A take ends at damage, and reports it; one of another range does not look there."""
    places = log(4)
    zeros(store, places[1], places[2])
    assert list(reader.read_shards("a", SHARD, 0, places[4])) == lines(0)
    assert reader.missed == damage(places[1], places[4])
    other = LogReader(files)
    assert list(other.read_shards("a", SHARD, places[2], places[4])) == lines(2, 3)
    assert other.missed == {}


@pytest.mark.parametrize(
    ("tail", "is_damage"), [(b"B 9999 0 1:9999\nu 1", False), (b"\0" * 50, True), (b"B 4 0 1:4\n\0\0\0\0", True)]
)
def test_a_tail(log, reader, store, tail, is_damage):
    """A block that is not whole, behind all that was said, counts for nobody. What can be no block is damage."""
    places = log(2)
    store["a"] += tail
    assert list(reader.read("a", SHARD, until=places[2])) == lines(0, 1)
    assert reader.damaged == {}
    assert list(reader.read("a", SHARD)) == []
    assert reader.damaged == (damage(places[2], places[2] + 1) if is_damage else {})
    list(reader.read("a", SHARD, until=places[2] + len(tail)))
    assert reader.damaged == damage(places[2], places[2] + len(tail)), "now it was said"


def test_a_file_that_shrinks_while_it_is_read(log, reader, store, files, monkeypatch):
    """Less than the size that was just shown: nothing is read, and that is damage."""
    places = log(2)
    real = files.open_view

    def shrinking(machine):
        view = real(machine)
        del store["a"][places[1] :]
        return view

    monkeypatch.setattr(files, "open_view", shrinking)
    assert list(reader.read("a", SHARD, until=places[2])) == []
    assert reader.damaged == damage(0, places[2])
