"""Reading the records of shards for a survey, and removing temporary files of dead machines.

The records are the truth, and the logs only an index of them. What no log tells is told from the records (`survey`).

Promise: records are read by several threads, and few of them are in memory at a time. A record that a listing shows and
that cannot be found is asked for again until no cache can be the reason. A temporary file is removed only if its writer
is known to be dead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError, about
from fscrawl.fleet.heartbeat import is_gone_by_name
from fscrawl.fleet.ownership import Fleet
from fscrawl.storage.caches import CACHES_LIVE_S
from fscrawl.storage.flaws import misplaced, unsayable
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.parallel import READERS, in_turn

R = TypeVar("R", PageRecord, ErrorRecord)

_AGAIN_S = 1.0
_GLANCE_S = 0.02  # how long this waits before the main loop may go on


def shards_of(tree: Tree, hosts: Iterable[str]) -> set[int]:
    """Return the shards that may have pages, by the hosts that have directories."""
    record = tree.record
    if record.partition == "url":
        return set(range(record.shards)) if any(True for _ in hosts) else set()
    return set(map(record.shard_of, hosts))


def may_have_pages_of(tree: Tree, host: str, shards: set[int]) -> bool:
    """Return whether a host's directory may have pages of `shards`."""
    return tree.record.partition == "url" or tree.record.shard_of(host) in shards


def records_of(
    tree: Tree, host: str, wanted: Callable[[str], bool], warn: Callable[[str], None]
) -> Iterator[PageRecord | None]:
    """Read the records of a host whose keys are `wanted`, several at a time, and few ahead of the caller.

    Yields None for a damaged record, after a warning; and from time to time while it waits for records that a listing
    shows but that cannot be found yet.
    """
    yield from _read_all(tree, LINKS, host, lambda key: tree.page(host, key), wanted, warn)


def errors_of(
    tree: Tree, host: str, wanted: Callable[[str], bool], warn: Callable[[str], None]
) -> Iterator[ErrorRecord | None]:
    """Read the error records of a host in the same way."""
    yield from _read_all(tree, ERRS, host, lambda key: tree.error(host, key), wanted, warn)


def _read_all(
    tree: Tree,
    directory: str,
    host: str,
    read_one: Callable[[str], R],
    wanted: Callable[[str], bool],
    warn: Callable[[str], None],
) -> Iterator[R | None]:
    missed: list[str] = []

    def read(key: str) -> R | None:
        try:
            return _checked(read_one(key), host, key)
        except RecordError as error:
            repair = f"{command('audit', tree.root)} --repair"
            warn(f"{about(tree.path_of(directory, host, key), error)}; to fetch it again:  {repair}")
        except TreeError as error:
            if not error.is_missing:
                raise
            missed.append(key)
        return None

    keys = [key for key in tree.keys(directory, host) if wanted(key)]
    if not keys:
        return
    with ThreadPoolExecutor(READERS, thread_name_prefix="survey") as readers:
        yield from in_turn(readers, (partial(read, key) for key in keys))
    yield from _until_found(missed, read)
    if missed and directory == LINKS:  # an error record is removed when its page is stored
        tree.check_there()
        example = tree.path_of(directory, host, missed[0])
        warn(f"{number_of(len(missed), 'record')} of {urls.shown_host(host)} listed but missing, for example {example}")


def _checked(record: R, host: str, key: str) -> R:
    """Raise RecordError if somebody has edited a record so that no log could hold what it says of itself."""
    if wrong := misplaced(record, host, key) or unsayable(record):
        raise RecordError(wrong)
    return record


def _until_found(missed: list[str], read: Callable[[str], R | None]) -> Iterator[R | None]:
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


def remove_temporaries_of_the_dead(temporaries: list[tuple[str, str]], fleet: Fleet, tree: Tree, now: float) -> None:
    """Remove those of `temporaries` (path, owner) whose owner is dead. Files of this machine itself stay."""
    for path, owner in temporaries:
        peer = fleet.peers.get(owner)
        is_known = peer is not None and peer.greeting is not None  # one that was killed at its start has said nothing
        dead = not fleet.is_live(owner, now) if is_known else is_gone_by_name(owner)
        if dead and owner != tree.machine:
            tree.files.remove(path)


def remove_own_temporaries(hosts: Iterable[str], tree: Tree) -> None:
    """Remove the temporary files of this machine's dead workers. No worker may be writing any more."""
    for host in hosts:
        for path, owner in tree.all_temporaries(host):
            if owner == tree.machine:
                tree.files.remove(path)
