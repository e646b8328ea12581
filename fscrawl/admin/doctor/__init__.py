"""Checks of this machine, of a directory, and of the tree that is there or will be made there.

Vocabulary:
  check      looks at one thing; its result is "ok", "warning" or "problem", and what to do
  problem    a crawl would fail, or lose work; a warning is only worth knowing

Promise: nothing is fetched, and the crawl is not changed. Files that a check makes are removed again. If the file
system does not answer, the user is told while the check waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from fscrawl import store, urls
from fscrawl.admin.doctor import browser, crawl, directory, permissions, room, this_machine
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.admin.doctor.repair import missing_settings
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import Settings
from fscrawl.engine.usable import check_edit, check_usable
from fscrawl.errors import TreeError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.sites.rules import origins
from fscrawl.store import Tree
from fscrawl.util.progress import SILENT, ProgressLine

__all__ = ["OK", "PROBLEM", "WARNING", "CheckResult", "examine"]

_HUNG_S = 10.0
_RESOLVE_S = 10.0


def examine(
    root: Path,
    workers: int,
    threads: int,
    warn: Callable[[str], None],
    lookup: this_machine.Lookup = this_machine.addresses_of,
    allow_env: Collection[str] = (),
    line: ProgressLine = SILENT,
    *,
    repair: bool = False,
) -> Iterator[CheckResult]:
    """Check this machine, the directory and, if there is a tree, the crawl.

    `workers`, `threads`, `allow_env`: as for `fscrawl crawl`. `warn`: is told what the checks wait for.
    `lookup`: gives the addresses of a host name. `line`: shows what is checked. `repair`: write `crawl.toml` again if
    it was deleted.
    """
    line.begin("checking", unit="")
    yield from this_machine.python()
    yield from this_machine.packages()
    yield from this_machine.memory(workers)
    waiting = threading.Timer(_HUNG_S, warn, (f"still waiting for {root}; does the file system hang?",))
    waiting.daemon = True
    waiting.start()
    try:
        yield from _directory(root, workers, threads, warn, lookup, waiting, allow_env, line, repair=repair)
    except TreeError as error:
        yield CheckResult(PROBLEM, str(error))
    finally:
        waiting.cancel()


def _directory(
    root: Path,
    workers: int,
    threads: int,
    warn: Callable[[str], None],
    lookup: this_machine.Lookup,
    waiting: threading.Timer,
    allow_env: Collection[str],
    line: ProgressLine,
    *,
    repair: bool,
) -> Iterator[CheckResult]:
    holder = directory.holder_of(root)
    if not holder.is_dir():
        yield CheckResult(PROBLEM, f"{holder} does not exist", "check that the share is mounted, and the path")
        return
    yield from directory.mount(holder)
    yield from directory.free_space(holder)
    state = store.state_of(root)
    tree = Tree(root, new_machine_id()) if state == "tree" else None
    yield from directory.try_out(tree, holder)
    waiting.cancel()
    if tree is None:
        yield CheckResult(OK, f"there is no tree at {root} yet; the first crawl with seeds makes it")
    elif store.kept_settings(root) is None:
        yield missing_settings(tree, repair=repair)
    chosen, results = _settings(root, tree, allow_env)
    yield from results
    yield from room.compare(holder, chosen, *((0, 0) if tree is None else crawl.stored(tree, chosen)))
    yield from this_machine.open_files(workers, threads)
    line.begin("trying the browser", unit="")
    yield from browser.browser(chosen, warn)
    line.begin("resolving host names", unit="")
    yield from _seeds(root, chosen, lookup)
    if tree is not None:
        yield from permissions.compare(tree)
        yield from crawl.user_agent(chosen)
        yield from _fleet(tree, chosen, warn, line)


def _settings(root: Path, tree: Tree | None, allow_env: Collection[str]) -> tuple[Settings, list[CheckResult]]:
    text = store.kept_settings(root)
    if text is None:
        return Settings(), []
    record = None if tree is None else tree.record
    check = check_usable if tree is None else partial(check_edit, tree)
    return crawl.read_settings(text, f"{root}/{settings.FILE}", partial(check, allow_env=allow_env), record)


def _seeds(root: Path, chosen: Settings, lookup: this_machine.Lookup) -> Iterator[CheckResult]:
    """Check `seeds.txt`, even if there is no tree yet."""
    path = root / store.SEEDS
    text = store.kept_seeds(root) or ""
    bad: list[str] = []
    found = read_seeds(text, str(path), bad.append)
    yield from crawl.limited(CheckResult(WARNING, line) for line in bad)
    if text and not found and not any(site.seeds for site in chosen.sites):
        yield CheckResult(PROBLEM, f"{path} has no URL", "add a full URL, such as https://example.org/")
    hosts = map(urls.hostname, [*found, *origins(chosen.sites)])
    yield from crawl.limited(this_machine.names(hosts, chosen.fetch, _RESOLVE_S, lookup))


def _fleet(tree: Tree, chosen: Settings, warn: Callable[[str], None], line: ProgressLine) -> Iterator[CheckResult]:
    line.begin("reading heartbeats", unit="")
    yield from crawl.signs(tree)
    machines = crawl.Machines(tree)
    yield from machines.collisions()
    line.begin("watching heartbeats", unit="")
    yield from crawl.limited(machines.watch(chosen.fleet.beat, warn))
    yield from crawl.state(tree, chosen, machines)
    line.begin("looking for half-written files", unit="")
    yield from machines.temporaries()
