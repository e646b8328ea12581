"""Blocks on the local disk: what is written, what is read, and what goes back to the disk."""

import random
import tempfile

import pytest

from fscrawl.frontier.queue import Scratch

KIB = 1024


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch = Scratch(segment_bytes=64 * KIB)
    yield scratch
    scratch.close()


def test_no_name(scratch, tmp_path):
    """The files have no names, so nothing of them remains, whatever ends the process."""
    scratch.write(b"x" * 100_000)
    scratch.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_reading(scratch):
    """What was written is read from where it began, written out or not."""
    places = [scratch.write(data) for data in (b"one", bytearray(b"two"))]
    assert [scratch.read(place, 3) for place in places] == [b"one", b"two"]
    assert scratch.read(places[0], 6) == b"onetwo"


def test_lines(scratch):
    """The first and the last line of a block are found, however long they are, and whatever lies beside the block."""
    for lengths in ((1,), (3, 4), (1000, 2, 3000), (20_000, 20_000), (255,), (256, 256)):
        lines = [b"x" * (length - 1) + b"\n" for length in lengths]
        scratch.write(b"before\n")
        place = scratch.write(b"".join(lines))
        scratch.write(b"after\n")
        assert scratch.first_line(place, sum(lengths)) == lines[0]
        assert scratch.last_line(place, sum(lengths)) == lines[-1]


def test_segments_that_are_not_needed_go(scratch):
    """When nothing of a segment is in use, its file is closed; one that is still written to stays."""
    places = [scratch.write(b"x" * 64 * KIB) for _ in range(4)]
    assert scratch.size == 4 * 64 * KIB
    for place in places:
        scratch.free(place, 64 * KIB)
    assert (scratch.size, scratch.in_use) == (64 * KIB, 0)
    scratch.write(b"x")
    assert (scratch.size, scratch.in_use) == (1, 1)


def test_constant_load(scratch):
    """While about as much is in use, the files stay small, also if some blocks stay for ever."""
    rng = random.Random(1)
    block = [b"%06d" % number * 50 for number in range(12_000)]
    places = {number: scratch.write(block[number]) for number in range(3000)}  # 900 KB in use
    newest = list(range(2500, 3000))
    for number in range(3000, 12_000):  # 2.7 MB go through; the oldest 2,500 stay
        chosen = rng.randrange(500) if number % 10 else 0
        scratch.free(places.pop(newest[chosen]), 300)
        newest[chosen] = number
        places[number] = scratch.write(block[number])
        wasteful = scratch.wasteful()
        for each, place in places.items() if wasteful else ():
            places[each] = scratch.move(place, 300, wasteful)
        assert scratch.in_use == 900_000
        assert scratch.size <= 2 * (900_000 + 64 * KIB)
    assert all(scratch.read(place, 300) == block[number] for number, place in places.items())


def test_few_files(scratch):
    """However much is in use, the files are few, because each is open."""
    for _ in range(200):
        scratch.write(b"x" * 64 * KIB)
    assert len(scratch._segments) < 100
