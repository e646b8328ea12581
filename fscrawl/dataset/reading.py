"""Reads the pages of a batch from the tree, and checks that each file is as its record says.

Where files come at once, from a local disk or the page cache, they are read when they are wanted. Where one has to wait
for them (`util.parallel`), threads read ahead.

Promise: the bytes of what is read ahead are bounded. A page that cannot be read, or does not match its record, is
reported and left out. Passing faults are waited out; only a fault of the whole share is raised, as a TreeError.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice

import msgspec

from fscrawl.dataset.job import Job
from fscrawl.dataset.page_files import is_noindex, read_path, read_whole, record_of
from fscrawl.dataset.plan import Name, key_of, number_of
from fscrawl.errors import RecordError
from fscrawl.storage.layout import LINKS, PICTURE
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, Waiting, here_or_ahead, in_turn

_AHEAD_BYTES = 8 << 20  # of bodies that are read ahead; one more body may be added to that
# A merge has nothing else to wait for: with so many threads, two processes merge over ten times as fast as one loop
# reads where each call takes 5 ms.
THREADS = 3 * READERS
_CHUNK_PAGES = 4  # that a thread reads at once
_CHUNK_BYTES = 1 << 20
_PAUSES_S = (0.0, 0.05)  # a refresh puts a new body in place first, and a moment later its record


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page as read. `record` is None if the page is left out of the dataset; `why` is then the reason.

    `dom`: of a page that was rendered, in UTF-8; else None. `picture`: of such a page, if an archive wants it.
    `members`: its bodies as an archive can copy them, if one is wanted and the tree has them so. `version`: its number,
    if the tree has numbers.
    """

    name: Name
    record: PageRecord | None = None
    body: bytes | None = None
    dom: bytes | None = None
    picture: bytes | None = None
    members: dict[str, bytes] = field(default_factory=dict)
    why: str = ""
    broken: str = ""
    version: int | None = None


class _Numbered(msgspec.Struct):
    """What the line of a page has beside its record, in a tree that keeps versions."""

    version: int | None = None


_numbered = msgspec.json.Decoder(_Numbered)
_waiting = Waiting()  # what this process knows about its tree, from batch to batch


def pages(job: Job, names: Iterator[Name], pool: ThreadPoolExecutor) -> Iterator[ReadPage]:
    """Read pages, in order: here, or by the threads of `pool` where one has to wait long."""
    return here_or_ahead(names, partial(_read, job), partial(_read_ahead, job, pool), _waiting)


def _read(job: Job, name: Name) -> ReadPage:
    return _read_body(job, _read_record(job, name))


def _read_ahead(job: Job, pool: ThreadPoolExecutor, names: Iterator[Name]) -> Iterator[ReadPage]:
    """Read pages by threads. Records are read first, since they say how large the bodies are."""
    cut = iter(lambda: list(islice(names, _CHUNK_PAGES)), [])
    records = in_turn(pool, (partial(_read_records, job, each) for each in cut), THREADS)
    waiting: deque[tuple[Future[list[ReadPage]], int]] = deque()
    ahead_bytes = 0
    for chunk, size in _chunks(job, chain.from_iterable(records)):
        waiting.append((pool.submit(_read_bodies, job, chunk), size))
        ahead_bytes += size
        while ahead_bytes > _AHEAD_BYTES or len(waiting) > THREADS:
            future, size_of_first = waiting.popleft()
            yield from future.result()
            ahead_bytes -= size_of_first
    for future, _ in waiting:
        yield from future.result()


def _chunks(job: Job, pages: Iterable[ReadPage]) -> Iterator[tuple[list[ReadPage], int]]:
    """Cut pages into chunks, each with the sum of the bytes of its bodies."""
    chunk: list[ReadPage] = []
    size = 0
    times = 2 if job.options.archives and job.tree.has_members else 1  # each body as it is, and as it stands there
    for page in pages:
        chunk.append(page)
        if page.record is not None:
            size += _size(page.record) * times
        if len(chunk) == _CHUNK_PAGES or size >= _CHUNK_BYTES:
            yield chunk, size
            chunk, size = [], 0
    if chunk:
        yield chunk, size


def _size(record: PageRecord) -> int:
    rendered = record.rendered
    return record.bytes + (rendered.bytes + rendered.screenshot if rendered is not None else 0)


def _read_records(job: Job, names: list[Name]) -> list[ReadPage]:
    return [_read_record(job, name) for name in names]


def _read_bodies(job: Job, pages: list[ReadPage]) -> list[ReadPage]:
    return [_read_body(job, page) for page in pages]


def _tree_of(job: Job, name: Name) -> Tree:
    """Give the tree in which the version of a name counts for its page."""
    host, key, number = name[0], key_of(name[1]), number_of(name[1])
    return job.tree if number is None else job.tree.showing(host, key, number)


def _read_record(job: Job, name: Name) -> ReadPage:
    host, key, number = name[0], key_of(name[1]), number_of(name[1])
    try:
        data = read_path(_tree_of(job, name), job.tree.tree_path(LINKS, host, key))
    except RecordError as error:
        return ReadPage(name, why="broken", broken=f"its record cannot be read: {error}")
    if data is None:
        return ReadPage(name, why="broken", broken="its record is gone")
    try:
        record = record_of(data, host, key)
    except RecordError as error:
        return ReadPage(name, why="broken", broken=str(error))
    if number is not None:
        before = job.tree.page_before(host, key, number)
        if before is not None and before.content == record.content:
            return ReadPage(name, why="unchanged")
    if why := job.filters.reason(record):
        return ReadPage(name, why=why)
    if not job.options.noindex and is_noindex(record):
        return ReadPage(name, why="noindex")
    return ReadPage(name, record, version=_numbered.decode(data).version)


def _read_body(job: Job, read: ReadPage) -> ReadPage:
    """Read the body that a record means. If a refresh replaces both meanwhile, the page is the new one."""
    if read.record is None:
        return read
    tree, host, key = _tree_of(job, read.name), read.name[0], key_of(read.name[1])
    page = _read_one_body(job, tree, read, read.record)
    for pause_s in _PAUSES_S:
        if page.record is not None or (pause_s and not tree.files.exists(tree.body_path(host, key, read.record.file))):
            break
        time.sleep(pause_s)
        read = _read_record(job, read.name)
        if read.record is None:
            return read
        page = _read_one_body(job, tree, read, read.record)
    return page


def _read_one_body(job: Job, tree: Tree, page: ReadPage, record: PageRecord) -> ReadPage:
    if not record.sha256:
        return page
    host, key = page.name[0], record.key
    try:
        body = read_whole(tree, tree.body_path(host, key, record.file), record.bytes, record.sha256, "body")
        rendered = record.rendered
        if rendered is None or not rendered.sha256:
            return replace(page, body=body, members=_members(job, tree, host, record, body=body))
        dom = read_whole(tree, tree.dom_path(host, key), rendered.bytes, rendered.sha256, "rendered page")
    except RecordError as error:
        return ReadPage(page.name, why="broken", broken=str(error))
    picture = _picture(job, tree, tree.body_path(host, key, PICTURE), rendered.screenshot)
    members = _members(job, tree, host, record, body=body, dom=dom, picture=picture)
    return replace(page, body=body, dom=dom, picture=picture, members=members)


def _members(job: Job, tree: Tree, host: str, record: PageRecord, **bodies: bytes | None) -> dict[str, bytes]:
    if not job.options.archives:
        return {}
    return tree.members(host, record, {what: data for what, data in bodies.items() if data is not None})


def _picture(job: Job, tree: Tree, path: str, size: int) -> bytes | None:
    """Read the picture of a page. What is wrong with it is the audit's to say: the page is whole without it."""
    if not size or not job.options.archives:
        return None
    with contextlib.suppress(RecordError):
        return read_path(tree, path, most=size)
    return None
