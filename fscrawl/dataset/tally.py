"""How many pages the tasks of a step have worked on: said where the work is done, and shown by the merge.

A task says it for each few pages, so that a progress line moves while a batch of five hundred is under way. To whom, is
up to the crew that runs the task: in its processes a shared number, on a cluster a message from time to time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

Tell = Callable[[int], object]

_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)


def pages_done(number: int) -> None:
    """The running task has worked on so many more pages."""
    tell = _tell.get()
    if tell is not None:
        tell(number)


def tell_by(tell: Tell) -> None:
    """Whatever runs in this thread from now on is told by `tell`."""
    _tell.set(tell)


@contextlib.contextmanager
def told_by(tell: Tell) -> Iterator[None]:
    """What runs inside is told by `tell`."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)
