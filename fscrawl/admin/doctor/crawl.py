"""The crawl that is there: its settings and signs, and the machines on it.

Vocabulary:
  beats     lines of a heartbeat log; whether a machine lives is told by its log growing, as seen from here, and by
            no clock
  seen      it has beaten twice while we looked
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fscrawl.admin.doctor.said import OK, PROBLEM, WARNING, Said
from fscrawl.config import settings
from fscrawl.config.settings import Settings
from fscrawl.engine.machine import check_usable
from fscrawl.errors import SettingsError
from fscrawl.fleet import heartbeat
from fscrawl.fleet.beat import Hello, parse_lines
from fscrawl.fleet.leases import Machinery
from fscrawl.monitor.snapshot import Observer
from fscrawl.monitor.state import state_of
from fscrawl.storage.layout import PAGE_ROOMS
from fscrawl.store import PAUSE, STOP, Tree

_GLANCE_S = 0.25
_BEATS = 2
_PATIENCE = 3  # beats, for two to be seen
_MOST_HOSTS = 200  # whose directories are looked through for temporaries; the audit looks through all
_MOST_TOLD = 10
_HELLO_BYTES = 1 << 16


def read_settings(
    text: str, where: str, check: Callable[[Settings], None] = check_usable
) -> tuple[Settings, list[Said]]:
    """Read settings, and say whether this machine can go by them; those that are wrong count as the defaults."""
    try:
        chosen = settings.parse(text, where)
    except SettingsError as error:
        return Settings(), [Said(PROBLEM, str(error))]
    try:
        check(chosen)
    except SettingsError as error:
        return chosen, [Said(PROBLEM, str(error), "set it in the environment of this machine")]
    return chosen, [Said(OK, f"{where} can be used here")]


def user_agent(chosen: Settings) -> Iterator[Said]:
    name = chosen.politeness.user_agent
    if name == settings.USER_AGENT or not ("@" in name or "://" in name):
        yield Said(WARNING, f"politeness.user_agent names no address: {name}", "put one of yours into crawl.toml")
    else:
        yield Said(OK, f"politeness.user_agent is {name}")


def signs(tree: Tree) -> Iterator[Said]:
    for name in sorted(tree.controls.signs()):
        what = "no machine may run" if name == STOP else "nothing is fetched"
        what = what if name in (STOP, PAUSE) else f"nothing is fetched of {name.removeprefix(f'{PAUSE}.')}"
        yield Said(WARNING, f"{name} is in the root: {what}", f"to go on:  fscrawl resume --root {tree.root}")


class Machines:
    """The machines that have a log on a tree, and no goodbye in it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._machinery = Machinery(tree)
        self._peers: dict[str, heartbeat.Peer] = {}
        self._hellos: dict[str, list[Hello]] = {}
        self.seen: set[str] = set()  # with heartbeats while `watch` looked
        self.silent: set[str] = set()  # without
        for name in sorted(self._machinery.machines()):
            if name != tree.machine:
                self._hellos[name] = _hellos(self._machinery.read_heartbeats(name, 0, most=_HELLO_BYTES))
                self._peers[name] = heartbeat.Peer(name, 0.0)
                self._read(self._peers[name])

    def _read(self, peer: heartbeat.Peer) -> int:
        """Take in what a log has grown by; tell how many beats that is."""
        lines = 0
        while data := self._machinery.read_heartbeats(peer.machine, peer.offset):
            peer.take(data, 0.0)
            lines += data.count(b"\n")
        return lines

    def at_work(self) -> list[str]:
        """Give the machines that may be alive: no goodbye, and, where that can be seen, their process runs."""
        return [peer.machine for peer in self._peers.values() if not _is_over(peer)]

    def watch(
        self,
        beat_s: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Iterator[Said]:
        """Look whether the logs grow by two beats, as seen from here, within the time of three."""
        maybe = self.at_work()
        if not maybe:
            yield Said(OK, "no machine is at work")
            return
        patience_s = _PATIENCE * beat_s
        say(f"waiting for {_BEATS} heartbeats of {len(maybe)} machines, {patience_s:g} s at most")
        beats, until = dict.fromkeys(maybe, 0), clock() + patience_s
        while clock() < until and any(self._is_awaited(name, beats[name]) for name in maybe):
            sleep(min(_GLANCE_S, beat_s / 4))
            for name in maybe:
                beats[name] += self._read(self._peers[name])
        yield from self._verdicts(beats, patience_s)

    def _is_awaited(self, name: str, beats: int) -> bool:
        return beats < _BEATS and not self._peers[name].left

    def _verdicts(self, beats: dict[str, int], patience_s: float) -> Iterator[Said]:
        seen = [name for name, number in beats.items() if number >= _BEATS or self._peers[name].left]
        if seen:
            yield Said(OK, f"{len(seen)} machines are at work, and their heartbeats are seen from here")
        self.seen, self.silent = set(seen), beats.keys() - seen
        for name in sorted(self.silent):
            if heartbeat.runs_here(self._peers[name].greeting):
                what = f"{name} runs on this host and writes no heartbeats"
                yield Said(PROBLEM, what, "does its mount hang, or was it suspended?")
            else:
                what = f"no heartbeats of {name} are seen within {patience_s:g} s"
                yield Said(WARNING, what, "it is dead, and will be taken over from; if it runs, look at its mount")

    def collisions(self) -> Iterator[Said]:
        """Say where two processes write one log, and where two machines have one name."""
        for name, hellos in self._hellos.items():
            if len(hellos) > 1:
                what = f"{len(hellos)} processes have written the log of {name}"
                yield Said(PROBLEM, what, "two machines drew one id: stop both, and start them again")
        boots: defaultdict[str, set[str]] = defaultdict(set)
        here = heartbeat.hello("")
        for greeting in (here, *(self._peers[name].greeting for name in self.at_work())):
            if greeting is not None:
                boots[greeting.host].add(greeting.boot)
        for host, found in sorted(boots.items()):
            if host and len(found) > 1:
                what = f"{len(found)} machines are called {host}"
                yield Said(
                    WARNING,
                    what,
                    "give each a host name of its own: by it they tell whose half-written files are whose",
                )

    def temporaries(self) -> Iterator[Said]:
        """Look for what dead machines left half-written: beside the settings, in the machinery, and on some hosts."""
        hosts = sorted({host for room in PAGE_ROOMS for host in self._tree.hosts(room)})
        found = self._tree.machinery_temporaries()
        for host in hosts[:_MOST_HOSTS]:
            found += self._tree.all_temporaries(host)
        dead = [path for path, owner in found if self._is_dead(owner)]
        if dead:
            what = f"{len(dead)} files were left half-written by dead machines, e.g. {Path(dead[0]).name}"
            yield Said(
                WARNING, what, f"they do no harm; to remove them:  fscrawl audit --root {self._tree.root} --repair"
            )
        else:
            part = "" if len(hosts) <= _MOST_HOSTS else f" on the first {_MOST_HOSTS} hosts"
            yield Said(OK, f"nothing was left half-written by dead machines{part}")

    def _is_dead(self, owner: str) -> bool:
        peer = self._peers.get(owner)
        if peer is None:
            return heartbeat.is_gone_by_name(owner)
        return _is_over(peer)


def state(tree: Tree, chosen: Settings, machines: Machines) -> Iterator[Said]:
    """Say how the crawl is. Which machines are alive is taken from what `machines` has seen, not from clocks."""
    snapshot = Observer(tree, lambda: chosen).look()
    for machine in snapshot.machines:
        if machine.name in machines.silent:
            machine.state = "dead"
        elif machine.name in machines.seen and not machine.left:
            machine.state = "alive"
    found = state_of(snapshot)
    yield Said(OK, f"the crawl is {found}: {found.meaning}")


def _is_over(peer: heartbeat.Peer) -> bool:
    return peer.left or (peer.greeting is not None and heartbeat.is_gone(peer.greeting))


def _hellos(data: bytes) -> list[Hello]:
    return [line for line in parse_lines(data) if isinstance(line, Hello)]


def few(said: Iterable[Said]) -> Iterator[Said]:
    """Give what was said, of each level only so much that it can be read."""
    counts: dict[str, int] = {}
    for each in said:
        counts[each.level] = counts.get(each.level, 0) + 1
        if counts[each.level] <= _MOST_TOLD:
            yield each
    for level, number in counts.items():
        if number > _MOST_TOLD:
            yield Said(level, f"and {number - _MOST_TOLD} more like that")
