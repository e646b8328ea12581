"""What the tree says of the crawl: machines and their counters, from heartbeat logs alone.

Vocabulary:
  machine   a heartbeat log: alive, "left" (it said goodbye) or "dead" (it stopped beating, or its process is over)
  beat      a line of counters with the time it was written, by that machine's clock
  history   the beats of the last hour of a machine, or as many as were read of a long log
  rate      pages a second over the last minutes, of the machines that are alive

Promise: a look reads what logs have grown by, and of a log that is new to it the beginning and the end, a MiB at most:
so a look at a tree of a million pages, or at logs of a week, costs as much as one at an empty one. Times are
compared with this machine's clock at the first look only, for people: nothing is decided by it. From the second look on
a machine is alive if its log grows.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fscrawl.config.settings import Settings, digest_of
from fscrawl.errors import FscrawlError, TreeBusyError
from fscrawl.fleet.heartbeat import is_gone, is_worth_a_look
from fscrawl.fleet.logs import Machinery
from fscrawl.store import Tree

HISTORY_S = 3600.0
WINDOWS_S = {"1 min": 60.0, "5 min": 300.0, "60 min": 3600.0}
_HISTORY_BEATS = 4000
_HELLO_BYTES = 4096
_LAST_BYTES = 1 << 16  # of a log: surely its last beats
_END_BYTES = 1 << 20  # an hour of them, unless they are long or many
_OF_NOW = ("slow", "failing", "rests")  # tables that matter in the last beat only


@dataclass(frozen=True, slots=True)
class Beat:
    """A line of a log: when it was written (UNIX time, by its machine), and its counters."""

    at: float
    facts: dict[str, Any]

    def number(self, name: str) -> float:
        """Give a counter; 0 where there is none, or it is no number."""
        value: Any = self.facts.get(name)
        return float(value) if _is_number(value) else 0.0

    def table(self, name: str) -> dict[str, float]:
        """Give a table of numbers, as of errors by class."""
        value = self.facts.get(name)
        entries = value.items() if isinstance(value, dict) else ()
        return {key: number for key, number in entries if _is_number(number)}

    def text(self, name: str) -> str:
        """Give a text; "" where there is none."""
        value = self.facts.get(name)
        return value if isinstance(value, str) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_beats(data: bytes) -> Iterator[Beat]:
    """Read lines of a log, hello and goodbye among them; those that are none (a torn beginning, NULs) are skipped.

    >>> [beat.at for beat in read_beats(b'orn"}\\n{"beat":1,"at":"1970-01-01T00:00:02.500Z"}\\n')]
    [2.5]
    """
    for line in data.splitlines():
        try:
            facts = json.loads(line)
            at = datetime.fromisoformat(facts["at"]).timestamp() if "at" in facts else 0.0
        except (ValueError, TypeError, OverflowError):
            continue
        if isinstance(facts, dict):
            yield Beat(at, facts)


_NOTHING = Beat(0.0, {})


@dataclass
class Machine:
    """A machine, as its log shows it. `state`: "alive", "left" or "dead"; `doing`: what keeps it from fetching.

    `grown_at`: when its log was last seen to grow, by the observer's monotonic clock; `proven`: it was seen to;
    `looked_at`: when that was last looked for.
    """

    name: str
    offset: int = 0
    hello: dict[str, Any] = field(default_factory=dict)
    greeted_at: float = 0.0
    history: deque[Beat] = field(default_factory=lambda: deque(maxlen=_HISTORY_BEATS))
    left: bool = False
    finished: bool = False
    state: str = "dead"
    grown_at: float = 0.0
    looked_at: float = float("-inf")
    proven: bool = False

    @property
    def last(self) -> Beat:
        return self.history[-1] if self.history else _NOTHING

    @property
    def seen_at(self) -> float:
        """When it wrote its last line, by its own clock."""
        return max(self.last.at, self.greeted_at)

    @property
    def doing(self) -> str:
        return self.last.text("state") or ("idle" if self.last.facts.get("idle") else "")

    @property
    def took_part(self) -> bool:
        """Whether it is a machine, and not the log of a command that put URLs into a feed, or an empty one."""
        return bool(self.hello or self.history) and not (self.left and "pages" not in self.last.facts)

    def take(self, data: bytes) -> None:
        """Take in lines of its log."""
        for beat in read_beats(data):
            if "hello" in beat.facts:
                self.hello, self.greeted_at = beat.facts, beat.at
                continue
            self.left = "bye" in beat.facts
            self.finished = bool(beat.facts.get("finished"))
            for name in _OF_NOW:
                self.last.facts.pop(name, None)
            self.history.append(beat)

    def rate(self, window_s: float, counter: str = "pages") -> float:
        """Give how fast a counter grew over the last `window_s` seconds of it, a second."""
        last = first = self.last
        for first in reversed(self.history):
            if last.at - first.at >= window_s:
                break
        span_s = last.at - first.at
        return max(0.0, last.number(counter) - first.number(counter)) / span_s if span_s > 0 else 0.0


@dataclass(frozen=True, slots=True)
class View:
    """A look at the crawl. `now`: UNIX time it is of; `free_bytes`: on the tree's disk; `signs`: PAUSE, STOP, …

    `settings_trouble`: what is wrong with crawl.toml as it stands, "" if nothing is; machines keep the last good one.
    """

    now: float
    crawl: str
    machines: tuple[Machine, ...]
    signs: tuple[str, ...]
    free_bytes: int
    settings_digest: str
    settings_trouble: str = ""

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
        return sum(machine.rate(window_s, counter) for machine in self.alive())

    def ends_in_s(self) -> float | None:
        """Estimate when nothing is pending any more, by the last five minutes; None where that cannot be said."""
        pending, rate = self.at_work("pending"), self.rate(WINDOWS_S["5 min"])
        return pending / rate if rate and pending else None

    def worst(self, table: str, most: int = 10) -> list[tuple[str, float]]:
        """Give the hosts with the highest numbers of a table ("slow", "failing") of machines that are alive."""
        found: dict[str, float] = {}
        for machine in self.alive():
            for host, number in machine.last.table(table).items():
                found[host] = max(number, found.get(host, number))
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:most]

    def goes_by_other_settings(self, machine: Machine) -> bool:
        """Tell whether a machine that is alive goes by another crawl.toml than lies there now."""
        digest = machine.last.text("settings")
        return machine.state == "alive" and bool(digest) and digest != self.settings_digest


class Survey:
    """Looks at a tree again and again."""

    def __init__(
        self,
        tree: Tree,
        settings: Callable[[], Settings],
        gone: Callable[[dict[str, Any]], bool] = is_gone,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings`: the tree's, read anew; `gone(hello)`: whether a process of this host is known to be over."""
        self._tree = tree
        self._settings = settings
        self._machinery = Machinery(tree)
        self._machines: dict[str, Machine] = {}
        self._gone = gone
        self._clock = clock
        self._looked = False
        self._good = Settings()
        self._digest = ""

    def look(self, now: float | None = None) -> View:
        """Give what there is. TreeError if the tree cannot be read, TreeBusyError if it can be tried again."""
        now = time.time() if now is None else now
        tick = self._clock()
        for name in self._machinery.machines():
            self._observe(self._machines.setdefault(name, Machine(name, grown_at=tick)), now, tick)
        self._looked = True
        trouble = self._read_settings()
        for machine in self._machines.values():
            machine.state = self._state(machine, now, tick)
        shown = [machine for machine in self._machines.values() if machine.took_part]
        return View(
            now,
            self._tree.record.crawl,
            tuple(sorted(shown, key=lambda machine: (machine.state != "alive", machine.name))),
            tuple(sorted(self._tree.signs())),
            self._tree.free_bytes(),
            self._digest,
            trouble,
        )

    def _read_settings(self) -> str:
        """Read crawl.toml; give what is wrong with it. Where it cannot be read the last good one stays."""
        text = self._tree.settings_text_if_there()
        if text is not None:
            self._digest = digest_of(text)
        try:
            self._good = self._settings()
        except FscrawlError as error:
            return str(error)
        return ""

    # -- logs

    def _observe(self, machine: Machine, now: float, tick: float) -> None:
        dead_after_s = self._good.fleet.dead_after
        if machine.left or not is_worth_a_look(tick, machine.looked_at, machine.grown_at, dead_after_s):
            return
        machine.looked_at = tick
        before = machine.offset
        with contextlib.suppress(TreeBusyError):  # the next look may succeed
            if not machine.offset:
                self._begin(machine, now)
            self._read_on(machine)
        if machine.offset > before and self._looked:
            machine.grown_at, machine.proven = tick, True

    def _begin(self, machine: Machine, now: float) -> None:
        """Read the beginning and the end of a log: all of the last hour if it goes on, else the last line will do."""
        beginning = self._machinery.read_heartbeats(machine.name, 0, most=_HELLO_BYTES)
        machine.take(beginning)
        machine.offset = len(beginning)
        size = self._machinery.heartbeats_size(machine.name)
        if size <= len(beginning) + _LAST_BYTES:
            return
        self._read_end(machine, size - _LAST_BYTES)
        told_s = machine.last.at - machine.history[0].at if machine.history else 0.0
        if machine.left or told_s >= HISTORY_S or now - machine.last.at > HISTORY_S:
            return
        wanted = int(_LAST_BYTES * 1.1 * HISTORY_S / max(told_s, 1.0))
        self._read_end(machine, max(0, size - min(wanted, _END_BYTES)))

    def _read_end(self, machine: Machine, offset: int) -> None:
        machine.history.clear()
        machine.offset = offset
        self._read_on(machine)

    def _read_on(self, machine: Machine) -> None:
        while data := self._machinery.read_heartbeats(machine.name, machine.offset):
            machine.offset += len(data)
            machine.take(data)

    def _state(self, machine: Machine, now: float, tick: float) -> str:
        if machine.left:
            return "left"
        if machine.hello and self._gone(machine.hello):
            return "dead"
        dead_after_s = self._good.fleet.dead_after
        if tick - machine.grown_at > dead_after_s:
            return "dead"
        return "alive" if machine.proven or now - machine.seen_at <= dead_after_s else "dead"


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
