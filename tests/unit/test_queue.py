"""Pending lines of one host: their order, in memory and beyond."""

import random

import pytest

from fscrawl.frontier.flags import REFRESH, Flags
from fscrawl.frontier.queue import Line, Queue, Scratch


@pytest.fixture
def scratch(tmp_path):
    scratch = Scratch(str(tmp_path))
    yield scratch
    scratch.close()


class Numbers:
    """A queue of numbered lines."""

    def __init__(self, scratch):
        self.queue, self.scratch, self.rng = Queue(), scratch, random.Random(1)

    def push(self, *numbers):
        for number in numbers:
            self.queue.push(number, "", f"http://a.example/{number}")

    def pop(self, order, count):
        return [self.queue.pop(order, self.scratch, self.rng).depth for _ in range(count)]

    def spill(self, order="breadth"):
        self.queue.spill(order, self.scratch)


@pytest.fixture
def numbers(scratch):
    return Numbers(scratch)


def test_line(scratch):
    """A line comes back with depth, referrer and URL; its size is in bytes, by which memory is bounded."""
    queue = Queue()
    assert queue.push(3, "ab", "http://a.example/?x=1") == len("3 ab http://a.example/?x=1\n")
    queue.push(0, "", "http://a.example/")
    assert queue.count == 2
    rng = random.Random(1)
    assert queue.pop("breadth", scratch, rng) == Line(3, "ab", "http://a.example/?x=1")
    assert queue.pop("breadth", scratch, rng) == Line(0, "", "http://a.example/")
    assert queue.count == 0


def test_flags(scratch):
    """A line may have flags, through memory and scratch file, and beside lines without."""
    queue, rng = Queue(), random.Random(1)
    assert queue.push(1, "", "http://a.example/", Flags(retry_of="2026-01-02T03:04:05Z")) == len(
        "1  http://a.example/ again=2026-01-02T03:04:05Z\n"
    )
    queue.push(2, "ab", "http://a.example/b")
    queue.spill("breadth", scratch)
    queue.push(3, "", "http://a.example/c", REFRESH)
    assert [queue.pop("breadth", scratch, rng) for _ in range(3)] == [
        Line(1, "", "http://a.example/", Flags(retry_of="2026-01-02T03:04:05Z")),
        Line(2, "ab", "http://a.example/b"),
        Line(3, "", "http://a.example/c", REFRESH),
    ]


def test_breadth(numbers):
    """Breadth gives the oldest first, across blocks, what is being handed out and what came since."""
    numbers.push(1, 2, 3)
    assert numbers.pop("breadth", 1) == [1]
    numbers.spill()
    numbers.push(4, 5)
    numbers.spill()
    numbers.push(6)
    numbers.spill()
    numbers.push(7)
    assert numbers.pop("breadth", 6) == [2, 3, 4, 5, 6, 7]


def test_depth(numbers):
    """Depth gives the newest first, and what was spilled in the reverse of its order."""
    numbers.push(1, 2)
    numbers.spill()
    numbers.push(3, 4)
    numbers.spill()
    numbers.push(5, 6)
    assert numbers.pop("depth", 1) == [6]
    numbers.push(7)
    assert numbers.pop("depth", 6) == [7, 5, 4, 3, 2, 1]


def test_depth_after_a_spill(numbers):
    """Depth gives the newest first when a spill falls between two pops."""
    numbers.push(1, 2)
    assert numbers.pop("depth", 1) == [2]
    numbers.push(3)
    numbers.spill("depth")
    assert numbers.pop("depth", 2) == [3, 1]


def test_random(numbers):
    """Random gives each line once, in another order than any other."""
    numbers.push(*range(20))
    numbers.spill()
    numbers.push(*range(20, 40))
    numbers.spill()
    numbers.push(*range(40, 50))
    taken = numbers.pop("random", 50)
    assert sorted(taken) == list(range(50))
    assert taken not in (list(range(50)), list(range(49, -1, -1)))


def test_random_is_seeded(scratch):
    """Random follows the generator that it is given."""
    taken = []
    for _ in range(2):
        numbers = Numbers(scratch)
        numbers.push(*range(20))
        taken.append(numbers.pop("random", 20))
    assert taken[0] == taken[1]


@pytest.mark.parametrize("order", ["breadth", "depth", "random"])
def test_order_may_change(numbers, order):
    """Lines taken in changing orders are each taken once, wherever they lie."""
    numbers.push(1, 2, 3)
    numbers.spill()
    numbers.push(4, 5, 6)
    taken = numbers.pop(order, 1) + numbers.pop("depth", 1) + numbers.pop("breadth", 2) + numbers.pop("random", 2)
    assert sorted(taken) == [1, 2, 3, 4, 5, 6]


def test_nothing_to_spill(numbers):
    """Spilling an empty tail writes nothing."""
    numbers.spill()
    numbers.push(1)
    numbers.spill()
    numbers.spill()
    assert numbers.scratch.write(b"x") == len("1  http://a.example/1\n")


def test_scratch_has_no_name(scratch, tmp_path):
    """The scratch file has no name, so nothing of it remains, whatever ends the process."""
    scratch.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_scratch(scratch):
    """What was written is read from where it began, written out or not."""
    assert [scratch.write(data) for data in (b"one", bytearray(b"two"), b"")] == [0, 3, 6]
    assert (scratch.read(3, 3), scratch.read(0, 6)) == (b"two", b"onetwo")
