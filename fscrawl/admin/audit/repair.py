"""Repairs what a scan has found. First it writes URLs into a log, then it removes the wrong files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fscrawl import urls
from fscrawl.admin.audit.liveness import Liveness
from fscrawl.admin.audit.report import EXAMPLES, PAGES, Finding
from fscrawl.admin.audit.scanner import Scanner, fingerprint
from fscrawl.fleet.command_log import write_command_log
from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.lines import Found
from fscrawl.fleet.said import Said
from fscrawl.frontier.seen import SeenSet
from fscrawl.storage.layout import HTMLS, LINKS, probe_path
from fscrawl.storage.probe_directory import ProbeDirectory
from fscrawl.store import Tree

_FETCHED_AGAIN = (*PAGES, "damaged_errors")
_ALONE = ("orphan_bodies", "torn_robots")  # repaired only while no machine is live


class Repair:
    """One repair. It adds its results to the report of `scanner`."""

    def __init__(self, tree: Tree, scanner: Scanner, liveness: Liveness, warn: Callable[[str], None]) -> None:
        self._tree = tree
        self._scanner = scanner
        self._report = scanner.report
        self._liveness = liveness
        self._warn = warn
        self._machinery = Machinery(tree)
        self._written = SeenSet()
        self._live: frozenset[str] = frozenset()
        self._holders: dict[int, str] = {}
        self._unknown: set[int] = set()  # fingerprints of keys to fetch again whose URL is not known

    def run(self) -> None:
        report = self._report
        report.repaired = True
        if set(report.found) - {"strays", "lost_urls"} or self._scanner.doubtful:
            self._wait_for_signs_of_life()
        self._learn_holders()
        self._put_back()
        self._liveness.look()  # machines may have started meanwhile
        self._learn_holders()
        for row in self._scanner.findings:
            finding = Finding(*row)
            if self._mend(finding):
                report.mended[finding.kind] += 1
        self._remove_temporaries()
        if self._live and not report.ok:
            names = ", ".join(sorted(self._live))
            report.notes.append(f"files that live machines may be writing were not changed; live machines: {names}")

    def _wait_for_signs_of_life(self) -> None:
        owners = {owner for _, owner in self._scanner.temporaries}
        doubtful = sorted(self._liveness.doubtful(owners))
        if doubtful:
            self._warn(
                f"machines that may be alive: {len(doubtful)} ({', '.join(doubtful[:EXAMPLES])});"
                f" watching their heartbeats for up to {self._liveness.limit_s(doubtful):g} s"
            )
        self._liveness.watch(owners)

    def _learn_holders(self) -> None:
        self._live = self._liveness.live
        newest = dict(sorted(self._machinery.leases())) if self._live else {}
        self._holders = {shard: self._machinery.lease(shard, epoch).holder for shard, epoch in newest.items()}

    def _may_touch(self, finding: Finding) -> bool:
        """Tell whether no live machine can be writing this file: only the holder of a shard writes its pages."""
        holder = self._holders.get(self._shard(finding.host, finding.key))
        return holder is None or (holder != "" and holder not in self._live)  # "": a lease that cannot be read

    def _shard(self, host: str, key: str) -> int:
        record = self._tree.record
        return urls.shard(key if record.partition == "url" else host, record.shards)

    # -- put back

    def _put_back(self) -> None:
        self._report.put_back = write_command_log(self._tree, self._to_fetch())

    def _to_fetch(self) -> Iterator[Found]:
        """Give the URLs that must be fetched, each once: one may be found twice, as misplaced and as lost."""
        for url, depth, referrer in self._wanted():
            if self._written.add(fingerprint(url)):
                yield Found(self._shard(urls.host(url), urls.key(url)), depth, referrer, url)

    def _wanted(self) -> Iterator[tuple[str, int, str]]:
        """Give URL, depth and referrer of what must be fetched."""
        for row in self._scanner.findings:
            finding = Finding(*row)
            if finding.kind == "lost_urls":
                yield finding.url, finding.depth, finding.referrer
            elif finding.kind in _FETCHED_AGAIN and self._may_touch(finding):
                if finding.url and not self._is_stored_elsewhere(finding):
                    yield finding.url, finding.depth, finding.referrer
                if not finding.url or urls.key(finding.url) != finding.key:
                    self._unknown.add(urls.fingerprint(finding.key))
        yield from self._search()

    def _is_stored_elsewhere(self, finding: Finding) -> bool:
        """Tell whether the page of a misplaced record is also stored under its own name."""
        host, key = urls.host(finding.url), urls.key(finding.url)
        return (host, key) != (finding.host, finding.key) and self._tree.is_done(host, key)

    def _search(self) -> Iterator[tuple[str, int, str]]:
        """Look for the URLs of keys. URLs in logs and seeds wait already; others may be in link files."""
        wanted = self._unknown
        if wanted:
            wanted.difference_update(map(fingerprint, self._scanner.seeds))
            for _, found in Said(self._tree).found():
                wanted.discard(fingerprint(found.url))
        for record in self._scanner.records() if wanted else ():
            for url in record.links:
                number = fingerprint(url)
                if number in wanted and urls.normalise(url) == url:
                    wanted.discard(number)
                    yield url, record.depth_of_links, record.key

    # -- repair files

    def _mend(self, finding: Finding) -> bool:
        """Repair what was found, if it is still wrong; tell whether it is right now."""
        if finding.kind in ("strays", "lost_urls"):
            return finding.kind == "lost_urls"  # it has been put back
        if self._live if finding.kind in _ALONE else not self._may_touch(finding):
            return False
        if finding.kind in _FETCHED_AGAIN and not finding.url and urls.fingerprint(finding.key) in self._unknown:
            if self._is_still(finding):
                # No URL is known. Without the file the page would be lost; with the file it would count as done.
                self._tree.files.set_aside(finding.path)
            return False
        if self._is_still(finding):
            if finding.kind in PAGES:
                # The body first: for a machine that starts now, the page is stored until both files are removed.
                self._tree.files.remove(self._tree.tree_path(HTMLS, finding.host, finding.key))
                self._tree.files.remove(self._tree.tree_path(LINKS, finding.host, finding.key))
            else:
                self._tree.files.remove(finding.path)
        elif finding.kind == "set_aside":
            return False  # its URL is still not known
        return True

    def _is_still(self, finding: Finding) -> bool:
        check, host, key = self._scanner.check, finding.host, finding.key
        if finding.kind == "orphan_bodies":
            return not self._tree.is_done(host, key)
        if finding.kind == "set_aside":
            return self._tree.is_done(host, key) or self._tree.failed_at(host, key) is not None
        if finding.kind == "torn_robots":
            return check.robots(finding.path.rpartition("/")[2])[1] is not None
        if finding.kind == "damaged_errors":
            return check.error(host, key)[1] is not None
        if finding.kind == "errors_beside_pages":
            return True  # if the page was put back, it must not count as failed
        return check.page(host, key, has_body=True)[1] is not None

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
            report.mended["dead_temporaries"] += 1
            if path == probe_path(owner):
                directory = ProbeDirectory(self._tree.files, owner)
                directory.clear(directory.names())
            else:
                self._tree.files.remove(path)
        report.notes[:] = [note for note in report.notes if not note.endswith("--repair finds out")]
        if left:
            report.notes.append(f"temporary files of live machines, not removed: {left}")
