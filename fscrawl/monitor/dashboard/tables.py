"""A request for a page of a table's rows, which the server sorts and searches. Pure.

Promise: whatever a table has, an answer has `PAGE_ROWS` rows at most. Rows without a value in the column by which they
are sorted come last in both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

PAGE_ROWS = 50

Row = TypeVar("Row")


class Query(msgspec.Struct, frozen=True):
    """A request: rows that a search for `text` finds, sorted by the column `sort`, page number `page` from 0.

    `only`: a part of the rows, such as those that wait; "" for all.
    """

    text: str = ""
    sort: str = "pending"
    descending: bool = True
    page: int = 0
    only: str = ""


def sort_rows(rows: Iterable[Row], value: Callable[[Row], Any], *, descending: bool) -> list[Row]:
    """Sort by a value; rows of which it is None come last, and equal rows stay in their order.

    >>> sort_rows([3, None, 1], lambda row: row, descending=True)
    [3, 1, None]
    """
    all_rows = list(rows)
    there = [row for row in all_rows if value(row) is not None]
    there.sort(key=value, reverse=descending)
    return [*there, *(row for row in all_rows if value(row) is None)]


def cut(rows: Sequence[Row], page: int) -> list[Row]:
    """Give a page of the rows.

    >>> cut(range(120), 2)
    [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119]
    """
    return list(rows[page * PAGE_ROWS : (page + 1) * PAGE_ROWS])


def place(found: int, page: int) -> dict[str, int]:
    """Say which page of how many an answer is.

    >>> place(51, 0)
    {'found': 51, 'page': 0, 'pages': 2}
    """
    return {"found": found, "page": page, "pages": max(1, -(-found // PAGE_ROWS))}
