"""Is every file of the tree what it says, and every linked URL stored, failed or waiting? And the repair.

Vocabulary:
  kind       a thing that may be wrong; `report.KINDS` has them all
  finding    one that is; `place`: its path from the root
  orphan     a body without a record: a machine was killed between the two
  waiting    a URL that has a line in a feed, or is a seed, and is neither stored nor failed: the next crawl fetches it
  lost       a URL inside the scope and the depth that a stored page links to, and that is neither stored, failed nor
             waiting: only a re-seed would find it
  put back   written into a feed of the audit's own machine id, so that it is fetched (again)
  doubtful   a machine without a goodbye whose process cannot be seen from here: whether its log grows within
             `dead_after` seconds tells

Promise: a look changes nothing. A repair removes a page or a failure only if a second look finds it wrong, too, never
in a shard whose lease a live machine holds, and only after its URL is put back; a body without a record only while no
machine is live. Killed in the middle, it leaves a tree that the next audit understands. Memory grows with the files of
one directory, and by some nine bytes for each URL that is stored, failed or waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from fscrawl.admin.audit.liveness import Liveness
from fscrawl.admin.audit.repair import Repair
from fscrawl.admin.audit.report import EXAMPLES, KINDS, Report
from fscrawl.admin.audit.scanner import Scanner
from fscrawl.config.settings import Settings
from fscrawl.fleet.leases import Machinery
from fscrawl.store import Tree

__all__ = ["EXAMPLES", "KINDS", "Report", "audit"]


def audit(
    tree: Tree,
    settings: Settings,
    seeds: Iterable[str],
    say: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    *,
    repair: bool = False,
    bar: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Read all of an open tree, and mend it if asked to; TreeError if it cannot be read.

    `settings`, `seeds`: the tree's, normal forms; `say`: for what takes a while; `bar`: show one on standard error.
    """
    liveness = Liveness(Machinery(tree), tree.machine, settings.fleet.dead_after, clock, sleep)
    with Scanner(tree, settings, frozenset(seeds), liveness, bar=bar, sleep=sleep) as scanner:
        scanner.run()
        if repair:
            Repair(tree, scanner, liveness, say).run()
        return scanner.report
