"""What logs say of all URLs, put together as the machines do it; pages are known by their fingerprints.

Vocabulary:
  there      the tree has a record of the page or of its failure
  marked     a mark says that the page's links stand in the logs
  done       marked, or failed: the machines do nothing more for it
  pending    known within scope and depth, and neither there nor done: the next crawl fetches it
  gone       done, and not there: somebody has removed the record

Promise: lines may come in any order, and repeatedly. Ten bytes for each URL, fifteen with `max_depth`; and the times of
failures whose record is not there.
"""

from __future__ import annotations

import hashlib

from fscrawl import urls
from fscrawl.fleet.lines import Found, Line, Told
from fscrawl.fleet.rules import Rules
from fscrawl.frontier.url_table import UrlTable


class Fold:
    """`pending`: number of URLs. `has_gone`: some page may be gone, since a mark speaks of one that is not there."""

    def __init__(self, rules: Rules) -> None:
        self.pending = 0
        self.has_gone = False
        self._rules = rules
        self._table = UrlTable(deep=rules.links.is_deep)
        self._failures: dict[int, set[str]] = {}  # of what is not there: when it failed
        self._again: dict[int, set[str]] = {}  # and because of which failures it is to be tried again

    # -- what is learned

    def mark_there(self, number: int) -> None:
        """Note that there is a record. Call it before all else: what comes later is judged by it."""
        self._table.mark_there(number)

    def add(self, line: Line) -> None:
        """Add a line of a log."""
        match line:
            case Found():
                self._add_found(line)
            case Told():
                number = urls.fingerprint(line.key)
                if line.failed_at:
                    self._fail(number, {line.failed_at})
                else:
                    self._mark(number, line.depth)

    def know(self, url: str, depth: int) -> None:
        """Note that a URL within the scope is known at a depth."""
        number = fingerprint(url)
        if self._rules.own.max_depth is None or depth <= self._rules.own.max_depth:
            before = self.is_pending(number)
            self._table.known(number, depth)
            self.pending += self.is_pending(number) - before

    def _add_found(self, found: Found) -> None:
        number = fingerprint(found.url)
        if found.flags.retry_of and not self.is_there(number):
            before = self.is_pending(number)
            self._again.setdefault(number, set()).add(found.flags.retry_of)
            self.pending += self.is_pending(number) - before
        if self._rules.refuses(found.url, found.depth, found.flags) is None:
            self.know(found.url, found.depth)

    def _mark(self, number: int, depth: int) -> None:
        before = self.is_pending(number)
        self._table.told(number, depth)
        self.has_gone = self.has_gone or not self.is_there(number)
        self.pending += self.is_pending(number) - before

    def _fail(self, number: int, times: set[str]) -> None:
        if not self.is_there(number):
            before = self.is_pending(number)
            self._failures.setdefault(number, set()).update(times)
            self.has_gone = True
            self.pending += self.is_pending(number) - before

    # -- what is asked

    def is_there(self, number: int) -> bool:
        return self._table.state(number).there

    def is_marked(self, number: int) -> bool:
        """Tell whether all links of a page stand in the logs."""
        return self._table.settled(number)

    def is_gone(self, number: int) -> bool:
        return self._is_done(number) and not self.is_there(number)

    def is_pending(self, number: int) -> bool:
        state = self._table.state(number)
        return state.known is not None and not state.there and not self._is_done(number)

    def _is_done(self, number: int) -> bool:
        failures = self._failures.get(number)
        has_failed = failures is not None and not failures <= self._again.get(number, set())
        return has_failed or self._table.settled(number)


def fingerprint(url: str) -> int:
    """Return the number that stands for a text, which need not be a URL."""
    return int.from_bytes(hashlib.sha224(url.encode("utf-8", "replace")).digest()[:8])
