"""The power is back: what was left is audited and repaired, and the crawl started again.

A machine is started as after any crash, by the same command; where no tree was left the seeds are given again. A repair
sets torn records aside of which nothing tells the URL, and says so; the crawl finds their URLs, and then another repair
clears what was set aside away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fscrawl import store
from fscrawl.admin.audit import Report, audit
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.fleet import heartbeat
from tests.support.crawling import body, check_tree, crawl, errors, pages
from tests.support.power.disk import Survivors
from tests.support.power.recording import ROOT, Recording

_LEFT = {"torn_records", "damaged_errors"}  # what a repair may leave, if it does not know the URL


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came of it. `found` by the first repair; `again`: pages fetched once more.

    `pages` are stored when all is over, `lost` are not, and `wrong` is what an audit says then.
    """

    found: Counter[str]
    again: int
    pages: int
    lost: int
    wrong: Counter[str]


def make(survivors: Survivors, directory: Path, *, rebooted: bool = False) -> None:
    """Make the disk that was left. `rebooted`: the crawling machine lost power, too, and not only the disk's server.

    After a boot nobody can tell by a process that a machine is over: its log is watched for `dead_after` seconds.
    """
    boot = heartbeat.hello("").boot.encode()
    directory.mkdir()
    for path, data in sorted(survivors.items()):
        if data is None:
            (directory / path).mkdir()
        else:
            (directory / path).write_bytes(data.replace(boot, boot[::-1]) if rebooted else data)


def recover(recording: Recording, directory: Path, before: Mapping[str, str]) -> Aftermath:
    """Repair and crawl once. `before`: the URLs that had been stored, and by which machine."""
    root = directory / ROOT
    found = repair(root).found.copy()
    done = crawl(root, *recording.flags, **_start(recording, root))
    assert done.code == 0, done
    last = repair(root)
    assert last.ok, "\n".join(last.lines())
    stored, machines = pages(root), set(before.values())
    again = sum(url in before and record.machine not in machines for url, record in stored.items())
    lost = len(recording.expected.keys() - stored.keys())
    return Aftermath(found, again, len(stored), lost, +_audit(root, repair=False).found)


def check(recording: Recording, directory: Path) -> None:
    """Assert that the tree is as if nothing had happened: these pages, these bodies, and nothing beside them."""
    root = directory / ROOT
    check_tree(root)
    stored = pages(root)
    assert stored.keys() == recording.expected.keys(), stored.keys() ^ recording.expected.keys()
    assert errors(root).keys() == recording.failing
    for url, data in recording.expected.items():
        assert bool(stored[url].sha256) == (data is not None), url
        assert data is None or body(root, url) == data, url


def repair(root: Path) -> Report:
    """Do what `fscrawl audit --repair` does: it ends well, or says what it had to leave. Without a tree: nothing."""
    if store.state_of(root) != "tree":
        return Report(str(root))
    report = _audit(root, repair=True)
    left = {kind for kind, count in report.found.items() if count > report.mended[kind]}
    assert report.ok or left <= _LEFT, "\n".join(report.lines())
    return report


def _audit(root: Path, *, repair: bool) -> Report:
    tree = store.Tree(root, heartbeat.new_machine_id())
    seeds = read_seeds(tree.controls.seeds(), "seeds.txt", lambda _: None)
    return audit(tree, settings.parse(tree.controls.settings()), seeds, repair=repair)


def _start(recording: Recording, root: Path) -> dict[str, Any]:
    options: dict[str, Any] = {"workers": 1, "settings": recording.settings}
    return options if store.state_of(root) == "tree" else {**options, "seeds": [recording.seed]}
