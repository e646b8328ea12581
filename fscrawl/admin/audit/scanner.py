"""Reads a tree: first the keys that are stored or failed, then what logs and snapshots say, then every file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Self

from fscrawl import urls
from fscrawl.admin.audit.check import Checked, Checker
from fscrawl.admin.audit.fold import Fold, fingerprint
from fscrawl.admin.audit.liveness import Liveness
from fscrawl.admin.audit.machinery import MachineryScan
from fscrawl.admin.audit.report import PAGES, Finding, Report
from fscrawl.admin.audit.spool import Spool
from fscrawl.config.settings import Settings
from fscrawl.fleet.all_lines import AllLines
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_reader import Cut
from fscrawl.fleet.rules import Rules
from fscrawl.fleet.snapshot_file import Snapshot
from fscrawl.fleet.terms import ReadOnlyTerms, Term
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.url_table import UrlTable
from fscrawl.storage.atomic import temporary_owner
from fscrawl.storage.caches import caches_live_s
from fscrawl.storage.layout import (
    ERRS,
    FEED,
    HTMLS,
    LINKS,
    MACHINERY,
    PAGE_ROOMS,
    PLANTED,
    PROBE,
    SEEDS,
    SETTINGS,
    TORN,
    is_fan_out,
    is_host,
    key_before,
    key_of,
    log_directory,
    suffix_of,
)
from fscrawl.storage.records import FORMAT, PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn

_OWN_NAMES = frozenset({SETTINGS, SEEDS, *PAGE_ROOMS})  # in the root, beside the hidden ones
_OF_A_CLIENT = (".nfs", ".fuse_hidden")  # network file systems keep these for open handles
_WHAT = {"link": "a symbolic link", "other": "a FIFO, a socket or a device", "directory": "a directory"}
_CHECKED_MEMORY = 200_000  # so many links are remembered, and not looked up again: a site repeats its navigation
_FLEET_FLUSH_S = 2.0  # a live machine writes what it found within this time


class Scanner:
    """Reads a tree. Its results: `report`, and for a repair the others.

    findings      what is wrong
    temporaries   (path, machine) of temporary files
    doubtful      how many temporary files belong to machines that may be alive
    cuts          by machine, what is missing of its log
    machinery     checks the small files in `.fscrawl`
    rules         by which URLs are judged now
    fold          what logs and snapshots say
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
        self.cuts: dict[str, Cut] = {}
        self.rules = _rules_of(tree, settings, seeds)
        self.fold = Fold(self.rules, ReadOnlyTerms(tree.files, self.rules.term).covers)
        self.machinery = MachineryScan(tree, self.check, self._note_odd)
        self._max_hosts = settings.crawl.max_hosts_per_domain
        self._known_hosts: frozenset[str] = frozenset()
        self._hosts_of_site: Counter[str] = Counter()
        self._lost = UrlTable()
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
            hosts = {host for room in PAGE_ROOMS for host in self._hosts_in(room)}
            self._hosts = sorted(hosts)
            self._known_hosts = frozenset(hosts)
            self._hosts_of_site = Counter(urls.site(urls.without_port(host)) for host in hosts)
            self.report.hosts = len(hosts)
            expected = self._learn_done(pool)
            self._learn_lines()
            for record, finding in self._with_bar(in_turn(pool, self._checks()), expected):
                self._take(record, finding)
            self._look_at_top()
            for _, finding in in_turn(pool, self.machinery.checks()):
                self._take(None, finding)
        self._settle()
        self.report.robots = self.machinery.robots
        self.report.waiting = self.fold.waiting

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
                self.fold.mark_there(urls.fingerprint(key))
        return files

    def _learn_lines(self) -> None:
        """Read the seeds, and all lines of snapshots and logs."""
        for seed in self.seeds:
            self.fold.know(seed, 0)
        lines = self._all_lines()
        lines.read_snapshots(self.fold.take_snapshot, check_old=True)
        for path, how in lines.damaged.items():
            self._find(Finding("damaged_snapshots", path, how.removeprefix(f"{path}: ")))
        for _, line in lines.lines():
            self.fold.take(line)
        self.cuts = lines.cuts

    def _all_lines(self) -> AllLines:
        return AllLines(self._tree, said=self._liveness.ends())

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
                self._note_odd(path, name, kind)
        return keys, directories

    def _hosts_in(self, room: str) -> Iterator[str]:
        for name in self._sort(room)[1]:
            if is_host(name):
                yield name
            else:
                self._note_odd(room, name, "directory")

    def _note_odd(self, path: str, name: str, kind: str) -> None:
        """Note a name that does not belong there. `kind`: as `TreeFiles.entries` gives it."""
        owner = temporary_owner(name) if kind == "file" else None
        if _is_planted(path, name, kind):
            key = key_of(name)
            of_page = (path.split("/")[1], key) if key and path.startswith((f"{LINKS}/", f"{ERRS}/")) else ("", "")
            self._find(Finding("planted", f"{path}/{name}", _WHAT[kind], *of_page))
        elif owner is not None:
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
                    self._note_odd(f"{room}/{host}", name, "directory")
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
            self._note_odd(path, name, "directory")
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
        """Look for lost URLs among a page's links. The links of a page that is not told wait: it is told by a crawl."""
        if self.rules.max_depth is not None and record.depth_of_links > self.rules.max_depth:
            return
        is_told = self.fold.is_told(urls.fingerprint(record.key))
        for url in record.links_to(nofollow=self.rules.nofollow):
            if url in self._checked:
                continue
            if len(self._checked) >= _CHECKED_MEMORY:
                self._checked.clear()
            self._checked.add(url)
            if self._is_accounted_for(url):
                continue
            if not is_told and not self.fold.is_gone(fingerprint(url)):
                self.fold.know(url, record.depth_of_links)
            else:
                self._suspect(url, record.depth_of_links, record.key)

    def _suspect(self, url: str, depth: int, referrer: str) -> None:
        """Note a URL that may be lost."""
        if self._lost.known(fingerprint(url), 0):
            self._maybe_lost.add((url, depth, referrer))

    def _is_accounted_for(self, url: str) -> bool:
        """Tell whether a link is stored, failed, waiting or not to be followed."""
        number = fingerprint(url)
        if self.fold.is_there(number) or self.fold.is_waiting(number):
            return True
        if urls.normalise(url) != url or self.rules.scope.refuses(url) is not None:
            return url not in self.seeds
        site = urls.site(urls.hostname(url))  # if a site has too many hosts, new ones are not crawled
        return self._hosts_of_site[site] >= self._max_hosts and urls.host(url) not in self._known_hosts

    # -- the machinery

    def _look_at_top(self) -> None:
        """Look for temporaries beside the settings and beside the rooms, and for what a probe has left."""
        for path in (".", MACHINERY):
            for name, kind in self._tree.files.entries(path):
                if kind in ("link", "other"):
                    if path == MACHINERY or name in _OWN_NAMES or name.startswith("."):  # others are the user's
                        self._note_odd(path, name, kind)
                elif kind == "file" and (temporary_owner(name) is not None or _is_probe(path, name)):
                    self._note_odd(path, name, kind)
                elif _is_probe(path, name):
                    self.temporaries.add((f"{path}/{name}", name.removeprefix(PROBE)))

    # -- what machines may just have been writing

    def _settle(self) -> None:
        """Decide about findings that a live machine may have put right since."""
        with_others = bool(self._liveness.live)
        if with_others and (self._maybe_lost or self._maybe_orphans or self.fold.has_gone):
            self._sleep(_FLEET_FLUSH_S)
        self._liveness.look()
        if self.fold.has_gone or (with_others and self._maybe_lost):
            self._learn_lines_again()
        self._settle_cuts()
        for url, depth, referrer in self._maybe_lost:
            if not (self._is_accounted_for(url) or self.check.is_there(url)):
                self._find(Finding("lost_urls", url, "", urls.host(url), urls.key(url), url, depth, referrer))
        for host, key in self._maybe_orphans:
            if not self._tree.is_done(host, key):
                self._find(Finding("orphan_bodies", self._tree.tree_path(HTMLS, host, key), "", host, key))
        self._settle_temporaries()
        if self.machinery.old_feeds and self._tree.record.format >= FORMAT:
            self.report.notes.append(
                f"files that format 1 has left in {FEED}: {self.machinery.old_feeds}; nobody reads them any more"
            )

    def _settle_temporaries(self) -> None:
        for path, owner in self.temporaries:
            if self._liveness.is_dead(owner):
                self.report.add("dead_temporaries", f"{path}: written by {owner}")
            else:
                self.doubtful += not self._liveness.is_seen(owner)
        if self.doubtful:
            self.report.notes.append(
                f"temporary files of machines that may be alive: {self.doubtful}; --repair finds out"
            )

    def _learn_lines_again(self) -> None:
        """Read what logs say by now; and look for URLs of which the record is gone, though nothing links to them."""
        for seed in self.seeds:
            if self.fold.is_gone(fingerprint(seed)):
                self._suspect(seed, 0, "")
        for _, line in self._all_lines().lines():
            self.fold.take(line)
            if isinstance(line, Found) and self.fold.is_gone(fingerprint(line.url)):
                self._suspect(line.url, line.depth, line.referrer)

    def _settle_cuts(self) -> None:
        """Look again at logs that seem to be cut: a share may show an old state, or a machine may remove segments."""
        if not self.cuts:
            return
        self._sleep(caches_live_s(self._tree.root))
        lines = self._all_lines()
        lines.read_snapshots(_ignore)
        for _ in lines.lines(sorted(self.cuts)):
            pass
        self.cuts = lines.cuts
        for machine, cut in sorted(self.cuts.items()):
            self._find(Finding("damaged_logs", log_directory(machine), _text_of(cut), machine))


def _is_probe(path: str, name: str) -> bool:
    return path == MACHINERY and name.startswith(PROBE)


def _is_planted(path: str, name: str, kind: str) -> bool:
    """Tell whether something stands where a file should be, and is none."""
    if kind == "directory":
        return key_of(name) is not None or name.endswith(PLANTED) or path.startswith(f"{MACHINERY}/")
    return kind != "file"


def _ignore(snapshot: Snapshot) -> None:
    """Take in nothing: only the places in a snapshot's head matter."""


def _rules_of(tree: Tree, settings: Settings, seeds: frozenset[str]) -> Rules:
    """Give the rules that are in force."""
    crawl = settings.crawl
    term = Term.of(crawl, seeds, tree.record, Generations(tree.files).newest())
    return Rules(Scope(crawl, seeds), crawl.max_depth, seeds, crawl.follow_nofollow, term)


def _text_of(cut: Cut) -> str:
    """Say for a person what is missing of a log."""
    segment, end = cut.expected
    if cut.found is None:
        return f"it is missing; it went up to byte {end} of segment {segment}"
    return f"of segment {cut.found.segment} {cut.found.bytes} bytes can be read; it went up to byte {end} of {segment}"
