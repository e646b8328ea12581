"""Calls on the file system are made again after a fault that may pass, within limits.

A file server is restarted, a network is cut, a handle goes stale: the call fails now, and would succeed a moment later.
So every call on the tree may be made twice without harm (`atomic` and `append_log` see to that). A call is made again,
with growing pauses, until it succeeds or `limit_s` seconds have passed since the first failure.

Promise: every error that is raised here is a TreeError with the path and the advice. If a person must act (a full disk,
a missing share), it is raised at once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from fscrawl.errors import TreeBusyError, may_pass, tree_error

_FIRST_PAUSE_S = 0.02  # a stale handle is fresh at the next look
_LONGEST_PAUSE_S = 2.0
_GLANCE_S = 0.2  # how often `may_wait` is asked during a pause
_WARN_AFTER_S = 1.0

T = TypeVar("T")
M = TypeVar("M")


class Retrying:
    """How long one process waits for its file system. May be called from any thread."""

    def __init__(
        self,
        limit_s: float,
        may_wait: Callable[[], bool] = lambda: True,
        warn: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    ) -> None:
        """`may_wait`: asked during a pause; False ends the wait. `warn`: called when a long wait begins and ends."""
        self.limit_s = limit_s
        self._may_wait = may_wait
        self._warn = warn
        self._lock = threading.Lock()
        self._waiting = 0  # threads that have been waiting for long

    def __call__(self, path: str | os.PathLike[str], call: Callable[[], T]) -> T:
        """Make a call on the file system, which may be made twice; return what it returns."""
        try:
            return call()
        except OSError as error:
            if not may_pass(error):
                raise tree_error(error, path) from error
            return self._retry(path, call, error)

    def find(self, path: str | os.PathLike[str], call: Callable[[], T], missing: M) -> T | M:
        """Do the same, and return `missing` if there is no such file."""
        return self(path, lambda: _or_missing(call, missing))

    def _retry(self, path: str | os.PathLike[str], call: Callable[[], T], error: OSError) -> T:
        began = time.monotonic()
        warned = answered = False
        pause_s = _FIRST_PAUSE_S
        try:
            while True:
                if not warned and time.monotonic() - began > _WARN_AFTER_S:
                    warned = True
                    if self._count_waiting(1) == 1:  # else another thread has warned, and waits still
                        self._warn(f"{tree_error(error, path)} (trying again, for {self.limit_s:g} s)")
                if not self._pause(pause_s, began + self.limit_s):
                    raise _gave_up(tree_error(error, path), time.monotonic() - began) from error
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                try:
                    given = call()
                except OSError as again:
                    if not may_pass(again):
                        raise tree_error(again, path) from again
                    error = again
                else:
                    answered = True
                    return given
        finally:
            if warned and self._count_waiting(-1) == 0 and answered:
                self._warn(f"the tree answers again, after {time.monotonic() - began:.0f} s: going on")

    def _count_waiting(self, more: int) -> int:
        """Give how many threads have been waiting for long, after so many more do."""
        with self._lock:
            self._waiting += more
            return self._waiting

    def _pause(self, pause_s: float, until: float) -> bool:
        """Sleep; tell whether to try again."""
        end = min(time.monotonic() + pause_s, until)
        while (left := end - time.monotonic()) > 0:
            if not self._may_wait():
                return False
            time.sleep(min(left, _GLANCE_S))
        return time.monotonic() < until and self._may_wait()


def _or_missing(call: Callable[[], T], missing: M) -> T | M:
    try:
        return call()
    except FileNotFoundError:
        return missing


def _gave_up(error: Exception, waited_s: float) -> TreeBusyError:
    return TreeBusyError(f"{error} (tried for {waited_s:.0f} s)" if waited_s >= 1 else str(error))


BRIEF = Retrying(3.0)  # for commands: GlusterFS's caches name a file that was replaced for 1 s
