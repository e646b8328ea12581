"""The files of a page, and of a failure, are read from the tree, and checked: is each as its record says?

Promise: passing faults are waited out for a second. A file that cannot be read, or is not what its record says, is a
RecordError; only a fault of the whole share is another TreeError.
"""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from typing import Any

from fscrawl import urls
from fscrawl.errors import PlantedError, RecordError, TreeBusyError
from fscrawl.request import parts_of
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import ERRS
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.store import Tree

_BUSY_TRIES = 4
_BUSY_S = 0.25


def read_path(tree: Tree, path: str, most: int | None = None) -> bytes | None:
    """Read a file of a page, and try again after a passing fault. None if it is missing, PlantedError if it is none.

    `most`: bytes that it may have.
    """
    for _ in range(_BUSY_TRIES - 1):
        try:
            return tree.files.read(path, most)
        except TreeBusyError:
            time.sleep(_BUSY_S)
    return tree.files.read(path, most)


def record_of(data: bytes, host: str, key: str) -> PageRecord:
    """Read the bytes of a record; RecordError if it is torn, wrong, or not that of this page."""
    try:
        record = PageRecord.from_json(data)
    except RecordError as error:
        raise RecordError(f"its record cannot be read: {error}") from error
    if wrong := flaw(record, host, key):
        raise RecordError(f"its record is wrong: {wrong}")
    return record


def read_whole(tree: Tree, path: str, size: int, sha256: str, what: str) -> bytes:
    """Read a file of which a record says how it must be; RecordError if it is not so. `what`: its name in errors."""
    try:
        data = read_path(tree, path, most=size)
    except PlantedError as error:
        is_longer = not error.denied and tree.files.size_if_there(path) is not None
        how = "differs from its record" if is_longer else f"cannot be read: {error}"
        raise RecordError(f"its {what} {how}") from error
    if data is None:
        raise RecordError(f"its {what} is missing")
    if not is_whole(data, size, sha256):
        raise RecordError(f"its {what} differs from its record")
    return data


def is_whole(data: bytes, size: int, sha256: str) -> bool:
    """Tell whether a file is the one that a record means."""
    return len(data) == size and hashlib.sha256(data).hexdigest() == sha256


def is_noindex(record: PageRecord) -> bool:
    """Tell whether a page asks not to be indexed.

    https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
    """
    return not {"noindex", "none"}.isdisjoint(record.robots or ())


def failure(tree: Tree, host: str, key: str) -> ErrorRecord | None:
    """Read the record of a failure; None if it has healed meanwhile, or cannot be read."""
    try:
        data = read_path(tree, tree.tree_path(ERRS, host, key))
        record = None if data is None else ErrorRecord.from_json(data)
    except RecordError:
        return None
    return None if record is None or flaw(record, host, key) else record


def failure_row(record: ErrorRecord) -> dict[str, Any]:
    """Give a failure as a row of the table `errors`."""
    name = urls.hostname(record.url)
    address, method, body = parts_of(record.url)
    return {
        "url": address,
        "url_host_name": name,
        "url_host_registered_domain": urls.site(name),
        "key": record.key,
        "method": method,
        "request_body": body,
        "depth": record.depth,
        "referrer": record.referrer or None,
        "fetch_time": moment(record.failed_at),
        "machine": record.machine,
        "class": record.class_,
        "message": record.message,
        "label": record.label,
        "attempts": record.attempts,
        "fetch_status": record.status,
    }


def moment(text: str) -> datetime:
    """Read a time of a record without a flaw."""
    return datetime.fromisoformat(text).astimezone(UTC)
