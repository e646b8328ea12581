"""Makes the columns of the tables from rows and verdicts, and reads the failures of the tree.

Records have the spelling of a request (`request`); tables have its URL, method and body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fscrawl import urls
from fscrawl.dataset import schema
from fscrawl.dataset.job import Job
from fscrawl.dataset.page_files import failure, failure_row, is_noindex, moment
from fscrawl.dataset.plan import hosts_of
from fscrawl.dataset.surt import surt
from fscrawl.request import parts_of, url_of
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import PageRecord, Version
from fscrawl.util.parallel import READERS, in_turn

_ROWS = 5000


def schemas(job: Job) -> dict[str, pa.Schema]:
    """Return the schema of each table of the dataset."""
    items = {"items": schema.items(job.item_columns)} if job.item_columns else {}
    changes = {"changes": schema.CHANGES} if job.options.changes else {}
    return {**schema.TABLES, "pages": schema.pages(job.field_columns, job.options), **items, **changes}


def of_pages(job: Job) -> tuple[str, ...]:
    """Name the tables whose parts hold the same pages."""
    return ("pages", "links", "items") if job.item_columns else ("pages", "links")


def pages(job: Job, rows: pa.RecordBatch, verdicts: pa.RecordBatch) -> pa.RecordBatch:
    """Make the table of pages from `rows`, all of which are kept."""
    spellings = rows["url"].to_pylist()
    of_requests = asked(spellings)
    addresses = of_requests.urls.to_pylist()
    names = [urls.hostname(url) for url in addresses]
    is_html, no_bytes = pc.is_null(rows["file"]), pa.scalar(None, pa.binary())
    made = {
        "url": of_requests.urls,
        "method": of_requests.methods,
        "request_body": of_requests.bodies,
        "fetch_redirect": _urls_of(rows["fetch_redirect"]),
        "url_surtkey": pa.array(map(surt, map(url_of, spellings)), pa.string(), size=len(spellings)),
        "url_host_name": pa.array(names, pa.string()),
        "url_host_registered_domain": pa.array(map(urls.site, names), pa.string(), size=len(names)),
        "outlinks": _count(rows["links"], rows["nofollow"]),
        "duplicate_of": verdicts["duplicate_of"],
        "near_duplicate_of": verdicts["near_duplicate_of"],
        "html": pc.if_else(is_html, rows["html"], no_bytes),
        "body": pc.if_else(is_html, no_bytes, rows["html"]) if job.options.files else None,
        **{each.name: rows[f"field.{each.name}"] for each in job.field_columns},
    }
    wanted = schemas(job)["pages"]
    columns = [made[name] if name in made else rows[name] for name in wanted.names]
    return pa.record_batch(columns, schema=wanted)


class Asked(NamedTuple):
    """Columns of equal length. `urls`: with a fragment that scripts see. `bodies`: null where a request has none."""

    urls: pa.Array
    methods: pa.Array
    bodies: pa.Array


def asked(spellings: Sequence[str]) -> Asked:
    """Give the columns for the spellings of requests.

    >>> [each.to_pylist() for each in asked(["http://a.example/", "http://a.example/s#method=POST&body=q"])]
    [['http://a.example/', 'http://a.example/s'], ['GET', 'POST'], [None, 'q']]
    """
    if "#" not in "".join(spellings):  # all are plain URLs, as nearly always
        addresses = pa.array(spellings, pa.string())
        return Asked(addresses, pa.repeat(pa.scalar("GET"), len(addresses)), pa.nulls(len(addresses), pa.string()))
    plain = list(map(url_of, spellings))
    methods = ["GET"] * len(plain)
    bodies: list[str | None] = [None] * len(plain)
    for number, text in enumerate(spellings):
        if len(text) != len(plain[number]):
            plain[number], methods[number], bodies[number] = parts_of(text)
    return Asked(pa.array(plain, pa.string()), pa.array(methods, pa.string()), pa.array(bodies, pa.string()))


def _urls_of(spellings: pa.Array) -> pa.Array:
    """Give the addresses of requests; most are their spellings."""
    found = [text and (parts_of(text)[0] if "#" in text else text) for text in spellings.to_pylist()]
    return pa.array(found, pa.string())


def _count(*lists: pa.Array) -> pa.Array:
    total = pa.scalar(0, pa.int32())
    for each in lists:
        total = pc.add(total, pc.fill_null(pc.list_value_length(each), 0))
    return total


def links(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Make the table of links from `rows`: first the followed links, then the nofollow ones, in the order of pages."""
    parts = [_edges(rows, "links", nofollow=False), _edges(rows, "nofollow", nofollow=True)]
    both = pa.Table.from_batches(parts).combine_chunks()
    return both.to_batches()[0] if both.num_rows else parts[0]


def _edges(rows: pa.RecordBatch, column: str, *, nofollow: bool) -> pa.RecordBatch:
    sources = pc.list_parent_indices(rows[column])
    targets = pc.list_flatten(rows[column]).dictionary_encode()
    spellings = targets.dictionary.to_pylist()
    keys = pa.array(map(urls.key, spellings), pa.string(), size=len(spellings))
    of_requests = asked(spellings)
    columns = [
        _urls_of(rows["url"]).take(sources),
        rows["key"].take(sources),
        rows["page_version"].take(sources),
        of_requests.urls.take(targets.indices),
        keys.take(targets.indices),
        pa.repeat(pa.scalar(nofollow), len(sources)),
        pc.is_valid(rows["fetch_redirect"]).take(sources),
        of_requests.methods.take(targets.indices),
        of_requests.bodies.take(targets.indices),
    ]
    return pa.record_batch(columns, schema=schema.LINKS)


def items(job: Job, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Make the table of items from `rows`, in the order of pages."""
    lists = rows["items"]
    parents = pc.list_parent_indices(lists)
    numbers = [number for count in pc.list_value_length(lists).to_pylist() for number in range(1, (count or 0) + 1)]
    columns = [_urls_of(rows["url"]).take(parents), rows["key"].take(parents), rows["page_version"].take(parents)]
    columns.append(pa.array(numbers, pa.int32()))
    return pa.record_batch([*columns, *pc.list_flatten(lists).flatten()], schema=schema.items(job.item_columns))


# -- failures


def errors(job: Job, read: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
    """Read the current failures of URLs that are not stored. Records that cannot be read are left out.

    `read(n)`: n more have been read.
    """
    return _read_alone((partial(_failure, job, host, key) for host, key in _failed(job)), schema.ERRORS, read)


def _read_alone(
    jobs: Iterable[Callable[[], list[dict[str, object]]]], columns: pa.Schema, read: Callable[[int], object]
) -> Iterator[pa.RecordBatch]:
    """Read a table that is made of the tree anew in each run: each job gives some rows."""
    with ThreadPoolExecutor(READERS, thread_name_prefix="merge") as pool:
        rows: list[dict[str, object]] = []
        for some in in_turn(pool, jobs):
            read(1)
            rows += some
            if len(rows) >= _ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=columns)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=columns)


def _failed(job: Job) -> Iterator[tuple[str, str]]:
    for host in hosts_of(job, ERRS):
        stored = frozenset(job.tree.keys(LINKS, host))
        yield from ((host, key) for key in sorted(job.tree.keys(ERRS, host)) if key not in stored)
    job.tree.check_directories()  # the share may have been unmounted meanwhile: then failures seem to have healed


def _failure(job: Job, host: str, key: str) -> list[dict[str, object]]:
    record = failure(job.tree, host, key)
    if record is None or not job.filters.includes(record.url, record.failed_at):
        return []
    return [failure_row(record)]


# -- changes


def changes(job: Job, read: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
    """Read what has changed from version to version of each page. `read(n)`: n more pages have been read."""
    return _read_alone((partial(_changes_of, job, host, key) for host, key in _again(job)), schema.CHANGES, read)


def _again(job: Job) -> Iterator[tuple[str, str]]:
    """Give the pages that have more than one version."""
    for host in hosts_of(job, LINKS):
        numbers = Counter(key for key, _, _ in job.tree.numbers(host))
        yield from ((host, key) for key in sorted(numbers) if numbers[key] > 1)
    job.tree.check_directories()  # as in `_failed`


class _State(NamedTuple):
    """How a page was from a version on. `page`: what is stored; None: nothing."""

    version: int
    moment: str | None
    status: int | None
    page: PageRecord | None

    def is_like(self, other: _State) -> bool:
        pages = [state.page and state.page.content for state in (self, other)]
        return self.status == other.status and pages[0] == pages[1]


def _states(versions: Iterable[Version], host: str, key: str) -> Iterator[_State]:
    """Give how a page was from each version on, since it was stored first."""
    page: PageRecord | None = None
    is_first = True
    for number, record, _ in versions:
        if record is not None and flaw(record, host, key):
            continue
        if isinstance(record, PageRecord):
            page, is_first = record, False
            kept = record.checked_status if record.checked_at and record.checked_status != 304 else None
            yield _State(number, record.looked_at, record.status if kept is None else kept, record)
        elif is_first:
            continue
        elif record is not None:  # it failed; what is stored is there still
            yield _State(number, record.failed_at, record.status or 0, page)
        else:
            page = None
            yield _State(number, None, None, None)


def _changes_of(job: Job, host: str, key: str) -> list[dict[str, object]]:
    rows = []
    before: _State | None = None
    for state in _states(job.tree.versions(host, key), host, key):
        if before is not None and state.is_like(before):
            continue
        if before is not None and _is_wanted(job, before, state):
            rows.append(_change_row(before, state))
        before = state
    return rows


def _is_wanted(job: Job, before: _State, state: _State) -> bool:
    pages = [each for each in (state.page, before.page) if each is not None]
    moment = state.moment or before.moment
    if not pages or moment is None:  # it failed once more after it had been removed
        return False
    return (job.options.noindex or not any(map(is_noindex, pages))) and job.filters.includes(pages[0].url, moment)


def _change_row(before: _State, state: _State) -> dict[str, object]:
    one = state.page or before.page
    assert one is not None
    address, method, body = parts_of(one.url)
    links, links_before = _links_of(state.page), _links_of(before.page)
    added, removed = [*(links.keys() - links_before.keys())], [*(links_before.keys() - links.keys())]
    added.sort(key=links.__getitem__)
    removed.sort(key=links_before.__getitem__)
    return {
        "url": address,
        "key": one.key,
        "method": method,
        "request_body": body,
        **_half(state),
        **{f"previous_{name}": value for name, value in _half(before).items()},
        "links_added": len(added),
        "links_removed": len(removed),
        "added": added,
        "removed": removed,
    }


def _half(state: _State) -> dict[str, object]:
    page = state.page
    target = page.redirect if page else None
    return {
        "version": state.version,
        "fetch_time": state.moment and moment(state.moment),
        "fetch_status": state.status,
        "sha256": (page.sha256 or None) if page else None,
        "bytes": page.bytes if page else 0,
        "title": page.title if page else None,
        "fetch_redirect": target and parts_of(target)[0],
    }


def _links_of(page: PageRecord | None) -> dict[str, int]:
    """Give the links of a page, each with its place among them."""
    links = (*page.links, *(page.nofollow or ())) if page else ()
    return {parts_of(link)[0]: place for place, link in enumerate(links)}
