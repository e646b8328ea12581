"""Checks of a crawl: its settings and signs, and its machines.

Vocabulary:
  seen      a machine whose log grew by two heartbeats while the check watched; clocks are not compared
  silent    a machine without a goodbye whose log did not grow by two heartbeats
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.config import settings
from fscrawl.config.fixed import check_fixed
from fscrawl.config.settings import Settings
from fscrawl.config.watcher import parse_file
from fscrawl.engine.usable import check_usable
from fscrawl.errors import SettingsError
from fscrawl.fleet import heartbeat
from fscrawl.fleet.beat import Hello, parse_lines
from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.peer import Peer
from fscrawl.monitor.advice import host_of, to_resume
from fscrawl.monitor.snapshot import Observer, state_of
from fscrawl.storage.layout import PAGE_DIRECTORIES
from fscrawl.storage.records import TreeRecord
from fscrawl.store import PAUSE, STOP, Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.parallel import READERS, in_turn_if_slow

_GLANCE_S = 0.25
_BEATS = 2
_LIMIT = 3  # times the heartbeat interval, to see two of them
_MOST_HOSTS = 200  # hosts that are searched for half-written files; the audit searches all
_MOST_SHOWN = 10
_HELLO_BYTES = 1 << 16


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
    """The machines of a tree, by their heartbeat logs."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._machinery = Machinery(tree)
        self._peers: dict[str, Peer] = {}
        self._hellos: dict[str, list[Hello]] = {}
        self.seen: set[str] = set()  # with heartbeats while `watch` looked
        self.silent: set[str] = set()  # without
        names = [name for name in sorted(self._machinery.machines()) if name != tree.machine]
        for peer, hellos in in_turn_if_slow(self._meet, names, READERS):
            self._peers[peer.machine], self._hellos[peer.machine] = peer, hellos

    def _meet(self, name: str) -> tuple[Peer, list[Hello]]:
        """Read the log of a machine; on a slow share, other threads read others."""
        peer = Peer(name, 0.0)
        hellos = _hellos(self._machinery.read_heartbeats(name, 0, most=_HELLO_BYTES))
        peer.read(self._machinery, 0.0)
        return peer, hellos

    def at_work(self) -> list[str]:
        """Give the machines that may be alive: without a goodbye, and their process is not known to have ended."""
        return [peer.machine for peer in self._peers.values() if not _is_over(peer)]

    def watch(
        self,
        beat_s: float,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Iterator[CheckResult]:
        """Watch whether the logs grow by two heartbeats, for the time of three."""
        maybe = self.at_work()
        if not maybe:
            yield CheckResult(OK, "no machine is running")
            return
        limit_s = _LIMIT * beat_s
        warn(f"waiting for {_BEATS} heartbeats of {number_of(len(maybe), 'machine')}, for {limit_s:g} s at most")
        beats, until = dict.fromkeys(maybe, 0), clock() + limit_s
        while clock() < until and any(self._is_awaited(name, beats[name]) for name in maybe):
            sleep(min(_GLANCE_S, beat_s / 4))
            for name in maybe:
                beats[name] += self._peers[name].read(self._machinery, 0.0)
        yield from self._verdicts(beats, limit_s)

    def _is_awaited(self, name: str, beats: int) -> bool:
        return beats < _BEATS and not self._peers[name].left

    def _verdicts(self, beats: dict[str, int], limit_s: float) -> Iterator[CheckResult]:
        seen = [name for name, number in beats.items() if number >= _BEATS or self._peers[name].left]
        if seen:
            yield CheckResult(OK, f"this machine sees the heartbeats of {number_of(len(seen), 'running machine')}")
        self.seen, self.silent = set(seen), beats.keys() - seen
        for name in sorted(self.silent):
            if heartbeat.runs_here(self._peers[name].greeting):
                what = f"{name} runs on this host but writes no heartbeats"
                yield CheckResult(PROBLEM, what, "its mount may hang, or the process is suspended")
            else:
                what = f"no heartbeats of {name} within {limit_s:g} s"
                yield CheckResult(
                    WARNING, what, "if it is dead, other machines take over its work; if it runs, check its mount"
                )

    def collisions(self) -> Iterator[CheckResult]:
        """Find logs with two writers, and machines with the same host name."""
        for name, hellos in self._hellos.items():
            if len(hellos) > 1:
                what = f"{len(hellos)} processes have written the log of {name}"
                yield CheckResult(PROBLEM, what, "two machines have the same id; stop both and start them again")
        boots: defaultdict[str, set[str]] = defaultdict(set)
        here = heartbeat.hello("")
        for greeting in (here, *(self._peers[name].greeting for name in self.at_work())):
            if greeting is not None:
                boots[greeting.host].add(greeting.boot)
        for host, found in sorted(boots.items()):
            if host and len(found) > 1:
                what = f"{len(found)} machines have the host name {host}"
                yield CheckResult(
                    WARNING,
                    what,
                    "give each its own host name; it shows who owns a half-written file",
                )

    def temporaries(self) -> Iterator[CheckResult]:
        """Look for half-written files of dead machines: beside the settings, in .fscrawl, and on some hosts."""
        hosts = sorted({host for directory in PAGE_DIRECTORIES for host in self._tree.hosts(directory)})
        found = self._tree.machinery_temporaries()
        for host in hosts[:_MOST_HOSTS]:
            found += self._tree.all_temporaries(host)
        dead = [path for path, owner in found if self._is_dead(owner)]
        if dead:
            what = f"{number_of(len(dead), 'half-written file')} of dead machines, such as {Path(dead[0]).name}"
            yield CheckResult(
                WARNING, what, f"they do no harm; to remove them:  {command('audit', self._tree.root)} --repair"
            )
        else:
            part = "" if len(hosts) <= _MOST_HOSTS else f" on the first {_MOST_HOSTS} hosts"
            yield CheckResult(OK, f"no half-written files of dead machines{part}")

    def _is_dead(self, owner: str) -> bool:
        peer = self._peers.get(owner)
        if peer is None:
            return heartbeat.is_gone_by_name(owner)
        return _is_over(peer)


def state(tree: Tree, chosen: Settings, machines: Machines) -> Iterator[CheckResult]:
    """Say how the crawl is. Which machines are alive is taken from what `machines` has seen, not from clocks."""
    snapshot = Observer(tree, lambda: chosen).look()
    for machine in snapshot.machines:
        if machine.name in machines.silent:
            machine.state = "dead"
        elif machine.name in machines.seen and not machine.left:
            machine.state = "alive"
    found = state_of(snapshot)
    yield CheckResult(OK, f"the crawl is {found}: {found.meaning}")


def stored(tree: Tree, chosen: Settings) -> tuple[int, int]:
    """Give how many pages the tree has, and their bytes, by the counters of its machines."""
    snapshot = Observer(tree, lambda: chosen).look()
    return snapshot.total("pages"), snapshot.total("bytes")


def _is_over(peer: Peer) -> bool:
    return peer.left or (peer.greeting is not None and heartbeat.is_gone(peer.greeting))


def _hellos(data: bytes) -> list[Hello]:
    return [line for line in parse_lines(data) if isinstance(line, Hello)]


def limited(results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """Give at most ten results of each level, then the number of the others."""
    counts: dict[str, int] = {}
    for each in results:
        counts[each.level] = counts.get(each.level, 0) + 1
        if counts[each.level] <= _MOST_SHOWN:
            yield each
    for level, number in counts.items():
        if number > _MOST_SHOWN:
            yield CheckResult(level, f"and {number - _MOST_SHOWN} more like this")
