"""Reads a tree: first the keys that are stored or failed, and the URLs that wait; then every file."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Self

from fscrawl import urls
from fscrawl.admin.audit.check import Checked, Checker
from fscrawl.admin.audit.liveness import Liveness
from fscrawl.admin.audit.report import PAGES, Finding, Report
from fscrawl.admin.audit.spool import Spool
from fscrawl.config.settings import Settings
from fscrawl.fleet.said import Said
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.seen import SeenSet
from fscrawl.storage.atomic import temporary_owner
from fscrawl.storage.layout import (
    ERRS,
    FILE_PATTERNS,
    HTMLS,
    LINKS,
    MACHINERY,
    PAGE_ROOMS,
    PROBE,
    ROBOTS,
    TORN,
    is_fan_out,
    key_before,
    suffix_of,
)
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn

_OF_A_CLIENT = (".nfs", ".fuse_hidden")  # network file systems keep these for open handles
_CHECKED_MEMORY = 200_000  # so many links are remembered, and not looked up again: a site repeats its navigation
_FLEET_FLUSH_S = 2.0  # a live machine writes what it found within this time


class Scanner:
    """Reads a tree. Its results: `report`, and for a repair `findings`, `temporaries` and `doubtful`.

    `doubtful`: how many temporary files belong to machines that may be alive.
    """

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: frozenset[str],
        liveness: Liveness,
        *,
        bar: bool,
        sleep: Callable[[float], None],
    ) -> None:
        self.report = Report(str(tree.root))
        self.check = Checker(tree, sleep)
        self.seeds = seeds
        self.findings = Spool()
        self.temporaries = Spool()
        self.doubtful = 0
        self._hosts: list[str] = []
        self._tree = tree
        self._liveness = liveness
        self._bar = bar
        self._sleep = sleep
        self._max_depth = settings.crawl.max_depth
        self._max_hosts = settings.crawl.max_hosts_per_domain
        self._known_hosts: frozenset[str] = frozenset()
        self._hosts_of_site: Counter[str] = Counter()
        self._scope = Scope(settings.crawl, seeds)
        self._said = Said(tree)
        self._done = SeenSet()  # stored or failed
        self._waiting = SeenSet()
        self._lost = SeenSet()
        self._checked: set[str] = set()
        self._maybe_lost = Spool()
        self._maybe_orphans = Spool()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for scratch in (self.findings, self.temporaries, self._maybe_lost, self._maybe_orphans):
            scratch.close()

    def run(self) -> None:
        with ThreadPoolExecutor(READERS, thread_name_prefix="audit") as pool:
            hosts = {host for room in PAGE_ROOMS for host in self._sort(room)[1]}
            self._hosts = sorted(hosts)
            self._known_hosts = frozenset(hosts)
            self._hosts_of_site = Counter(urls.site(urls.without_port(host)) for host in hosts)
            self.report.hosts = len(hosts)
            expected = self._learn_done(pool)
            self._learn_waiting()
            for record, finding in self._with_bar(in_turn(pool, self._checks()), expected):
                self._take(record, finding)
            for _, finding in in_turn(pool, self._look_at_machinery()):
                self._take(None, finding)
        self._settle()

    def _take(self, record: PageRecord | None, finding: Finding | None) -> None:
        if finding is not None:
            self._find(finding)
        if record is not None:
            self._count(record)
            if finding is None or finding.kind not in PAGES:
                self._follow(record)

    def _find(self, finding: Finding) -> None:
        self.report.add(finding.kind, finding.path + (f": {finding.detail}" if finding.detail else ""))
        self.findings.add(finding)

    def _count(self, record: PageRecord) -> None:
        report = self.report
        report.records += 1
        report.bytes += record.bytes
        name = "pages" if record.sha256 else "redirects" if record.redirect else "skipped"
        setattr(report, name, getattr(report, name) + 1)

    def _with_bar(self, checked: Iterator[Checked], expected: int) -> Iterator[Checked]:
        if not self._bar:
            return checked
        from tqdm import tqdm  # noqa: PLC0415 - slow to load, and of use to a terminal only

        return iter(tqdm(checked, total=expected, unit=" records", dynamic_ncols=True, file=sys.stderr, leave=False))

    # -- what links may lead to

    def _learn_done(self, pool: ThreadPoolExecutor) -> int:
        jobs = (partial(self._tree.keys, room, host) for room in (LINKS, ERRS) for host in self._hosts)
        files = 0
        for keys in in_turn(pool, jobs):
            files += len(keys)
            for key in keys:
                self._done.add(urls.fingerprint(key))
        return files

    def _learn_waiting(self) -> None:
        """Read the seeds, and what machines have found."""
        for source in (self.seeds, (found.url for _, found in self._said.found())):
            for url in source:
                number = fingerprint(url)
                if number not in self._done:
                    self.report.waiting += self._waiting.add(number)

    # -- the files of pages

    def _sort(self, path: str, suffix: str = "", start: str = "") -> tuple[set[str], list[str]]:
        """List a directory: the keys of its files `<start…><suffix>`, and its directories. Note all other names."""
        keys, directories = set(), []
        for name, kind in self._tree.files.entries(path):
            if kind == "directory" and not name.startswith("."):
                directories.append(name)
            elif kind == "file" and suffix and (key := key_before(name, suffix)) and key.startswith(start):
                keys.add(key)
            else:
                self._note_odd(path, name)
        return keys, directories

    def _note_odd(self, path: str, name: str) -> None:
        owner = temporary_owner(name)
        if owner is not None:
            self.temporaries.add((f"{path}/{name}", owner))
        elif key := key_before(name, f".json{TORN}"):
            self._find(Finding("set_aside", f"{path}/{name}", "", path.split("/")[1], key))
        elif not name.startswith(_OF_A_CLIENT):
            self._find(Finding("strays", f"{path}/{name}"))

    def _checks(self) -> Iterator[Callable[[], Checked]]:
        for host in self._hosts:
            for fan in self._fans(host) if self._tree.record.fanout else [""]:
                yield from self._checks_of(host, fan)

    def _fans(self, host: str) -> list[str]:
        fans = set()
        for room in PAGE_ROOMS:
            for name in self._sort(f"{room}/{host}")[1]:
                if is_fan_out(name):
                    fans.add(name)
                else:
                    self._note_odd(f"{room}/{host}", name)
        return sorted(fans)

    def _checks_of(self, host: str, fan: str) -> Iterator[Callable[[], Checked]]:
        bodies, records, failures = (self._keys(room, host, fan) for room in PAGE_ROOMS)
        for key in sorted(bodies - records):
            self._maybe_orphans.add((host, key))
        for key in sorted(records):
            yield partial(self.check.page, host, key, has_body=key in bodies)
        for key in sorted(failures):
            self.report.errors += 1
            if key in records:
                self._find(Finding("errors_beside_pages", self._tree.tree_path(ERRS, host, key), "", host, key))
            else:
                yield partial(self.check.error, host, key)

    def _keys(self, room: str, host: str, fan: str) -> set[str]:
        path = f"{room}/{host}/{fan}".rstrip("/")
        keys, directories = self._sort(path, suffix_of(room), fan)
        for name in directories:
            self._note_odd(path, name)
        return keys

    def records(self) -> Iterator[PageRecord]:
        """Read all records again, without their bodies."""
        with ThreadPoolExecutor(READERS, thread_name_prefix="audit") as pool:
            keys = ((host, key) for host in self._hosts for key in self._tree.keys(LINKS, host))
            for record in in_turn(pool, (partial(self.check.record, host, key) for host, key in keys)):
                if record is not None:
                    yield record

    # -- links

    def _follow(self, record: PageRecord) -> None:
        """Look for lost URLs among a page's links."""
        if self._max_depth is not None and record.depth >= self._max_depth:
            return
        for url in record.links:
            if url in self._checked:
                continue
            if len(self._checked) >= _CHECKED_MEMORY:
                self._checked.clear()
            self._checked.add(url)
            if not self._is_accounted_for(url) and self._lost.add(fingerprint(url)):
                self._maybe_lost.add((url, record.depth_of_links, record.key))

    def _is_accounted_for(self, url: str) -> bool:
        """Tell whether a link is stored, failed, waiting or not to be followed."""
        number = fingerprint(url)
        if number in self._done or number in self._waiting:
            return True
        if urls.normalise(url) != url or self._scope.refuses(url) is not None:
            return True
        site = urls.site(urls.hostname(url))  # if a site has too many hosts, new ones are not crawled
        return self._hosts_of_site[site] >= self._max_hosts and urls.host(url) not in self._known_hosts

    # -- the machinery

    def _look_at_machinery(self) -> Iterator[Callable[[], Checked]]:
        for path in (".", MACHINERY):
            for name, _ in self._tree.files.entries(path):
                if temporary_owner(name) is not None:
                    self._note_odd(path, name)
                elif name.startswith(PROBE) and path == MACHINERY:
                    self.temporaries.add((f"{path}/{name}", name.removeprefix(PROBE)))
        for room, files in FILE_PATTERNS.items():
            for name, kind in self._tree.files.entries(room):
                if kind != "file" or not files.match(name):
                    self._note_odd(room, name)
                elif room == ROBOTS:
                    self.report.robots += 1
                    yield partial(self.check.robots, name)

    # -- what machines may just have been writing

    def _settle(self) -> None:
        """Decide about findings that a live machine may have put right since."""
        with_others = bool(self._liveness.live)
        if with_others and (self._maybe_lost or self._maybe_orphans):
            self._sleep(_FLEET_FLUSH_S)
        self._liveness.look()
        self._learn_waiting()
        for url, depth, referrer in self._maybe_lost:
            if not (self._is_accounted_for(url) or (with_others and self.check.is_there(url))):
                self._find(Finding("lost_urls", url, "", urls.host(url), urls.key(url), url, depth, referrer))
        for host, key in self._maybe_orphans:
            if not self._tree.is_done(host, key):
                self._find(Finding("orphan_bodies", self._tree.tree_path(HTMLS, host, key), "", host, key))
        for path, owner in self.temporaries:
            if self._liveness.is_dead(owner):
                self.report.add("dead_temporaries", f"{path}: written by {owner}")
            else:
                self.doubtful += not self._liveness.is_seen(owner)
        if self.doubtful:
            self.report.notes.append(
                f"temporary files of machines that may be alive: {self.doubtful}; --repair finds out"
            )
        damaged = sorted(self._said.cut - self._liveness.live)  # a live machine may be writing
        if damaged:
            self.report.notes.append(
                f"logs that are damaged or cut: {', '.join(damaged)}; the next crawl reads the records instead"
            )


def fingerprint(url: str) -> int:
    """Return the number that stands for a text, which need not be a URL."""
    return int.from_bytes(hashlib.sha224(url.encode("utf-8", "replace")).digest()[:8])
