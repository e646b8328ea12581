"""A stored page, told once more: the rules of its site may have changed since its record was written.

Promise: nothing is fetched. The record gets what the present rules find in the body, so that the next one who tells the
page need not read it.
"""

from __future__ import annotations

from msgspec.structs import replace

from fscrawl.errors import TreeError
from fscrawl.handlers.context import Context
from fscrawl.handlers.reading import UnreadableError
from fscrawl.sites.rules import by_present_rules
from fscrawl.storage.records import PageRecord


def told_again(context: Context, host: str, record: PageRecord) -> PageRecord:
    """Give a record as the present rules of its site tell it. `host`: its directory."""
    told = by_present_rules(record, context.sites)
    if told is not None:
        return told
    try:
        body = context.tree.seen(host, record)
    except TreeError as error:
        if error.is_missing:  # the audit names it; until then its links count
            return replace(record, requests=None, rules=None)
        raise
    requests, is_cut = _found(context, record, body)
    truncated = record.truncated or is_cut or None
    new = replace(record, requests=requests, truncated=truncated, rules=context.rules_of(record.url))
    if context.permitted():
        context.tree.put_record(host, new)
    return new


def _found(context: Context, record: PageRecord, body: bytes) -> tuple[tuple[str, ...] | None, bool]:
    """Give what the rules find, and whether there is more. In a page that they do not expect they find nothing, nor in
    one that takes too long.
    """
    try:
        page = context.understand(
            record.url,
            body,
            record.status,
            record.as_seen.headers,
            with_routes=record.is_rendered,
            query_encoding=record.encoding or "",
        )
    except UnreadableError:
        return (), False
    return ((), False) if page.unexpected or page.fault else (page.requests, page.truncated)
