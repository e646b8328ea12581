"""The way back from the link files: what is stored of some shards, and what dead machines left half-written.

The link files are the truth and the feeds an index of them. So whoever takes a shard that was not left clean reads
the records of its hosts and feeds their links again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from fscrawl import urls
from fscrawl.config.watcher import CACHES_LIVE_S
from fscrawl.errors import RecordError, TreeError
from fscrawl.fleet.heartbeat import is_gone_by_name
from fscrawl.fleet.ownership import Fleet
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS

_AGAIN_S = 1.0
_GLANCE_S = 0.02  # the main loop goes round meanwhile


def shards_of(tree: Tree, hosts: Iterable[str]) -> set[int]:
    """Give the shards that may have pages, told by the hosts that have directories."""
    record = tree.record
    if record.partition == "url":
        return set(range(record.shards)) if any(True for _ in hosts) else set()
    return {urls.shard(host, record.shards) for host in hosts}


def may_have_pages_of(tree: Tree, host: str, shards: set[int]) -> bool:
    """Tell whether a host's directory may have pages of `shards`."""
    return tree.record.partition == "url" or urls.shard(host, tree.record.shards) in shards


def records_of(tree: Tree, host: str, shards: set[int], warn: Callable[[str], None]) -> Iterator[PageRecord | None]:
    """Read a host's records that are of `shards`, several at a time.

    None for one that is torn, which is warned of, and as long as one is waited for that is listed and not found.
    """
    missed: list[str] = []

    def read(key: str) -> PageRecord | None:
        try:
            return tree.page(host, key)
        except RecordError as error:
            warn(f"{tree.path_of(LINKS, host, key)}: {error}; `fscrawl audit --repair` has it fetched again")
        except TreeError as error:
            if not error.is_missing:
                raise
            missed.append(key)
        return None

    keys = tree.keys(LINKS, host)
    if tree.record.partition == "url":
        keys = [key for key in keys if urls.shard(key, tree.record.shards) in shards]
    with ThreadPoolExecutor(READERS, thread_name_prefix="reseed") as readers:
        yield from readers.map(read, keys)
    yield from _until_found(missed, read)
    if missed:
        tree.check_there()
        warn(f"{len(missed)} records of {host} are listed and not there, as {tree.path_of(LINKS, host, missed[0])}")


def _until_found(missed: list[str], read: Callable[[str], PageRecord | None]) -> Iterator[PageRecord | None]:
    """NFS goes on missing a name that it was once asked for, for up to a minute, while listings show it."""
    until = time.monotonic() + CACHES_LIVE_S
    while missed and time.monotonic() < until:
        again_at = time.monotonic() + _AGAIN_S
        while time.monotonic() < again_at:
            time.sleep(_GLANCE_S)
            yield None
        keys = missed[:]
        missed.clear()
        yield from map(read, keys)


def remove_temporaries_of_the_dead(temporaries: list[tuple[str, str]], fleet: Fleet, tree: Tree) -> None:
    """Remove of `temporaries` (path, owner) those whose owner writes no more, and is not the machine that asks."""
    now = time.monotonic()
    for path, owner in temporaries:
        dead = not fleet.is_live(owner, now) if owner in fleet.peers else is_gone_by_name(owner)
        if dead and owner != tree.machine:
            tree.files.remove(path)


def remove_own_temporaries(hosts: Iterable[str], tree: Tree) -> None:
    """Remove what workers of this machine that died have left half-written; none may be writing any more."""
    for host in hosts:
        for path, owner in tree.all_temporaries(host):
            if owner == tree.machine:
                tree.files.remove(path)
