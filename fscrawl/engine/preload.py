"""What the server loads from which workers are forked. It loads this while the machine begins."""

from __future__ import annotations

# With `worker_process` the modules of the executor, which a worker needs, too.
MODULES = ("concurrent.futures.process", "fscrawl.engine.worker_process")
