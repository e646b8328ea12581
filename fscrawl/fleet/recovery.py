"""Recovery from the link files: reading the records of shards, and removing temporary files of dead machines.

The link files are the truth, the feeds only an index. So a machine that takes a shard which was not handed over cleanly
reads the records of its hosts, and puts their links into the feed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError
from fscrawl.fleet.heartbeat import is_gone_by_name
from fscrawl.fleet.ownership import Fleet
from fscrawl.storage.caches import CACHES_LIVE_S
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn

_AGAIN_S = 1.0
_GLANCE_S = 0.02  # how long this waits before the main loop may go on


def shards_of(tree: Tree, hosts: Iterable[str]) -> set[int]:
    """Return the shards that may have pages, by the hosts that have directories."""
    record = tree.record
    if record.partition == "url":
        return set(range(record.shards)) if any(True for _ in hosts) else set()
    return {urls.shard(host, record.shards) for host in hosts}


def may_have_pages_of(tree: Tree, host: str, shards: set[int]) -> bool:
    """Return whether a host's directory may have pages of `shards`."""
    return tree.record.partition == "url" or urls.shard(host, tree.record.shards) in shards


def records_of(tree: Tree, host: str, shards: set[int], warn: Callable[[str], None]) -> Iterator[PageRecord | None]:
    """Read those records of a host that belong to `shards`, several at a time, and few ahead of the caller.

    Yields None for a damaged record, after a warning; and from time to time while it waits for records that a listing
    shows but that cannot be found yet.
    """
    missed: list[str] = []

    def read(key: str) -> PageRecord | None:
        try:
            return tree.page(host, key)
        except RecordError as error:
            warn(f"{tree.path_of(LINKS, host, key)}: {error}; after `fscrawl audit --repair` it is fetched again")
        except TreeError as error:
            if not error.is_missing:
                raise
            missed.append(key)
        return None

    keys = tree.keys(LINKS, host)
    if tree.record.partition == "url":
        keys = [key for key in keys if urls.shard(key, tree.record.shards) in shards]
    with ThreadPoolExecutor(READERS, thread_name_prefix="reseed") as readers:
        yield from in_turn(readers, (partial(read, key) for key in keys))
    yield from _until_found(missed, read)
    if missed:
        tree.check_there()
        example = tree.path_of(LINKS, host, missed[0])
        warn(f"{len(missed)} records of {host} are listed but missing, for example {example}")


def _until_found(missed: list[str], read: Callable[[str], PageRecord | None]) -> Iterator[PageRecord | None]:
    """Try missed records again for a minute: so long NFS may remember that a file was missing, though it is listed."""
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
    """Remove those of `temporaries` (path, owner) whose owner is dead. Files of this machine itself stay."""
    now = time.monotonic()
    for path, owner in temporaries:
        dead = not fleet.is_live(owner, now) if owner in fleet.peers else is_gone_by_name(owner)
        if dead and owner != tree.machine:
            tree.files.remove(path)


def remove_own_temporaries(hosts: Iterable[str], tree: Tree) -> None:
    """Remove the temporary files of this machine's dead workers. No worker may be writing any more."""
    for host in hosts:
        for path, owner in tree.all_temporaries(host):
            if owner == tree.machine:
                tree.files.remove(path)
