"""Checks of this machine, of a directory, and of the tree that is there or will be made there.

Vocabulary:
  check      looks at one thing; its result is "ok", "warning" or "problem", and what to do
  problem    a crawl would fail, or lose work; a warning is only worth knowing

Promise: nothing is fetched, and the crawl is not changed. Files that a check makes are removed again. If the file
system does not answer, a warning says so while the check waits.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from fscrawl import store, urls
from fscrawl.admin.doctor import crawl, directory, this_machine
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult, limited
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import Settings
from fscrawl.engine.usable import check_edit
from fscrawl.errors import NotATreeError, SettingsError, TreeError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.request import url_of
from fscrawl.sites.rules import origins
from fscrawl.storage.mounts import mount_at
from fscrawl.store import Tree
from fscrawl.util.progress import SILENT, ProgressLine

__all__ = ["OK", "PROBLEM", "WARNING", "CheckResult", "examine"]

_Step = Callable[..., Iterator[CheckResult]]

_HUNG_S = 10.0
_RESOLVE_S = 10.0


def _step(line: ProgressLine, what: str, *results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """Give results, and show what is looked at meanwhile. Who prints one ends the line, so the line begins again."""
    line.begin(what, unit="")
    for each in chain(*results):
        yield each
        line.begin(what, unit="")


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

    `workers`, `threads`, `allow_env`: as for `fscrawl crawl`. `warn`: gets what the checks wait for.
    `lookup`: gives the addresses of a host name. `line`: shows what is checked. `repair`: write `crawl.toml` again if
    it was deleted.
    """
    step = partial(_step, line)
    yield from step("this machine", this_machine.python(), this_machine.packages(), this_machine.memory(workers))
    waiting = threading.Timer(_HUNG_S, warn, (f"still waiting for {root}; does the file system hang?",))
    waiting.daemon = True
    waiting.start()
    try:
        yield from _directory(root, workers, threads, warn, lookup, waiting, allow_env, step, repair=repair)
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
    step: _Step,
    *,
    repair: bool,
) -> Iterator[CheckResult]:
    yield from step("the mount")
    holder = directory.holder_of(root)
    if not holder.is_dir():
        what = "is a file, and no directory" if holder.exists() else "does not exist"
        yield CheckResult(PROBLEM, f"{holder} {what}", "check that the share is mounted, and the path")
        return
    yield from step("the mount", directory.mount(holder, mount_at(holder)))
    state = store.state_of(root)
    tree = Tree(root, new_machine_id()) if state == "tree" else None
    yield from step("trying out the file system", directory.try_out(tree, holder))
    waiting.cancel()
    if tree is None:
        yield _no_tree(root, state)
    elif store.text_if_there(root) is None:
        yield crawl.missing_settings(tree, repair=repair)
    chosen, results = _settings(root, tree, allow_env)
    yield from step("the settings", results)
    machines = None if tree is None else crawl.Machines(tree, chosen)
    stored = (0, 0) if machines is None else machines.stored()
    space = directory.free_space(holder, chosen, *stored)
    yield from step("space and limits", space, this_machine.open_files(workers, threads))
    yield from step("trying the browser", this_machine.browser(chosen, warn))
    yield from step("resolving host names", _seeds(root, chosen, lookup, allow_env, is_made=tree is not None))
    if tree is not None and machines is not None:
        yield from step("the directories", directory.missing_directories(tree), directory.openness(tree))
        yield from step("the crawl", crawl.user_agent(chosen), crawl.signs(tree))
        yield from step("watching heartbeats", limited(machines.watch(chosen.fleet.beat, warn)), machines.state())


def _no_tree(root: Path, state: str) -> CheckResult:
    """Say whether a crawl can make a tree here; TreeError if something is in the place of its parts."""
    if state != "nothing":
        with contextlib.suppress(NotATreeError):  # what other commands say, unless only `tree.json` is missing
            Tree(root, new_machine_id())
    if remains := store.remains_of_tree(root):
        return CheckResult(PROBLEM, f"{root}: {remains}")
    return CheckResult(OK, f"there is no tree at {root} yet; the first crawl with seeds makes it")


def _settings(root: Path, tree: Tree | None, allow_env: Collection[str]) -> tuple[Settings, list[CheckResult]]:
    text = store.text_if_there(root)
    if text is None:
        return Settings(), []
    record = None if tree is None else tree.record
    check = partial(check_edit, root, allow_env=allow_env)
    return crawl.read_settings(text, f"{root}/{settings.FILE}", check, record)


def _seeds(
    root: Path, chosen: Settings, lookup: this_machine.Lookup, allow_env: Collection[str], *, is_made: bool
) -> Iterator[CheckResult]:
    """Check `seeds.txt`, even if there is no tree yet, and the proxies on the way to them.

    `is_made`: there is one, which may have its seeds from a site file.
    """
    path = root / store.SEEDS
    text = store.text_if_there(root, store.SEEDS) or ""
    bad: list[str] = []
    found = read_seeds(text, str(path), bad.append)
    yield from limited(CheckResult(WARNING, line) for line in bad)
    if text and not found and not any(site.seeds for site in chosen.sites):
        level, unless = (
            (WARNING, "unless a site file (crawl --site) gives the seeds, ") if is_made and not bad else (PROBLEM, "")
        )
        yield CheckResult(level, f"{path} has no URL", f"{unless}add a full URL, such as https://example.org/")
    hosts = map(urls.hostname, [*found, *origins(chosen.rules)])
    yield from limited(this_machine.names(hosts, chosen.fetch, _RESOLVE_S, lookup))
    if found and chosen.fetch.proxies:
        with contextlib.suppress(SettingsError):  # of a variable that is missing; the check of the settings has said it
            yield from this_machine.proxies(url_of(next(iter(found))), chosen, allow_env)
