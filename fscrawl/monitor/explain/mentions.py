"""What logs and snapshots say of one URL; and whether the links of some pages stand in them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from fscrawl import urls
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet.all_lines import AllLines
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.snapshot_file import Depths, Snapshot
from fscrawl.fleet.terms import ReadOnlyTerms, Term
from fscrawl.fleet.url_state import DIGITS, UrlState, founds_of
from fscrawl.frontier.flags import format_flags
from fscrawl.frontier.scope import Scope
from fscrawl.monitor.explain.facts import Line, Mark
from fscrawl.sites.rules import Sites
from fscrawl.store import Tree

_MOST_LINES = 100


def terms_of(tree: Tree, chosen: Settings, seeds: frozenset[str]) -> ReadOnlyTerms:
    """Give the terms behind marks; the present one is that of these settings. `seeds`: on all hosts of seeds."""
    generation, sites = Generations(tree.files).newest(), Sites(chosen.rules)
    return ReadOnlyTerms(tree.files, Term.of(chosen, seeds, tree.record, generation, sites.digest))


class Mentions:
    """All lines in which logs and snapshots mention one URL.

    url      its normal form; None if no line has it
    lines    who discovered it; a hundred at most
    marks    who says that it is done, or that it failed; a hundred at most
    requests of a plain URL: lines that have it as part of a request, in its spelling; a hundred at most
    """

    def __init__(self, tree: Tree, terms: ReadOnlyTerms, key: str, url: str | None, shard: int | None) -> None:
        """Read it. `url`: None if only the key is known; `shard`: None if it is not known."""
        self.url = url
        self.lines: list[Line] = []
        self.marks: list[Mark] = []
        self.requests: set[str] = set()
        self._begin = f"{url}#" if url is not None and "#" not in url else None
        self._key = key
        self._terms = terms
        all_lines = AllLines(tree, None if shard is None else {shard})
        all_lines.read_snapshots(self._add_snapshot)
        for machine, line in all_lines.lines():
            if isinstance(line, Found):
                self._add(line, machine, "log")
            elif isinstance(line, Told) and line.key == key:
                self._mark(Mark(machine, line.depth, line.term, line.failed_at, counts=terms.covers(line.term)))

    def _add(self, found: Found, machine: str, source: str) -> None:
        if self.url is None and urls.key(found.url) == self._key:
            self.url = found.url
        if found.url == self.url and len(self.lines) < _MOST_LINES:
            self.lines.append(Line(machine, found.depth, found.referrer, format_flags(found.flags), source=source))
        if self._begin is not None and found.url.startswith(self._begin) and len(self.requests) < _MOST_LINES:
            self.requests.add(found.url)

    def _mark(self, mark: Mark) -> None:
        if len(self.marks) < _MOST_LINES:
            self.marks.append(mark._replace(counts=True) if mark.failed_at else mark)

    def _add_snapshot(self, snapshot: Snapshot) -> None:
        digits, term = self._key[:DIGITS].encode(), snapshot.head.term
        for fact in (fact for facts in snapshot.text() for fact in facts if fact.startswith(digits)):
            state = UrlState()
            state.take(fact)
            for found in founds_of(snapshot.head.shard, fact) if state.way else ():
                self._add(found, "", "snapshot")
            for failed_at in () if state.stored else sorted(state.failures):
                self._mark(Mark("", state.known or 0, term, failed_at, counts=True))
        for depth in _depths_of(snapshot.told(), urls.fingerprint(self._key)):
            self._mark(Mark("", depth, term, counts=self._terms.covers(term)))


def _depths_of(section: Iterable[Depths], fingerprint: int) -> Iterable[int]:
    """Give the depth of a URL that is done in a section of a snapshot, if it is there; 0 where depths are not kept."""
    for group in section:
        at = bisect_left(group.fingerprints, fingerprint)
        if at < len(group.fingerprints) and group.fingerprints[at] == fingerprint:
            yield group.told[at] if group.told is not None else 0


def terms_of_links(tree: Tree, keys: Iterable[str]) -> dict[str, set[str]]:
    """Give, by key, the terms under which the links of pages were put into logs."""
    found: dict[str, set[str]] = defaultdict(set)
    wanted = {urls.fingerprint(key): key for key in keys}

    def add(snapshot: Snapshot) -> None:
        for group in snapshot.told():
            for number in wanted.keys() & set(group.fingerprints):
                found[wanted[number]].add(snapshot.head.term)

    all_lines = AllLines(tree)
    all_lines.read_snapshots(add)
    for _, line in all_lines.lines():
        if isinstance(line, Told) and not line.failed_at and urls.fingerprint(line.key) in wanted:
            found[line.key].add(line.term)
    return found


def rule_against(term: Term, url: str, depth: int) -> str | None:
    """Give the setting by which a term leaves a link out, with its value; None if it does not."""
    if term.max_depth is not None and depth > term.max_depth:
        return f"max_depth = {term.max_depth}"
    crawl = CrawlSettings(
        scope=term.mode,
        allow=tuple(sorted(term.allow)),
        deny=tuple(sorted(term.deny)),
    )
    return Scope(crawl, frozenset(f"http://{member}/" for member in term.members)).explain(url)
