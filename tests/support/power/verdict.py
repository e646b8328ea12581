"""What must hold of what a power loss has left, before anybody mends it. Faults are lines for people; none is right.

publish with fsync: a file under its final name is whole, a record has its body, what was told is there
logs, always: what a machine had told of its log in a heartbeat is there, byte by byte
making a tree, always: with `tree.json` all of it is there and whole; what is there without it is whole
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterator

from fscrawl.storage.records import PageRecord
from tests.support.power.disk import Survivors
from tests.support.power.history import PAGE_FILE, History

DIRECTORIES = (
    "htmls",
    "files",
    "links",
    "errs",
    ".fscrawl/machines",
    ".fscrawl/leases",
    ".fscrawl/generations",
    ".fscrawl/robots",
)
MADE = ("crawl.toml", "seeds.txt", ".fscrawl/README", ".fscrawl/tree.json")


def torn(history: History, survivors: Survivors) -> Iterator[str]:
    """Find pages, records and errors that are not what was published under their names, and records without a body."""
    for path, data in survivors.items():
        match = PAGE_FILE.match(path)
        if match is None or data is None:
            continue
        version = history.version(path, data)
        if version is None:
            yield f"torn: {path}: {len(data)} bytes, {data[:60]!r}"
        elif match["directory"] == "links":
            html = f"{match['tree']}htmls/{match['host']}/{match['key']}.html"
            yield from _without_body(history, survivors, _record(data), html)


def _without_body(history: History, survivors: Survivors, record: PageRecord, path: str) -> Iterator[str]:
    """A record has its body. A newer one may be there if the record is just being replaced, by a refresh."""
    if not record.sha256:
        return
    body = survivors.get(path)
    if body is None:
        yield f"no body: {path}, and there is its record"
    elif hashlib.sha256(body).hexdigest() != record.sha256:
        own = [n for n, each in enumerate(history.of[path]) if hashlib.sha256(each.data).hexdigest() == record.sha256]
        there = history.version(path, body)
        if there is None or not own or there < own[0]:
            yield f"not its body: {path}: {len(body)} bytes in place of {record.bytes}"


def forgotten(history: History, survivors: Survivors, point: int) -> Iterator[str]:
    """Find records that were told before the point and are not there, or only an earlier version of them."""
    for path in history.paths("links"):
        told = history.told(path, point)
        if told >= 0:
            version = history.version(path, survivors.get(path))
            if version is None or version < told:
                yield f"forgotten: {path}: version {told} was told, {'none' if version is None else version} is there"


def uncounted(history: History, survivors: Survivors, point: int) -> Iterator[str]:
    """Find machines that had said to have stored more pages than are there of theirs, or of whoever replaced them."""
    counted = history.counted(point)
    there = Counter[str]()
    for path in history.paths("links") if counted else ():
        version = history.version(path, survivors.get(path))
        stored = history.of[path][: 0 if version is None else version + 1]
        there.update(record.machine for record in (_record(each.data) for each in stored) if record.sha256)
    for machine, pages in counted.items():
        if there[machine] < pages:
            yield f"uncounted: {machine} had told of {pages} pages, and {there[machine]} are there"


def unlogged(history: History, survivors: Survivors, point: int) -> Iterator[str]:
    """Find logs that machines had told of before the point, and that end before that place or have other bytes."""
    for path, expected in history.logged(point):
        data = survivors.get(path)
        if data is None or not data.startswith(expected):
            there = "nothing" if data is None else f"{len(data)} bytes"
            yield f"unlogged: {path}: {len(expected)} bytes were told of, {there} are there"


@functools.lru_cache(maxsize=1_000)  # at all the points of a recording they are the same few
def _record(data: bytes) -> PageRecord:
    return PageRecord.from_json(data)


def half_made(history: History, survivors: Survivors, point: int, root: str) -> Iterator[str]:
    """Find what is wrong with the tree as such: told and not there, or there and not all of it."""
    for name in MADE:
        data = survivors.get(f"{root}/{name}")
        if data is not None and history.version(f"{root}/{name}", data) is None:
            yield f"torn: {name}: {len(data)} bytes, {data[:60]!r}"
    if f"{root}/.fscrawl/tree.json" in survivors:
        yield from (
            f"there is a tree, and no {name}" for name in (*MADE, *DIRECTORIES) if f"{root}/{name}" not in survivors
        )
    elif point >= history.tree_told:
        yield "machines were at work in the tree, and it is gone"
