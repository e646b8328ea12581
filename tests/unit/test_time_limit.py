"""Limits of time for a user's code."""

from __future__ import annotations

import contextlib
import re
import threading
import time

import pytest

from fscrawl.util.time_limit import ThreadLimit, TookTooLongError, time_limit


def endless() -> None:
    while True:
        pass


@pytest.mark.gate
def test_the_main_thread() -> None:
    """What does not end is ended, also if it catches the exception once; what ends in time is left alone."""
    caught: list[str] = []

    def stubborn() -> None:
        with contextlib.suppress(TimeoutError):
            endless()
        caught.append("once")
        endless()

    with pytest.raises(TimeoutError, match=r"it has not ended after 0\.1 s"), time_limit(0.1):
        stubborn()
    assert caught == ["once"]
    with time_limit(0.1):
        pass
    time.sleep(0.3)


def test_of_processor_time() -> None:
    """Time in which the process waits need not count; a regular expression is ended, too."""
    with time_limit(0.2, of_processor=True):
        time.sleep(0.5)
    with pytest.raises(TimeoutError, match="it has not ended"), time_limit(0.2, of_processor=True):
        re.search("^(a+)+$", "a" * 60 + "!")


def test_another_thread() -> None:
    """Signals come to the main thread only, so there is no limit elsewhere, and nothing is disturbed."""
    done = []

    def work() -> None:
        with time_limit(0.01):
            time.sleep(0.1)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert done == [1]


def test_a_thread_of_its_own() -> None:
    """Each thread has its own limit, and goes on after that."""
    ended: list[str] = []

    def work(name: str, limit_s: float) -> None:
        try:
            with ThreadLimit(limit_s):
                if name == "endless":
                    endless()
                time.sleep(0.5)
        except TookTooLongError:
            ended.append(name)
        ended.append(f"{name} goes on")

    threads = [threading.Thread(target=work, args=args) for args in (("endless", 0.1), ("short", 30.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(ended) == ["endless", "endless goes on", "short goes on"]


def test_it_hits_nothing_that_comes_later() -> None:
    """However closely the end of the code and of its time fall together, what follows is never interrupted."""
    ended = 0
    for number in range(60):
        try:
            with ThreadLimit(0.002):
                time.sleep(0.0015 + 0.00002 * number)
        except TookTooLongError:
            ended += 1
        for _ in range(1000):
            len(str(number))
    assert ended < 60


def test_a_timer_that_comes_too_late() -> None:
    """The time may be over in the moment in which the code ends: then nothing happens any more."""
    limit = ThreadLimit(30.0)
    with limit:
        late = limit._timer
        with limit.paused(), limit.paused():
            assert late is not None
            limit._end(late)
    limit._end(late)


def test_what_is_not_counted() -> None:
    """Time that passes while it is paused does not count, and after that it begins anew."""
    with ThreadLimit(0.3) as limit:
        for _ in range(4):
            with limit.paused():
                time.sleep(0.4)
            time.sleep(0.1)

    def waits_and_never_ends() -> None:
        with limit.paused():
            time.sleep(0.2)
        endless()

    with pytest.raises(TookTooLongError), ThreadLimit(0.1) as limit:
        waits_and_never_ends()
