"""The chaos: what is done to machines, to their shares and to the tree, when, and for how long.

    kill     SIGKILL of a whole machine (another starts in its slot a little later), or of one worker process
    fault    all else: a machine is stopped for less or more than `dead_after`, or asked to leave; its share is in
             trouble; somebody edits crawl.toml, adds a seed, sets PAUSE and takes it away

Promise: the same seed makes the same choices, as far as the machines let it; slot 0 is never touched; `calm` undoes
whatever lasts. Nothing here waits.
"""

from __future__ import annotations

import heapq
import itertools
import os
import random
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.soak.machines import End, Fault, Slot, Slots
from tests.support.soak.site import Web, host_name

WORKER_AGAIN_S = 8.0  # a page that kills twice is given up; so nobody kills the same machine's workers in a row
_STOPPED = "SIGSTOP, shorter than dead_after"
_STOPPED_LONG = "SIGSTOP, longer than dead_after"
KILLED, KILLED_WORKER = "SIGKILL of a machine", "SIGKILL of a worker process"
_LEFT = "SIGTERM: a clean leave"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of it. `kill_every_s`, `fault_every_s`: on average."""

    dead_after_s: float
    kill_every_s: float
    fault_every_s: float
    late_hosts: tuple[int, ...]  # to be added to the seeds meanwhile


class Chaos:
    """Everything that is done; `step` is called often, and `faults` is what it did."""

    def __init__(self, slots: Slots, tree: Path, web: Web, plan: Plan, rng: random.Random) -> None:
        self.faults: list[Fault] = []
        self.broken: list[str] = []  # what kept the chaos from its work
        self.seeded = [host for host in range(web.hosts) if host not in plan.late_hosts]
        self.restarts = True
        self._slots, self._tree, self._web, self._plan, self._rng = slots, tree, web, plan, rng
        self._late = list(plan.late_hosts)
        self._half_written = False  # the last line of the seeds
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        now = time.monotonic()
        self._next_kill, self._next_fault = now, now
        self._in_trouble: set[int] = set()
        self._threads = ThreadPoolExecutor(4)

    @property
    def kills(self) -> int:
        return sum(fault.kill for fault in self.faults)

    def step(self) -> None:
        """Do what is due, and start machines where there is none."""
        now = time.monotonic()
        self.tend()
        if now >= self._next_kill:
            self._next_kill = now + self._plan.kill_every_s * self._rng.uniform(0.5, 1.5)
            (self._kill_worker if self._rng.random() < 0.4 else self._kill_machine)()
        if now >= self._next_fault:
            self._next_fault = now + self._plan.fault_every_s * self._rng.uniform(0.5, 1.5)
            self._something()

    def tend(self) -> None:
        """End what has lasted long enough, reap, and start machines anew."""
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            heapq.heappop(self._later)[2]()
        for slot, end in self._slots.reap():
            self._buried(slot, end)
        for slot in self._slots.all:
            if slot.running is None and self.restarts and now >= slot.next_at:
                slot.start()

    def calm(self) -> None:
        """End all that lasts: what is left is a crawl that nobody disturbs."""
        for _, _, undo in sorted(self._later):
            undo()
        self._later.clear()
        self._threads.shutdown()
        for slot in self._slots.all:
            slot.next_at = 0.0

    # -- what lasts

    def _in(self, seconds: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._count), do))

    def _note(self, kind: str, target: str, slot: Slot | None, *, lasts: bool = False, kill: bool = False) -> Fault:
        now = time.monotonic()
        file_system = slot.share.file_system if slot else "all"
        machine = slot.machine if slot else ""
        fault = Fault(kind, target, file_system, machine, now, None if lasts else now, kill=kill)
        self.faults.append(fault)
        return fault

    def _buried(self, slot: Slot, end: End) -> None:
        slot.next_at = end.at + self._rng.uniform(0.0, 3.0)
        for fault in self.faults[-200:]:
            if fault.machine == end.machine and fault.ended is None and fault.target == "machine":
                fault.ended = end.at

    # -- kills

    def _one(self, fits: Callable[[Slot], object]) -> Slot | None:
        chosen = [slot for slot in self._slots.all[1:] if slot.is_up and fits(slot)]
        return self._rng.choice(chosen) if chosen else None

    def _kill_machine(self) -> None:
        slot = self._one(lambda slot: True)
        if slot is not None:
            slot.send(signal.SIGKILL, "kill")
            self._note(KILLED, "machine", slot, kill=True)

    def _kill_worker(self) -> None:
        now = time.monotonic()
        slot = self._one(
            lambda slot: not slot.stopped and now > max(slot.worker_killed_at, slot.began) + WORKER_AGAIN_S
        )
        workers = slot.running.workers() if slot is not None and slot.running is not None else []
        if slot is None or not workers:
            self._kill_machine()
            return
        pid = self._rng.choice(workers)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it ended between the two
            return
        slot.killed_pids.add(pid)
        slot.worker_killed_at = now
        self._note(KILLED_WORKER, "worker", slot, kill=True)

    # -- all else

    def _something(self) -> None:
        ways: dict[Callable[[], None], int] = {
            self._stop_shortly: 20,
            self._stop_long: 6,
            self._leave: 10,
            self._trouble: 50,
            self._edit: 4,
            self._add_seed: 4,
            self._pause: 2,
            self._pause_host: 4,
        }
        [way] = self._rng.choices(list(ways), list(ways.values()))
        way()

    def _stop_shortly(self) -> None:
        self._stop(_STOPPED, self._rng.uniform(0.1, 0.9) * self._plan.dead_after_s)

    def _stop_long(self) -> None:
        self._stop(_STOPPED_LONG, self._rng.uniform(1.2, 1.8) * self._plan.dead_after_s)

    def _stop(self, kind: str, seconds: float) -> None:
        slot = self._one(lambda slot: not slot.stopped)
        if slot is None:
            return
        slot.send(signal.SIGSTOP)
        fault = slot.stopped = self._note(kind, "machine", slot, lasts=True)

        def go_on() -> None:
            if fault.ended is None and slot.stopped is fault:
                slot.send(signal.SIGCONT)
                slot.stopped = None
                fault.ended = time.monotonic()

        self._in(seconds, go_on)

    def _leave(self) -> None:
        slot = self._one(lambda slot: not slot.stopped)
        if slot is not None:
            slot.send(signal.SIGTERM, "leave")
            self._note(_LEFT, "machine", slot, lasts=True)

    def _trouble(self) -> None:
        fit = [s for s in self._slots.all[1:] if s.share.troubles and s.number not in self._in_trouble]
        if not fit:
            return
        slot = self._rng.choice(fit)
        [trouble] = self._rng.choices(slot.share.troubles, [each.weight for each in slot.share.troubles])
        fault = self._note(trouble.kind, "share", slot, lasts=True)
        fault.permit, fault.fences = trouble.permit, trouble.fences
        self._in_trouble.add(slot.number)
        slot.share.begin(trouble, self._rng)

        def heal() -> None:
            ending = self._threads.submit(slot.share.end, trouble)  # to mount anew takes seconds
            ending.add_done_callback(healed)

        def healed(ending: Future[int]) -> None:
            fault.ended = time.monotonic()
            self._in_trouble.discard(slot.number)
            if (error := ending.exception()) is not None:
                self.broken.append(f"the share of slot {slot.number} could not be mended: {error!r}")
            else:
                fault.count = max(1, ending.result())

        self._in(self._rng.uniform(*trouble.seconds), heal)

    def _edit(self) -> None:
        """Change a setting that changes nothing, as an editor does: a new file in the place of the old one."""
        path = self._tree / "crawl.toml"
        text = re.sub(r"(?m)^max_rest = .*$", f"max_rest = {self._rng.randint(100, 3600)}", path.read_text())
        new = self._tree / ".crawl.toml.new"
        new.write_text(text)
        new.replace(path)
        self._note("crawl.toml edited", "tree", None)

    def _add_seed(self) -> None:
        """Add a host, its line in two pieces."""
        if not self._late or self._half_written:  # whoever else writes now would write into the middle of a line
            self._edit()
            return
        host = self._late.pop(0)
        line = self._web.seed(host) + "\n"
        cut = self._rng.randrange(len("http://127.0."), len(line))  # half a line is a loopback address, too
        self._append(line[:cut])
        self._half_written = True
        self._in(self._rng.uniform(0.0, 1.5), lambda: self._complete(line[cut:]))
        self.seeded.append(host)
        self._note("a seed added", "tree", None)

    def _complete(self, text: str) -> None:
        self._append(text)
        self._half_written = False

    def _append(self, text: str) -> None:
        with (self._tree / "seeds.txt").open("a") as seeds:
            seeds.write(text)

    def _pause(self) -> None:
        self._sign("PAUSE", self._rng.uniform(1.0, 4.0))

    def _pause_host(self) -> None:
        host = self._rng.choice(self.seeded)
        self._sign(f"PAUSE.{host_name(host)}_{self._web.port}", self._rng.uniform(2.0, 8.0))

    def _sign(self, name: str, seconds: float) -> None:
        sign = self._tree / name
        sign.touch()
        fault = self._note("PAUSE and resume", "tree", None, lasts=True)

        def lift() -> None:
            sign.unlink(missing_ok=True)
            fault.ended = time.monotonic()

        self._in(seconds, lift)
