"""The small files of the fleet in a tree: leases, heartbeat logs, status files.

Vocabulary:
  shard     a part of all URLs, by number
  epoch     counts the holders of a shard; the highest one holds
  lease     the file `<shard>.<epoch>`; it names its holder, and is never changed
  log       here a heartbeat log: a file with one writer that only grows (see `storage.append_log`; its lines: `beat`)
  peer      another machine, as its heartbeat log shows it

Promise: of any number of machines that claim one epoch of a shard, exactly one is told that it has it. A reader
of a log gets a prefix of what the writer wrote, in whole lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fscrawl.errors import PlantedError
from fscrawl.fleet.beat import HELLO_BYTES, Beat, Goodbye, Hello, goodbye_of, hello_in, parse_lines
from fscrawl.fleet.status_file import StatusFile, read_status
from fscrawl.storage.append_log import Log
from fscrawl.storage.layout import (
    LEASES,
    MACHINES,
    heartbeat_path,
    is_host,
    is_machine,
    lease_of,
    lease_path,
    machine_of,
    status_of,
)
from fscrawl.store import Tree

_NEWEST_BYTES = 1 << 12  # several beats; who is behind needs only the last two
_NO_COUNTERS = Beat()


class Lease(NamedTuple):
    """Machine `holder` holds `shard`. "": the claim cannot be read, so the holder is not known.

    rests   hosts of a shard that was handed over, and for how many seconds from then they must be left alone
    """

    shard: int
    epoch: int
    holder: str
    rests: tuple[tuple[str, float], ...] = ()


class Machinery:
    """One process's view of them."""

    def __init__(self, tree: Tree) -> None:
        self._files = tree.files

    # -- leases

    def leases(self) -> list[tuple[int, int]]:
        """List the (shard, epoch) of every lease."""
        return [lease for name in self._files.names(LEASES) if (lease := lease_of(name)) is not None]

    def lease(self, shard: int, epoch: int) -> Lease:
        """Read who holds an epoch; the holder is "" if the lease is torn, or cannot be found though it is listed."""
        data = self._files.read_or_torn(lease_path(shard, epoch)) or b""
        try:
            claim = json.loads(data)
            holder = str(claim["holder"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return Lease(shard, epoch, "")
        return Lease(shard, epoch, holder, _rests_in(claim)) if is_machine(holder) else Lease(shard, epoch, "")

    def has_lease(self, shard: int, epoch: int) -> bool:
        """Ask by name whether an epoch has been claimed."""
        return self._files.exists(lease_path(shard, epoch))

    def claim_lease(self, shard: int, epoch: int, holder: str, rests: Mapping[str, float] | None = None) -> bool:
        """Claim an epoch in the name of `holder`; tell whether this call won it. `rests`: as in `Lease`."""
        claim: dict[str, Any] = {"holder": holder, "by": self._files.machine, "nonce": os.urandom(8).hex()}
        if rests:
            claim["rests"] = dict(rests)
        return self._files.claim(lease_path(shard, epoch), json.dumps(claim).encode() + b"\n")

    def drop_lease(self, shard: int, epoch: int) -> None:
        """Remove an epoch that another one has followed long ago."""
        self._files.remove(lease_path(shard, epoch))

    # -- heartbeats

    def take_name(self) -> bool:
        """Make this machine's heartbeat log, empty; tell whether no other machine has its id."""
        return self._files.reserve_name(heartbeat_path(self._files.machine))

    def heartbeat_log(self) -> Log:
        """Open this machine's heartbeat log."""
        return self._files.log(heartbeat_path(self._files.machine))

    def machines(self) -> list[str]:
        """List the machines that have a heartbeat log."""
        return [machine for name in self._files.names(MACHINES) if (machine := machine_of(name)) is not None]

    def with_status(self) -> list[str]:
        """List the machines that have a status file."""
        return [machine for name in self._files.names(MACHINES) if (machine := status_of(name)) is not None]

    def status(self, machine: str) -> StatusFile:
        """Read a machine's status file; an empty one if it has none."""
        return read_status(self._files, machine)

    def read_heartbeats(self, machine: str, offset: int, most: int | None = None) -> bytes:
        """Read a heartbeat log's whole lines from `offset`, at most `most` bytes of them."""
        return self._files.tail(heartbeat_path(machine), offset, most)

    def read_newest_heartbeats(self, machine: str, offset: int, most: int = _NEWEST_BYTES) -> tuple[bytes, int]:
        """Read a heartbeat log's newest lines from `offset`, about `most` bytes; return them, and the offset behind."""
        return self._files.newest(heartbeat_path(machine), offset, most)

    def is_planted(self, machine: str) -> bool:
        """Tell whether a heartbeat log that seems to have no lines is none: nobody works who has such a log."""
        try:
            data = self._files.read_range(heartbeat_path(machine), 0, HELLO_BYTES) or b""
        except PlantedError as error:
            return not error.denied
        return len(data) == HELLO_BYTES and b"\n" not in data

    def heartbeats_size(self, machine: str) -> int:
        """Give the size of a heartbeat log; 0 if it is missing."""
        return self._files.size(heartbeat_path(machine))


def _rests_in(claim: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Give the rests that a claim tells. What is none is left out."""
    rests = claim.get("rests")
    if not isinstance(rests, dict):
        return ()
    return tuple((host, s) for host, s in rests.items() if is_host(host) and type(s) in (int, float) and s > 0)


class Heard(NamedTuple):
    """What a machine's log has grown by: its newest `lines`, and where they end; the `beginning` if it was not read.

    planted   it is no heartbeat log: somebody has put something else there
    """

    beginning: bytes
    lines: bytes
    end: int
    planted: bool = False


class Peer(msgspec.Struct):
    """What is known of another machine, from the beginning and the end of its log.

    offset       so far the log has been read
    grown_at     when the log was last seen to grow, by the clock of this machine
    looked_at    when this machine last looked whether it has grown
    greeting     its hello
    beats        the last two
    planted      what stands there is no heartbeat log
    gone         its process is known to have ended
    proven       it was seen to appear or to beat; until then the log may be of a machine that died long ago
    """

    machine: str
    grown_at: float
    looked_at: float = float("-inf")
    offset: int = 0
    greeting: Hello | None = None
    beats: list[Beat] = msgspec.field(default_factory=list)
    bye: Goodbye | None = None
    gone: bool = False
    planted: bool = False
    proven: bool = False

    def listen(self, logs: Machinery) -> Heard:
        """Read what its log has grown by, and take nothing in: another thread may do this.

        Of a log that has grown by much, only the newest lines are read; and the beginning, if it was not read before.
        """
        lines, end = logs.read_newest_heartbeats(self.machine, self.offset)
        is_cut = end > len(lines) and not self.offset
        beginning = logs.read_heartbeats(self.machine, 0, HELLO_BYTES) if is_cut else b""
        return Heard(beginning, lines, end, planted=end == 0 and logs.is_planted(self.machine))

    def hear(self, heard: Heard, now: float) -> None:
        """Take in what was read. Beats before a goodbye say nothing more."""
        self.planted = heard.planted
        if heard.end > self.offset:
            self.offset, self.grown_at = heard.end, now
        bye = goodbye_of(heard.lines)
        if bye is None:
            self.take(heard.lines)
            self.greeting = hello_in(heard.beginning) or self.greeting
        else:
            self.bye = bye
            self.greeting = hello_in(heard.beginning + heard.lines) or self.greeting

    def take(self, data: bytes) -> None:
        """Take in lines of its log."""
        for line in parse_lines(data):
            if isinstance(line, Hello):
                self.greeting = line
            elif isinstance(line, Goodbye):
                self.bye = line
            else:
                self.beats = [*self.beats[-1:], line]

    @property
    def left(self) -> bool:
        """It will not beat again."""
        return self.bye is not None or self.gone or self.planted

    def last(self) -> Beat:
        """Its newest counters."""
        if self.bye is not None:
            return self.bye.counters
        return self.beats[-1] if self.beats else _NO_COUNTERS
