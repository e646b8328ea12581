"""The slots of the soak: a machine in each, started again after whatever ended it, and what each end looked like.

Promise: nothing here waits for a machine or touches a mount; a process that hangs with its mount is killed, and reaped
when it is gone. Leaving the `with` of `Slots` ends every process that it started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.crawling import CHECKOUT, Running, command
from tests.support.soak.shares import Share

WORKERS, THREADS = 2, 4
LANES = WORKERS * THREADS  # fetches at a time
_REAPED_S = 30.0  # a killed process that waits for its mount is gone after that, for mounts do not hang longer


@dataclass(slots=True)
class Fault:
    """Something done. `ended` is None while it lasts; what is done at once ends when it began.

    target   "machine", "worker", "share" or "tree": what it was done to
    machine  whom it hit, if one; `count`: how many calls failed by it, at least 1; `kill`: it was a SIGKILL
    permit   machines may end by it, with exit code 75
    fences   the machine cannot beat while it lasts
    """

    kind: str
    target: str
    file_system: str
    machine: str
    began: float
    ended: float | None
    count: int = 1
    kill: bool = False
    permit: bool = False
    fences: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """How a machine ended."""

    machine: str
    code: int
    at: float
    told: str  # what it was told: "kill", "leave" or ""
    lived_s: float = float("inf")


@dataclass
class Slot:
    """A place for a machine. `told`: what the present one was told to do; `next_at`: when another may start."""

    number: int
    share: Share
    tree: Path
    output: Path
    next_at: float = 0.0
    incarnation: int = 0
    running: Running | None = None
    told: str = ""
    began: float = 0.0
    stopped: Fault | None = None
    worker_killed_at: float = 0.0
    killed_pids: set[int] = field(default_factory=set)
    machines: dict[int, str] = field(default_factory=dict)  # by process id

    @property
    def machine(self) -> str:
        return f"{self.number}.{self.incarnation}"

    @property
    def is_up(self) -> bool:
        """A machine runs, and nobody has told it to end."""
        return self.running is not None and not self.told

    def start(self, seeds: Sequence[str] = (), settings: dict[str, object] | None = None) -> None:
        self.incarnation += 1
        self.told, self.began = "", time.monotonic()
        words = command(self.tree, "--quiet", seeds=seeds, settings=settings, workers=WORKERS, threads=THREADS)
        words[words.index(str(self.tree))] = str(self.share.path)  # only now: looking at a mount may hang
        with self.output.open("ab") as printed:
            printed.write(f"-- {self.machine} at {self.began:.1f}\n".encode())
            printed.flush()
            env = {**os.environ, "FSCRAWL_MACHINE": self.machine}
            self.running = Running(words, stdout=printed, stderr=printed, env=env, cwd=CHECKOUT)
            self.machines[self.running.process.pid] = self.machine

    def pids(self) -> list[int]:
        return [] if self.running is None else [self.running.process.pid, *self.running.workers()]

    def send(self, number: signal.Signals, told: str = "") -> None:
        """Send a signal to the machine's first process, SIGKILL, SIGSTOP and SIGCONT to all of them."""
        if self.running is None:
            return
        self.told = told or self.told
        with contextlib.suppress(ProcessLookupError):
            if number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT):
                os.killpg(self.running.process.pid, number)
            else:
                self.running.process.send_signal(number)

    def over(self) -> End | None:
        """Give the machine's end, once."""
        if self.running is None or self.running.process.poll() is None:
            return None
        pid, code = self.running.process.pid, self.running.process.returncode
        with contextlib.suppress(ProcessLookupError):  # what an exit that was too quick may have left
            os.killpg(pid, signal.SIGKILL)
        self.running, self.stopped = None, None
        return End(self.machine, code, time.monotonic(), self.told, time.monotonic() - self.began)

    def tail(self, lines: int = 12) -> str:
        text = self.output.read_bytes()[-6000:].decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])


class Slots:
    """All slots, as context manager."""

    def __init__(self, shares: Sequence[Share], tree: Path, folder: Path) -> None:
        self.all = [Slot(number, share, tree, folder / f"slot-{number}.log") for number, share in enumerate(shares)]
        self.ends: list[End] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self.all:
            slot.send(signal.SIGKILL)
        for slot in self.all:
            if slot.running is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    slot.running.process.wait(_REAPED_S)

    def reap(self) -> list[tuple[Slot, End]]:
        """Give the machines that have ended since the last call."""
        found = []
        for slot in self.all:
            end = slot.over()
            if end is not None:
                self.ends.append(end)
                found.append((slot, end))
        return found
