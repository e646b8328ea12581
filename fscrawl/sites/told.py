"""What the record of a stored page says under the present rules of its site. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from fscrawl.sites.rules import Sites
from fscrawl.storage.records import PageRecord


def as_told(record: PageRecord, sites: Sites) -> PageRecord | None:
    """Give a record as the present rules tell it; None if the body must be read once more for that.

    A record without a body, such as a redirect, has nothing that rules could find.
    """
    rules = sites.reader_of(record.url) if sites else None
    digest = None if rules is None else rules.digest
    if record.rules == digest:
        return record
    if digest is not None and record.sha256:
        return None
    return replace(record, requests=None, rules=digest)
