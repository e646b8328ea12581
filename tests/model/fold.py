"""The fold of one shard: what its lines in all logs say, as one machine keeps it in memory.

It keeps only what its term asks for. What it leaves out stands in logs and snapshots, and after an edit it is put
together anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.model.lines import FAR, Found, Line, Surveyed, Term, Told
from tests.model.share import Snapshot

OF_SNAPSHOT = -1  # in the place of a failure's time: a mark of a page or of a failure


class Fold:
    """`is_inside(url, wide)`: the scope."""

    def __init__(self, term: Term, is_inside: Callable[..., bool], without: frozenset[str]) -> None:
        self.term, self._is_inside, self._without = term, is_inside, without
        self.known: dict[int, int] = {}  # least depth; the first one, if there is no max_depth
        self.least: dict[int, int] = {}  # depths of fingerprints in a snapshot whose term does not cover this one
        self.marks: dict[
            int, dict[int | None, int]
        ] = {}  # failed_at or None → least depth, of marks that cover the term
        self.pages: set[int] = set()  # told as pages, by marks of any term
        self.again: dict[int, set[int]] = {}
        self.spent: dict[int, set[int]] = {}
        self.surveyed: set[int] = set()
        self.doubtful: set[int] = set()  # told by other terms: they are stored

    # -- lines

    def take(self, line: Line) -> None:
        if type(line) is Found:
            self.learn(line.url, line.depth)
            if line.again is not None:
                self.again.setdefault(line.url, set()).add(line.again)
        elif type(line) is Told:
            self._take_mark(line)
        elif type(line) is Surveyed:
            self.surveyed.add(line.generation)

    def learn(self, url: int, depth: int) -> None:
        depth = min(depth, self.least.get(url, depth))
        if self.asks_for(url, depth):
            if url not in self.known:
                self.known[url] = depth
            elif self.term.max_depth is not None:
                self.known[url] = min(depth, self.known[url])

    def _take_mark(self, line: Told) -> None:
        self.spent.setdefault(line.url, set()).update(line.spent)
        if line.failed_at is None:
            self.pages.add(line.url)
        if line.spent and "failure_is_no_page" not in self._without:  # what a snapshot says may be of the failure
            self.marks.get(line.url, {}).pop(OF_SNAPSHOT, None)
        if line.term.covers(self.term) or "term_in_mark" in self._without:
            marks = self.marks.setdefault(line.url, {})
            marks[line.failed_at] = min(line.depth, marks.get(line.failed_at, FAR))
        else:
            self.doubtful.add(line.url)

    def load(self, snapshot: Snapshot) -> None:
        covers = snapshot.term.covers(self.term) or "term_in_mark" in self._without
        for url, depth in snapshot.known.items():
            if covers or url not in snapshot.told:  # of what is told, it has no URLs, only fingerprints
                self.learn(url, depth)
            else:
                self.least[url] = depth
        for url, depth in snapshot.told.items():
            if covers:
                self.marks[url] = {OF_SNAPSHOT: depth}
            else:
                self.doubtful.add(url)
        self.again = {url: set(times) for url, times in snapshot.again.items()}
        self.surveyed |= snapshot.surveyed

    # -- answers

    def asks_for(self, url: int, depth: int) -> bool:
        most = self.term.max_depth
        return self._is_inside(url, wide=self.term.wide) and (most is None or depth <= most)

    def unspent(self, url: int) -> tuple[int, ...]:
        """Give the failures that a retry names and no mark answers."""
        again = self.again.get(url)
        return tuple(sorted(again - self.spent.get(url, set()))) if again else ()

    def is_settled(self, url: int) -> bool:
        marks: dict[Any, int] = self.marks.get(url, {})
        if "spent_by_time" in self._without:  # a mark of another failure answers a retry
            marks = {failed_at: depth for failed_at, depth in marks.items() if failed_at not in self.again.get(url, ())}
        elif self.unspent(url):
            return False
        if url in self.pages and "failure_is_no_page" not in self._without:  # a failure's mark vouches for no link
            marks = {what: depth for what, depth in marks.items() if what in (None, OF_SNAPSHOT)}
        if not marks:
            return False
        best = self.known.get(url, FAR)
        return self.term.max_depth is None or "depth_in_mark" in self._without or min(marks.values()) <= best

    def wanted(self) -> list[int]:
        return [url for url in self.known if not self.is_settled(url)]

    def needs_survey(self, generation: int) -> bool:
        """K4: of what is stored, something is not known, or not told by a term that covers this one."""
        return generation not in self.surveyed or any(
            url not in self.marks for url in self.doubtful if "edit_surveys" not in self._without
        )
