"""Lets multiprocessing begin its two servers as copies of this process, and not as new interpreters.

A new interpreter takes 30 ms to begin, and then loads what this process has loaded already. A copy costs 1 ms, and it
shares the memory of what was loaded. The servers are the one that workers are forked from, and the one that removes
semaphores when a process was killed.

A copy has the files of libraries that this process has opened, such as SSLKEYLOGFILE of a TLS context, but not their
descriptors. So the servers are begun before anything opens one (`commands.warm_up`).

Promise: a server gets what a new interpreter would get: the standard streams, the descriptors that are passed to it and
no others, the usual signal handlers; ignored signals stay ignored. A process with several threads, of Python or of a
library, is not copied: a lock that another thread holds would be held in the copy for ever.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from multiprocessing import forkserver, util
from typing import Any, NoReturn

_THREADS = "/proc/self/task"
_FIRST_FD = 3  # behind the standard streams


@contextlib.contextmanager
def copies() -> Iterator[None]:
    """Inside the block, the servers of multiprocessing that are begun are copies of this process."""
    usual: Any = util.spawnv_passfds
    if len(os.listdir(_THREADS)) == 1:  # noqa: PTH208 - pathlib is not loaded for it
        util.spawnv_passfds = _fork  # type: ignore[assignment]  # all of our words are text
    try:
        yield
    finally:
        util.spawnv_passfds = usual


def _fork(_: bytes, words: Sequence[Any], descriptors: Sequence[int]) -> int:
    """Give the id of a copy of this process that runs the program of the command line `python … -c PROGRAM`."""
    util._flush_std_streams()  # type: ignore[attr-defined]  # noqa: SLF001 - or the copy would print it, too
    pid = os.fork()
    if pid == 0:
        _be_server(words[-1], descriptors)
    return pid


def _be_server(program: str, descriptors: Sequence[int]) -> NoReturn:
    code = 1
    try:
        _forget(descriptors)
        exec(program, {"__name__": "server"})  # noqa: S102 - the line that multiprocessing has made
        code = 0
    except SystemExit:  # how a server ends that is not needed any longer
        code = 0
    except BaseException:  # noqa: BLE001 - as an interpreter does
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _forget(descriptors: Sequence[int]) -> None:
    """Keep nothing of the process that this one is a copy of, but what it has loaded."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    after = _FIRST_FD
    for descriptor in sorted(descriptors):
        os.closerange(after, descriptor)
        after = descriptor + 1
    os.closerange(after, os.sysconf("SC_OPEN_MAX"))
    forkserver._forkserver._lock = threading.RLock()  # type: ignore[attr-defined]  # noqa: SLF001 - it is held while the server is begun
    warnings.filterwarnings("ignore", "resource_tracker")  # no news; `children._silence_tracker` does it for others
    gc.freeze()  # what was loaded stays: its pages are not written to, so they are shared
