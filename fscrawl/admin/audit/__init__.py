"""Checks whether each file of a tree is right, and each linked URL stored, failed or pending; and repairs the tree.

Vocabulary:
  kind       a kind of problem; `report.KINDS` lists them all
  finding    one problem that was found; `path`: the file, relative to the root
  orphan     a body without a record: a machine was killed between writing the two
  marked     the links of a stored page stand in the logs, by rules that count now. A page without a mark is read by
             the next crawl, so its links wait
  pending    a URL within scope and depth that logs, a seed or a page without a mark name, and that is
             neither stored nor failed: the next crawl fetches it
  lost       a URL within scope and depth that is neither stored, failed nor pending, though a marked page links to
             it, or a log says that it was stored: only `crawl --reseed` would find it
  put back   written into a log of the audit, so that the URL is fetched (again)
  doubtful   a machine without a goodbye, whose process is not seen from here. If its log does not grow
             within `dead_after` seconds, it is dead

Promise: without `repair` nothing is changed. A repair removes a page or a failure only if a second reading finds it
wrong, too, never in a shard that a live machine holds, and only after its URL has been put back. A body without a
record is removed only while no machine is live. If a repair is killed, the next audit understands the tree. Memory
grows with the files of one directory, and by about ten bytes for each URL that is stored, failed or known, fifteen with
`max_depth`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from fscrawl.admin.audit.fold import Liveness
from fscrawl.admin.audit.repair import Repair
from fscrawl.admin.audit.report import EXAMPLES, KINDS, Report
from fscrawl.admin.audit.scanner import Scanner
from fscrawl.admin.doctor.directory import of_machinery
from fscrawl.config.settings import Settings
from fscrawl.errors import TreeError
from fscrawl.fleet.machinery import Machinery
from fscrawl.store import Tree
from fscrawl.util.progress import SILENT, ProgressLine

__all__ = ["EXAMPLES", "KINDS", "Report", "audit"]


def audit(
    tree: Tree,
    settings: Settings,
    seeds: Iterable[str],
    warn: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    *,
    repair: bool = False,
    line: ProgressLine = SILENT,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Read all of an open tree, and repair it if asked to; TreeError if it cannot be read, or not be repaired.

    `settings`, `seeds`: those of the tree, the seeds as normal forms. `warn`: called before a long wait. `line`: shows
    how far it is. If a part of `.fscrawl` is missing, no crawl would come to fetch what a repair puts back.
    """
    tree.check_directories()
    missing = tree.missing_directories()
    advice = list(of_machinery(tree, missing))
    if repair:
        for found in advice:
            raise TreeError(f"{found.what}; {found.advice}")
    dead_after_s, shards = settings.fleet.dead_after, tree.record.shards
    liveness = Liveness(Machinery(tree), tree.machine, dead_after_s, shards, clock, sleep)
    with Scanner(tree, settings, frozenset(seeds), liveness, line=line, sleep=sleep) as scanner:
        scanner.run()
        for directory in missing:
            scanner.report.add("missing_directories", directory)
        scanner.report.notes += [found.advice for found in advice]
        tree.check_directories()  # the share may have been unmounted meanwhile: then all seems to be gone
        if repair:
            Repair(tree, scanner, liveness, warn, line).run()
            tree.close()
            tree.check_directories()  # or what was wrong may only have seemed to be right
        elif scanner.doubtful:
            what = f"temporary files of machines that may be alive: {scanner.doubtful}"
            scanner.report.notes.append(f"{what}; --repair finds out")
        return scanner.report
