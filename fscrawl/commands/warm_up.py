"""What takes longest is begun before all else: the process that the workers of a crawl are forked from.

It is begun as a copy of this process when this one has loaded what both need; then each of them loads the rest. If the
command line turns out to have a mistake, it is ended: it would keep the caller's pipes open until it has loaded all.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence

from fscrawl.engine.preload import MODULES, SHARED

_NO_CRAWL = {"-h", "--help"}


@contextlib.contextmanager
def warm_up(words: Sequence[str]) -> Iterator[None]:
    """Start the server of workers if the command line is that of a crawl, and end it if the block fails.

    UsageError if no socket can be made.
    """
    if words[:1] != ["crawl"] or not _NO_CRAWL.isdisjoint(words):
        yield
        return
    from fscrawl.util.children import end_server, start_server  # noqa: PLC0415 - no other command needs it

    for module in SHARED:
        importlib.import_module(module)
    start_server(MODULES, as_copy=True)
    try:
        yield
    except BaseException:
        end_server()
        raise
