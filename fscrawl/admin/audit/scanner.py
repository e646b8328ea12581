"""Reads a tree: first the keys that are stored or failed, then what logs say, then every file."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

from fscrawl import urls
from fscrawl.admin.audit.check import Checked, Checker, MachineryScan
from fscrawl.admin.audit.fold import Fold, Liveness
from fscrawl.admin.audit.report import PAGES, Finding, Report
from fscrawl.config.settings import Settings
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_reader import Damage
from fscrawl.fleet.outside import AllLines
from fscrawl.fleet.rules import LinkRules, Rules
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.url_table import UrlTable
from fscrawl.request import is_normal, shown
from fscrawl.sites.rules import Sites, by_present_rules, near_to
from fscrawl.storage.atomic import temporary_owner
from fscrawl.storage.layout import (
    ERRS,
    LINKS,
    MACHINERY,
    PAGE_DIRECTORIES,
    PLANTED,
    PROBE,
    SEEDS,
    SETTINGS,
    TORN,
    is_host,
    is_key,
    key_before,
    key_of,
    page_file_of,
)
from fscrawl.storage.mounts import caches_live_s
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn, in_turn_if_slow
from fscrawl.util.progress import ProgressLine

OWN_NAMES = frozenset({SETTINGS, SEEDS, *PAGE_DIRECTORIES})  # in the root, beside the hidden ones
OF_A_CLIENT = (".nfs", ".fuse_hidden")  # network file systems keep these for open handles
WHAT = {"link": "a symbolic link", "other": "a FIFO, a socket or a device", "directory": "a directory"}
_KEY_CHARS = 24


def is_probe(path: str, name: str) -> bool:
    return path == MACHINERY and name.startswith(PROBE)


def is_planted(path: str, name: str, kind: str) -> bool:
    """Tell whether something stands where a file should be, and is none."""
    if kind == "directory":
        return key_of(name) is not None or name.endswith(PLANTED) or path.startswith(f"{MACHINERY}/")
    return kind != "file"


def key_of_temporary(path: str) -> str | None:
    """Give the key of the page of which a path is a temporary; "" if it is not of a page, None if it is none.

    >>> key_of_temporary("links/a.example/.599370d5687c3fd078c314ad.json.host-7-ab12.5a0c66e2b9f1d374.tmp")
    '599370d5687c3fd078c314ad'
    >>> key_of_temporary(".fscrawl/leases/.7.host-7-ab12.5a0c66e2b9f1d374.tmp"), key_of_temporary(".fscrawl/probe.x")
    ('', None)
    """
    name = path.rpartition("/")[2]
    if temporary_owner(name) is None:
        return None
    key = name[1 : 1 + _KEY_CHARS]
    return key if path.startswith(tuple(f"{directory}/" for directory in PAGE_DIRECTORIES)) and is_key(key) else ""


class Spool:
    """Any number of rows in a local scratch file. Each is returned as a list."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - it lives as long as this
        self._size = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row; not while the rows are being read."""
        self._file.write(json.dumps(row) + "\n")
        self._size += 1

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[list[Any]]:
        self._file.seek(0)
        yield from map(json.loads, self._file)

    def close(self) -> None:
        self._file.close()


_CHECKED_MEMORY = 200_000  # so many links are remembered, and not looked up again: a site repeats its navigation
_FLEET_FLUSH_S = 2.0  # a live machine writes what it found within this time


class Scanner:
    """Reads a tree. Its results: `report`, and for a repair the others.

    findings      what is wrong
    temporaries   (path, machine) of temporary files
    doubtful      how many temporary files belong to machines that may be alive
    damaged       by machine, what is missing of its log
    machinery     checks the small files in `.fscrawl`
    rules         by which URLs are judged now
    fold          what logs say
    """

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: frozenset[str],
        liveness: Liveness,
        *,
        line: ProgressLine,
        sleep: Callable[[float], None],
    ) -> None:
        self.report = Report(str(tree.root))
        self.check = Checker(tree)
        self.seeds = seeds
        self.findings = Spool()
        self.temporaries = Spool()
        self.doubtful = 0
        self._hosts: list[str] = []
        self._tree = tree
        self._liveness = liveness
        self._line = line
        self._sleep = sleep
        self.damaged: dict[str, Damage] = {}
        self.rules = _rules_of(settings, seeds)
        self.fold = Fold(self.rules)
        self.machinery = MachineryScan(tree, self._note_odd)
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
            self._line.begin("listing hosts", unit="")
            hosts = {host for directory in PAGE_DIRECTORIES for host in self._hosts_in(directory)}
            self._hosts = sorted(hosts)
            self._known_hosts = frozenset(hosts)
            self._hosts_of_site = Counter(urls.site(urls.without_port(host)) for host in hosts)
            self.report.hosts = len(hosts)
            expected = self._learn_done(pool)
            self._learn_lines()
            self._line.begin("checking records and bodies", expected)
            for record, finding in in_turn(pool, self._checks()):
                self._note(record, finding)
                self._line.advance()
            self._line.begin("checking .fscrawl", unit="files")
            self._look_at_top()
            for finding in in_turn(pool, self.machinery.checks()):
                if finding is not None:
                    self._find(finding)
                self._line.advance()
        self._line.begin("looking at doubtful files again", unit="")
        self._decide()
        self.report.robots = self.machinery.robots
        self.report.pending = self.fold.pending

    def _note(self, record: PageRecord | None, finding: Finding | None) -> None:
        if finding is not None:
            self._find(finding)
        if record is not None:
            self._count(record)
            if finding is None or finding.kind not in PAGES:
                self._follow(record)

    def _find(self, finding: Finding, *, by_crawl: bool = False) -> None:
        text = finding.path + (f": {finding.detail}" if finding.detail else "")
        self.report.add(finding.kind, text, by_crawl=by_crawl)
        self.findings.add(finding)

    def _count(self, record: PageRecord) -> None:
        report = self.report
        report.records += 1
        report.bytes += record.bytes
        name = f"{record.kind}s"
        setattr(report, name, getattr(report, name) + 1)

    # -- what links may lead to

    def _learn_done(self, pool: ThreadPoolExecutor) -> int:
        jobs = (partial(self._tree.keys, directory, host) for directory in (LINKS, ERRS) for host in self._hosts)
        files = 0
        self._line.begin("listing records")
        for keys in in_turn(pool, jobs):
            files += len(keys)
            self._line.advance(len(keys))
            for key in keys:
                self.fold.mark_there(urls.fingerprint(key))
        return files

    def _learn_lines(self) -> None:
        """Read the seeds, and all lines of logs; without those that count, a crawl reads all records."""
        self._line.begin("reading logs", unit="lines")
        for seed in self.seeds:
            self.fold.know(seed, 0)
        lines = self._all_lines()
        newest = lines.generation
        counts = newest is not None and newest.links is not None and newest.links.covers(self.rules.own)
        for _, line in lines.lines():
            if counts:
                self.fold.add(line)
            self._line.advance()
        self.damaged = lines.damaged

    def _all_lines(self) -> AllLines:
        return AllLines(self._tree, said=self._liveness.ends())

    # -- the files of pages

    def _sort(self, path: str, directory: str = "") -> tuple[dict[str, str], list[str]]:
        """List a directory: names and keys of files as in `directory`, and its directories. Note all others."""
        keys, directories = {}, []
        for name, kind in self._tree.files.entries(path):
            if kind == "directory" and not name.startswith("."):
                directories.append(name)
            elif kind == "file" and directory and (found := page_file_of(directory, name)):
                keys[name] = found[0]
            else:
                self._note_odd(path, name, kind)
        return keys, directories

    def _hosts_in(self, directory: str) -> Iterator[str]:
        for name in self._sort(directory)[1]:
            if is_host(name):
                yield name
            else:
                self._note_odd(directory, name, "directory")

    def _note_odd(self, path: str, name: str, kind: str) -> None:
        """Note a name that does not belong there. `kind`: as `TreeFiles.entries` gives it."""
        owner = temporary_owner(name) if kind == "file" else None
        if is_planted(path, name, kind):
            key = key_of(name)
            of_page = (path.split("/")[1], key) if key and path.startswith((f"{LINKS}/", f"{ERRS}/")) else ("", "")
            self._find(Finding("planted", f"{path}/{name}", WHAT[kind], *of_page))
        elif owner is not None:
            self.temporaries.add((f"{path}/{name}", owner))
        elif key := key_before(name, f".json{TORN}"):
            self._find(Finding("set_aside", f"{path}/{name}", "", path.split("/")[1], key))
        elif not name.startswith(OF_A_CLIENT):
            self._find(Finding("strays", f"{path}/{name}"))

    def _checks(self) -> Iterator[Callable[[], Checked]]:
        for host in self._hosts:
            yield from self._checks_of(host)

    def _checks_of(self, host: str) -> Iterator[Callable[[], Checked]]:
        htmls, files, links, errs = (self._files(directory, host) for directory in PAGE_DIRECTORIES)
        records, failures = set(links.values()), set(errs.values())
        bodies: dict[str, list[str]] = {}
        for path, key in sorted({**htmls, **files}.items()):
            bodies.setdefault(key, []).append(path)
            if key not in records:
                self._maybe_orphans.add((path, host, key))
        for key in sorted(records):
            yield partial(self.check.page, host, key, bodies.get(key, ()))
        for key in sorted(failures):
            self.report.errors += 1
            if key in records:
                self._find(Finding("errors_beside_pages", self._tree.tree_path(ERRS, host, key), "", host, key))
            else:
                yield partial(self.check.error, host, key)

    def _files(self, directory: str, host: str) -> dict[str, str]:
        path = f"{directory}/{host}"
        keys, directories = self._sort(path, directory)
        for name in directories:
            self._note_odd(path, name, "directory")
        return {f"{path}/{name}": key for name, key in keys.items()}

    def records(self) -> Iterator[PageRecord]:
        """Read all records again, without their bodies."""
        self._line.begin("reading records again", self.report.records)
        names = ((host, key) for host in self._hosts for key in self._tree.keys(LINKS, host))
        for record in in_turn_if_slow(lambda name: self.check.record(*name), names, READERS):
            self._line.advance()
            if record is not None:
                yield record

    # -- links

    def _follow(self, record: PageRecord) -> None:
        """Look for lost URLs among a page's links. Those of a page without a mark wait: a crawl reads them."""
        most_deep = self.rules.own.max_depth
        if most_deep is not None and record.depth_of_links > most_deep:
            return
        is_marked = self.fold.is_marked(urls.fingerprint(record.key))
        present = by_present_rules(record, self.rules.sites)
        if present is None:  # a crawl reads its body by the present rules of its site
            return
        for url in present.links_to(nofollow=self.rules.own.follow_nofollow):
            if url in self._checked:
                continue
            if len(self._checked) >= _CHECKED_MEMORY:
                self._checked.clear()
            if "#" not in url:  # requests are not repeated on every page, and each may be as long as fifty URLs
                self._checked.add(url)
            if self._is_accounted_for(url):
                continue
            if not is_marked and not self.fold.is_gone(urls.fingerprint_of(url)):
                self.fold.know(url, record.depth_of_links)
            else:
                self._suspect(url, record.depth_of_links, record.key)

    def _suspect(self, url: str, depth: int, referrer: str) -> None:
        """Note a URL that may be lost."""
        if self._lost.known(urls.fingerprint_of(url), 0):
            self._maybe_lost.add((url, depth, referrer))

    def _is_accounted_for(self, url: str) -> bool:
        """Tell whether a link is stored, failed, pending or not to be followed."""
        number = urls.fingerprint_of(url)
        if self.fold.is_there(number) or self.fold.is_pending(number):
            return True
        if not is_normal(url) or self.rules.scope.refuses(url) is not None:
            return url not in self.seeds
        site = urls.site(urls.hostname(url))  # if a site has too many hosts, new ones are not crawled
        return self._hosts_of_site[site] >= self._max_hosts and urls.host(url) not in self._known_hosts

    # -- the machinery

    def _look_at_top(self) -> None:
        """Look for temporaries beside settings, packs and the tree's directories, and for what a probe has left."""
        for path in (".", MACHINERY, *self._tree.pack_directories()):
            for name, kind in self._tree.files.entries(path):
                if kind in ("link", "other"):
                    if path != "." or name in OWN_NAMES or name.startswith("."):  # others are the user's
                        self._note_odd(path, name, kind)
                elif kind == "file" and (temporary_owner(name) is not None or is_probe(path, name)):
                    self._note_odd(path, name, kind)
                elif is_probe(path, name):
                    self.temporaries.add((f"{path}/{name}", name.removeprefix(PROBE)))

    # -- what machines may just have been writing

    def _decide(self) -> None:
        """Decide about findings that a live machine may have put right since."""
        with_others = bool(self._liveness.live)
        if with_others and (self._maybe_lost or self._maybe_orphans or self.fold.has_gone):
            self._sleep(_FLEET_FLUSH_S)
        self._liveness.look()
        if self.fold.has_gone or (with_others and self._maybe_lost):
            self._learn_lines_again()
        self._look_at_logs_again()
        for url, depth, referrer in self._maybe_lost:
            if not (self._is_accounted_for(url) or self.check.is_there(url)):
                self._find(Finding("lost_urls", shown(url), "", urls.host(url), urls.key(url), url, depth, referrer))
        for path, host, key in self._maybe_orphans:
            if not self._tree.is_done(host, key):
                finding = Finding("orphan_bodies", path, "", host, key)
                self._find(finding, by_crawl=self._is_to_be_fetched(key))
        self._decide_temporaries()

    def _is_to_be_fetched(self, key: str) -> bool:
        """Tell whether the next crawl fetches the page, and so puts right what is left of an earlier attempt."""
        return self.fold.is_pending(urls.fingerprint(key))

    def _decide_temporaries(self) -> None:
        for path, owner in self.temporaries:
            if self._liveness.is_dead(owner):
                key = key_of_temporary(path)
                by_crawl = key is not None and (not key or self._is_to_be_fetched(key))
                self.report.add("dead_temporaries", f"{path}: written by {owner}", by_crawl=by_crawl)
            else:
                self.doubtful += not self._liveness.is_seen(owner)

    def _learn_lines_again(self) -> None:
        """Read what logs say by now; and look for URLs of which the record is gone, though nothing links to them."""
        for seed in self.seeds:
            if self.fold.is_gone(urls.fingerprint_of(seed)):
                self._suspect(seed, 0, "")
        for _, line in self._all_lines().lines():
            self.fold.add(line)
            if isinstance(line, Found) and self.fold.is_gone(urls.fingerprint_of(line.url)):
                self._suspect(line.url, line.depth, line.referrer)

    def _look_at_logs_again(self) -> None:
        """Look again at logs that seem to be damaged: a share may show an old state."""
        if not self.damaged:
            return
        self._sleep(caches_live_s(self._tree.root))
        lines = self._all_lines()
        for _ in lines.lines(sorted(self.damaged)):
            pass
        self.damaged = lines.damaged
        for machine, damage in sorted(self.damaged.items()):
            self._find(Finding("damaged_logs", damage.path, damage.text.removeprefix(f"{damage.path}: "), machine))


def _rules_of(settings: Settings, seeds: frozenset[str]) -> Rules:
    """Give the rules that are in force."""
    near = near_to(seeds, settings.rules)
    own, scope = LinkRules.of(settings, near), Scope(settings.crawl, near)
    return Rules(0, own, scope, "", own, scope, seeds, Sites(settings.rules))
