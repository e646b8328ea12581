"""Answers of many jobs, in their turn."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fscrawl.util import parallel


def test_few_jobs_are_begun_before_their_turn():
    """However many jobs there are, only so many are begun ahead."""
    begun = []
    with ThreadPoolExecutor(parallel.READERS) as pool:
        answers = parallel.in_turn(pool, ((lambda n=n: begun.append(n) or n) for n in range(1000)))
        assert [next(answers) for _ in range(3)] == [0, 1, 2]
        assert len(begun) <= 3 + 8 * parallel.READERS
        assert list(answers) == list(range(3, 1000))


def test_order():
    """Answers come in the order of the jobs, whichever is done first."""
    later = threading.Event()

    def first():
        assert later.wait(20)
        return 1

    def second():
        later.set()
        return 2

    with ThreadPoolExecutor(2) as pool:
        assert list(parallel.in_turn(pool, [first, second])) == [1, 2]


def test_no_jobs():
    """No jobs have no answers."""
    with ThreadPoolExecutor(1) as pool:
        assert list(parallel.in_turn(pool, [])) == []


def test_an_error_comes_in_its_turn():
    """What a job raises is raised in its turn, and what has not begun by then never does."""
    begun = []

    def job(number):
        begun.append(number)
        if number == 2:
            raise KeyError(number)
        return number

    with ThreadPoolExecutor(1) as pool:
        answers = parallel.in_turn(pool, ((lambda n=n: job(n)) for n in range(100)), window=4)
        assert [next(answers), next(answers)] == [0, 1]
        with pytest.raises(KeyError):
            next(answers)
    assert len(begun) <= 6


def test_stopping_early_leaves_nothing_waiting():
    """Whoever stops early cancels what has not begun."""
    begun, go = [], threading.Event()

    def job(number):
        begun.append(number)
        if number:
            assert go.wait(20)

    with ThreadPoolExecutor(1) as pool:
        answers = parallel.in_turn(pool, ((lambda n=n: job(n)) for n in range(100)), window=50)
        next(answers)
        answers.close()
        go.set()
    assert len(begun) <= 2


class Clock:
    """Tells that each job takes as long as `seconds` says."""

    def __init__(self, seconds):
        self.now, self.seconds, self.asked = 0.0, seconds, 0

    def __call__(self):
        self.asked += 1
        if self.asked % 2 == 0:
            self.now += self.seconds(self.asked // 2)
        return self.now


def where(count):
    """Give jobs that tell their number, and whether they are done in the caller's thread."""
    return ((lambda n=n: (n, threading.current_thread() is threading.main_thread())) for n in range(count))


def test_fast_jobs_need_no_thread():
    """As long as jobs are fast, or few of them are slow in a row, each is done when it is asked for, by the caller."""
    clock = Clock(lambda number: 1.0 if number % 3 else 0.001)
    done = list(parallel.in_turn_if_slow(where(50), 2, 0.5, clock=clock))
    assert done == [(n, True) for n in range(50)]


def test_slow_jobs_are_done_by_threads(monkeypatch):
    """After three slow jobs in a row, threads do the others; now and then one is done by the caller, to see."""
    monkeypatch.setattr(parallel, "_FIRST_STRETCH", 4)
    done = list(parallel.in_turn_if_slow(where(30), 2, 0.5, clock=Clock(lambda number: 1.0)))
    assert [n for n, _ in done] == list(range(30))
    assert [n for n, here in done if here] == [0, 1, 2, 8, 18]


def test_jobs_that_become_fast_again(monkeypatch):
    """When the file system is fast again, threads are given up."""
    monkeypatch.setattr(parallel, "_FIRST_STRETCH", 4)
    clock = Clock(lambda number: 1.0 if number <= 3 else 0.001)
    done = list(parallel.in_turn_if_slow(where(30), 2, 0.5, clock=clock))
    assert [n for n, here in done if not here] == [3, 4, 5, 6, 7]


def test_all_jobs_are_done_whether_slow_or_fast():
    """The end may come at any place: no job is lost, and none is done twice."""
    for count in range(12):
        for slow in (0.001, 1.0):
            done = parallel.in_turn_if_slow(where(count), 2, 0.5, clock=Clock(lambda number, s=slow: s))
            assert [n for n, _ in done] == list(range(count))
