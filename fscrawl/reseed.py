"""The way back from the link files: what is stored of some shards, and what dead machines left half-written.

The link files are the truth and the feeds an index of them. So whoever takes a shard that was not left clean reads
the records of its hosts and feeds their links again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.fleet import Fleet
from fscrawl.heartbeat import is_gone_by_name
from fscrawl.publish import remove
from fscrawl.records import PageRecord
from fscrawl.store import Tree
from fscrawl.turns import READERS


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
    """Read a host's records that are of `shards`, several at a time; None for one that is torn, which is warned of."""

    def read(key: str) -> PageRecord | None:
        try:
            return tree.page(host, key)
        except RecordError as error:
            warn(f"{tree.path_of('links', host, key)}: {error}; `fscrawl audit --repair` has it fetched again")
            return None

    keys = tree.keys("links", host)
    if tree.record.partition == "url":
        keys = [key for key in keys if urls.shard(key, tree.record.shards) in shards]
    with ThreadPoolExecutor(READERS, thread_name_prefix="reseed") as readers:
        yield from readers.map(read, keys)


def remove_temporaries_of_the_dead(temporaries: list[tuple[str, str]], fleet: Fleet, machine: str) -> None:
    """Remove of `temporaries` (path, owner) those whose owner writes no more; `machine` is the one that asks."""
    now = time.monotonic()
    for path, owner in temporaries:
        dead = not fleet.is_live(owner, now) if owner in fleet.peers else is_gone_by_name(owner)
        if dead and owner != machine:
            remove(path)
