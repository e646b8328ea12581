"""Rows of pages for a DataLoader of torch. Only who has asked for it loads this."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fscrawl.api.reader import Crawl

try:
    from torch.utils.data import IterableDataset
except ImportError:  # `Crawl.dataset` says so
    IterableDataset = object


class TorchRows(IterableDataset):  # type: ignore[misc]  # torch may be missing
    """Each iteration is a new pass over the tree, or over the part of this worker."""

    def __init__(self, crawl: Crawl, columns: tuple[str, ...], arguments: dict[str, Any]) -> None:
        super().__init__()
        self._crawl = crawl
        self._columns = columns
        self._arguments = arguments

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._crawl.rows(self._columns, **self._arguments)
