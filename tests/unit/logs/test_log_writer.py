"""What the writer of a log leaves, whatever fails."""

import errno

import pytest

from fscrawl.errors import MemoryGone, TreeBusyError, TreeError
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_writer import Place
from tests.support.log_files import ALL, TRIES, LogsInMemory, found

ONE, TWO, THREE = found(1), found(2), found(3)


@pytest.fixture
def view(store):
    """What the writer sees."""
    return LogsInMemory(store)


@pytest.fixture
def writer(make_writer, view):
    return make_writer(view=view)


def test_first_segment(writer, store):
    """The log is there before anything is written into it."""
    assert store.log("a") == [b"L a 0 0\n"]
    assert writer.place == Place(0, 8)
    writer.open()
    assert store.log("a") == [b"L a 0 0\n"]


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
    assert dict(view.calls) == {"append": 1}
    assert (writer.is_empty, writer.has_foreign, writer.unflushed_bytes) == (True, False, 0)
    (data,) = store.log("a")
    assert writer.place == Place(0, len(data))
    assert data.startswith(b"L a 0 0\nB %d %d 2:%d | 1:%d\n" % (size // 2, size // 2, size // 2, size // 2))


def test_a_line_that_a_log_cannot_hold(writer):
    """It is left out: a damaged record must not damage the log for all readers."""
    assert not writer.add(Found(1, 1, "", "http://a.example/a b"), own=False)
    assert writer.is_empty


def test_next_segment(make_writer, store, write):
    """A full segment is followed by the next, which says how much it holds."""
    writer = make_writer(segment_bytes=50)
    for line in (ONE, TWO, THREE):
        write(writer, line)
    first, second, third = store.log("a")
    assert second.startswith(b"L a 1 %d\nB " % len(first))
    assert third.startswith(b"L a 2 %d\nB " % len(second))
    assert writer.place == Place(2, len(third))


@pytest.mark.parametrize("landed", [0, 1, 20, -1])
def test_an_append_that_fails(writer, view, store, write, reader, landed):
    """A segment is not appended to after that; its block goes into the next one."""
    write(writer, ONE)
    before = writer.place
    view.faults = [landed]
    write(writer, TWO)
    write(writer, THREE)
    first, second = store.log("a")
    assert second.startswith(b"L a 1 %d\nB " % before.bytes)
    assert len(first) >= before.bytes
    assert set(reader.read("a", ALL)) == {ONE, TWO, THREE}
    assert reader.places["a"] == writer.place == Place(1, len(second))
    writer.check()
    assert reader.cuts == {}


def test_appends_that_fail_in_a_row(writer, view, store, write, reader):
    """Segments of which nothing counts say so, back to the one of which something does."""
    write(writer, ONE)
    before = writer.place
    view.faults = [3, 0, 20]
    write(writer, TWO)
    segments = store.log("a")
    assert len(segments) == 4
    assert segments[3].startswith(b"L a 3 0 0 %d\nB " % before.bytes)
    assert list(reader.read("a", ALL)) == [ONE, TWO]
    assert list(reader.read_shards("a", ALL, Place(0, 0), writer.place)) == [ONE, TWO]
    assert reader.cuts == {}


def test_no_first_segment(view, make_writer, store, write, reader):
    """Also the first line of the first segment may not land."""
    view.faults = [2, 2]
    writer = make_writer(view=view)
    write(writer, ONE)
    assert store.log("a")[2].startswith(b"L a 2 0 0\nB ")
    assert list(reader.read("a", ALL)) == [ONE]
    assert reader.cuts == {}


def test_after_the_limit(writer, view, write, reader):
    """When nothing helps, the lines stay with the writer, and the place is that of what was flushed."""
    write(writer, ONE)
    before = writer.place
    view.faults = [5] * TRIES
    writer.add(TWO, own=False)
    with pytest.raises(TreeBusyError):
        writer.flush()
    assert not writer.is_empty
    assert writer.place == before
    writer.check()
    writer.add(THREE, own=False)
    writer.flush()
    assert set(reader.read("a", ALL, until=writer.place)) == {ONE, TWO, THREE}
    writer.check()


def test_a_segment_that_cannot_be_made(make_writer, view, store, write):
    """An error before the first write leaves nothing, so the number is used again."""
    writer = make_writer(view=view, segment_bytes=1)
    view.open_faults = [errno.EIO, errno.ESTALE]
    write(writer, ONE)
    assert len(store.log("a")) == 2
    view.open_faults = [errno.ENOSPC]
    with pytest.raises(TreeError, match="the disk is full"):
        write(writer, TWO)
    writer.check()
    writer.flush()
    assert len(store.log("a")) == 3


def test_somebody_else_appends(writer, store, write):
    """A segment that grew by another's hand is found by the next flush, and by a check."""
    store.files["a", 0] += b"x"
    with pytest.raises(MemoryGone, match=r"0\.log: 9 bytes are there, after 8 were written while this machine ran"):
        writer.check()
    with pytest.raises(MemoryGone, match="9 bytes are there"):
        write(writer, ONE)


def test_somebody_else_has_the_name(make_writer, store):
    """Two machines with one id: the second does not write."""
    make_writer()
    with pytest.raises(MemoryGone):
        make_writer()
    assert store.log("a") == [b"L a 0 0\n"]


@pytest.mark.parametrize("at", [0, 8, -1])
def test_a_log_that_was_cut(writer, store, write, at):
    write(writer, ONE)
    store.cut("a", 0, at)
    with pytest.raises(MemoryGone, match="bytes are there"):
        writer.check()
    with pytest.raises(MemoryGone, match="bytes are there"):
        write(writer, TWO)


def test_a_log_that_is_gone(writer, store, write):
    write(writer, ONE)
    store.remove("a", 0)
    with pytest.raises(MemoryGone, match="it is gone"):
        writer.check()


def test_zeros(writer, store, write):
    """A server that came back may show the size, and zeros."""
    write(writer, ONE)
    size = writer.place.bytes
    store.files["a", 0][size - 9 :] = b"\0" * 9
    with pytest.raises(MemoryGone, match="it ends with other bytes"):
        writer.check()


@pytest.mark.parametrize("fault", [None, -1, 20])
def test_a_check_while_another_thread_flushes(writer, view, write, monkeypatch, fault):
    """A segment that grows by this writer's own hand is not taken for changed, whenever it is looked at."""
    write(writer, ONE)
    appends, opens = [], []
    real_append, real_open = writer._end.append, view.open_segment

    def append(data):
        try:
            return real_append(data)
        finally:
            appends.append(writer.check())  # it has landed, and is not counted yet

    def open_segment(machine, segment):
        opened = real_open(machine, segment)
        if not opens:
            opens.append(segment)
            write(writer, THREE)  # after `check` has taken what it compares with
            return real_open(machine, segment)
        return opened

    writer._end.append = append
    view.faults = [fault]
    write(writer, TWO)
    monkeypatch.setattr(view, "open_segment", open_segment)
    writer.check()
    writer.check()
    assert appends


def test_a_check_costs_little(writer, view, write):
    write(writer, *(found(1, number) for number in range(100)))
    view.calls.clear()
    writer.check()
    assert dict(view.calls) == {"open": 1, "read": 1}
    assert view.read_bytes == 256


def test_closed(writer, store, write):
    """A writer that was closed opens its segment again."""
    write(writer, ONE)
    writer.close()
    writer.close()
    write(writer, TWO)
    assert len(store.log("a")) == 1
