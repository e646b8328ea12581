"""Limits of time for a user's code that runs in this process: in the main thread, and in others."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

_CLOCK = signal.ITIMER_REAL, signal.SIGALRM
_PROCESSOR = signal.ITIMER_VIRTUAL, signal.SIGVTALRM


@contextmanager
def time_limit(seconds: float, *, of_processor: bool = False) -> Iterator[None]:
    """Raise TimeoutError in what runs inside, when the time is over, and each second after that: the code may catch it.

    `of_processor`: only time in which this process computes counts, so it does not matter how busy the computer is.
    Without effect in a thread beside the main one.
    The exception comes from wherever the code is then, so its traceback shows the line. Loops of Python and regular
    expressions end; a single call of a library that takes for ever does not.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signals want it
        raise TimeoutError(f"it has not ended after {seconds:g} s")

    timer, number = _PROCESSOR if of_processor else _CLOCK
    before = signal.signal(number, end)
    signal.setitimer(timer, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


class TookTooLongError(TimeoutError):
    """The code of a thread has not ended in time."""

    def __init__(self) -> None:  # it is made by the interpreter, which gives no arguments
        super().__init__("it does not end")


class ThreadLimit:
    """A limit of time for a user's code in this thread: TookTooLongError is raised in it, and each second after that.

    The time that passes within `paused` does not count. Only loops of Python end, since other threads cannot interrupt
    a call of a library.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        with self._lock:
            self._start(self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self._stop()
        try:
            yield
        finally:
            with self._lock:
                self._start(self._seconds)

    def _start(self, seconds: float) -> None:
        self._timer = timer = threading.Timer(seconds, lambda: self._end(timer))
        timer.daemon = True
        timer.start()

    def _stop(self) -> None:
        """Stop it: nothing is raised after this, so that it cannot hit what the thread does next."""
        with self._lock:
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()

    def _end(self, timer: threading.Timer) -> None:
        with self._lock:
            if self._timer is timer:  # else it was stopped a moment ago
                _raise_in(self._thread, TookTooLongError)
                self._start(1.0)


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Let an exception be raised in another thread, before its next step of Python."""
    import ctypes  # noqa: PLC0415 - hardly ever needed

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))
