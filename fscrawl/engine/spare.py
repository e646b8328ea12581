"""Slots of a pool that have had no process yet. They get one as work appears, a few at a time.

A process takes some milliseconds to start, and CPU time of its own before it can work. A machine that starts hundreds
at once does nothing else meanwhile: it hears no signal and writes no beats, and its few cores have nothing left for the
processes that have begun.

Promise: the first processes begin at once, so a usual crawl waits for none. The others begin while there is
as much to do as there are processes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

from fscrawl.engine.slot import Slot

_FIRST = 8  # more than a machine has by default
_AT_ONCE_S = 0.05  # so long may the main loop stand still for it


class Spare:
    """Those slots, in their order. `is_held`: nothing is handed out, so none is needed."""

    def __init__(self, slots: Iterable[Slot], start: Callable[[Slot], None]) -> None:
        """`start`: starts the process of a slot."""
        self._slots = deque(slots)
        self._start = start
        self.is_held = False

    def start_first(self) -> None:
        """Start the first processes."""
        for _ in range(min(_FIRST, len(self._slots))):
            self._start(self._slots.popleft())

    def start_more(self, slots: Iterable[Slot]) -> None:
        """Start a few more, if there is a task for each. `slots`: all of the pool."""
        if not self._slots or self.is_held:
            return
        loads = [slot.load for slot in slots if slot.is_open]
        needed = 1 + sum(loads) - len(loads)
        until = time.monotonic() + _AT_ONCE_S
        while needed > 0 and self._slots and time.monotonic() < until:
            self._start(self._slots.popleft())
            needed -= 1


def why_none(error: Exception) -> str:
    """Say why the system gave no process."""
    if isinstance(error, EOFError):
        return "what forks them has ended"
    return getattr(error, "strerror", None) or str(error)
