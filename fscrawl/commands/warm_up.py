"""What takes longest is begun before all else: the process that the workers of a crawl are forked from.

It and this one load their modules at the same time. It is only a process: if the command line turns out to have a
mistake, it ends with this one.
"""

from __future__ import annotations

from collections.abc import Sequence

from fscrawl.engine.preload import MODULES

_NO_CRAWL = {"-h", "--help"}


def warm_up(words: Sequence[str]) -> None:
    """Start the server of workers if the command line is that of a crawl. UsageError if no socket can be made."""
    if words[:1] == ["crawl"] and _NO_CRAWL.isdisjoint(words):
        from fscrawl.util.children import start_server  # noqa: PLC0415 - no other command needs it

        start_server(MODULES)
