"""The server that the processes of a crawl and of a merge are forked from, and the end of all of them.

Signals reach the whole process group, by Ctrl-C, by `kill` of a group, or when a terminal goes. The server and a child
that begins cannot ignore them yet. So they are started with these signals blocked, and a child unblocks them when it is
ready.

Promise: when a signal ends this process, its children are gone, and so is what multiprocessing has put on the disk.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Sequence
from multiprocessing import forkserver, resource_tracker, util
from pathlib import Path

from fscrawl import interrupts
from fscrawl.errors import FscrawlError, UsageError, reason
from fscrawl.util.ignored_environment import pass_on

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHARED = Path("/dev/shm")  # noqa: S108 - where C libraries put semaphores
_NO_WARNING = "ignore:resource_tracker"


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
            _look_for_working_directory()
            where = tempfile.gettempdir()
            raise UsageError(f"{where}: no socket can be made there ({error}); set TMPDIR to a short path") from error
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


def _look_for_working_directory() -> None:
    """Raise UsageError if it is gone: multiprocessing passes on where they are."""
    try:
        Path.cwd()
    except OSError:
        raise UsageError("the working directory is not there any more; change to one that is there") from None


def _silence_tracker() -> None:
    """Let the process that removes the semaphores of a process that was ended do so without a warning.

    The process is a new interpreter, which looks at its environment or its command line. A filter here would hide this
    process's own warnings.
    """
    pass_on(f"-W{_NO_WARNING}")
    given = os.environ.get("PYTHONWARNINGS")
    if _NO_WARNING not in (given or ""):
        os.environ["PYTHONWARNINGS"] = f"{given},{_NO_WARNING}" if given else _NO_WARNING


def _end() -> None:
    for child in multiprocessing.active_children():
        child.kill()
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)  # it has the server's socket
