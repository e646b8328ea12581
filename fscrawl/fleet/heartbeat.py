"""The heartbeat of a machine: one JSON line a beat, from a thread of its own, and what others read out of it.

Vocabulary:
  hello      the first line: who this is, so that a machine of the same boot can tell whether its process still runs
  beat       a line of counters
  goodbye    the last line of a machine that left by itself; `finished`: because the crawl was over

Promise: a busy main loop or a slow page cannot hold a beat up, for it is written from the last snapshot; a hanging file
system can, and then `age_s` tells how long.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fscrawl.errors import TreeError
from fscrawl.fleet.logs import Log
from fscrawl.storage.records import timestamp
from fscrawl.storage.retrying import Retrying

_RETRYING = Retrying(1.0)  # for a beat that fails there is soon a newer one
_AGAIN_S = 1.0  # after a beat that failed
_JOIN_S = 5.0  # a hanging file system must not keep a machine from leaving
_SELDOM = 1 / 10  # of the time that a machine has been dead: so long may pass between two looks at its log


def uptime() -> float:
    """Seconds that also pass while the machine is suspended; the same for all processes of one machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def new_machine_id() -> str:
    """Give an id for this run: host name, process, and something random."""
    host = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.uname().nodename.lower())[:40]
    return f"{host or 'machine'}-{os.getpid()}-{os.urandom(3).hex()}"


def hello(machine: str) -> dict[str, Any]:
    """Give this process's hello."""
    return {"hello": machine, "host": os.uname().nodename, **_here(), "pid": os.getpid(), "start": _start_of("self")}


def sign(log: Log, machine: str, sent: int) -> None:
    """Write the whole log of a command that has put `sent` bytes into a feed, and takes no part in the crawl.

    In one go: nobody must take it for a machine that is there to work.
    """
    lines = (hello(machine), {"bye": True, "finished": False, "sent": sent, "consumed": 0})
    log.append("".join(json.dumps(line) + "\n" for line in lines).encode())
    log.close()


def is_gone(greeting: dict[str, Any]) -> bool:
    """Tell whether the process that said hello is known to be over: it was of this boot, and runs no more."""
    if any(greeting.get(name) != value for name, value in _here().items()):
        return False
    return _start_of(str(greeting.get("pid"))) != greeting.get("start")


def is_gone_by_name(machine: str) -> bool:
    """Tell the same by an id alone, of a machine that left no hello: it was of this host, and runs no more."""
    host, _, pid = machine.rpartition("-")[0].rpartition("-")
    here = new_machine_id().rpartition("-")[0].rpartition("-")[0]
    return host == here and pid.isdecimal() and (int(pid) == os.getpid() or not _start_of(pid))


def _here() -> dict[str, str]:
    """What processes that see each other have in common: the boot, and the namespace of process ids."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return {"boot": file.read().strip(), "pidns": os.readlink("/proc/self/ns/pid")}


def _start_of(pid: str) -> str:
    """Give the start time of a process, in clock ticks since boot; "" if it does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]  # a zombie has nothing in flight


def is_worth_a_look(now: float, looked_at: float, grown_at: float, dead_after_s: float) -> bool:
    """Tell whether to look if a log has grown. Of a crawl that goes on for weeks there may be thousands of dead ones.

    >>> is_worth_a_look(now=50, looked_at=49, grown_at=0, dead_after_s=60)
    True
    >>> [is_worth_a_look(3600, looked_at, 0, 60) for looked_at in (3200, 3300)]
    [True, False]
    """
    silent_s = now - grown_at
    return silent_s <= dead_after_s or now - looked_at >= _SELDOM * silent_s


class Permit:
    """What tells the workers that their machine beats: a time that all its processes see, by `uptime`."""

    def __init__(self) -> None:
        self._until = multiprocessing.get_context("forkserver").RawValue("d", 0.0)

    def holds(self) -> bool:
        return uptime() <= float(self._until.value)

    def extend(self, until: float) -> None:
        self._until.value = until


class Heartbeat:
    """Beats until `stop`. `snapshot` gives the counters of a beat; it is called from the heart's thread."""

    def __init__(
        self,
        log: Log,
        machine: str,
        snapshot: Callable[[], dict[str, Any]],
        *,
        beat_s: float,
        lease_s: float,
        permit: Permit,
    ) -> None:
        """`lease_s`: seconds after the beginning of a beat for which the workers may go on by it."""
        self._log = log
        self._snapshot = snapshot
        self._permit = permit
        self.lease_s = lease_s
        self.suspended = False  # there was a gap between two beats longer than `lease_s`
        self._wake = threading.Event()
        self._over = False
        self._number = 0
        self.beat_s = beat_s
        self.trouble: TreeError | None = None
        self.written: list[dict[str, Any]] = []  # the last two beats
        self._write(hello(machine), None)
        self._beaten_at = uptime()
        self.readmit()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def age_s(self) -> float:
        """Seconds since the last beat that was surely written began."""
        return uptime() - self._beaten_at

    def readmit(self) -> None:
        """After a gap: the machine has read its leases again, and its workers may go on."""
        self.suspended = False
        self._permit.extend(self._beaten_at + self.lease_s)

    def beat_now(self) -> None:
        """Do not wait for the next beat: something has changed that others wait for."""
        self._wake.set()

    def stop(self, **facts: Any) -> None:
        """Write the goodbye, unless the file system hangs; TreeError if that could not be done."""
        self._over = True
        self._wake.set()
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            try:
                self._write({"bye": True, **self._snapshot(), **facts})
            finally:
                self._log.close()

    def abandon(self) -> None:
        """Write nothing more, not even a goodbye: what this machine held was not left clean."""
        self._over = True
        self._wake.set()

    def _run(self) -> None:
        while not self._over:
            began = uptime()
            beat = {"beat": self._number, **self._snapshot()}
            pause_s = self.beat_s
            try:
                self._write(beat)
            except TreeError as error:
                self.trouble = error  # meanwhile `age_s` grows, and the machine fences itself
                pause_s = min(pause_s, _AGAIN_S)
            else:
                self.trouble = None
                self._number += 1
                self.written = [*self.written[-1:], beat]
                self._beaten(began)
            self._wake.wait(pause_s)
            self._wake.clear()

    def _beaten(self, began: float) -> None:
        if uptime() - self._beaten_at > self.lease_s:
            self.suspended = True  # until `readmit` the permit stays as it ran out
        self._beaten_at = began
        if not self.suspended:
            self._permit.extend(began + self.lease_s)

    def _write(self, line: dict[str, Any], retrying: Retrying | None = _RETRYING) -> None:
        line = {**line, "at": timestamp(time.time())}  # for people; nothing is decided by it
        self._log.append(json.dumps(line, separators=(",", ":")).encode() + b"\n", retrying)


@dataclass
class Peer:
    """What is known of another machine. `grown_at`: when, by the observer's clock, its log was last seen to grow.

    `looked_at`: when that was last looked for. `proven`: it was seen to appear or to beat; until then its log may be a
    dead machine's.
    """

    machine: str
    grown_at: float
    looked_at: float = float("-inf")
    offset: int = 0
    greeting: dict[str, Any] = field(default_factory=dict)
    beats: list[dict[str, Any]] = field(default_factory=list)  # the last two
    bye: dict[str, Any] | None = None
    gone: bool = False  # its process is known to be over
    unreadable: int = 0
    proven: bool = False

    def take(self, data: bytes, now: float) -> None:
        """Take in what its log has grown by."""
        if not data:
            return
        self.offset += len(data)
        self.grown_at = now
        for line in filter(None, data.split(b"\n")):  # a blank one stands before a line that was written once more
            try:
                facts = json.loads(line)
            except (ValueError, RecursionError):
                facts = None
            if not isinstance(facts, dict):
                self.unreadable += 1  # NULs of a crashed server, a torn line
            elif "hello" in facts:
                self.greeting = facts
            elif "bye" in facts:
                self.bye = facts
            else:
                self.beats = [*self.beats[-1:], facts]

    @property
    def left(self) -> bool:
        """It will not beat again."""
        return self.bye is not None or self.gone

    def last(self) -> dict[str, Any]:
        """Its newest counters."""
        return self.bye or (self.beats[-1] if self.beats else {})
