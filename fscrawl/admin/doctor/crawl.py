"""Checks of a crawl: its settings and signs, and its machines.

A `crawl.toml` that somebody has deleted is written again. Machines keep a copy of the settings that they use, without
the values that may hold passwords. If there is no copy, the defaults are written, with what was fixed when the tree was
made.

Vocabulary:
  seen      a machine whose log grew twice while the check watched, as by two heartbeats; clocks are not compared
  silent    a machine without a goodbye whose log did not

Promise: no machine goes on without a proxy or a login that it had. The file says where such values are missing, in a
way that is no TOML: machines that run keep their last good settings, and no other one starts, until it was edited.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.config import settings
from fscrawl.config.fixed import check_fixed
from fscrawl.config.settings import Settings
from fscrawl.config.site_text import NOT_KEPT
from fscrawl.config.watcher import parse_file
from fscrawl.engine.usable import check_usable
from fscrawl.errors import SettingsError
from fscrawl.fleet import heartbeat
from fscrawl.monitor.advice import host_of, to_resume
from fscrawl.monitor.snapshot import MachineStatus, Observer, state_of
from fscrawl.storage.records import TreeRecord
from fscrawl.store import PAUSE, STOP, Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command


def missing_settings(tree: Tree, *, repair: bool) -> CheckResult:
    """Say that `crawl.toml` is missing, or with `repair` write it again; TreeError if it cannot be written."""
    path = f"{tree.root}/{settings.FILE}"
    if not repair:
        how = f"{command('doctor', tree.root)} --repair"
        return CheckResult(PROBLEM, f"{path} is missing: somebody has deleted it", f"to write it again:  {how}")
    text, source = _known(tree)
    if not tree.controls.restore_settings(_to_complete(text)):
        return CheckResult(WARNING, f"{path} is there again: somebody else has written it")
    if source == "defaults":
        return CheckResult(WARNING, f"{path} was written again, with the defaults: no machine kept a copy", "edit it")
    if NOT_KEPT in text:
        advice = "no machine uses it until you write their values into it again: " + ", ".join(_not_kept(text))
        return CheckResult(WARNING, f"{path} was written again, except for values that may be secret", advice)
    return CheckResult(OK, f"{path} was written again, as machines used it last")


def _known(tree: Tree) -> tuple[str, str]:
    """Give the text to write, and where it is from: "copy" or "defaults"."""
    copy = tree.controls.copy()
    if copy is not None:
        try:
            check_fixed(tree.record, settings.parse(copy, record=tree.record))
        except SettingsError:
            pass
        else:
            return copy, "copy"
    return settings.render(settings.fixed_by(tree.record)), "defaults"


def _to_complete(text: str) -> str:
    """Let a value be missing where the copy has a comment in place of a secret one."""
    not_kept = re.escape(NOT_KEPT)
    return re.sub(rf"^# (\w+ =)  ({not_kept})$", r"\1  # \2", text, flags=re.MULTILINE)


def _not_kept(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if line.endswith(NOT_KEPT)]


_GLANCE_S = 0.25
_BEATS = 2
_LIMIT = 3  # times the heartbeat interval, to see two of them


def read_settings(
    text: str, where: str, check: Callable[[Settings], None] = check_usable, record: TreeRecord | None = None
) -> tuple[Settings, list[CheckResult]]:
    """Read settings, and check whether this machine can use them. Wrong settings count as the defaults.

    `record`: that of the tree, which they must fit; None if there is no tree.
    """
    try:
        chosen = parse_file(text, where, record)
        if record is not None:
            check_fixed(record, chosen, where)
    except SettingsError as error:
        return Settings(), [CheckResult(PROBLEM, str(error))]
    try:
        check(chosen)
    except SettingsError as error:
        advice = "set it in the environment of this machine" if "is not set" in str(error) else ""
        return chosen, [CheckResult(PROBLEM, str(error), advice)]
    return chosen, [CheckResult(OK, f"this machine can use {where}")]


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
