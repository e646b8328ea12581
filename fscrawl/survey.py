"""What the tree says of the crawl: machines and their counters, from heartbeat logs alone.

Vocabulary:
  machine   a heartbeat log: alive, "left" (it said goodbye) or "dead" (it stopped beating, or its process is over)
  beat      a line of counters with the time it was written, by that machine's clock
  history   the beats of the last hour of a machine, or as many as were read of a long log
  rate      pages a second over some minutes, all machines together

Promise: a look reads what logs have grown by, and of a log that is new to it the beginning and the last MiB: so a look
at a tree of a million pages costs as much as one at an empty one. Times are compared with this machine's clock and with
the newest beat there is, for people only: nothing is decided by it.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fscrawl.heartbeat import is_gone
from fscrawl.machinery import Machinery
from fscrawl.settings import Settings, digest_of
from fscrawl.store import Tree

HISTORY_S = 3600.0
WINDOWS_S = {"1 min": 60.0, "5 min": 300.0, "60 min": 3600.0}
_HISTORY_BEATS = 4000
_END_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Beat:
    """A line of a log: when it was written (UNIX time, by its machine), and its counters."""

    at: float
    facts: dict[str, Any]

    def number(self, name: str) -> float:
        """Give a counter; 0 where there is none, or it is no number."""
        value = self.facts.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else 0

    def table(self, name: str) -> dict[str, float]:
        """Give a table of numbers, as of errors by class."""
        value = self.facts.get(name)
        entries = value.items() if isinstance(value, dict) else ()
        return {key: number for key, number in entries if isinstance(number, int | float)}


@dataclass
class Machine:
    """A machine, as its log shows it. `state`: "alive", "left" or "dead"; `doing`: what keeps it from fetching."""

    name: str
    offset: int = 0
    hello: dict[str, Any] = field(default_factory=dict)
    history: deque[Beat] = field(default_factory=lambda: deque(maxlen=_HISTORY_BEATS))
    left: bool = False
    finished: bool = False
    state: str = "dead"

    @property
    def last(self) -> Beat:
        return self.history[-1] if self.history else Beat(0.0, {})

    @property
    def doing(self) -> str:
        return str(self.last.facts.get("state") or ("idle" if self.last.facts.get("idle") else ""))

    def take(self, data: bytes) -> None:
        """Take in lines of its log; those that are none (a torn beginning, NULs) are skipped."""
        for line in data.splitlines():
            try:
                facts = json.loads(line)
                at = datetime.fromisoformat(facts["at"]).timestamp() if "at" in facts else 0.0
            except (ValueError, TypeError, OverflowError):
                continue
            if not isinstance(facts, dict):
                continue
            if "hello" in facts:
                self.hello = facts
            else:
                self.left = "bye" in facts
                self.finished = bool(facts.get("finished"))
                self.history.append(Beat(at, facts))

    def rate(self, window_s: float, now: float, counter: str = "pages") -> float:
        """Give how fast a counter grew over the last `window_s` seconds, a second."""
        last = self.last
        earlier = [beat for beat in self.history if last.at - beat.at <= window_s]
        if now - last.at > window_s or len(earlier) < 2:
            return 0.0
        grown = last.number(counter) - earlier[0].number(counter)
        return max(0.0, grown) / max(last.at - earlier[0].at, 1e-3)


@dataclass(frozen=True, slots=True)
class View:
    """A look at the crawl. `now`: UNIX time it is of; `free_bytes`: on the tree's disk; `signs`: PAUSE, STOP, …"""

    now: float
    crawl: str
    machines: tuple[Machine, ...]
    signs: tuple[str, ...]
    free_bytes: int
    settings_digest: str

    def alive(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.state == "alive"]

    def total(self, counter: str) -> float:
        """Sum a counter over all machines that ever were."""
        return sum(machine.last.number(counter) for machine in self.machines)

    def at_work(self, counter: str) -> float:
        """Sum a counter over the machines that are alive: of what is pending or in flight now."""
        return sum(machine.last.number(counter) for machine in self.alive())

    def errors(self) -> Counter[str]:
        """Give the failures by class."""
        found: Counter[str] = Counter()
        for machine in self.machines:
            found.update({name: int(number) for name, number in machine.last.table("errors").items()})
        return found

    def rate(self, window_s: float, counter: str = "pages") -> float:
        return sum(machine.rate(window_s, self.now, counter) for machine in self.alive())

    def ends_in_s(self) -> float | None:
        """Estimate when nothing is pending any more, by the last five minutes; None where that cannot be said."""
        pending, rate = self.at_work("pending"), self.rate(WINDOWS_S["5 min"])
        return pending / rate if rate and pending else None

    def worst(self, table: str, most: int = 10) -> list[tuple[str, float]]:
        """Give the hosts with the highest numbers of a table ("slow", "failing") of machines that are alive."""
        found: dict[str, float] = {}
        for machine in self.alive():
            found.update(machine.last.table(table))
        return sorted(found.items(), key=lambda item: -item[1])[:most]


class Survey:
    """Looks at a tree again and again."""

    def __init__(
        self, tree: Tree, settings: Callable[[], Settings], gone: Callable[[dict[str, Any]], bool] = is_gone
    ) -> None:
        """`settings`: the tree's, read anew; `gone(hello)`: whether a process of this host is known to be over."""
        self._tree = tree
        self._settings = settings
        self._machinery = Machinery(tree)
        self._machines: dict[str, Machine] = {}
        self._gone = gone

    def look(self, now: float | None = None) -> View:
        for name in self._machinery.machines():
            self._read(self._machines.setdefault(name, Machine(name)))
        newest = max((machine.last.at for machine in self._machines.values()), default=0.0)
        now = max(time.time(), newest) if now is None else now
        dead_after_s = self._settings().fleet.dead_after
        for machine in self._machines.values():
            machine.state = self._state(machine, now, dead_after_s)
        free = os.statvfs(self._tree.root)
        return View(
            now,
            self._tree.record.crawl,
            tuple(sorted(self._machines.values(), key=lambda machine: (machine.state != "alive", machine.name))),
            tuple(sorted(self._tree.signs())),
            free.f_bavail * free.f_frsize,
            digest_of(self._tree.settings_text()),
        )

    def _read(self, machine: Machine) -> None:
        if machine.left:
            return
        if not machine.offset:
            beginning = self._machinery.read_heartbeats(machine.name, 0, most=4096)
            machine.take(beginning)
            size = self._machinery.heartbeats_size(machine.name)
            machine.offset = max(len(beginning), size - _END_BYTES)
        while data := self._machinery.read_heartbeats(machine.name, machine.offset):
            machine.offset += len(data)
            machine.take(data)

    def _state(self, machine: Machine, now: float, dead_after_s: float) -> str:
        if machine.left:
            return "left"
        if machine.hello and self._gone(machine.hello):
            return "dead"
        return "alive" if now - machine.last.at <= dead_after_s else "dead"


def curve(
    machines: Iterable[Machine], counter: str, step_s: float, since: float, now: float
) -> Iterator[tuple[float, float]]:
    """Give (time, value) of a counter summed over machines, at every `step_s` seconds: what it was by then."""
    positions = [(list(machine.history), 0) for machine in machines]
    moment = since
    while moment <= now:
        total = 0.0
        for number, (beats, start) in enumerate(positions):
            index = start
            while index + 1 < len(beats) and beats[index + 1].at <= moment:
                index += 1
            positions[number] = beats, index
            if beats and beats[index].at <= moment:
                total += beats[index].number(counter)
        yield moment, total
        moment += step_s
