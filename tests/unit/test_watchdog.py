"""The thread beside the main loop: signals arrive whatever hangs, and a warning when the loop stands still."""

import os
import signal
import threading
import time

import pytest

from fscrawl.engine import watchdog as module
from fscrawl.engine.watchdog import Watchdog


def until(holds, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals(number):
    """A signal is answered in another thread, wherever the main one is; afterwards signals are handled as before."""
    came = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with Watchdog(lambda said: came.append((threading.current_thread().name, said)), print, "/t"):
        for n in (1, 2):
            os.kill(os.getpid(), number)
            until(lambda n=n: len(came) == n)
    assert came == [("signals", number)] * 2
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    assert not {"signals", "watchdog"} & {thread.name for thread in threading.enumerate()}


def test_nohup():
    """A crawl that was started by `nohup` goes on when its terminal is gone."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    came = []
    try:
        with Watchdog(came.append, print, "/t"):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            until(lambda: came)
        assert came == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_silence(monkeypatch):
    """A main loop that is silent for long is warned of once; when it goes on, that is said once, too."""
    monkeypatch.setattr(module, "_CHECK_EVERY_S", 0.01)
    monkeypatch.setattr(module, "_SILENT_S", 0.1)
    warnings = []
    with Watchdog(lambda _: None, warnings.append, "/mnt/x") as watchdog:
        until(lambda: warnings)
        time.sleep(0.1)
        assert len(warnings) == 1
        assert "/mnt/x has not answered" in warnings[0]
        watchdog.alive()
        assert len(warnings) == 2
        assert "/mnt/x answers again" in warnings[1]
        until(lambda: len(warnings) == 3)


def test_no_warning_while_the_loop_goes_on(monkeypatch):
    """A main loop that goes on causes no warning."""
    monkeypatch.setattr(module, "_CHECK_EVERY_S", 0.01)
    monkeypatch.setattr(module, "_SILENT_S", 0.5)
    warnings = []
    with Watchdog(lambda _: None, warnings.append, "/t") as watchdog:
        for _ in range(40):
            watchdog.alive()
            time.sleep(0.02)
    assert warnings == []
