"""The records that a worker writes about pages and failures, and the one of a stored page that it reads."""

from __future__ import annotations

import time
from collections.abc import Mapping

from fscrawl.errors import RecordError, TreeError
from fscrawl.fleet.status_file import LIKE_HTML
from fscrawl.frontier.task import PageTask
from fscrawl.http.answers import Failed, Fetched
from fscrawl.storage.flaws import flaw
from fscrawl.storage.records import WITHHELD, ErrorRecord, PageRecord, timestamp
from fscrawl.store import Tree

# A head may have 256 KiB, and a server could send one with every page. What is longer than this is not kept: hardly any
# server sends as much, since many proxies refuse it.
MAX_HEADER_CHARS = 8192  # of one value
MAX_HEADERS_CHARS = 16_384  # of all names and values
_MAX_REASON_CHARS = 150


def page_record(
    task: PageTask,
    answer: Fetched,
    machine: str,
    outlinks: tuple[str, ...],
    *,
    too_long: int = 0,
    came_at: float | None = None,
    **more: object,
) -> PageRecord:
    """Give the record of an answer. `more`: further fields; without them it has no body.

    `too_long`: how many references of the page were too long to be kept. `came_at`: seconds since 1970 when the answer
    was complete; None: now.
    """
    headers, dropped = kept_headers(answer.headers)
    fields: dict[str, object] = {"bytes": 0, "sha256": "", **more}
    return PageRecord(
        url=task.url,
        key=task.key,
        depth=task.depth,
        referrer=task.referrer,
        fetched_at=timestamp((time.time() if came_at is None else came_at) - answer.elapsed_s),
        machine=machine,
        status=answer.status,
        headers=headers,
        elapsed=round(answer.elapsed_s, 6),
        links=outlinks,
        too_long=too_long + dropped or None,
        label=task.flags.label or None,
        ip=answer.address or None,
        **fields,  # type: ignore[arg-type]
    )


def error_record(task: PageTask, failure: Failed, machine: str) -> ErrorRecord:
    """Give the record of a page that failed for good."""
    headers, dropped = (None, 0) if failure.headers is None else kept_headers(failure.headers)
    return ErrorRecord(
        url=task.url,
        key=task.key,
        depth=task.depth,
        referrer=task.referrer,
        failed_at=timestamp(time.time()),
        machine=machine,
        class_=failure.class_,
        message=failure.message,
        attempts=task.attempt,
        status=failure.status,
        headers=headers,
        sitemap=task.flags.sitemap or None,
        too_long=dropped or None,
        label=task.flags.label or None,
    )


def kept_headers(headers: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Give the headers that a record may have, in their order, and how many are too long for it.

    >>> kept_headers({"server": "a", "x": "b" * 9000})
    ({'server': 'a'}, 1)
    """
    kept: dict[str, str] = {}
    budget = MAX_HEADERS_CHARS
    for name, value in headers.items():
        chars = 0 if name in WITHHELD else len(value)  # a record has only the names of these
        if chars <= MAX_HEADER_CHARS and len(name) + chars <= budget:
            budget -= len(name) + chars
            kept[name] = value
    return kept, len(headers) - len(kept)


def reason_of(record: PageRecord) -> str:
    """Say why a record has no body, as it is counted; "" if it has one, or is a redirect.

    Names of types come from the web: a long one is cut.
    """
    return (record.skipped or "")[:_MAX_REASON_CHARS] + (LIKE_HTML if record.like_html else "")


def stored_record(tree: Tree, task: PageTask) -> PageRecord | None:
    """Read the record of a page; None if it is not stored, or damaged."""
    try:
        record = tree.page(task.host, task.key)
        return None if flaw(record, task.host, task.key) else record
    except RecordError:
        return None
    except TreeError as error:
        if error.is_missing:
            return None
        raise
