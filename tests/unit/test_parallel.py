"""Answers of many jobs, in their turn."""

import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

from fscrawl.util import parallel


def limit_threads(monkeypatch, most):
    """Let the system start at most so many threads more."""
    real, started = threading.Thread.start, []

    def start(thread):
        if len(started) >= most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)


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


def test_processes():
    """A pool may be of processes: then jobs and answers go through a pipe."""
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        jobs = [partial(divmod, 7, n) for n in range(1, 5)] + [partial(divmod, 7, 0)]
        answers = parallel.in_turn(pool, jobs, window=2)
        assert [next(answers) for _ in range(4)] == [divmod(7, n) for n in range(1, 5)]
        with pytest.raises(ZeroDivisionError):
            next(answers)


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


def test_a_pool_that_is_over():
    """Any other error of a pool is an error."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        list(parallel.in_turn(pool, [lambda: 1]))
