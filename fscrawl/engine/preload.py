"""What the server loads from which workers are forked. Only that server loads this module, while the machine begins.

What is loaded stays, so the garbage collector looks at none of it: neither now, nor in the workers, nor when the server
ends. That took a fifth of its time.
"""

from __future__ import annotations

import gc
import importlib

from fscrawl import urls

_OBJECTS = 50_000  # that are new until the garbage collector looks

# With `worker_process`, what multiprocessing and the executor load in a child that begins.
_MODULES = (
    "concurrent.futures.process",
    "encodings.idna",  # the first look-up of a name loads it
    "multiprocessing.popen_forkserver",
    "multiprocessing.sharedctypes",
    "multiprocessing.synchronize",
    "fscrawl.engine.worker_entry",
    "fscrawl.engine.worker_process",
)

gc.set_threshold(_OBJECTS)
for _name in _MODULES:
    importlib.import_module(_name)
urls.site("www.example.org")  # reads the list of public suffixes: a host would pay for it with the first cookie
gc.freeze()
