"""When the system starts no more processes and threads: the user has too many of them, or the computer has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fscrawl.errors import FscrawlError

_ADVICE = "no more processes or threads can be started; end other programs, or raise the limit (ulimit -u)"
_NO_THREAD = "can't start new thread"  # Python has no class of its own for it


def _is_at_limit(error: BaseException) -> bool:
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
        if not _is_at_limit(error):
            raise
        raise FscrawlError(_ADVICE) from error
