"""The records that a worker writes about pages and failures, and the one of a stored page that it reads."""

from __future__ import annotations

import time

from fscrawl.errors import RecordError, TreeError
from fscrawl.frontier.task import PageTask
from fscrawl.http.fetch import Failed, Fetched
from fscrawl.storage.records import ErrorRecord, PageRecord, timestamp
from fscrawl.store import Tree


def page_record(task: PageTask, answer: Fetched, machine: str, outlinks: tuple[str, ...], **more: object) -> PageRecord:
    """Give the record of an answer. `more`: further fields; without them it has no body."""
    fields: dict[str, object] = {"bytes": 0, "sha256": "", **more}
    return PageRecord(
        url=task.url,
        key=task.key,
        depth=task.depth,
        referrer=task.referrer,
        fetched_at=timestamp(time.time() - answer.elapsed_s),
        machine=machine,
        status=answer.status,
        headers=answer.headers,
        elapsed=round(answer.elapsed_s, 6),
        links=outlinks,
        **fields,  # type: ignore[arg-type]
    )


def error_record(task: PageTask, failure: Failed, machine: str) -> ErrorRecord:
    """Give the record of a page that failed for good."""
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
        headers=failure.headers,
        sitemap=task.flags.sitemap or None,
    )


def stored_record(tree: Tree, task: PageTask) -> PageRecord | None:
    """Read the record of a page; None if it is not stored, or damaged."""
    try:
        return tree.page(task.host, task.key)
    except RecordError:
        return None
    except TreeError as error:
        if error.is_missing:
            return None
        raise
