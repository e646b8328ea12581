"""The thread beside the main loop: signals that arrive whatever hangs, and a word when nothing goes on."""

import os
import signal
import threading
import time

import pytest

from fscrawl.engine import watchdog as module
from fscrawl.engine.watchdog import Sentinel


def until(holds, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(number):
    """A signal is answered in another thread, while the main one is anywhere; afterwards signals are as before."""
    came = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with Sentinel(lambda: came.append(threading.current_thread().name), print, "/t"):
        for n in (1, 2):
            os.kill(os.getpid(), number)
            until(lambda n=n: len(came) == n)
    assert came == ["signals"] * 2
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    assert not {"signals", "sentinel"} & {thread.name for thread in threading.enumerate()}


def test_silence(monkeypatch):
    """When the main loop has not come by for long, that is said once, and once that it goes on."""
    monkeypatch.setattr(module, "_GLANCE_S", 0.01)
    monkeypatch.setattr(module, "_SILENT_S", 0.1)
    told = []
    with Sentinel(lambda: None, told.append, "/mnt/x") as sentinel:
        until(lambda: told)
        time.sleep(0.1)
        assert len(told) == 1
        assert "/mnt/x has not answered" in told[0]
        sentinel.alive()
        assert len(told) == 2
        assert "/mnt/x answers again" in told[1]
        until(lambda: len(told) == 3)


def test_no_word_while_it_goes_round(monkeypatch):
    """A main loop that comes by is nothing to speak of."""
    monkeypatch.setattr(module, "_GLANCE_S", 0.01)
    monkeypatch.setattr(module, "_SILENT_S", 0.5)
    told = []
    with Sentinel(lambda: None, told.append, "/t") as sentinel:
        for _ in range(40):
            sentinel.alive()
            time.sleep(0.02)
    assert told == []
