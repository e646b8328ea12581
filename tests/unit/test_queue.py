"""Pending lines of one host: their order, in memory and beyond."""

import random

import pytest

from fscrawl.frontier.flags import REFRESH, Flags
from fscrawl.frontier.queue import Line, Queue, Scratch
from fscrawl.request import MAX_BODY_BYTES, Request, spelling


@pytest.fixture
def scratch():
    scratch = Scratch()
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

    def spill(self):
        self.queue.spill(self.scratch)


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
    queue.spill(scratch)
    queue.push(3, "", "http://a.example/c", REFRESH)
    assert [queue.pop("breadth", scratch, rng) for _ in range(3)] == [
        Line(1, "", "http://a.example/", Flags(retry_of="2026-01-02T03:04:05Z")),
        Line(2, "ab", "http://a.example/b"),
        Line(3, "", "http://a.example/c", REFRESH),
    ]


def test_breadth(numbers):
    """Breadth gives the oldest first, across blocks and what came since."""
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
    numbers.spill()
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


def test_long_lines(numbers):
    """A line of any length is read from a block as it was written, from both ends."""
    for order in ("breadth", "depth"):
        for length in (1, 255, 256, 300, 5000):
            numbers.queue.push(length, "", "x" * length)
        numbers.spill()
        expected = [1, 255, 256, 300, 5000]
        assert numbers.pop(order, 5) == (expected if order == "breadth" else expected[::-1])


def test_memory(numbers):
    """A queue knows how many bytes it has in memory: lines that are read from the disk one by one are none."""
    numbers.push(*range(10))
    size = numbers.queue.memory_bytes
    assert numbers.pop("depth", 2) == [9, 8]
    assert numbers.queue.memory_bytes == size * 8 / 10
    numbers.spill()
    numbers.pop("breadth", 1)
    assert numbers.queue.memory_bytes == 0
    numbers.pop("random", 1)
    assert numbers.queue.memory_bytes == size * 6 / 10
    numbers.pop("random", 6)
    assert (numbers.queue.memory_bytes, numbers.queue.count) == (0, 0)


def test_room_is_given_back(numbers):
    """What was handed out or forgotten takes no room on the disk, whatever the order was."""
    for order in ("breadth", "depth", "random"):
        numbers.push(*range(10))
        numbers.spill()
        numbers.pop(order, 10)
        assert numbers.scratch.in_use == 0
    numbers.push(*range(10))
    numbers.spill()
    numbers.push(*range(10, 20))
    numbers.pop("breadth", 1)
    numbers.queue.clear(numbers.scratch)
    assert (numbers.scratch.in_use, numbers.queue.count, numbers.queue.memory_bytes) == (0, 0, 0)
    numbers.queue.clear(numbers.scratch)


def test_moving(numbers):
    """Lines whose segment is emptied come back in their order."""
    numbers.push(1, 2)
    numbers.spill()
    numbers.push(3)
    numbers.spill()
    numbers.push(4)
    assert numbers.pop("breadth", 1) == [1]
    numbers.queue.move(numbers.scratch, frozenset({7}))
    before = numbers.scratch.size
    numbers.queue.move(numbers.scratch, frozenset({0}))
    assert numbers.scratch.size > before
    assert numbers.pop("breadth", 3) == [2, 3, 4]
    assert numbers.scratch.in_use == 0


@pytest.mark.parametrize("order", ["breadth", "depth", "random"])
def test_requests(scratch, order):
    """Requests with the largest bodies come back whole, through memory and scratch files, among plain URLs."""
    bodies = [bytes([n % 256]) * MAX_BODY_BYTES for n in (0, 10, 32, 255)]
    asked = [spelling(Request("http://a.example/s", "POST", "", body)) for body in bodies]
    pushed = [Line(n, "", url) for n, url in enumerate([*asked, "http://a.example/"])]
    for spills in (False, True):
        queue, rng = Queue(), random.Random(1)
        for line in pushed:
            queue.push(*line[:4])
        if spills:
            queue.spill(scratch)
        found = [queue.pop(order, scratch, rng) for _ in pushed]
        assert sorted(found) == sorted(pushed)
        assert queue.memory_bytes == 0


@pytest.mark.parametrize("order", ["breadth", "depth", "random"])
@pytest.mark.parametrize("spills", [False, True])
def test_foreign_lines_take_turns(scratch, order, spills):
    """What pages of other hosts link to does not stand before what the host itself links to, however much it is."""
    queue, rng = Queue(), random.Random(1)
    for number in range(50):
        queue.push(number, "", f"http://a.example/{number}", foreign=True)
    for number in range(50, 55):
        queue.push(number, "", f"http://a.example/{number}")
    if spills:
        queue.spill(scratch)
        queue.move(scratch, frozenset())
    assert (queue.count, queue.memory_bytes > 0) == (55, not spills)
    found = [queue.pop(order, scratch, rng) for _ in range(55)]
    assert [line.foreign for line in found[:10]] == [False, True] * 5
    assert all(line.foreign for line in found[10:])
    assert sorted(line.depth for line in found) == list(range(55))
    assert (queue.count, queue.memory_bytes) == (0, 0)


def test_foreign_lines_are_cleared(scratch):
    """Nothing is left of them, in memory or beyond, and new ones have their turn."""
    queue = Queue()
    queue.push(1, "", "http://a.example/1", foreign=True)
    queue.spill(scratch)
    queue.push(2, "", "http://a.example/2", foreign=True)
    queue.clear(scratch)
    assert (queue.count, queue.memory_bytes) == (0, 0)
    queue.push(3, "", "http://a.example/3", foreign=True)
    assert queue.pop("breadth", scratch, random.Random(1)) == Line(3, "", "http://a.example/3", foreign=True)
