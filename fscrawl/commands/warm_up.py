"""What takes longest is begun before all else: the process that the workers of a crawl are forked from.

It and this one load their modules at the same time. If the command line turns out to have a mistake, it is ended: it
would keep the caller's pipes open until it has loaded them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from fscrawl.engine.preload import MODULES

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

    start_server(MODULES)
    try:
        yield
    except BaseException:
        end_server()
        raise
