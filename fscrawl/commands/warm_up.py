"""What takes longest is begun before all else: the process that those of a crawl or a merge are forked from.

If the command line turns out to have a mistake, it is ended: it would keep the caller's pipes open until it has loaded
all.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence

from fscrawl.engine.preload import MODULES

_HELP = {"-h", "--help"}
_MERGE = ("fscrawl.merge",)
_ELSEWHERE = "--scheduler"  # a merge by a cluster has no processes here


@contextlib.contextmanager
def warm_up(words: Sequence[str]) -> Iterator[None]:
    """Start the server of processes if the command line is that of a crawl or a merge. End it if the block fails.

    UsageError if no socket can be made.
    """
    modules = _modules(words)
    if not modules:
        yield
        return
    from fscrawl.util.children import end_server, start_server  # noqa: PLC0415 - no other command needs it

    start_server(modules)
    try:
        yield
    except BaseException:
        end_server()
        raise


def _modules(words: Sequence[str]) -> Sequence[str]:
    if not _HELP.isdisjoint(words):
        return ()
    if words[:1] == ["merge"] and not any(word.startswith(_ELSEWHERE) for word in words):
        from fscrawl.util.memory import restrain_libraries  # noqa: PLC0415 - no other command needs it

        restrain_libraries()
        return _MERGE
    return MODULES if words[:1] == ["crawl"] and not _has_no_workers(words) else ()


def _has_no_workers(words: Sequence[str]) -> bool:
    """Tell whether `--workers 0` stands there: then nothing is forked."""
    return "--workers=0" in words or ("--workers", "0") in itertools.pairwise(words)
