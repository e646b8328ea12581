"""`fscrawl report`: the results of a crawl, as one HTML file.

    totals     what the records of the tree add up to
    timeline   how the crawl went over time, from whole heartbeat logs
    svg        plots
    page       the file

It changes nothing in the tree, and machines may be at work.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from fscrawl.errors import RecordError, TreeError
from fscrawl.fleet.leases import Machinery
from fscrawl.monitor.report.page import Report, render
from fscrawl.monitor.report.timeline import timeline_of
from fscrawl.monitor.report.totals import Duplicate, Fact, fact_of, totals_of
from fscrawl.monitor.snapshot import Observer, Snapshot
from fscrawl.monitor.state import state_of
from fscrawl.store import Tree
from fscrawl.util.progress import SILENT, ProgressLine

__all__ = ["gather", "render"]


def gather(tree: Tree, warn: Callable[[str], None], line: ProgressLine = SILENT) -> Report:
    """Read all of a tree. `line`: shows how far it is. TreeError if it cannot be read."""
    observer = Observer(tree)
    totals = totals_of(tree, warn, line, about=_records_of(observer.look()))
    line.begin("finding duplicates", unit="")
    pages, bodies, duplicates = totals.bodies.duplicates(totals.names)
    line.begin("reading heartbeats", unit="")
    snapshot = observer.look()
    return Report(
        root=str(tree.root),
        crawl=tree.record.crawl,
        made_at=time.time(),
        state=state_of(snapshot),
        totals=totals,
        timeline=timeline_of(Machinery(tree)),
        same_pages=pages,
        same_bodies=bodies,
        shown=_with_facts(tree, duplicates),
        pending={label: figure.pending for label, figure in snapshot.labels().items() if figure.pending},
    )


def _records_of(snapshot: Snapshot) -> int:
    """Return about how many records and failures the tree has, as its machines say: nothing is listed for it."""
    return snapshot.total("pages") + snapshot.errors().total()


def _with_facts(tree: Tree, duplicates: list[Duplicate]) -> list[tuple[Duplicate, Fact]]:
    """Read one page of each again; a page that was removed meanwhile is left out."""
    found = []
    for each in duplicates:
        with contextlib.suppress(TreeError, RecordError):
            found.append((each, fact_of(tree.page(each.host, each.key), each.key)))
    return found
