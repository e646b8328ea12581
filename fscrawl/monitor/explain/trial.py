"""What rules for fields give for one stored page: a merge would put the same into its row."""

from __future__ import annotations

from typing import Any, NamedTuple

from fscrawl.errors import TreeError
from fscrawl.parse import links
from fscrawl.parse.encoding import sniff_encoding
from fscrawl.parse.extensions import TEXTS
from fscrawl.parse.fields import Rules
from fscrawl.request import url_of
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree


class Tried(NamedTuple):
    """Of one column: its value, None if nothing was found; and a text that was found and is not of its type, or ""."""

    value: Any
    bad: str


def tried(tree: Tree, host: str, page: PageRecord, rules: Rules) -> dict[str, Tried] | None:
    """Apply rules to a stored page: column → what it gets. None if the page has no body of HTML or text.

    Columns that have no rule for the page's host are not there.
    """
    if not page.sha256 or page.file not in (None, *TEXTS):
        return None
    try:
        body = tree.seen(host, page)
    except TreeError as error:
        if error.is_missing:
            return None
        raise
    url, content_type = url_of(page.url), page.as_seen.headers.get("content-type")
    encoding = page.as_seen.encoding if page.file is None else sniff_encoding(body, content_type, url)
    found = rules.extract(url, links.readable(body, encoding or "utf-8", content_type))
    names = [column.name for column in rules.columns if column.name in {*found.values, *found.missing}]
    return {name: Tried(found.values.get(name), found.bad.get(name, "")) for name in names}
