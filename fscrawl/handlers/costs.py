"""What an answer costs: the seconds of processors, and of browsers, that it takes beyond the usual.

The machine lets the site of its host wait for a multiple of that (`HostScheduler.charge`), whatever it was that took so
long: a page that stops the parser, a robots.txt that takes a tenth of a second to go by, a body that inflates to
more than its limit, a script that keeps a browser busy.

Vocabulary:
  usual     what the answer takes at most if it is made for people. Of 7,000 pages of manuals, with up to 10 MB or
            18,000 links, none takes more than six tenths of that to be read
  beside    what other processes have done for the task of this thread

Promise: a page for people costs nothing for which its site would have to wait, also on a slow or busy computer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator

_USUAL_S = 0.005
_USUAL_S_PER_BYTE = 4e-8
_USUAL_S_PER_LINK = 4e-6
_USUAL_TASK_S = 0.003
_USUAL_ANSWER_S = 0.002
_USUAL_ANSWER_S_PER_BYTE = 4e-8
_MOST_LINKS = 20_000  # more of them are no longer usual
# PDF: the links of manuals of 0.1 to 9 MB take at most six tenths. Sitemaps are compressed to a fiftieth and less: one
# of 50,000 URLs with seven images each takes eight tenths.
_TIMES_SLOWER = {"html5lib": 50.0, "pdf": 10.0, "sitemap": 20.0}
# A processor that has waited for half a second may take three times as long for the same, and a process that is new ten
# times: its caches are empty, and to a virtual machine each page of memory may come from its host (70 µs).
_MOST_SLOWNESS = 10.0
_FEW_TASKS = 8
_last_tasks: deque[float] = deque(maxlen=32)  # of this process: how many times the usual each has taken


def usual_s(size_bytes: int, parser: str = "lexbor", links: int = 0) -> float:
    """Give how many seconds a page takes at most that is made for people, on the computer where that was measured.

    >>> round(usual_s(100_000), 3), round(usual_s(100_000, "lexbor", 1000), 3)
    (0.009, 0.013)
    """
    usual = _USUAL_S + _USUAL_S_PER_BYTE * size_bytes + _USUAL_S_PER_LINK * min(links, _MOST_LINKS)
    return usual * _TIMES_SLOWER.get(parser, 1.0)


def usual_answer_s(size_bytes: int) -> float:
    """Give the same for all that is done for an answer beside reading it: it is fetched, stored and told of."""
    return _USUAL_ANSWER_S + _USUAL_ANSWER_S_PER_BYTE * size_bytes


def slowness() -> float:
    """Give how many times longer tasks take here and now than on the computer of `usual_s`; 1 to `_MOST_SLOWNESS`.

    It follows from the quickest tenth of the last tasks of this process: they are not those that somebody made slow.
    Where nothing is slow, they take less than a third of the usual.
    """
    last = sorted(_last_tasks.copy())
    return min(max(1.0, 3 * last[len(last) // 10]), _MOST_SLOWNESS) if len(last) >= _FEW_TASKS else _MOST_SLOWNESS


class _Task(threading.local):
    """That of this thread."""

    began_s = beside_s = usual_s = 0.0


_task = _Task()


def begin() -> None:
    """Count anew: a task begins."""
    _task.began_s, _task.beside_s, _task.usual_s = time.thread_time(), 0.0, _USUAL_TASK_S


def beside(seconds: float) -> None:
    """Count what another process has done for this thread's task."""
    _task.beside_s += seconds


def expect(seconds: float) -> None:
    """Count what is usual for a part of this thread's task, on the computer of `usual_s`."""
    _task.usual_s += seconds


@contextlib.contextmanager
def of_user() -> Iterator[None]:
    """What is done here is the user's own code: no site pays for it."""
    began_s = time.thread_time()
    try:
        yield
    finally:
        expect(time.thread_time() - began_s)


def costly_s() -> float:
    """Give what this thread's task, which is over, has taken beyond the usual; 0 for nearly all."""
    took_s = time.thread_time() - _task.began_s + _task.beside_s
    _last_tasks.append(took_s / _task.usual_s)
    return max(0.0, took_s - _task.usual_s * slowness()) if took_s > _task.usual_s else 0.0
