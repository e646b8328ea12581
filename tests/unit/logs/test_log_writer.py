"""What the writer of a log leaves, whatever fails."""

import errno

import pytest

from fscrawl.errors import MemoryGone, TreeBusyError, TreeError
from fscrawl.fleet.lines import Found
from tests.support.log_files import ALL, TRIES, LogsInMemory, found

ONE, TWO, THREE = found(1), found(2), found(3)


@pytest.fixture
def view(store):
    """What the writer sees."""
    return LogsInMemory(store)


@pytest.fixture
def writer(make_writer, view):
    return make_writer(view=view)


def test_a_log_is_made_before_there_is_anything_to_write(writer, store):
    assert store == {"a": b""}
    assert writer.place == 0


def test_flush(writer, view, store, write):
    """A flush is one write. Nothing to flush is none."""
    assert writer.is_empty
    writer.add(ONE, own=True)
    assert (writer.is_empty, writer.has_foreign) == (False, False)
    writer.add(TWO, own=False)
    assert writer.has_foreign
    size = writer.unflushed_bytes
    view.calls.clear()
    writer.flush()
    writer.flush()
    assert dict(view.calls) == {"write": 1}
    assert (writer.is_empty, writer.has_foreign, writer.unflushed_bytes) == (True, False, 0)
    assert writer.place == len(store["a"])
    assert store["a"].startswith(b"B %d %d 2:%d | 1:%d\n" % ((size // 2,) * 4))


def test_a_line_that_a_log_cannot_hold(writer):
    """It is left out: a damaged record must not damage the log for all readers."""
    assert not writer.add(Found(1, 1, "", "http://a.example/a b"), own=False)
    assert writer.is_empty


@pytest.mark.parametrize("landed", [[0], [1], [20], [-1], [3, 0, 20], [20, 3, -1]])
def test_a_write_that_fails(writer, view, store, write, reader, landed):
    """It is made again with the same bytes at the same place, whatever of it is there."""
    write(writer, ONE)
    view.faults = landed
    write(writer, TWO)
    write(writer, THREE)
    assert list(reader.read("a", ALL)) == [ONE, TWO, THREE]
    assert reader.places["a"] == writer.place == len(store["a"])
    writer.check()
    assert reader.damaged == {}


@pytest.mark.parametrize("landed", [0, 5, -1])
def test_after_the_limit(writer, view, store, write, reader, landed):
    """When nothing helps, the lines stay with the writer. Later the same block is written, then new lines."""
    write(writer, ONE)
    before, tries = writer.place, []
    view.faults = [landed] * TRIES
    writer.add(TWO, own=False)
    for _ in range(2):
        with pytest.raises(TreeBusyError):
            writer.flush()
        assert not writer.is_empty
        assert writer.place == before
        writer.check()
        tries.append(bytes(store["a"]))
        view.faults = [landed] * TRIES
        writer.add(THREE, own=False)
    assert tries[0] == tries[1]
    view.faults = []
    writer.flush()
    assert store["a"].startswith(tries[0])
    assert list(reader.read("a", ALL, until=writer.place)) == [ONE, TWO, THREE, THREE]
    assert writer.place == len(store["a"])


def test_a_file_that_cannot_be_opened(make_writer, view, store, write):
    """An error that may pass is tried again; of another one nothing is lost."""
    view.open_faults = [errno.EIO, errno.ESTALE]
    writer = make_writer(view=view)
    writer.close()
    view.open_faults = [errno.ENOSPC]
    with pytest.raises(TreeError, match="the disk is full"):
        write(writer, ONE)
    writer.flush()
    assert writer.place == len(store["a"])


@pytest.mark.parametrize("landed", [None, 5])
def test_somebody_else_writes(writer, view, store, write, landed):
    """A file that grew by another's hand is found by the next flush, also while a block is half written."""
    write(writer, ONE)
    there = bytes(store["a"])
    store["a"] += b"x" * 999
    view.faults = [landed]
    with pytest.raises(MemoryGone, match=r"a\.log: \d+ bytes are there, after \d+ were written while this machine ran"):
        write(writer, TWO)
    assert store["a"].startswith(there)
    with pytest.raises(MemoryGone):
        writer.flush()


def test_somebody_else_has_the_name(make_writer, store, write):
    """Two machines with one id: the second does not write."""
    write(make_writer(), ONE)
    there = bytes(store["a"])
    with pytest.raises(MemoryGone):
        make_writer()
    assert store["a"] == there


@pytest.mark.parametrize("at", [0, 8, -1])
@pytest.mark.parametrize("landed", [None, 0])
def test_a_log_that_was_cut(writer, view, store, write, at, landed):
    """A check finds it, and so does a flush that has to open the file again."""
    write(writer, ONE)
    del store["a"][at:]
    with pytest.raises(MemoryGone, match="bytes are there"):
        writer.check()
    view.faults = [landed]
    if landed is None:
        writer.close()
    with pytest.raises(MemoryGone, match="bytes are there"):
        write(writer, TWO)


def test_a_log_that_is_gone(writer, store, write):
    write(writer, ONE)
    del store["a"]
    with pytest.raises(MemoryGone, match="it is gone"):
        writer.check()


def test_zeros(writer, store, write):
    """A server that came back may show the size, and zeros."""
    write(writer, ONE)
    store["a"][-9:] = b"\0" * 9
    with pytest.raises(MemoryGone, match="it ends with other bytes"):
        writer.check()


@pytest.mark.parametrize("fault", [None, -1, 20])
def test_a_check_while_another_thread_flushes(writer, view, write, monkeypatch, fault):
    """A log that grows by this writer's own hand is not taken for changed, whenever it is looked at."""
    write(writer, ONE)
    writes, opens = [], []
    real_write, real_open = writer._end.write, view.open_view

    def watched_write(data, offset):
        try:
            return real_write(data, offset)
        finally:
            writes.append(writer.check())  # it has landed, and is not counted yet

    def open_view(machine):
        opened = real_open(machine)
        if not opens:
            opens.append(machine)
            write(writer, THREE)  # after `check` has taken what it compares with
            return real_open(machine)
        return opened

    writer._end.write = watched_write
    view.faults = [fault]
    write(writer, TWO)
    monkeypatch.setattr(view, "open_view", open_view)
    writer.check()
    writer.check()
    assert writes


def test_a_check_costs_little(writer, view, write):
    write(writer, *(found(1, number) for number in range(100)))
    view.calls.clear()
    writer.check()
    assert dict(view.calls) == {"open": 1, "read": 1}
    assert view.read_bytes == 256


def test_closed(writer, store, write, reader):
    """A writer that was closed opens its file again."""
    write(writer, ONE)
    writer.close()
    writer.close()
    write(writer, TWO)
    assert list(reader.read("a", ALL)) == [ONE, TWO]
