"""Checks of this machine, of a directory, and of the tree that is there or will be made there.

A `crawl.toml` that somebody has deleted is written again. Machines keep a copy of the settings that they use, without
the values that may hold passwords. If there is no copy, the defaults are written, with what was fixed when the tree was
made.

Vocabulary:
  check      looks at one thing; its result is "ok", "warning" or "problem", and what to do
  problem    a crawl would fail, or lose work; a warning is only worth knowing
  seen       a machine whose log grew twice while the check watched, as by two heartbeats; clocks are not compared
  silent     a machine without a goodbye whose log did not

Promise: nothing is fetched, and the crawl is not changed. Files that a check makes are removed again. If the file
system does not answer, a warning says so while the check waits. No machine goes on without a proxy or a login that it
had: a `crawl.toml` that is written again says where such values are missing, in a way that is no TOML. Machines that
run keep their last good settings, and no other one starts, until it was edited.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from fscrawl import store, urls
from fscrawl.admin.doctor import directory, this_machine
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult, limited
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import NOT_KEPT, Settings, check_fixed
from fscrawl.config.watcher import parse_file
from fscrawl.engine.usable import check_edit
from fscrawl.errors import NotATreeError, SettingsError, TreeError
from fscrawl.fleet import heartbeat
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.monitor.advice import host_of, to_resume
from fscrawl.monitor.snapshot import MachineStatus, Observer, state_of
from fscrawl.request import url_of
from fscrawl.sites.rules import origins
from fscrawl.storage.mounts import mount_at
from fscrawl.store import PAUSE, STOP, Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.progress import SILENT, ProgressLine

__all__ = ["OK", "PROBLEM", "WARNING", "CheckResult", "examine"]

_HUNG_S = 10.0
_RESOLVE_S = 10.0
_GLANCE_S = 0.25
_BEATS = 2
_LIMIT = 3  # times the heartbeat interval, to see two of them


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
        line.begin("the mount", unit="")
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
            yield missing_settings(tree, repair=repair)
        chosen, results = read_settings(root, tree, allow_env)
        yield from step("the settings", results)
        machines = None if tree is None else Machines(tree, chosen)
        stored = (0, 0) if machines is None else machines.stored()
        space = directory.free_space(holder, chosen, *stored)
        yield from step("space and limits", space, this_machine.open_files(workers, threads))
        yield from step("trying the browser", this_machine.browser(chosen, warn))
        yield from step("resolving host names", _seeds(root, chosen, lookup, allow_env, is_made=tree is not None))
        if tree is not None and machines is not None:
            yield from step("the directories", directory.missing_directories(tree), directory.openness(tree))
            yield from step("the crawl", user_agent(chosen), signs(tree))
            yield from step("watching heartbeats", limited(machines.watch(chosen.fleet.beat, warn)), machines.state())
    except TreeError as error:
        yield CheckResult(PROBLEM, str(error))
    finally:
        waiting.cancel()


def _step(line: ProgressLine, what: str, *results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """Give results, and show what is looked at meanwhile. Who prints one ends the line, so the line begins again."""
    line.begin(what, unit="")
    for each in chain(*results):
        yield each
        line.begin(what, unit="")


def _no_tree(root: Path, state: str) -> CheckResult:
    """Say whether a crawl can make a tree here; TreeError if something is in the place of its parts."""
    if state != "nothing":
        with contextlib.suppress(NotATreeError):  # what other commands say, unless only `tree.json` is missing
            Tree(root, new_machine_id())
    if remains := store.remains_of_tree(root):
        return CheckResult(PROBLEM, f"{root}: {remains}")
    return CheckResult(OK, f"there is no tree at {root} yet; the first crawl with seeds makes it")


# -- crawl.toml


def missing_settings(tree: Tree, *, repair: bool) -> CheckResult:
    """Say that `crawl.toml` is missing, or with `repair` write it again; TreeError if it cannot be written."""
    path = f"{tree.root}/{settings.FILE}"
    if not repair:
        how = f"{command('doctor', tree.root)} --repair"
        return CheckResult(PROBLEM, f"{path} is missing: somebody has deleted it", f"to write it again:  {how}")
    copy = _good_copy(tree)
    text = settings.render(settings.fixed_by(tree.record)) if copy is None else copy
    if not tree.controls.restore_settings(_to_complete(text)):
        return CheckResult(WARNING, f"{path} is there again: somebody else has written it")
    if copy is None:
        return CheckResult(WARNING, f"{path} was written again, with the defaults: no machine kept a copy", "edit it")
    if NOT_KEPT in text:
        advice = "no machine uses it until you write their values into it again: " + ", ".join(_not_kept(text))
        return CheckResult(WARNING, f"{path} was written again, except for values that may be secret", advice)
    return CheckResult(OK, f"{path} was written again, as machines used it last")


def _good_copy(tree: Tree) -> str | None:
    """Give the settings that machines have kept; None if there are none, or they do not fit the tree."""
    copy = tree.controls.copy()
    if copy is not None:
        try:
            check_fixed(tree.record, settings.parse(copy, record=tree.record))
        except SettingsError:
            return None
    return copy


def _to_complete(text: str) -> str:
    """Let a value be missing where the copy has a comment in place of a secret one."""
    not_kept = re.escape(NOT_KEPT)
    return re.sub(rf"^# (\w+ =)  ({not_kept})$", r"\1  # \2", text, flags=re.MULTILINE)


def _not_kept(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if line.endswith(NOT_KEPT)]


def read_settings(root: Path, tree: Tree | None, allow_env: Collection[str]) -> tuple[Settings, list[CheckResult]]:
    """Read `crawl.toml`, and check whether this machine can use it. Wrong settings count as the defaults."""
    text, where = store.text_if_there(root), f"{root}/{settings.FILE}"
    if text is None:
        return Settings(), []
    record = None if tree is None else tree.record
    try:
        chosen = parse_file(text, where, record)
        if record is not None:
            check_fixed(record, chosen, where)
    except SettingsError as error:
        return Settings(), [CheckResult(PROBLEM, str(error))]
    try:
        check_edit(root, chosen, allow_env)
    except SettingsError as error:
        advice = "set it in the environment of this machine" if "is not set" in str(error) else ""
        return chosen, [CheckResult(PROBLEM, str(error), advice)]
    return chosen, [CheckResult(OK, f"this machine can use {where}")]


# -- the seeds, the signs and the machines


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


def user_agent(chosen: Settings) -> Iterator[CheckResult]:
    name = chosen.politeness.user_agent
    if name == settings.USER_AGENT or not ("@" in name or "://" in name):
        yield CheckResult(
            WARNING, f"politeness.user_agent has no mail or web address: {name}", "put your address into crawl.toml"
        )
    else:
        yield CheckResult(OK, f"politeness.user_agent is {name}")


def signs(tree: Tree) -> Iterator[CheckResult]:
    for name in sorted(tree.controls.signs()):
        host, aim = host_of(name), "to go on"
        advice = to_resume(tree.root) if host is None else to_resume(tree.root, host)
        if name in (STOP, PAUSE):
            what = "no machine may run" if name == STOP else "nothing is fetched"
        elif host is not None:
            what = f"nothing is fetched from {host}"
        else:
            what, aim = "it is not the name of a host, and pauses nothing", "to remove it"
        yield CheckResult(WARNING, f"{name} is in the root: {what}", f"{aim}:  {advice}")


class Machines:
    """The machines of a tree, by their heartbeat logs. `seen`, `silent`: what `watch` has shown."""

    def __init__(
        self,
        tree: Tree,
        chosen: Settings,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.seen: set[str] = set()
        self.silent: set[str] = set()
        self._observer = Observer(tree, lambda: chosen, clock=clock)
        self._snapshot = self._observer.look()
        self._clock = clock
        self._sleep = sleep

    def stored(self) -> tuple[int, int]:
        """Give how many pages the tree has, and their bytes, by the counters of its machines."""
        return self._snapshot.total("pages"), self._snapshot.total("bytes")

    def watch(self, beat_s: float, warn: Callable[[str], None]) -> Iterator[CheckResult]:
        """Watch whether the logs grow by two heartbeats, for the time of three."""
        maybe = [machine for machine in self._snapshot.machines if not _is_over(machine)]
        if not maybe:
            yield CheckResult(OK, "no machine is running")
            return
        limit_s = _LIMIT * beat_s
        warn(f"waiting for {_BEATS} heartbeats of {number_of(len(maybe), 'machine')}, for {limit_s:g} s at most")
        grown, until = Counter[str](), self._clock() + limit_s
        while self._clock() < until and any(grown[m.name] < _BEATS and not m.left for m in maybe):
            self._sleep(min(_GLANCE_S, beat_s / 4))
            before = {machine.name: machine.offset for machine in maybe}
            self._snapshot = self._observer.look()
            grown.update(machine.name for machine in maybe if machine.offset > before[machine.name])
        self.seen = {machine.name for machine in maybe if grown[machine.name] >= _BEATS or machine.left}
        self.silent = {machine.name for machine in maybe} - self.seen
        if self.seen:
            what = f"this machine sees the heartbeats of {number_of(len(self.seen), 'running machine')}"
            yield CheckResult(OK, what)
        for machine in maybe:
            if machine.name not in self.silent:
                continue
            if heartbeat.runs_here(machine.hello):
                what = f"{machine.name} runs on this host but writes no heartbeats"
                yield CheckResult(PROBLEM, what, "its mount may hang, or the process is suspended")
            else:
                what = f"no heartbeats of {machine.name} within {limit_s:g} s"
                advice = "if it is dead, other machines take over its work; if it runs, check its mount"
                yield CheckResult(WARNING, what, advice)

    def state(self) -> Iterator[CheckResult]:
        """Say how the crawl is. Which machines are alive is what `watch` has seen, and not said by clocks."""
        for machine in self._snapshot.machines:
            if machine.name in self.silent:
                machine.state = "dead"
            elif machine.name in self.seen and not machine.left:
                machine.state = "alive"
        found = state_of(self._snapshot)
        yield CheckResult(OK, f"the crawl is {found}: {found.meaning}")


def _is_over(machine: MachineStatus) -> bool:
    return machine.left or (machine.hello is not None and heartbeat.is_gone(machine.hello))
