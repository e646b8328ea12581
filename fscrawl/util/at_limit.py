"""When the system starts no more processes and threads: the user has too many of them, or the computer has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fscrawl.errors import FscrawlError

ADVICE = "no more processes or threads can be started; end other programs, or raise the limit (ulimit -u)"
_NO_THREAD = "can't start new thread"  # Python has no class of its own for it


def is_at_limit(error: BaseException | None) -> bool:
    """Tell whether an error means that the system has started no thread, or no process."""
    if isinstance(error, BlockingIOError):
        return error.filename is None  # else it is about a file
    return isinstance(error, RuntimeError) and str(error) == _NO_THREAD


@contextmanager
def as_our_error() -> Iterator[None]:
    """Turn an error of a system that starts no more processes or threads into FscrawlError, which says so in a line."""
    try:
        yield
    except (RuntimeError, BlockingIOError) as error:
        if not is_at_limit(error):
            raise
        raise FscrawlError(ADVICE) from error


def beside(act: Callable[[], None], wait_s: float) -> None:
    """Do something that may hang, and wait for it only so long. Without a thread for it, it is done here."""
    doing = threading.Thread(target=act, daemon=True)
    try:
        doing.start()
    except RuntimeError as error:
        if not is_at_limit(error):
            raise
        act()
    else:
        doing.join(wait_s)
