"""Files are read here, or by threads where one has to wait for them."""

import threading

import pytest

from fscrawl.util import parallel
from fscrawl.util.parallel import Waiting, here_or_ahead, in_turn_if_slow

SLOW_S = 0.1


class Clocks:
    """Clocks of a thread that waits for items as long as it is told to; nothing else takes time.

    gives_up     whether the thread gives up the processor meanwhile; else another program has it
    """

    def __init__(self):
        self.now, self.waits, self.gives_up = 0.0, 0, True
        self.waited_s = lambda number: 0.0

    def perf_counter(self):
        return self.now

    def thread_time(self):
        return 0.0

    def read(self, number):
        here = threading.current_thread() is threading.main_thread()
        if here:
            took = self.waited_s(number)
            self.now += took
            self.waits += self.gives_up and took > 0
        return number, here


@pytest.fixture
def clocks(monkeypatch):
    found = Clocks()
    monkeypatch.setattr(parallel, "time", found)
    monkeypatch.setattr(parallel, "_waits", lambda: found.waits)
    monkeypatch.setattr(parallel, "_FIRST_STRETCH", 4)
    monkeypatch.setattr(parallel, "_LONGEST_STRETCH", 8)
    return found


def here(done):
    return [number for number, by_caller in done if by_caller]


def test_fast_files_need_no_thread(clocks):
    """As long as nobody waits long, each is read when it is asked for, by the caller."""
    clocks.waited_s = lambda number: 0.0004
    assert list(in_turn_if_slow(clocks.read, range(50), 2)) == [(n, True) for n in range(50)]


def test_slow_files_are_read_by_threads(clocks):
    """Threads read a stretch, then a longer one, up to a bound; between them the caller reads one, to see."""
    clocks.waited_s = lambda number: SLOW_S
    done = list(in_turn_if_slow(clocks.read, range(40), 2))
    assert [n for n, _ in done] == list(range(40))
    assert here(done) == [0, 5, 14, 23, 32]


def test_short_waits_add_up(clocks):
    """One wait that is no more than a little too long is chance; it takes several of them."""
    clocks.waited_s = lambda number: 2 * parallel.LONG_S
    done = list(in_turn_if_slow(clocks.read, range(14), 2))
    assert here(done) == list(range(11))


def test_rare_waits_are_forgotten(clocks):
    """What is waited for now and then, as on a disk that was busy for a moment, is no reason for threads."""
    clocks.waited_s = lambda number: 0.0 if number % 20 else 10 * parallel.LONG_S
    assert len(here(in_turn_if_slow(clocks.read, range(100), 2))) == 100


def test_files_that_become_fast(clocks):
    """When the files come at once again, threads are given up. What is slow later begins with a short stretch."""
    clocks.waited_s = lambda number: SLOW_S if number in (0, 5, 35) else 0.0
    done = list(in_turn_if_slow(clocks.read, range(50), 2))
    assert here(done) == [0, 5, *range(14, 36), *range(40, 50)]


def test_another_program_has_the_processor(clocks):
    """Time in which this thread was ready to run is no waiting for files."""
    clocks.waited_s, clocks.gives_up = (lambda number: SLOW_S), False
    assert len(here(in_turn_if_slow(clocks.read, range(50), 2))) == 50


def test_items_of_many_pages(clocks):
    """The wait for an item is that of all its pages, and a stretch is so many pages."""
    clocks.waited_s = lambda number: 0.9 * 20 * parallel.LONG_S
    assert len(here(in_turn_if_slow(clocks.read, range(50), 2, lambda number: 20))) == 50
    clocks.waited_s = lambda number: 1.1 * 20 * parallel.LONG_S
    assert here(in_turn_if_slow(clocks.read, range(10), 2, lambda number: 20)) == [0, 2, 4, 6, 8]


def test_an_item_without_a_page(clocks):
    """An item of no pages counts as one, so that a stretch ends."""
    clocks.waited_s = lambda number: SLOW_S
    assert here(in_turn_if_slow(clocks.read, range(10), 2, lambda number: 0)) == [0, 5]


def test_nothing_is_lost_and_nothing_read_twice(clocks):
    """The end may come at any place."""
    for count in range(30):
        for took in (0.0, SLOW_S):
            clocks.waited_s = lambda number, took=took: took
            assert [n for n, _ in in_turn_if_slow(clocks.read, range(count), 2)] == list(range(count))


def test_what_is_known_is_kept(clocks):
    """A stretch goes on with the items that come next."""
    clocks.waited_s = lambda number: SLOW_S
    known = Waiting()

    def ahead(items):
        return [(number, False) for number in items]

    assert here(here_or_ahead(range(3), clocks.read, ahead, known)) == [0]
    assert known.is_long
    assert here(here_or_ahead(range(3, 9), clocks.read, ahead, known)) == [5]


def test_stopping_early(clocks):
    """Whoever stops early cancels what has not begun."""
    clocks.waited_s = lambda number: SLOW_S
    begun, go = [], threading.Event()

    def read(number):
        begun.append(number)
        if number > 1:
            assert go.wait(20)
        return clocks.read(number)

    done = in_turn_if_slow(read, range(100), 2)
    assert [next(done), next(done)] == [(0, True), (1, False)]
    done.close()
    go.set()
    assert len(begun) <= 4


def test_real_waiting():
    """A thread that sleeps waits; one that computes does not."""
    known = Waiting()
    pause = threading.Event()
    assert known.seen(pause.wait, 0.05, 1) is False
    assert known.is_long
    known = Waiting()
    assert known.seen(lambda n: sum(range(n)), 2_000_000, 1) > 0
    assert not known.is_long
