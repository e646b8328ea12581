"""The program of the process in which `crawl` runs a machine: `python -m fscrawl.api.child`.

A machine needs a process of its own: it takes signals, sets the umask, and forks workers, which must not load the
script or the notebook that has asked for the crawl.
"""

from __future__ import annotations

from fscrawl import interrupts

_LAST_WORD_S = 30.0  # after this, pages in flight are given up


def main() -> int:
    """Read a task, do it, and report how it went."""
    interrupts.catch()
    import json  # noqa: PLC0415 - signals are caught before modules are loaded
    import os  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import threading  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, does not print between the messages
    task = json.loads(sys.stdin.buffer.readline())
    from fscrawl.api.reporting import do  # noqa: PLC0415

    return do(task, out, threading.Thread(target=_end_with_parent, name="caller", daemon=True))


def _end_with_parent() -> None:
    """Stop as after Ctrl-C when the process that has asked for the crawl is gone, and a while later at once."""
    import os  # noqa: PLC0415
    import signal  # noqa: PLC0415
    import time  # noqa: PLC0415

    os.read(0, 1)  # and not `sys.stdin`: Python cannot end while a thread reads that
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_LAST_WORD_S)


if __name__ == "__main__":
    raise SystemExit(main())
