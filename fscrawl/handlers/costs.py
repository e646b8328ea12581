"""What an answer costs: the seconds of processors, and of browsers, that it takes beyond the usual.

The machine lets the site of its host wait for a multiple of that (`HostScheduler.charge`), whatever it was that took so
long: a page that stops the parser, a robots.txt that takes a tenth of a second to go by, a body that inflates to
more than its limit, a script that keeps a browser busy.

Vocabulary:
  usual     what the answer takes at most if it is made for people. Of 7,000 pages of manuals, with up to 10 MB or
            18,000 links, none takes more than six tenths of that to be read
  beside    what other processes have done for the task of this thread

Promise: a page for people costs nothing for which its site would have to wait.
"""

from __future__ import annotations

import functools
import threading
import time

from fscrawl.parse.links import extract
from fscrawl.urls import Joiner

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
_STANDARD = b"<p>A paragraph with <a href=/a/b>a link</a>, and <em>other</em> words in it.\n" * 800
_STANDARD_S = 0.00135  # what it takes to read on the computer of `usual_s`


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


@functools.cache
def slowness() -> float:
    """Give how many times longer this computer takes than the one of `usual_s`; at least 1. It takes some ms, once."""
    took_s = []
    for _ in range(3):
        began_s = time.thread_time()
        extract(_STANDARD, "http://a.example/", Joiner())
        took_s.append(time.thread_time() - began_s)
    return max(1.0, min(took_s) / _STANDARD_S)


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


def costly_s() -> float:
    """Give what this thread's task has taken so far beyond the usual; 0 for nearly all."""
    took_s = time.thread_time() - _task.began_s + _task.beside_s
    over_s = took_s - _task.usual_s
    return max(0.0, took_s - _task.usual_s * slowness()) if over_s > 0 else 0.0
