"""The processes of a crawl and of a merge: how they are forked, on which core they run, how they take memory and end.

Signals reach the whole process group, by Ctrl-C, by `kill` of a group, or when a terminal goes. The server that others
are forked from and a child that begins cannot ignore them yet. So they are started with these signals blocked, and a
child unblocks them when it is ready.

Only one thread of a Python process runs at a time. If its threads are spread over the cores, each call of the system
hands the interpreter's lock to a thread on another core, which has to wake up first. So each worker process has a core
of its own: that saves an eighth of the CPU time of a crawl of fast hosts.

Promise: when a signal ends this process, its children are gone, and so is what multiprocessing has put on the disk.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing import forkserver, resource_tracker, util
from pathlib import Path

from fscrawl import interrupts
from fscrawl.errors import FscrawlError, UsageError, reason
from fscrawl.util.safe_path import NO_TRACKER_WARNING

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHARED = Path("/dev/shm")  # noqa: S108 - where C libraries put semaphores


def start_server(modules: Sequence[str]) -> None:
    """Start the process that others are forked from; it loads `modules` meanwhile. In the main thread."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))
    _silence_tracker()
    interrupts.before_leaving(_end)
    with interrupts.later():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            resource_tracker.ensure_running()  # it ignores the first two, and SIGHUP stays blocked there
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # it has unblocked some
            forkserver.ensure_running()
        except BlockingIOError:  # no process can be started
            raise
        except OSError as error:  # such as "AF_UNIX path too long"
            raise UsageError(
                f"no process can be started ({error}); the working directory must still be there, and TMPDIR must be a"
                f" short path, not {tempfile.gettempdir()}"
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_shared_memory() -> None:
    """Raise FscrawlError if processes have no place for memory and locks that they share.

    multiprocessing and the C library (sem_overview(7)) have them in /dev/shm.
    """
    try:
        with tempfile.TemporaryFile(dir=_SHARED) as file:
            file.write(b"x")
    except OSError as error:
        what = f"{_SHARED}: processes share memory and locks there: {reason(error)}"
        raise FscrawlError(f"{what}; it must be a directory in which this user can write") from error


def _silence_tracker() -> None:
    """Let the process that removes the semaphores of a process that was ended do so without a warning.

    The process is a new interpreter, which looks at its environment. A filter here would hide this process's own
    warnings.
    """
    given = os.environ.get("PYTHONWARNINGS")
    if NO_TRACKER_WARNING not in (given or ""):
        os.environ["PYTHONWARNINGS"] = f"{given},{NO_TRACKER_WARNING}" if given else NO_TRACKER_WARNING


def _end() -> None:
    for child in multiprocessing.active_children():
        child.kill()
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)  # it has the server's socket


def end_with_parent(exit_code: int) -> None:
    """End this process as soon as the process that made it by `multiprocessing` is gone, however that one ended.

    A killed parent cannot end its children, and a child of a ProcessPoolExecutor does not see the death by itself: it
    waits for work at a pipe of which it holds both ends.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()  # it waits on a pipe, which the parent's death closes; so a reused pid does not matter
        os._exit(exit_code)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def pin(number: int, workers: int) -> None:
    """Keep this thread, and those that it starts, on a core, if there is one for each of the machine's workers.

    `number`: of the worker; the machine begins to count anywhere, so that two machines on one computer seldom meet.
    """
    with contextlib.suppress(OSError, AttributeError):  # another system has no such call
        cores = sorted(os.sched_getaffinity(0))
        if 1 < len(cores) >= workers:
            os.sched_setaffinity(0, {cores[number % len(cores)]})


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CGROUP = Path("/sys/fs/cgroup")
_KEPT_BYTES = 32 * 1024 * 1024
_RARELY = (50_000, 20, 20)  # new objects, and rounds, until the garbage collector looks


def keep_freed_memory() -> None:
    """Let malloc keep memory that a parsed page has freed.

    The next page needs it again, and getting it from the kernel bit by bit costs a third of the parsing. One arena is
    enough, because only one thread runs at a time.
    """
    with contextlib.suppress(OSError, AttributeError):  # another libc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_ARENA_MAX, 1)


def look_for_cycles_rarely() -> None:
    """Let the garbage collector look seldom, and never at what is loaded by now.

    It would find next to nothing: modules stay, pending URLs stay for long, and a page's nodes and values are in no
    cycle, so they go without it. But each look costs time, with half a million pending URLs a lot.
    """
    gc.freeze()
    gc.set_threshold(*_RARELY)


def restrain_libraries() -> None:
    """Let Arrow take memory as all else does, here and in children: its own pool would hold a quarter more.

    And let numpy start no thread for each processor: nothing here would use them, each process would have them, and
    where the system gives none, OpenBLAS ends the process by SIGINT. Before Arrow and numpy are loaded.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def limit_bytes(cgroup: Path = _CGROUP) -> int:
    """Return how much memory this process may have at most: of the computer, or of the container (cgroup 2)."""
    computer = os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES
    try:
        return min(computer, int((cgroup / "memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or "max"
        return computer


def anonymous_bytes() -> int:
    """Return the unshared memory of this process and its descendants; 0 if /proc does not show it."""
    total = 0
    ahead = [os.getpid()]
    while ahead:
        pid = ahead.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE_BYTES
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                ahead += map(int, children.read_text(encoding="ascii").split())
    return total
