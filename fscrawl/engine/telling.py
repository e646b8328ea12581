"""Pages that are stored, and whose many links are told later, from their records: some pages at a time.

The links of a page wait in memory until the machine takes them in, which takes a second for 100,000 of them. Two
hundred hosts may send such pages at the same time. So a worker does not report that many links with the page. It reads
the record once more when the machine asks for it, and they do not come faster than they are taken in.

Promise: of these pages, `_MOST_LINKS` links are under way at most, or those of one page. Each page stays in flight
until its links are taken in, so its host waits, and nobody else.
"""

from __future__ import annotations

from collections import deque

from fscrawl.frontier.task import PageTask
from fscrawl.handlers.outcome import Stored

_MOST_LINKS = 100_000


class Telling:
    """The pages whose links are told later. Belongs to the main loop."""

    def __init__(self) -> None:
        self._waiting: deque[Stored] = deque()
        self._under_way: dict[str, Stored] = {}  # by key
        self._links = 0  # of these

    def add(self, page: Stored) -> None:
        self.end(page.task.key)  # somebody has removed its record before it was told, and it was fetched once more
        self._waiting.append(page)

    def next(self) -> PageTask | None:
        """Give a task that tells the links of the next page; None if there is none, or no room for its links."""
        if not self._waiting or (self._links and self._links + self._waiting[0].later > _MOST_LINKS):
            return None
        page = self._waiting.popleft()
        self._under_way[page.task.key] = page
        self._links += page.later
        return _from_record(page.task)

    def end(self, key: str) -> Stored | None:
        """A task is over. If it was one that tells the links of a page, give the page."""
        page = self._under_way.pop(key, None)
        if page is not None:
            self._links -= page.later
        return page

    def give_up(self) -> list[PageTask]:
        """Give tasks for all pages that wait; they are to be told by whoever has their host later."""
        tasks = []
        while self._waiting:
            page = self._waiting.popleft()
            self._under_way[page.task.key] = page._replace(later=0)
            tasks.append(_from_record(page.task))
        return tasks


def _from_record(task: PageTask) -> PageTask:
    """Give a task for a stored page that is only to be told."""
    return task._replace(check=True, flags=task.flags.to_tell())
