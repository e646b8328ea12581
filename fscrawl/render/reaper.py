"""Starts a browser, waits for the end of the keeper, and then removes all that the browser has left.

This is a program of its own, run without any of fscrawl's modules: it outlives the keeper, and should be small. It is
in a session of its own, so that a signal to the keeper's group does not reach it; the browser is in another one.

    reaper.py READS WRITES LIFE DIRECTORY BROWSER ARGUMENT…

READS, WRITES: file descriptors that the browser gets as 3 and 4. LIFE: one that ends when the keeper does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

_ENDS_S = 5.0  # that processes may take to die


def main(reads: int, writes: int, life: int, directory: str, command: list[str]) -> None:
    browser = os.fork()
    if browser == 0:
        _become(reads, writes, command)
    os.close(reads)
    os.close(writes)
    while os.read(life, 1):
        pass
    with contextlib.suppress(OSError):
        os.kill(browser, signal.SIGKILL)
        os.waitpid(browser, 0)
    _end_others(browser)
    _remove(Path(directory))


def _end_others(group: int) -> None:
    """End the other processes of the browser, which may still write into its directory."""
    until = time.monotonic() + _ENDS_S
    while time.monotonic() < until:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.01)


def _remove(directory: Path) -> None:
    """Remove a directory into which a process that is just dying may still write."""
    until = time.monotonic() + _ENDS_S
    while directory.exists() and time.monotonic() < until:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.01)


def _become(reads: int, writes: int, command: list[str]) -> None:
    try:
        os.setsid()
        ends = os.dup(reads), os.dup(writes)  # neither is 3 or 4 while these are taken
        high = [os.dup2(each, number) for each, number in zip(ends, (60, 61), strict=True)]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)
        os.closerange(5, 1024)
        os.execv(command[0], command)  # noqa: S606 - what the settings name
    finally:
        os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
