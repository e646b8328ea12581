"""Searches by words: the dashboard asks the index of a dataset, as `fscrawl search` does.

Promise: an answer has at most twenty pages, with short pieces of their texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fscrawl import hostnames
from fscrawl.dataset.search import Result, search
from fscrawl.errors import UsageError

PAGE_ROWS = 20
_MOST_PAGES = 50


def found(dataset: Path | None, text: str, host: str, page: int) -> dict[str, Any]:
    """Give page number `page`, from 0, of what a search finds; UsageError if it cannot be asked for, or not answered.

    `host`: in any form, also a glob; "": all hosts. `pieces` of a row are [text, whether it is a hit].
    """
    if dataset is None:
        raise UsageError("this dashboard has no dataset; start it with --dataset DIR, of one made by merge --index")
    if page >= _MOST_PAGES:
        raise UsageError(f"page: must be less than {_MOST_PAGES}; search for rarer words")
    hosts = [hostnames.option(host, globs=True)] if host else []
    answer = search(dataset, text, hosts, PAGE_ROWS, skip=page * PAGE_ROWS)
    return {
        "found": answer.total,
        "missing": answer.missing,
        "page": page,
        "pages": min(_MOST_PAGES, max(1, -(-answer.total // PAGE_ROWS))),
        "rows": [_row(result) for result in answer.results],
    }


def _row(result: Result) -> dict[str, Any]:
    return {
        "url": result.url,
        "host": result.host,
        "key": result.key,
        "at": result.time,
        "title": result.title,
        "pieces": [[piece.text, piece.hit] for piece in result.pieces],
    }
