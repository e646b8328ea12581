"""The iterator of the wanted pages, and what it left out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Self

from fscrawl.api.filters import Filters
from fscrawl.api.page import Page
from fscrawl.api.source import Source
from fscrawl.api.walk import Unread, walk
from fscrawl.errors import RecordError, UsageError
from fscrawl.storage.layout import LINKS

_MOST_PROBLEMS = 100


class Pages(Iterator[Page]):
    """Pages one after the other, sorted by the directory of their host and by key.

    skipped     how many were left out because they cannot be read: cut, damaged, or permission is denied
    problems    the first hundred of them: path and reason

    A page that was removed since its directory was listed is not there, and does not count as left out. At the end, a
    UserWarning tells of those that were left out.
    """

    def __init__(
        self, source: Source, filters: Filters, where: Callable[[Page], object] | None = None, *, bodies: bool = False
    ) -> None:
        """`bodies`: leave out pages without a whole body, too."""
        self.skipped = 0
        self.problems: list[tuple[str, str]] = []
        self._source = source
        self._filters = filters
        self._where = where
        self._bodies = bodies
        source.bodies = bodies
        self._pages = self._each()

    def __iter__(self) -> Iterator[Page]:  # noqa: PYI034
        return self._pages  # a generator is faster than `__next__`

    def __next__(self) -> Page:
        return next(self._pages)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading ahead. An iterator that is not used any more does so by itself."""
        self._pages.close()

    def _each(self) -> Generator[Page]:
        source, filters, where = self._source, self._filters, self._where
        is_filtered = bool(filters.since or filters.hosts)
        began_in = os.getpid()
        for found in walk(source, filters):
            if os.getpid() != began_in:
                raise UsageError("this iterator belongs to another process; call pages() again in this one")
            for page in found:
                if isinstance(page, Unread):
                    self._leave_out(page.host, page.key, page.why)
                elif (not is_filtered or page._is_taken(filters)) and (not self._bodies or self._is_whole(page)):
                    if where is not None and not self._is_wanted(page, where):
                        continue
                    if source.bodies:
                        source.unused += page._was_read_ahead
                    yield page
        source.tree.check_rooms((LINKS,))  # without it, there seem to be no pages
        self._tell()

    def _is_whole(self, page: Page) -> bool:
        try:
            page._check()
        except RecordError as error:
            self._skip(page, error)
            return False
        return True

    def _is_wanted(self, page: Page, where: Callable[[Page], object]) -> bool:
        try:
            return bool(where(page))
        except RecordError as error:  # of what it has asked the page for
            self._skip(page, error)
            return False

    def _skip(self, page: Page, error: RecordError) -> None:
        """Count a page that was given, and of which something cannot be read."""
        self._leave_out(page._host, page.key, str(error))

    def _leave_out(self, host: str, key: str, why: str) -> None:
        if not why:  # it is gone, or the whole share is
            self._source.tree.check_there()
            return
        self.skipped += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append((self._source.tree.path_of(LINKS, host, key), why))

    def _tell(self) -> None:
        if self.skipped:
            (path, why), *_ = self.problems
            many = "1 page was" if self.skipped == 1 else f"{self.skipped:,} pages were"
            warnings.warn(f"{many} left out; the first: {path}: {why}", stacklevel=3)
