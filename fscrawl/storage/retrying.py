"""Faults of the file system that may pass are waited out, within limits.

A file server that is restarted, a network that is cut, a handle gone stale: the call fails now, and would not a moment
later. So every call on the tree is one that may be made twice, by design of `publish` and `machinery`, and is made
again with growing pauses until it succeeds, or `limit_s` have passed since it first failed.

Promise: what leaves here is a TreeError with the path and the advice; FileNotFoundError where the caller has a use for
it. A fault that somebody has to mend (a full disk, a missing share) is not waited for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fscrawl.errors import TreeBusyError, may_pass, tree_error

_FIRST_PAUSE_S = 0.02  # a stale handle is fresh at the next look
_LONGEST_PAUSE_S = 2.0
_GLANCE_S = 0.2  # between two looks at whether it is still worth waiting
_WORTH_A_WORD_S = 1.0

T = TypeVar("T")
M = TypeVar("M")


class Retrying:
    """How long one process waits for its file system. Callable from any thread."""

    def __init__(
        self,
        limit_s: float,
        may_wait: Callable[[], bool] = lambda: True,
        tell: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    ) -> None:
        """`may_wait`: asked meanwhile; False ends it. `tell`: is told when a long wait begins, and when it is over."""
        self.limit_s = limit_s
        self._may_wait = may_wait
        self._tell = tell
        self._lock = threading.Lock()
        self._talking = 0  # threads that have waited for long

    def __call__(self, path: str | Path, call: Callable[[], T]) -> T:
        """Make a call on the file system that may be made twice; give what it gives."""
        try:
            return call()
        except OSError as error:
            if not may_pass(error):
                raise tree_error(error, path) from error
            return self._insist(path, call, error)

    def find(self, path: str | Path, call: Callable[[], T], missing: M) -> T | M:
        """Do the same, and give `missing` where there is no such file."""
        return self(path, lambda: _or_missing(call, missing))

    def _insist(self, path: str | Path, call: Callable[[], T], error: OSError) -> T:
        began = time.monotonic()
        told = answered = False
        pause_s = _FIRST_PAUSE_S
        try:
            while True:
                if not told and time.monotonic() - began > _WORTH_A_WORD_S:
                    told = True
                    self._begin_word(f"{tree_error(error, path)} (trying again, for {self.limit_s:g} s)")
                if not self._pause(pause_s, began + self.limit_s):
                    raise _in_vain(tree_error(error, path), time.monotonic() - began) from error
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
            if told:
                self._end_word(f"the tree answers again, after {time.monotonic() - began:.0f} s: going on", answered)

    def _begin_word(self, text: str) -> None:
        """Tell of a wait; of those of other threads meanwhile nobody needs to hear."""
        with self._lock:
            self._talking += 1
            first = self._talking == 1
        if first:
            self._tell(text)

    def _end_word(self, text: str, answered: bool) -> None:
        with self._lock:
            self._talking -= 1
            last = self._talking == 0
        if last and answered:
            self._tell(text)

    def _pause(self, pause_s: float, until: float) -> bool:
        """Sleep; tell whether it is worth another try."""
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


def _in_vain(error: Exception, waited_s: float) -> TreeBusyError:
    return TreeBusyError(f"{error} (tried for {waited_s:.0f} s)" if waited_s >= 1 else str(error))


BRIEF = Retrying(3.0)  # for commands: longer than GlusterFS's caches (1 s) name a file that was replaced
