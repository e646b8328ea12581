"""Repairs what a scan has found.

First it begins a generation, if pages must be fetched again or a part of a log is missing: no mark counts any more
then. It writes the URLs of these pages into a log of its own, and then removes the wrong files. If a repair is killed
before that, the next audit finds them once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fscrawl import urls
from fscrawl.admin.audit.fold import Liveness
from fscrawl.admin.audit.report import PAGES, Finding
from fscrawl.admin.audit.scanner import Scanner
from fscrawl.errors import PlantedError
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.lines import Found
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.outside import AllLines, write_command_log
from fscrawl.frontier.flags import labelled
from fscrawl.frontier.url_table import UrlTable
from fscrawl.request import is_normal
from fscrawl.storage.layout import LINKS, probe_path
from fscrawl.storage.probe_directory import ProbeDirectory
from fscrawl.store import Tree
from fscrawl.util.progress import SILENT, ProgressLine

_FETCHED_AGAIN = (*PAGES, "damaged_errors", "planted")
_ALONE = ("orphan_bodies", "torn_robots", "torn_leases")  # repaired only while no machine is live
_LEFT = ("strays", "not_normal")  # nothing that a repair could do is better
_AT_LAST = ("lost_urls", "damaged_logs", "damaged_rules")  # repaired by what is put back, or by a generation


class Repair:
    """One repair. It adds its results to the report of `scanner`."""

    def __init__(
        self,
        tree: Tree,
        scanner: Scanner,
        liveness: Liveness,
        warn: Callable[[str], None],
        line: ProgressLine = SILENT,
    ) -> None:
        self._tree = tree
        self._scanner = scanner
        self._report = scanner.report
        self._liveness = liveness
        self._warn = warn
        self._line = line
        self._machinery = Machinery(tree)
        self._written = UrlTable()
        self._in_lines: dict[int, Found] = {}  # URLs of keys, as logs have them
        self._live: frozenset[str] = frozenset()
        self._holders: dict[int, str] = {}
        self._unknown: set[int] = set()  # fingerprints of keys to fetch again whose URL is not known
        self._again: set[int] = set()  # fingerprints of what is to be fetched again
        self._labels: dict[int, str] = {}  # and of which task it is, as far as logs still say that

    def run(self) -> None:
        report = self._report
        report.repaired = True
        if set(report.found) - {*_LEFT, *_AT_LAST} or self._scanner.doubtful:
            self._line.begin("watching heartbeats", unit="")
            self._liveness.watch(self._warn, {owner for _, owner in self._scanner.temporaries})
        self._learn_holders()
        self._line.begin("putting URLs back", unit="URLs")
        self._put_back()
        self._line.begin("mending files", report.found.total(), "files")
        self._liveness.look()  # machines may have started meanwhile
        self._learn_holders()
        for at_last in (False, True):  # what is planted in place of a body goes when its page is mended
            for row in self._scanner.findings:
                finding = Finding(*row)
                if _is_left(finding) == at_last:
                    if self._mend(finding):
                        report.mended[finding.kind] += 1
                    self._line.advance()
        self._remove_temporaries()
        if self._live and not report.ok:
            names = ", ".join(sorted(self._live))
            report.notes.append(f"files that live machines may be writing were not changed; live machines: {names}")

    def _learn_holders(self) -> None:
        self._live = self._liveness.live
        newest = dict(sorted(self._machinery.leases())) if self._live else {}
        self._holders = {shard: self._machinery.lease(shard, epoch).holder for shard, epoch in newest.items()}

    def _may_touch(self, finding: Finding) -> bool:
        """Tell whether no live machine can be writing this file: only the holder of a shard writes its pages."""
        holder = self._holders.get(self._tree.record.shard_of(finding.host, finding.key))
        return holder is None or (holder != "" and holder not in self._live)  # "": a lease that cannot be read

    # -- put back

    def _put_back(self) -> None:
        for finding in self._fetched_again():
            self._again.add(urls.fingerprint(finding.key))
            if finding.url:
                self._again.add(urls.fingerprint_of(finding.url))
            if not finding.url or urls.key(finding.url) != finding.key:
                self._unknown.add(urls.fingerprint(finding.key))
        if self._again:
            self._search_lines()
        if self._again or self._report.found["damaged_logs"] or self._report.found["damaged_rules"]:
            self._begin_generation()
        if self._again:
            write_command_log(self._tree, self._lines())

    def _fetched_again(self) -> Iterator[Finding]:
        """Give the findings of which a page must be fetched (again)."""
        for row in self._scanner.findings:
            finding = Finding(*row)
            if _is_left(finding):
                continue
            if finding.kind == "lost_urls" or (finding.kind in _FETCHED_AGAIN and self._may_touch(finding)):
                yield finding

    def _lines(self) -> Iterator[Found]:
        """Give the lines that make machines fetch what must be fetched."""
        for url, depth, referrer in self._wanted():
            number = urls.fingerprint_of(url)
            if not self._written.known(number, 0):
                continue  # found twice: as misplaced and as lost
            self._report.put_back += 1
            self._line.advance()
            shard = self._tree.record.shard_of(urls.host(url), urls.key(url))
            yield Found(shard, depth, referrer, url, labelled(self._labels.get(number, "")))

    def _wanted(self) -> Iterator[tuple[str, int, str]]:
        """Give URL, depth and referrer of what must be fetched."""
        for finding in self._fetched_again():
            if finding.url and not self._is_stored_elsewhere(finding):
                yield finding.url, finding.depth, finding.referrer
        for found in self._in_lines.values():
            yield found.url, found.depth, found.referrer
        yield from self._in_records()

    def _is_stored_elsewhere(self, finding: Finding) -> bool:
        """Tell whether the page of a misplaced record is also stored under its own name."""
        host, key = urls.host(finding.url), urls.key(finding.url)
        return (host, key) != (finding.host, finding.key) and self._tree.is_done(host, key)

    def _search_lines(self) -> None:
        """Look in logs for the URLs of keys, and for their tasks; and for keys of seeds."""
        for _, line in AllLines(self._tree).lines():
            if isinstance(line, Found) and (self._unknown or line.flags.label):
                self._search_found(line)
        for seed in self._scanner.seeds:
            number = urls.fingerprint_of(seed)
            if number in self._unknown:
                self._unknown.discard(number)  # whoever holds its shard knows it
                self._in_lines.pop(number, None)

    def _search_found(self, found: Found) -> None:
        number = urls.fingerprint_of(found.url)
        if found.flags.label and number in self._again:
            self._labels[number] = min(found.flags.label, self._labels.get(number, found.flags.label))
        if number in self._unknown:
            known = self._in_lines.get(number)
            self._in_lines[number] = found if known is None else min(known, found, key=lambda each: each.depth)

    def _in_records(self) -> Iterator[tuple[str, int, str]]:
        """Look for the URLs of the other keys in all records."""
        wanted = self._unknown - self._in_lines.keys()
        for record in self._scanner.records() if wanted else ():
            for url in (*record.links, *(record.requests or ())):
                number = urls.fingerprint_of(url)
                if number in wanted and is_normal(url):
                    wanted.discard(number)
                    yield url, record.depth_of_links, record.key
        self._unknown = wanted

    # -- repair files

    def _mend(self, finding: Finding) -> bool:
        """Repair what was found, if it is still wrong; tell whether it is right now."""
        if finding.kind in (*_LEFT, *_AT_LAST):
            return finding.kind in _AT_LAST
        if _is_left(finding):
            return not self._is_still(finding)
        if not self._may_mend(finding):
            return False
        if finding.kind in _FETCHED_AGAIN and not finding.url and urls.fingerprint(finding.key) in self._unknown:
            if self._is_still(finding):
                # No URL is known. Without the file the page would be lost; with the file it would count as done.
                self._tree.files.set_aside(finding.path)
            return False
        if self._is_still(finding):
            self._tree.check_directories()  # without it, each body or record is missing
            self._correct(finding)
        elif finding.kind == "set_aside":
            return False  # its URL is still not known
        return True

    def _may_mend(self, finding: Finding) -> bool:
        return not self._live if finding.kind in _ALONE else self._may_touch(finding)

    def _correct(self, finding: Finding) -> None:
        """Remove what is wrong, or write it anew."""
        files = self._tree.files
        if finding.kind in PAGES:
            # The body first: for a machine that starts now, the page is stored until both files are removed.
            for path in self._tree.bodies(finding.host, finding.key):
                files.remove(path)
            files.remove(self._tree.tree_path(LINKS, finding.host, finding.key))
        elif finding.kind == "unexpected_bodies":
            record = self._scanner.check.record(finding.host, finding.key)
            expected = {} if record is None else self._tree.bodies_of(finding.host, record)
            for path in self._tree.bodies(finding.host, finding.key):
                if path not in expected and record is not None:
                    files.remove(path)
        else:
            files.remove(finding.path)

    def _begin_generation(self) -> None:
        """Let all records be read again: no mark of before counts any more."""
        generations, own = Generations(self._tree.files), self._scanner.rules.own
        newest = generations.newest()
        links = own if newest is None or newest.links is None or not newest.links.covers(own) else newest.links
        before = newest.refresh_before if newest else ""
        self._report.generation = generations.begin_next(links, before, "repair").number

    def _is_still(self, finding: Finding) -> bool:
        check, host, key = self._scanner.check, finding.host, finding.key
        if finding.kind == "planted":
            return bool(self._tree.files.planted(finding.path))
        if finding.kind == "orphan_bodies":
            return not self._tree.is_done(host, key)
        if finding.kind == "set_aside":
            return self._tree.is_done(host, key) or self._tree.failure(host, key) is not None
        if finding.kind in ("torn_robots", "torn_leases"):
            return self._scanner.machinery.small_file(finding.path) is not None
        if finding.kind == "damaged_errors":
            return check.error(host, key)[1] is not None
        if finding.kind == "errors_beside_pages":
            return True  # if the page was put back, it must not count as failed
        return check.page(host, key)[1] is not None

    def _remove_temporaries(self) -> None:
        report = self._report
        dead = left = 0
        for path, owner in self._scanner.temporaries:
            if not self._liveness.is_dead(owner):
                left += 1
                continue
            dead += 1
            if dead > report.found["dead_temporaries"]:  # only the watch has shown that its machine is dead
                report.add("dead_temporaries", f"{path}: written by {owner}")
            report.mended["dead_temporaries"] += self._remove_temporary(path, owner)
        if left:
            report.notes.append(f"temporary files of live machines, not removed: {left}")

    def _remove_temporary(self, path: str, owner: str) -> bool:
        """Tell whether it is gone."""
        if path == probe_path(owner):
            return ProbeDirectory(self._tree.files, owner).clear()
        try:
            self._tree.files.remove(path)
        except PlantedError:  # somebody has replaced the directory meanwhile
            return False
        return True


def _is_left(finding: Finding) -> bool:
    """Tell whether a person must remove it: it is planted, and not in the place of a record or a failure."""
    return finding.kind == "planted" and not finding.key
