"""The heartbeat of a machine: one line of its log a beat, from a thread of its own. How others read it: `machinery`.

Vocabulary: hello, beat and goodbye are the lines of a log (`beat`).
  permit     tells the workers until when they may go on, by the last beat
  fence      a machine that could not beat for long fetches and publishes nothing, until it knows what it still holds

Another machine takes the shards of one that was silent for `dead_after`. The silent one cannot know, so it stops by
itself after half of that time. When it can beat again, it waits for one more beat: whoever rested its claim on older
looks has claimed by then, or must look again. Then it reads the leases, and goes on with what is left.

Promise: a busy main loop or a slow page cannot delay a beat, because it is written from the last snapshot. A file
system that hangs can; then `age_s` tells for how long. While the fence is up, no request is sent and no page is
published. Lines of the log may be written: they are true, whoever holds the shard by now.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cache

from msgspec.structs import replace

from fscrawl.errors import FscrawlError
from fscrawl.fleet.beat import Beat, Goodbye, Hello, Line, line_of
from fscrawl.storage.append_log import Log
from fscrawl.storage.records import FORMAT
from fscrawl.storage.retrying import Retrying

_RETRYING = Retrying(1.0)  # if a beat fails there is soon a newer one
_FIRST_BEAT_S = 0.5  # doubled with each beat: who looks on sees from the first second what a new machine does
_AGAIN_S = 1.0  # until the next try, after a beat that failed
_JOIN_S = 5.0  # a hanging file system must not keep a machine from leaving
_SELDOM = 1 / 10  # of the time for which a machine has been silent may pass between two looks at its log


def uptime() -> float:
    """Seconds that also pass while the machine is suspended; the same for all processes of one machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def new_machine_id() -> str:
    """Give an id for this run: host name, process, and 64 random bits: containers share host name and process id."""
    host = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.uname().nodename.lower())[:40]
    return f"{host or 'machine'}-{os.getpid()}-{os.urandom(8).hex()}"


def hello(machine: str) -> Hello:
    """Give this process's hello."""
    boot, pidns = _surroundings()
    pid = os.getpid()
    return Hello(machine, os.uname().nodename, boot, pidns, pid, _start_of(pid) or "", format=FORMAT)


def runs_here(greeting: Hello | None) -> bool:
    """Tell whether a process of this boot and of this namespace said hello: then this process can see it."""
    return greeting is not None and (greeting.boot, greeting.pidns) == _surroundings()


def is_gone(greeting: Hello) -> bool:
    """Tell whether the process that said hello is known to have ended: it ran here, and does not run any more."""
    if not runs_here(greeting):
        return False
    start = _start_of(greeting.pid)
    return start is not None and start != greeting.start


def is_gone_by_name(machine: str) -> bool:
    """Tell the same by the id alone, for a machine without a hello: it ran on this host, and does not run any more."""
    host, _, pid = machine.rpartition("-")[0].rpartition("-")
    here = new_machine_id().rpartition("-")[0].rpartition("-")[0]
    return host == here and pid.isdecimal() and (int(pid) == os.getpid() or _start_of(int(pid)) == "")


@cache
def _surroundings() -> tuple[str, str]:
    """Give what processes that see each other have in common: the boot, and the namespace of process ids."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip(), os.readlink("/proc/self/ns/pid")


def _start_of(pid: int) -> str | None:
    """Give the start time of a process, in clock ticks since boot. "": it does not run. None: that cannot be told.

    Where /proc is mounted with hidepid, processes of other users cannot be read there, though they run.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None if _runs(pid) else ""
    return "" if fields[0] in "ZX" else fields[19]  # a zombie has nothing in flight


def _runs(pid: int) -> bool:
    """Ask the kernel whether a process runs: signal 0 is only a question. EPERM: it runs, and is another user's."""
    if pid < 1:
        return False  # 0 would ask for the own process group
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def is_worth_a_look(now: float, looked_at: float, grown_at: float, dead_after_s: float) -> bool:
    """Tell whether to look if a log has grown. A crawl of weeks may leave thousands of logs that never grow again.

    >>> is_worth_a_look(now=50, looked_at=49, grown_at=0, dead_after_s=60)
    True
    >>> [is_worth_a_look(3600, looked_at, 0, 60) for looked_at in (3200, 3300)]
    [True, False]
    """
    silent_s = now - grown_at
    return silent_s <= dead_after_s or now - looked_at >= _SELDOM * silent_s


def longest_permit_s(dead_after_s: float, caches_s: float) -> float:
    """Give for how many seconds machines may fetch after `.fscrawl` was deleted.

    `caches_s`: how long they may see an old tree.json. A permit that they get at the end of that time holds for half of
    `dead_after` more.
    """
    return max(dead_after_s, caches_s + dead_after_s / 2)


class Permit:
    """Until when the workers may go on, by `uptime`: a time that all processes of a machine see."""

    def __init__(self) -> None:
        import multiprocessing  # noqa: PLC0415 - commands that only read heartbeats need no permit

        self._until = multiprocessing.get_context("forkserver").RawValue("d", 0.0)

    def holds(self) -> bool:
        return uptime() <= float(self._until.value)

    def extend(self, until: float) -> None:
        self._until.value = until


class Heartbeat:
    """Beats until `stop`. `snapshot` gives the counters of a beat; it is called from the thread that beats."""

    def __init__(
        self,
        log: Log,
        machine: str,
        snapshot: Callable[[], Beat],
        *,
        beat_s: float,
        lease_s: float,
        permit: Permit,
        confirm: Callable[[], bool] = lambda: True,
    ) -> None:
        """`lease_s`: for so many seconds after a beat began, the workers may go on.

        `confirm`: asked after each beat; if it does not say yes the beat does not count, since it may stand in a file
        that nobody reads any more.
        """
        self._log = log
        self._confirm = confirm
        self._snapshot = snapshot
        self._permit = permit
        self.lease_s = lease_s
        self.gaps = 0  # between two beats that were longer than `lease_s`
        self._admitted = 0  # after so many of them the workers may go on
        self._wake = threading.Event()
        self._over = False
        self._number = 0
        self._soon_s = _FIRST_BEAT_S
        self.beat_s = beat_s
        self.trouble: FscrawlError | None = None
        self.written: list[Beat] = []  # the last two beats
        self._write(replace(hello(machine), at=time.time()), None)
        self._beaten_at = uptime()
        self.readmit(0)
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def age_s(self) -> float:
        """Seconds since the beginning of the last beat that was certainly written."""
        return uptime() - self._beaten_at

    @property
    def suspended(self) -> bool:
        """There was a gap, and the leases were not read since then."""
        return self._admitted < self.gaps

    def readmit(self, gaps: int) -> None:
        """The leases were read after so many gaps: the workers may go on, unless there was one more meanwhile."""
        until = self._beaten_at + self.lease_s  # read first: if there is a gap just now, this time is over
        self._admitted = gaps
        if not self.suspended:
            self._permit.extend(until)

    def beat_now(self) -> None:
        """Do not wait for the next beat: something has changed that others wait for."""
        self._wake.set()

    def stop(self, *, finished: bool = False) -> bool:
        """Write the goodbye, and return True; False if the file system hangs. TreeError if that could not be done.

        `finished`: the crawl is over.
        """
        self._over = True
        self._wake.set()
        self._thread.join(_JOIN_S)
        if self._thread.is_alive():
            return False
        try:
            self._write(Goodbye(replace(self._snapshot(), at=time.time()), finished))
        finally:
            self._log.close()
        return True

    def abandon(self) -> None:
        """Write nothing more, not even a goodbye: others must not take this machine's shards for complete.

        The permit ends, too: a worker in this process may still be at work.
        """
        self._over = True
        self._permit.extend(0.0)
        self._wake.set()

    def _run(self) -> None:
        while not self._over:
            self._wake.wait(min(self._beat(), self._soon_s))
            self._soon_s *= 2
            self._wake.clear()

    def _beat(self) -> float:
        """Write a beat; return after how many seconds the next one is due."""
        began = uptime()
        beat = replace(self._snapshot(), number=self._number, at=time.time())
        try:
            self._write(beat)
            confirmed = self._confirm()
        except FscrawlError as error:
            self.trouble = error  # meanwhile `age_s` grows, and the machine fences itself
            return min(self.beat_s, _AGAIN_S)
        self.trouble = None
        self._number += 1
        self.written = [*self.written[-1:], beat]
        if confirmed:
            self._beaten(began)
        return self.beat_s

    def _beaten(self, began: float) -> None:
        if uptime() - self._beaten_at > self.lease_s:
            self.gaps += 1  # until `readmit` the permit stays as it ran out
        self._beaten_at = began
        if not (self.suspended or self._over):
            self._permit.extend(began + self.lease_s)

    def _write(self, line: Line, retrying: Retrying | None = _RETRYING) -> None:
        self._log.append(line_of(line), retrying)


class Fence:
    """Whether this machine is fenced. Only the main loop uses it."""

    def __init__(self, heart: Heartbeat, warn: Callable[[str], None]) -> None:
        self.is_up = False
        self._heart = heart
        self._warn = warn
        self._beating_since: float | None = None
        self._gaps = 0  # of the heart, at the last look

    @property
    def is_due(self) -> bool:
        """It is up, or will be at the next look: the file system may have hung since the last one."""
        return self.is_up or self._heart.suspended or self._heart.age_s() > self._heart.lease_s

    def may_end(self, now: float) -> bool:
        """Put the fence up if the heart fails; tell whether it may be taken down, once the leases were read."""
        if self._gaps < self._heart.gaps:  # the machine may have stood still again, and beaten before this look
            self._gaps, self._beating_since = self._heart.gaps, None
        if self._heart.age_s() > self._heart.lease_s:
            self._put_up()
            self._beating_since = None
        elif self.is_up or self._heart.suspended:
            self._put_up()
            self._beating_since = self._beating_since or now
            return now - self._beating_since > self._heart.beat_s
        return False

    def _put_up(self) -> None:
        if not self.is_up:
            self.is_up = True
            self._warn("no heartbeat could be written for a while; this machine fetches nothing until it can write one")

    def take_down(self) -> None:
        """The leases were read: go on, unless the machine has stood still once more since `may_end`."""
        self._heart.readmit(self._gaps)
        if not self._heart.suspended:
            self.is_up = False
            self._beating_since = None
            self._warn("heartbeats can be written again; this machine goes on with the shards that it still holds")
