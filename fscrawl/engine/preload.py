"""What the server loads from which workers are forked. It loads this while the machine begins."""

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
)
