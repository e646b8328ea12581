"""Searches that read many files of a tree: pages that link to a URL, pages with a text in URL or title, failures.

Vocabulary:
  find      {"page": …}: a page that matches; {"host": …, "spoken": …}: a host
  others    {"more_hosts": n}: so many hosts match besides those that were given
  progress  {"looked": n, "hosts": n}: how far a search is, about twice a second
  end       {"end": "all" | "enough" | "time"}: the last event, and why the search ended; "all": everything was read

Promise: a search is limited in time and in the number of pages it finds. It reports its progress, and ends when the
client has gone.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from fscrawl import hostnames, urls
from fscrawl.errors import RecordError
from fscrawl.monitor.dashboard.pages import brief
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn

PAGE_ROWS = 50
_MOST_FOUND = 200
_MOST_S = 120.0
_MOST_HOSTS = 20  # of a search for pages; the table of hosts has them all
_TOLD_S = 0.5
_EXAMPLES = 5
_SAMPLE_HOSTS = 100
_SAMPLE_FILES = 500
_AHEAD = 2 * READERS  # files of a search that others, and its end, have to wait for
_POOL = ThreadPoolExecutor(READERS, thread_name_prefix="scan")  # of all searches together
Event = dict[str, Any]
Kind = type[PageRecord] | type[ErrorRecord]


def links_in(tree: Tree, url: str, host: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Event]:
    """Search for pages that link to `url` (a normal form), first on its own `host`, then on all others."""
    needle = json.dumps(url, ensure_ascii=False).encode()
    hosts = [host, *(name for name in tree.hosts(LINKS) if name != host)]

    def how(record: PageRecord) -> str | None:
        return None if record.url == url else _how(record, url)

    return _search(tree, hosts, lambda data: needle in data, how, clock)


def matching(tree: Tree, host: str, text: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Event]:
    """Search a host for stored pages with `text` in URL or title; upper and lower case are the same."""
    wanted = text.lower()

    def how(record: PageRecord) -> str | None:
        if wanted in record.url.lower():
            return "url"
        return "title" if wanted in (record.title or "").lower() else None

    return _search(tree, [host], lambda data: wanted in data.decode("utf-8", "replace").lower(), how, clock)


def everywhere(tree: Tree, text: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Event]:
    """Search a whole tree: the page that `text` is the URL of, hosts that it names, then pages with it in URL or title.

    Of a URL, the part behind the host must have it, since the hosts are given before.
    """
    began = clock()
    exact = next(_pages_of(tree, text), None)
    if exact is not None:
        yield {"page": {**brief(exact), "how": "url"}}
    hosts = sorted({*tree.hosts(LINKS), *tree.hosts(ERRS)})
    found = list(filter(hostnames.search(text), hosts))
    yield from ({"host": name, "spoken": urls.shown_host(name)} for name in found[:_MOST_HOSTS])
    if len(found) > _MOST_HOSTS:
        yield {"more_hosts": len(found) - _MOST_HOSTS}
    wanted = text.lower()

    def how(record: PageRecord) -> str | None:
        if exact is not None and record.url == exact.url:
            return None
        url, origin = record.url.lower(), urls.origin(record.url).lower()
        if wanted in url[len(origin) :] or (wanted in url and wanted not in origin):
            return "url"
        return "title" if wanted in (record.title or "").lower() else None

    yield from _search(tree, hosts, lambda data: wanted in data.decode("utf-8", "replace").lower(), how, clock, began)


def labelled(tree: Tree, label: str, room: str = LINKS, clock: Callable[[], float] = time.monotonic) -> Iterator[Event]:
    """Search a whole tree for the pages of a task, or for its failures (`room`)."""
    needle = json.dumps(label, ensure_ascii=False).encode()

    def how(record: PageRecord | ErrorRecord) -> str | None:
        return "url" if record.label == label else None

    return _search(tree, sorted(tree.hosts(room)), lambda data: needle in data, how, clock, room=room)


def _pages_of(tree: Tree, text: str) -> Iterator[PageRecord | ErrorRecord]:
    """Give the pages and failures that a text may be the URL of."""
    rooms: tuple[tuple[str, Kind], ...] = ((LINKS, PageRecord), (ERRS, ErrorRecord))
    for url in hostnames.candidates(text):
        for room, kind in rooms:
            record = _record(kind, _read(tree, room, urls.host(url), urls.key(url)))
            if record is not None:
                yield record


def _how(record: PageRecord, url: str) -> str | None:
    """Say how a page links to a URL; None if it does not."""
    how = record.names(url)
    if how in ("link", "sitemap"):
        return "canonical" if record.canonical == url else "link"
    return how


def _search(
    tree: Tree,
    hosts: Iterable[str],
    may_be: Callable[[bytes], bool],
    how: Callable[[Any], str | None],
    clock: Callable[[], float],
    began: float | None = None,
    room: str = LINKS,
) -> Iterator[Event]:
    kind: Kind = PageRecord if room == LINKS else ErrorRecord
    told = clock()
    began = told if began is None else began
    looked = found = at_host = 0
    for number, data in _files(tree, room, hosts):
        at_host, looked, now = number, looked + (data is not None), clock()
        record = _record(kind, data) if data is not None and may_be(data) else None
        reason = how(record) if record is not None else None
        if record is not None and reason is not None:
            found += 1
            yield {"page": {**brief(record), "how": reason}}
        if now - told >= _TOLD_S:
            told = now
            yield {"looked": looked, "hosts": at_host}
        if found >= _MOST_FOUND or now - began >= _MOST_S:
            yield {"looked": looked, "hosts": at_host}
            yield {"end": "enough" if found >= _MOST_FOUND else "time"}
            return
    yield {"looked": looked, "hosts": at_host}
    yield {"end": "all"}


def _files(tree: Tree, room: str, hosts: Iterable[str]) -> Generator[tuple[int, bytes | None]]:
    """Read the files of hosts: (the number of the host, bytes). Each host begins with a None."""
    for number, host in enumerate(hosts, 1):
        yield number, None
        jobs = (partial(_read, tree, room, host, key) for key in tree.keys(room, host))
        for data in in_turn(_POOL, jobs, _AHEAD):
            yield number, data


def _read(tree: Tree, room: str, host: str, key: str) -> bytes | None:
    return tree.files.read_or_torn(tree.tree_path(room, host, key))


def _record(kind: Kind, data: bytes | None) -> PageRecord | ErrorRecord | None:
    try:
        return None if data is None else kind.from_json(data)
    except RecordError:
        return None


def page_of(tree: Tree, host: str, room: str, page: int) -> Event:
    """Give fifty records of a host, or failures (`room` "links", "errs"), in the order of their keys."""
    keys = sorted(tree.keys(room, host))
    chosen = keys[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
    kind: Kind = PageRecord if room == LINKS else ErrorRecord
    read = list(in_turn(_POOL, (partial(_read, tree, room, host, key) for key in chosen)))
    records = [record for data in read if (record := _record(kind, data)) is not None]
    return {
        "found": len(keys),
        "page": page,
        "pages": max(1, -(-len(keys) // PAGE_ROWS)),
        "unreadable": len(chosen) - len(records),
        "rows": sorted(map(brief, records), key=lambda row: str(row["url"])),
    }


def examples(tree: Tree, chance: random.Random | None = None) -> Event:
    """Give some failures of each class, from a few hundred files of randomly chosen hosts."""
    chance = chance or random.Random()
    hosts = tree.hosts(ERRS)
    hosts = chance.sample(hosts, min(len(hosts), _SAMPLE_HOSTS))
    share = max(20, _SAMPLE_FILES // max(1, len(hosts)))
    found: dict[str, list[Event]] = {}
    looked = 0
    for host in hosts:
        keys = tree.keys(ERRS, host)
        chosen = chance.sample(keys, min(len(keys), share, _SAMPLE_FILES - looked))
        looked += len(chosen)
        for data in in_turn(_POOL, [partial(_read, tree, ERRS, host, key) for key in chosen]):
            record = _record(ErrorRecord, data)
            if isinstance(record, ErrorRecord) and len(found.setdefault(record.class_, [])) < _EXAMPLES:
                found[record.class_].append(brief(record))
    return {"looked": looked, "classes": found}
