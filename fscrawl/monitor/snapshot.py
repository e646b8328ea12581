"""A snapshot of the crawl: its machines and their counters, read from heartbeat logs alone; and its state, in one word.

Vocabulary:
  machine   the writer of a heartbeat log: "alive", "left" (it said goodbye) or "dead" (it stopped beating, or its
            process has ended)
  history   the beats of a machine's last hour; fewer if its log is long
  rate      pages a second over the last minutes, of the machines that are alive

Promise: a snapshot reads what the logs have grown by, one MiB of each at most: if there is more, the end of it. Of a
log that is new to the observer it reads the beginning, too. So a tree of a million pages, or logs of a week, cost as
much as an empty tree. The clocks of the machines are compared with this machine's clock at the first snapshot only.
From the second one on, a machine is alive if its log grows. `status`, the dashboard, `report` and `doctor` all ask
`state_of`, whose word depends on the snapshot alone; so two readers of one snapshot never disagree.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Literal

import msgspec
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import RenderSettings, Settings
from fscrawl.config.watcher import EditedText, digest_of, settings_of
from fscrawl.errors import FscrawlError, PlantedError, TreeBusyError, TreeError
from fscrawl.fleet.beat import Beat, Goodbye, Hello, goodbye_of, hello_in, parse_lines
from fscrawl.fleet.heartbeat import is_gone, is_worth_a_look
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.status_file import EMPTY, Coverage, Figures, LabelFigure, NotStored, StatusFile, covers_all, summed
from fscrawl.frontier.host_figures import SLOW_S
from fscrawl.frontier.scope import Scope
from fscrawl.hostnames import pattern_covers, url_pattern
from fscrawl.request import url_of
from fscrawl.sites.rules import near_to
from fscrawl.store import PAUSE, SEEDS, STOP, Tree
from fscrawl.util.parallel import READERS, in_turn_if_slow

_HISTORY_BEATS = 4000

CounterName = Literal["pages", "stored", "bytes", "pending", "in_flight", "hosts", "resting", "gave_up"]
State = Literal["alive", "left", "dead"]
_NO_COUNTERS = Beat()


class MachineStatus(msgspec.Struct):
    """A machine, as its log shows it.

    grown_at    when its log was last seen to grow, by the observer's monotonic clock
    grew_at     the same by the observer's clock (UNIX time); 0: it was not seen to grow yet
    looked_at   when the observer last looked whether it has grown
    status      its status file; `status_is_last`: it will not change any more; `status_read_at`: when it was read
    """

    name: str
    offset: int = 0
    hello: Hello | None = None
    history: deque[Beat] = msgspec.field(default_factory=lambda: deque(maxlen=_HISTORY_BEATS))
    goodbye: Goodbye | None = None
    state: State = "dead"
    grown_at: float = 0.0
    grew_at: float = 0.0
    looked_at: float = float("-inf")
    status: StatusFile = EMPTY
    status_is_last: bool = False
    status_read_at: float = float("-inf")

    @property
    def last(self) -> Beat:
        """Its newest counters."""
        return self.history[-1] if self.history else _NO_COUNTERS

    @property
    def left(self) -> bool:
        return self.goodbye is not None

    @property
    def finished(self) -> bool:
        """It left because the crawl was over."""
        return self.goodbye is not None and self.goodbye.finished

    @property
    def greeted_at(self) -> float:
        """When it said hello, by its own clock."""
        return self.hello.at if self.hello is not None else 0.0

    @property
    def seen_at(self) -> float:
        """When it wrote its last line, by its own clock."""
        return max(self.last.at, self.greeted_at)

    def heard_at(self, now: float) -> float:
        """Give when its last line came, by the observer's clock.

        Before the log was seen to grow, there is only the machine's own clock to go by, and it may be ahead of `now`.
        """
        return self.grew_at or min(self.seen_at, now)

    @property
    def doing(self) -> str:
        """What keeps it from fetching; "" if nothing does."""
        return self.last.state or ("idle" if self.last.idle else "")

    @property
    def took_part(self) -> bool:
        """Whether it is a machine. An empty log is none, nor is that of a command that wrote URLs into a log."""
        if self.goodbye is not None and self.goodbye.is_command:
            return False
        return self.hello is not None or bool(self.history)

    def read(self, data: bytes) -> None:
        """Read lines of its log."""
        for line in parse_lines(data):
            if isinstance(line, Hello):
                self.hello = line
            else:
                self.goodbye = line if isinstance(line, Goodbye) else None
                self.history.append(line.counters if isinstance(line, Goodbye) else line)

    def forget_before(self, moment: float) -> None:
        """Forget the beats before a time by its own clock, but never the last one."""
        while len(self.history) > 1 and self.history[0].at < moment:
            self.history.popleft()

    def rate(self, window_s: float, counter: CounterName = "stored") -> float:
        """Give how much a counter grew a second, over the last `window_s` seconds of its beats."""
        last = first = self.last
        for first in reversed(self.history):
            if last.at - first.at >= window_s:
                break
        span_s = last.at - first.at
        return max(0.0, getattr(last, counter) - getattr(first, counter)) / span_s if span_s > 0 else 0.0


HISTORY_S = 3600.0
_KEPT_S = HISTORY_S + 300.0  # curves begin a little before the window that they show
WINDOWS_S = {"1 min": 60.0, "5 min": 300.0, "60 min": 3600.0}
_HELLO_BYTES = 4096
_LAST_BYTES = 1 << 16  # of a log's end: its last beats are in there
_END_BYTES = 1 << 20  # an hour of beats, unless they are long or many
_STATUS_LIVES_S = 5.0
_TAKEOVER_S = 20.0  # after a goodbye the others need so long, at most, until they count its URLs as theirs


def _left_by(machine: MachineStatus, newest: float, end: float) -> int:
    """Give the URLs that a machine has left to nobody. By the machines' clocks, so it is a guess where they differ.

    `newest`: when the last machine of all came; `end`: when the last one wrote its last line.
    """
    takeover_s = _TAKEOVER_S if machine.left else max(machine.last.dead_after, _TAKEOVER_S)
    if newest > machine.seen_at or end - machine.seen_at > takeover_s:
        return 0
    return machine.last.pending + machine.last.in_flight


def _without_pending(figures: Figures) -> Figures:
    return {label: replace(figure, pending=0) for label, figure in figures.items()}


class Snapshot(msgspec.Struct, frozen=True):
    """The crawl at one moment.

    now                UNIX time
    free_bytes         on the tree's disk
    signs              PAUSE, STOP, …: the files in the root that steer the machines
    settings_trouble   what is wrong with crawl.toml, "" if nothing is; machines keep the last good one
    max_pages          the setting, None if there is no limit
    by_url             URLs are divided among the machines, and not hosts
    stopped_labels     the setting: labels of tasks to hold back
    not_stored         what is not stored, by its reasons, of all machines
    """

    now: float
    crawl: str
    machines: tuple[MachineStatus, ...]
    signs: tuple[str, ...]
    free_bytes: int
    settings_digest: str
    settings_trouble: str = ""
    max_pages: int | None = None
    by_url: bool = False
    stopped_labels: tuple[str, ...] = ()
    not_stored: NotStored = msgspec.field(default_factory=NotStored)

    def alive(self) -> list[MachineStatus]:
        return [machine for machine in self.machines if machine.state == "alive"]

    def total(self, counter: CounterName) -> int:
        """Sum a counter over all machines that ever took part."""
        total: int = sum(getattr(machine.last, counter) for machine in self.machines)
        return max(0, total)

    def at_work(self, counter: CounterName) -> int:
        """Sum a counter over the machines that are alive, such as the URLs that are pending now."""
        return sum(getattr(machine.last, counter) for machine in self.alive())

    @property
    def is_exact(self) -> bool:
        """Whether the tree has as many pages.

        Else it has more: a machine that died could not say its last, and none that came later has counted.
        """
        counted_at = max((machine.greeted_at for machine in self.machines if machine.last.counted), default=0.0)
        dead = any(machine.state == "dead" and machine.greeted_at >= counted_at for machine in self.machines)
        return not dead

    @property
    def at_least(self) -> str:
        """What people read before the number of pages: "at least " if the tree has more, else ""."""
        return "" if self.is_exact else "at least "

    def last(self) -> MachineStatus | None:
        """Give the machine that wrote last, by the machines' clocks; None if none was ever there."""
        return max(self.machines, key=lambda machine: (machine.seen_at, machine.finished), default=None)

    def pending(self) -> int:
        """Give how many URLs are pending. If no machine is alive: what the last ones have left."""
        return sum(self._pending_of().values())

    def _pending_of(self) -> dict[str, int]:
        """Give the machines whose pending URLs count, each with their number."""
        last = self.last()
        if last is None or self.alive():
            return {machine.name: machine.last.pending for machine in self.alive()}
        if last.finished:
            return {}
        newest = max(machine.greeted_at for machine in self.machines)
        left = {machine.name: _left_by(machine, newest, last.seen_at) for machine in self.machines}
        return {name: number for name, number in left.items() if number}

    def labels(self) -> dict[str, LabelFigure]:
        """Give the figures by label, of all machines that ever took part; those with most pending URLs first."""
        waiting = self._pending_of()
        figures = summed(
            machine.status.labels if machine.name in waiting else _without_pending(machine.status.labels)
            for machine in self.machines
        )
        return dict(sorted(figures.items(), key=lambda item: (-item[1].pending, item[0])))

    def errors(self) -> Counter[str]:
        """Give the failures by class; classes with as many are in the order of their names."""
        found: Counter[str] = Counter()
        for machine in self.machines:
            found.update(machine.last.errors)
        return Counter(dict(sorted((+found).items())))

    def rate(self, window_s: float, counter: CounterName = "stored") -> float:
        return sum(machine.rate(window_s, counter) for machine in self.alive())

    @property
    def is_pending_known(self) -> bool:
        """Whether all URLs that are pending are counted.

        Not while machines take hosts over: then nobody says how many URLs these have. `knows_labels` is about the
        figures by label, which machines write at other times.
        """
        return covers_all([Coverage(machine.last.ready, machine.last.needed) for machine in self.alive()])

    @property
    def knows_labels(self) -> bool:
        return self.is_pending_known and covers_all([machine.status.known for machine in self.alive()])

    @property
    def roughly(self) -> str:
        """What people read before the number of pending URLs: "" if it is right.

        If no machine is alive: of several that left, one may have taken over the hosts of another before it left; and
        one that was killed did not say its last number.
        """
        left = self._pending_of()
        if self.alive() or not left:
            return ""
        if any(machine.state == "dead" for machine in self.machines if machine.name in left):
            return "about "
        return "at most " if len(left) > 1 else ""

    def ends_in_s(self) -> float | None:
        """Estimate when nothing will be pending, from the last five minutes; None if there is nothing to go by."""
        is_held = PAUSE in self.signs or all(machine.doing == "paused" for machine in self.alive())
        if is_held or not self.is_pending_known:
            return None
        pending, rate = self.pending(), self.rate(WINDOWS_S["5 min"])
        return pending / rate if rate and pending else None

    def slow(self, most: int = 10) -> dict[str, float]:
        """Give the slowest hosts of the machines that are alive, and how many seconds they take to answer."""
        return self._worst("latency_s", SLOW_S, most)

    def failing(self, most: int = 10) -> dict[str, float]:
        """Give the hosts of these machines that fail most, and how many times in a row."""
        return self._worst("failures", 1, most)

    def _worst(self, figure: Literal["latency_s", "failures"], least: float, most: int) -> dict[str, float]:
        found: dict[str, float] = {}
        for machine in self.alive():
            for host, figures in machine.status.hosts.items():
                if (value := getattr(figures, figure)) >= least:
                    found[host] = max(value, found.get(host, value))
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:most])

    def uses_other_settings(self, machine: MachineStatus) -> bool:
        """Tell whether a machine that is alive uses another crawl.toml than the one that is there now."""
        digest = machine.last.settings
        return machine.state == "alive" and bool(digest) and digest != self.settings_digest


class CrawlState(StrEnum):
    """The words. Their values are part of `status --json`."""

    NEW = "new"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    CrawlState.NEW: "no machine has been here yet",
    CrawlState.RUNNING: "machines are working",
    CrawlState.PAUSING: "machines finish what is in flight",
    CrawlState.PAUSED: "machines are there, but fetch nothing",
    CrawlState.STOPPING: "machines are leaving",
    CrawlState.FINISHED: "the crawl is over, and all machines have left",
    CrawlState.STOPPED: "no machine is running, and the crawl is not over",
}


def state_of(snapshot: Snapshot) -> CrawlState:
    """Say how the crawl is.

    | machines                                        | signs | state    |
    |-------------------------------------------------|-------|----------|
    | none was ever there                             | any   | new      |
    | some are alive                                  | STOP  | stopping |
    | all that are alive say that they are leaving    | any   | stopping |
    | all that are alive and stay say they are paused | any   | paused   |
    | some are alive                                  | PAUSE | pausing  |
    | some are alive, in any other case               | any   | running  |
    | none is alive, the last one said "finished"     | any   | finished |
    | none is alive, the last one said another goodbye| any   | stopped  |
    | none is alive, the last one was killed          | any   | stopped  |

    The rows are read from the top. STOP beats PAUSE. A paused host (PAUSE.<host>) does not pause the crawl. A sign says
    what machines shall do, so it does not matter when none is alive: a STOP that stays in the root of a finished crawl
    does not change that it is finished. The last machine is the one that wrote last, by the machines' clocks: a new run
    after the end has newer logs, and a machine that was killed before others finished has an older one.
    """
    alive = snapshot.alive()
    if alive:
        staying = [machine for machine in alive if machine.doing != "stopping"]
        if STOP in snapshot.signs or not staying:
            return CrawlState.STOPPING
        if all(machine.doing == "paused" for machine in staying):
            return CrawlState.PAUSED
        return CrawlState.PAUSING if PAUSE in snapshot.signs else CrawlState.RUNNING
    last = snapshot.last()
    if last is None:
        return CrawlState.NEW
    return CrawlState.FINISHED if last.finished else CrawlState.STOPPED


class Observer:
    """Takes snapshots of a tree, again and again."""

    def __init__(
        self,
        tree: Tree,
        settings: Callable[[], Settings] | None = None,
        gone: Callable[[Hello], bool] = is_gone,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings`: gives the settings of the tree, instead of reading its crawl.toml.

        `gone`: tells whether the process that said hello is known to have ended.
        """
        self._tree = tree
        self._settings = settings or (lambda: settings_of(tree))
        self._machinery = Machinery(tree)
        self._machines: dict[str, MachineStatus] = {}
        self._gone = gone
        self._clock = clock
        self._looked = False
        self._good = Settings()
        self._digest = ""
        self._seed_file = EditedText(lambda: tree.controls.stamp(SEEDS), tree.controls.seeds)
        self._seeds = ""

    def look(self, now: float | None = None) -> Snapshot:
        """Make a snapshot. TreeError if the tree cannot be read, TreeBusyError if it may work later."""
        now = time.time() if now is None else now
        tick = self._clock()
        machines = [
            self._machines.setdefault(name, MachineStatus(name, grown_at=tick)) for name in self._machinery.machines()
        ]
        # On a slow share several logs are read at the same time: each past run has left one, and weeks leave thousands.
        errors = list(in_turn_if_slow(lambda machine: self._observe(machine, now, tick), machines, READERS))
        if error := next(filter(None, errors), None):
            raise error
        self._looked = True
        trouble = self._read_settings()
        for machine in self._machines.values():
            machine.state = self._state(machine, now, tick)
            silent_s = 0.0 if machine.state == "alive" else tick - machine.grown_at
            machine.forget_before(machine.last.at + silent_s - _KEPT_S)  # who looks on may do so for weeks
        self._read_status_files(tick)
        shown = [machine for machine in self._machines.values() if machine.took_part]
        snapshot = Snapshot(
            now,
            self._tree.record.crawl,
            tuple(sorted(shown, key=lambda machine: (machine.state != "alive", machine.name))),
            tuple(sorted(self._tree.controls.signs())),
            self._tree.files.free_bytes(),
            self._digest,
            trouble,
            max_pages=self._good.crawl.max_pages,
            by_url=self._tree.record.partition == "url",
            stopped_labels=self._good.crawl.stopped_labels,
            not_stored=self._not_stored(shown, tick),
        )
        self._tree.check_there()  # an unmounted share, whose directory is empty, looks like a new crawl
        return snapshot

    def _read_settings(self) -> str:
        """Read crawl.toml; give what is wrong with it. If it cannot be read, the last good one stays."""
        try:
            text = self._tree.controls.settings_if_there()
        except PlantedError as error:  # it may be another user's; all else can be read
            return str(error)
        if text is not None:
            self._digest = digest_of(text)
        try:
            self._good = self._settings()
        except FscrawlError as error:
            return str(error)
        return ""

    def _not_stored(self, machines: list[MachineStatus], tick: float) -> NotStored:
        """Add what machines say. Only the newest run's hosts count; and settings may have been edited for a seed."""
        found = NotStored()
        newest = max((machine.greeted_at for machine in machines), default=0.0)
        for machine in sorted(machines, key=lambda machine: machine.greeted_at):
            figures = machine.status.not_stored
            if machine.state != "alive" and machine.greeted_at < newest:
                figures = replace(figures, hosts={})
            found.add(figures)
        if found.seeds:
            with contextlib.suppress(TreeError):  # if it cannot be read, the last text stays
                self._seeds = self._seed_file.look(tick) or ""
            near = near_to(_origins_of(self._seeds), self._good.rules)
            refuses, render = Scope(self._good.crawl, near).refuses, self._good.render
            found.seeds = {
                seed: each
                for seed, each in found.seeds.items()
                if (not _may_be_rendered(render, seed) if each.how == "scripts" else refuses(each.target))
            }
        return found

    def _read_status_files(self, tick: float) -> None:
        """Read the status files of the machines that are alive, and once of each that is not any more.

        Machines write them as often as they beat, so not every look reads them.
        """
        for name in self._machinery.with_status():
            machine = self._machines.get(name)
            if machine is None or (machine.status_is_last and machine.state != "alive"):
                continue
            is_fresh = tick - machine.status_read_at < _STATUS_LIVES_S
            if machine.state == "alive" and is_fresh and machine.status.known.ready == machine.last.ready:
                continue
            with contextlib.suppress(TreeBusyError):
                machine.status = self._machinery.status(name)
                machine.status_is_last, machine.status_read_at = machine.state != "alive", tick

    # -- logs

    def _observe(self, machine: MachineStatus, now: float, tick: float) -> TreeError | None:
        """Read what a log has grown by; give the error if the tree cannot be read. Other threads read others."""
        dead_after_s = self._dead_after_of(machine)
        if machine.left or not is_worth_a_look(tick, machine.looked_at, machine.grown_at, dead_after_s):
            return None
        machine.looked_at = tick
        before = machine.offset
        try:
            if before:
                self._read_on(machine)
            else:
                self._begin(machine, now)
        except TreeBusyError:  # the next snapshot may succeed
            pass
        except TreeError as error:
            return error
        if machine.offset > before and self._looked:
            machine.grown_at, machine.grew_at = tick, now
        return None

    def _begin(self, machine: MachineStatus, now: float) -> None:
        """Read the beginning and the end of a log: of a machine that may be alive an hour, else the last line.

        A short one is read at once. Of a run that was over more than an hour ago, nothing else is parsed.
        """
        lines, size = self._machinery.read_newest_heartbeats(machine.name, 0, _LAST_BYTES)
        is_whole = bool(lines) and size == len(lines)
        beginning = lines if is_whole else self._machinery.read_heartbeats(machine.name, 0, most=_HELLO_BYTES)
        goodbye = goodbye_of(lines)
        if goodbye is not None and now - goodbye.counters.at > HISTORY_S:
            machine.hello, machine.goodbye, machine.offset = hello_in(beginning), goodbye, size
            machine.history.append(goodbye.counters)
            return
        machine.read(beginning)
        machine.offset = len(beginning)
        if is_whole or not lines:  # without any, it is empty, or its end is torn
            return
        machine.history.clear()
        machine.read(lines)
        machine.offset = size
        covered_s = machine.last.at - machine.history[0].at if machine.history else 0.0
        if machine.left or covered_s >= HISTORY_S or now - machine.last.at > HISTORY_S:
            return
        wanted = int(_LAST_BYTES * 1.1 * HISTORY_S / max(covered_s, 1.0))
        machine.history.clear()
        machine.offset = max(0, size - min(wanted, _END_BYTES))
        self._read_on(machine)

    def _read_on(self, machine: MachineStatus) -> None:
        data, machine.offset = self._machinery.read_newest_heartbeats(machine.name, machine.offset, _END_BYTES)
        machine.read(data)

    def _dead_after_of(self, machine: MachineStatus) -> float:
        """Give after how many seconds of silence it is dead. Its settings may be longer than those of now."""
        return max(self._good.fleet.dead_after, machine.last.dead_after)

    def _state(self, machine: MachineStatus, now: float, tick: float) -> State:
        if machine.left:
            return "left"
        if machine.hello is not None and self._gone(machine.hello):
            return "dead"
        dead_after_s = self._dead_after_of(machine)
        if tick - machine.grown_at > dead_after_s:
            return "dead"
        return "alive" if machine.grew_at or now - machine.seen_at <= dead_after_s else "dead"


def _may_be_rendered(render: RenderSettings, seed: str) -> bool:
    patterns = filter(None, map(url_pattern, render.hosts))
    return render.when != "never" or any(pattern_covers(pattern, url_of(seed)) for pattern in patterns)


@lru_cache(1)  # a million lines take seconds
def _origins_of(seeds: str) -> frozenset[str]:
    """Give a URL of each host of the text of seeds.txt, by which others are near to a seed or not."""
    return frozenset(f"{urls.origin(seed)}/" for seed in read_seeds(seeds, "", lambda _: None))
