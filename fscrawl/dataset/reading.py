"""The pages of a batch, read from the tree in spite of passing faults, and checked: is each file what it should be?

Promise: what is read ahead is bounded by its bytes. What cannot be read, or is not what its record says, is told of and
left out; only a fault of the share itself passes through, as a TreeError.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from fscrawl import urls
from fscrawl.dataset.job import Job
from fscrawl.dataset.plan import Name
from fscrawl.errors import RecordError, TreeBusyError, TreeError
from fscrawl.storage.layout import HTMLS, LINKS
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.util.parallel import READERS, in_turn

_AHEAD_BYTES = 8 << 20  # of bodies, read before their turn; one more may come on top
_CHUNK_PAGES = 8  # that a thread reads in one go
_CHUNK_BYTES = 1 << 20
_BUSY_TRIES = 4
_BUSY_S = 0.25


@dataclass(frozen=True, slots=True)
class Page:
    """A page as read; `record` is None if it is not for the dataset, and `why` tells the reason."""

    name: Name
    record: PageRecord | None = None
    body: bytes | None = None
    why: str = ""
    broken: str = ""


def pages(job: Job, names: Iterator[Name], pool: ThreadPoolExecutor) -> Iterator[Page]:
    """Read pages, in their order: their records ahead of their bodies, since they tell how large these are."""
    cut = iter(lambda: list(islice(names, _CHUNK_PAGES)), [])
    records = in_turn(pool, (partial(_read_records, job, each) for each in cut), READERS)
    waiting: deque[tuple[Future[list[Page]], int]] = deque()
    ahead_bytes = 0
    for chunk, size in _chunks(chain.from_iterable(records)):
        waiting.append((pool.submit(_read_bodies, job, chunk), size))
        ahead_bytes += size
        while ahead_bytes > _AHEAD_BYTES or len(waiting) > READERS:
            future, size_of_first = waiting.popleft()
            yield from future.result()
            ahead_bytes -= size_of_first
    for future, _ in waiting:
        yield from future.result()


def _chunks(pages: Iterable[Page]) -> Iterator[tuple[list[Page], int]]:
    """Cut pages whose bodies are to be read into chunks, each with the bytes of its bodies."""
    chunk: list[Page] = []
    size = 0
    for page in pages:
        chunk.append(page)
        size += page.record.bytes if page.record is not None else 0
        if len(chunk) == _CHUNK_PAGES or size >= _CHUNK_BYTES:
            yield chunk, size
            chunk, size = [], 0
    if chunk:
        yield chunk, size


def _read_records(job: Job, names: list[Name]) -> list[Page]:
    return [_read_record(job, name) for name in names]


def _read_bodies(job: Job, pages: list[Page]) -> list[Page]:
    return [_read_body(job, page.name, page.record) if page.record is not None else page for page in pages]


def _read_record(job: Job, name: Name) -> Page:
    host, key = name
    try:
        data = patiently(job, LINKS, host, key)
        record = None if data is None else encodable(PageRecord.from_json(data), data)
    except RecordError as error:
        return Page(name, why="broken", broken=f"its record cannot be read: {error}")
    if record is None:
        return Page(name, why="broken", broken="its record is gone")
    if not is_sound(record, name) or not _fits(record):
        return Page(name, why="broken", broken="its record does not say what a record should")
    if not job.filters.takes(record):
        return Page(name, why="filtered")
    if not job.options.noindex and is_noindex(record):
        return Page(name, why="noindex")
    return Page(name, record)


def _read_body(job: Job, name: Name, record: PageRecord) -> Page:
    if not record.sha256:
        return Page(name, record)
    try:
        body = patiently(job, HTMLS, *name)
    except RecordError as error:
        return Page(name, why="broken", broken=f"its body cannot be read: {error}")
    if body is None:
        return Page(name, why="broken", broken="its body is missing")
    if len(body) != record.bytes or hashlib.sha256(body).hexdigest() != record.sha256:
        return Page(name, why="broken", broken="its body is not what its record says")
    return Page(name, record, body)


def patiently(job: Job, room: str, host: str, key: str) -> bytes | None:
    """Read a page's file in spite of passing faults; None if it is not there, RecordError if it is no file."""
    place = job.tree.tree_path(room, host, key)
    for _ in range(_BUSY_TRIES - 1):
        try:
            return job.tree.files.read(place)
        except TreeBusyError:
            time.sleep(_BUSY_S)
        except TreeError as error:
            if isinstance(error.__cause__, IsADirectoryError | PermissionError):  # this one alone, not the share
                raise RecordError(str(error.__cause__.strerror).lower()) from error
            raise
    return job.tree.files.read(place)


R = TypeVar("R", PageRecord, ErrorRecord)


def encodable(record: R, data: bytes) -> R:
    """Give a record that was read from `data` without halves of surrogate pairs, which no dataset can hold."""
    try:
        suspect = b"\\u" in data or b"\0" in data or not data.decode()  # json reads UTF-16, and encoded halves, too
    except UnicodeDecodeError:
        suspect = True
    return type(record).from_json(record.to_json()) if suspect else record


def is_sound(record: PageRecord | ErrorRecord, name: Name) -> bool:
    """Tell whether a record is of the place where it was found, and what both kinds have fits the columns."""
    moment = record.fetched_at if isinstance(record, PageRecord) else record.failed_at
    status = record.status or 0
    return (
        urls.normalise(record.url) == record.url
        and (urls.host(record.url), urls.key(record.url), record.key) == (*name, name[1])
        and is_time(moment)
        and 0 <= record.depth < 2**31
        and 0 <= status < 2**31
    )


def _fits(record: PageRecord) -> bool:
    return 0 <= record.bytes < 2**63 and 0 <= record.elapsed < 2**31  # which no infinity is


def is_time(text: str) -> bool:
    """Tell whether a text is a time, in any zone, of the years that all calendars of computers know.

    >>> is_time("2026-11-21T10:00:00.000Z"), is_time("0001-01-01T00:00:00+14:00"), is_time("today")
    (True, False, False)
    """
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


def is_noindex(record: PageRecord) -> bool:
    """Tell whether a page asks not to be indexed.

    https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
    """
    return not {"noindex", "none"}.isdisjoint(record.robots or ())
