"""What the server loads from which workers are forked. It loads this while the machine begins.

SHARED is what the machine needs as well. It is loaded before the server is begun as a copy of the machine's process, so
that it is loaded once.
"""

from __future__ import annotations

# With `worker_process`, what multiprocessing and the executor load in a child that begins.
MODULES = (
    "concurrent.futures.process",
    "encodings.idna",  # the first look-up of a name loads it
    "multiprocessing.popen_forkserver",
    "multiprocessing.sharedctypes",
    "multiprocessing.synchronize",
    "fscrawl.engine.worker_entry",
    "fscrawl.engine.worker_process",
    "fscrawl.util.fork_errors",
)

SHARED = (
    "concurrent.futures.process",
    "fscrawl.engine.frames",
    "fscrawl.engine.worker_entry",
    "fscrawl.handlers.outcome",
    "fscrawl.handlers.records",
    "fscrawl.http.cookies",
    "fscrawl.politeness.robots",
    "fscrawl.sites.seeds",
    "multiprocessing.sharedctypes",
)
