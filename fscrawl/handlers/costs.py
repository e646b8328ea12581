"""What a host takes of the processor without a page to show for it, and for how long it must rest for that.

A robots.txt may be made so that each page takes a tenth of a second to be allowed or forbidden. A page that is
forbidden is not asked for, so the next one could come at once. And a body of some kilobytes may inflate to more than
its limit: it takes ten milliseconds and a thread until that is known, and nothing is stored.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

_LONG_S = 0.002  # a robots.txt for people takes some microseconds, or with thousands of wildcards some milliseconds
_RESTS = 100.0  # times as long, so one host takes a hundredth of a processor at most
IN_VAIN = frozenset({"too-large", "decode"})  # classes of failures whose bodies may have been decoded for long
_LONG_IN_VAIN_S = 0.005  # to read a body as large as the limit without decoding takes hardly more
_RESTS_IN_VAIN = 1000.0  # it brings nothing, and hundreds of hosts may do the same
_MOST_IN_VAIN_S = 60.0  # of rest: the limit may be large, and the computer slow


class _Taken(threading.local):
    """Processor time that the host of this thread's task has taken, by its robots.txt, and by answers in vain."""

    by_robots_s = 0.0
    in_vain_s = 0.0


_taken = _Taken()


@contextlib.contextmanager
def of_robots() -> Iterator[None]:
    """Count the time of what is done here."""
    began_s = time.thread_time()
    try:
        yield
    finally:
        _taken.by_robots_s += time.thread_time() - began_s


def in_vain(seconds: float) -> None:
    """Count the time that an answer has taken which is a failure of one of the classes `IN_VAIN`."""
    _taken.in_vain_s += seconds


def costly_s() -> float:
    """Give the seconds for which the host of this thread's task must rest, and forget them; 0 for most hosts."""
    by_robots_s, in_vain_s = _taken.by_robots_s, _taken.in_vain_s
    _taken.by_robots_s = _taken.in_vain_s = 0.0
    rest_s = _RESTS * by_robots_s if by_robots_s >= _LONG_S else 0.0
    more_s = _RESTS_IN_VAIN * in_vain_s if in_vain_s >= _LONG_IN_VAIN_S else 0.0
    return rest_s + min(more_s, _MOST_IN_VAIN_S)
