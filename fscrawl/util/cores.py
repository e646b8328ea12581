"""Each worker process on a core of its own: that saves an eighth of the CPU time of a crawl of fast hosts.

Only one thread of a Python process runs at a time. If its threads are spread over the cores, each call of the system
hands the interpreter's lock to a thread on another core, which has to wake up first.

A core has one worker, of all machines on this computer: of two, one may wait for seconds. Who finds none runs anywhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random

_CORE = "/sys/devices/system/cpu/cpu{}"  # a directory; who has its lock has the core, until the process ends


def pin(workers: int) -> None:
    """Keep this thread, and those that it starts, on a core, if there is one for each of the machine's workers."""
    with contextlib.suppress(OSError, AttributeError):  # another system has no such call
        cores = list(os.sched_getaffinity(0))
        random.shuffle(cores)
        free = (core for core in cores if _lock(core)) if 1 < len(cores) >= workers else iter(())
        for core in free:
            os.sched_setaffinity(0, {core})
            return


def _lock(core: int) -> bool:
    """Lock a core, until this process ends; tell whether it was free."""
    lock = os.open(_CORE.format(core), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    return True
