"""URLs that could not be fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from fscrawl.api.filters import Filters
from fscrawl.api.walk import THREADS, names
from fscrawl.dataset.page_files import read_path
from fscrawl.errors import RecordError
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import ErrorRecord
from fscrawl.store import Tree
from fscrawl.util.waiting import in_turn_if_slow


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a URL that is not stored.

    url, key     as of a page
    reason       its class: "timeout", "http-4xx", "robots", … (docs/reference/terms.md)
    message      what happened, in a line
    status       the HTTP status, where there was an answer
    failed_at    when, in UTC
    attempts     how often it was tried
    headers      of the answer, where there was one; those that may hold a session are ""
    depth        links followed from a seed, by the way that was found first
    referrer     key of the page where the URL was found; None for a seed
    machine      id of the machine that tried
    label        name of its task; None without one
    """

    url: str
    key: str
    reason: str
    message: str
    status: int | None
    failed_at: datetime
    attempts: int
    headers: dict[str, str]
    depth: int
    referrer: str | None
    machine: str
    label: str | None


def failures(tree: Tree, filters: Filters) -> Iterator[Failure]:
    """Give the failures that the filters take. One whose URL has been stored since, or that is torn, is left out."""
    for record in in_turn_if_slow(partial(_read, tree), names(tree, ERRS, filters), THREADS):
        if record is not None and filters.takes(record.url, record.failed_at):
            yield _failure(record)
    tree.check_rooms((LINKS, ERRS))  # without one, there seem to be no failures, or those of stored pages come back


def _read(tree: Tree, name: tuple[str, str]) -> ErrorRecord | None:
    host, key = name
    try:
        data = read_path(tree, tree.tree_path(ERRS, host, key))
        if data is None or tree.is_done(host, key):
            return None
        record = ErrorRecord.from_json(data)
    except RecordError:
        return None
    return None if flaw(record, host, key) else record


def _failure(record: ErrorRecord) -> Failure:
    return Failure(
        url=record.url,
        key=record.key,
        reason=record.class_,
        message=record.message,
        status=record.status,
        failed_at=datetime.fromisoformat(record.failed_at).astimezone(UTC),
        attempts=record.attempts,
        headers=record.headers or {},
        depth=record.depth,
        referrer=record.referrer or None,
        machine=record.machine,
        label=record.label,
    )
