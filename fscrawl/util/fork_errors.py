"""Loaded in the process that workers are forked from: if it cannot fork, it says so in one line.

Multiprocessing lets it end then, with a traceback; it is begun anew for the next worker.
"""

from __future__ import annotations

import sys
from types import TracebackType

from fscrawl.util.terminal import say_error


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, OSError):
        say_error(f"a worker process could not be started: {error.strerror or error}")
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say
