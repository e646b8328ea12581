"""The records of the wanted pages, in the order of hosts and keys, read ahead where the file system is slow.

Promise: what is read ahead is bounded: some hundred records, and as many small bodies if pages are asked for theirs. On
a fast file system nothing is: there, threads would cost more than they bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, repeat
from typing import NamedTuple

from fscrawl.api.filters import Filters
from fscrawl.api.page import Page
from fscrawl.api.source import Source
from fscrawl.api.values import values_of
from fscrawl.errors import RecordError
from fscrawl.storage.kinds import most_bytes
from fscrawl.storage.layout import HTMLS, LINKS
from fscrawl.storage.many_files import Keys
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS
from fscrawl.util.waiting import in_turn_if_slow

THREADS = 3 * READERS  # as for a merge
_FILES = 16  # that one job reads
_FIRST_FILES = 2  # and the first ones, which tell how slow the file system is
_FIRST_JOBS = 4
_AHEAD_BYTES = 1 << 18  # a larger body is read when it is asked for
_WASTED = 64  # bodies in a row that were read ahead for nothing

Stretch = tuple[str, list[str]]  # host, keys


class Unread(NamedTuple):
    """A page whose record cannot be read, and why; "": it is gone."""

    host: str
    key: str
    why: str


def walk(source: Source, filters: Filters) -> Iterator[list[Page | Unread]]:
    """Read the records of all pages that the filters may want. TreeError if the share cannot be used."""
    return in_turn_if_slow(partial(_read, source), _stretches(source.tree, LINKS, filters), THREADS, _pages)


def names(tree: Tree, room: str, filters: Filters) -> Iterator[tuple[str, str]]:
    """Give the names of all files of pages in a room that the filters may want: (host, key)."""
    return ((host, key) for host, keys in _stretches(tree, room, filters) for key in keys)


def _stretches(tree: Tree, room: str, filters: Filters) -> Iterator[Stretch]:
    hosts = [host for host in sorted(tree.hosts(room)) if filters.may_take_host(host)]
    sizes = chain(repeat(_FIRST_FILES, _FIRST_JOBS), repeat(_FILES))
    for host, keys in in_turn_if_slow(partial(_list, tree, room), hosts, READERS):
        wanted = iter(keys) if filters.has is None else filter(filters.has, keys)
        while some := list(islice(wanted, next(sizes))):
            yield host, some


def _pages(stretch: Stretch) -> int:
    return len(stretch[1])


def _list(tree: Tree, room: str, host: str) -> tuple[str, Keys]:
    return host, tree.sorted_keys(room, host)


def _read(source: Source, stretch: Stretch) -> list[Page | Unread]:
    host, keys = stretch
    directory = f"{LINKS}/{host}"
    read = source.tree.read_beside(directory, [f"{key}.json" for key in keys], most_bytes(directory))
    found = [_page(source, host, key, data) for key, data in zip(keys, read, strict=True)]
    if source.unused > _WASTED:
        source.bodies, source.unused = False, 0
    if source.bodies:
        _read_bodies(source, host, [page for page in found if isinstance(page, Page)])
    return found


def _page(source: Source, host: str, key: str, data: bytes | None) -> Page | Unread:
    try:
        values = source.values(host, key) if data is None else values_of(data, key)
    except RecordError as error:
        return Unread(host, key, str(error))
    return Unread(host, key, "") if values is None else Page(source, host, values)


def _read_bodies(source: Source, host: str, pages: list[Page]) -> None:
    """Read the small bodies of pages. One that is not as its record says is left to whoever asks for it."""
    wanted = [page for page in pages if page._may_be_read_ahead(_AHEAD_BYTES)]
    bodies = source.tree.read_beside(f"{HTMLS}/{host}", [f"{page.key}.html" for page in wanted], _AHEAD_BYTES)
    for page, body in zip(wanted, bodies, strict=True):
        page._take_ahead(body)
