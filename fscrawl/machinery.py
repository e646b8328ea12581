"""`.fscrawl` on the shared directory: logs that grow, leases that are claimed. A part of the store.

Vocabulary:
  log       a file with one writer, whole lines, one write and one fsync a flush; it only grows
  tail      reading a log from an offset up to its last newline
  segment   a feed is a row of logs, `<machine>.log`, `<machine>.1.log`, …, each of at most 64 MiB and a flush
  lease     the file `<shard>.<epoch>`; it names its holder, and is never changed

Promise: a reader gets a prefix of what the writer wrote, in whole lines. Of any number of machines that claim one
epoch of a shard, exactly one is told that it has it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from typing import NamedTuple

from fscrawl.publish import claim, read_file, remove, translated
from fscrawl.store import MACHINERY, Tree

SEGMENT_BYTES = 64 * 1024 * 1024
_READ_BYTES = 4 * 1024 * 1024


class Lease(NamedTuple):
    """`shard` is held by machine `holder` (a claim that could not be read back is nobody's, "")."""

    shard: int
    epoch: int
    holder: str


class Log:
    """The writing end of a log."""

    def __init__(self, path: str) -> None:
        self._path = path
        with translated(path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def append(self, data: bytes) -> None:
        """Write whole lines, so that other machines see them: on NFS that takes an fsync."""
        with translated(self._path):
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Machinery:
    """One process's view of a tree's `.fscrawl`."""

    def __init__(self, tree: Tree) -> None:
        self._directory = f"{tree.root}/{MACHINERY}"
        self._machine = tree.machine

    # -- logs

    def heartbeat_log(self) -> Log:
        """Open this machine's heartbeat log."""
        return Log(f"{self._directory}/machines/{self._machine}.log")

    def feed_log(self, segment: int) -> Log:
        """Open a segment of this machine's feed."""
        return Log(self._feed_path(self._machine, segment))

    def machines(self) -> list[str]:
        """List the machines that have a heartbeat log."""
        return [name[:-4] for name in self._list("machines") if name.endswith(".log") and not name.startswith(".")]

    def feeds(self) -> dict[str, int]:
        """List the feeds: machine → number of its last segment."""
        last: dict[str, int] = {}
        for name in self._list("feed"):
            machine, _, number = name.removesuffix(".log").partition(".")
            if name.endswith(".log") and machine and (not number or number.isdecimal()):
                last[machine] = max(last.get(machine, 0), int(number or 0))
        return last

    def read_heartbeats(self, machine: str, offset: int, most: int | None = None) -> bytes:
        """Read a heartbeat log's whole lines from `offset`, `most` bytes of them."""
        return tail(f"{self._directory}/machines/{machine}.log", offset, most)

    def heartbeats_size(self, machine: str) -> int:
        """Give the size of a heartbeat log; 0 if it is gone."""
        path = f"{self._directory}/machines/{machine}.log"
        with translated(path):
            try:
                return os.stat(path).st_size
            except FileNotFoundError:
                return 0

    def read_feed(self, machine: str, segment: int, offset: int) -> bytes:
        """Read whole lines of a feed's segment from `offset`, some MiB at most."""
        return tail(self._feed_path(machine, segment), offset)

    def _feed_path(self, machine: str, segment: int) -> str:
        return f"{self._directory}/feed/{machine}{f'.{segment}' if segment else ''}.log"

    # -- leases

    def leases(self) -> list[tuple[int, int]]:
        """List the (shard, epoch) of every lease there is."""
        found = []
        for name in self._list("leases"):
            shard, _, epoch = name.partition(".")
            if shard.isdecimal() and epoch.isdecimal():
                found.append((int(shard), int(epoch)))
        return found

    def lease(self, shard: int, epoch: int) -> Lease:
        """Read who holds an epoch; nobody, if it is gone or torn."""
        with translated(self._lease_path(shard, epoch)):
            try:
                holder = json.loads(read_file(self._lease_path(shard, epoch)))["holder"]
            except (FileNotFoundError, ValueError, KeyError, TypeError):
                return Lease(shard, epoch, "")
        return Lease(shard, epoch, str(holder))

    def has_lease(self, shard: int, epoch: int) -> bool:
        """Ask by name whether an epoch has been claimed."""
        with translated(self._lease_path(shard, epoch)):
            try:
                os.stat(self._lease_path(shard, epoch))
            except FileNotFoundError:  # any other error is no answer
                return False
        return True

    def claim_lease(self, shard: int, epoch: int, holder: str) -> bool:
        """Claim an epoch in the name of `holder`; tell whether this call won it."""
        data = {"holder": holder, "by": self._machine, "nonce": os.urandom(8).hex()}
        return claim(self._lease_path(shard, epoch), json.dumps(data).encode() + b"\n", self._machine)

    def drop_lease(self, shard: int, epoch: int) -> None:
        """Remove an epoch that has long been followed by another."""
        remove(self._lease_path(shard, epoch))

    def _lease_path(self, shard: int, epoch: int) -> str:
        return f"{self._directory}/leases/{shard}.{epoch}"

    def _list(self, name: str) -> list[str]:
        path = f"{self._directory}/{name}"
        with translated(path):
            try:
                return os.listdir(path)
            except FileNotFoundError:
                return []


def tail(path: str, offset: int, most: int | None = None) -> bytes:
    """Read a log's whole lines from `offset`, `most` bytes of them; b"" if it has none there, or is gone.

    Opened anew each time, with an fstat: a handle kept open sees another machine's appends 20 s late on sshfs and
    later on NFS, a new one at once.
    """
    with translated(path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            there = os.fstat(descriptor).st_size - offset
            data = os.pread(descriptor, min(there, most or _READ_BYTES), offset) if there > 0 else b""
        finally:
            os.close(descriptor)
    return data[: data.rfind(b"\n") + 1]


class Yard:
    """A directory of one machine's own in `.fscrawl`, where the file system is tried out (see `probe`)."""

    PREFIX = "probe-"

    def __init__(self, tree: Tree, machine: str) -> None:
        self._root = str(tree.root)
        self.path = f"{tree.root}/{MACHINERY}/{self.PREFIX}{machine}"

    def real_root(self) -> str:
        """Give the root's path without symbolic links, as a table of mounts has it."""
        return os.path.realpath(self._root)

    def make(self) -> None:
        with translated(self.path):
            os.mkdir(self.path)

    def create(self, name: str, data: bytes) -> bool:
        """Make a file that must not be there; tell whether it was not."""
        with translated(self.path):
            try:
                descriptor = os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                return False
            _write_and_close(descriptor, data)
        return True

    def append(self, name: str, data: bytes) -> None:
        with translated(self.path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            _write_and_close(os.open(f"{self.path}/{name}", flags, 0o666), data)

    def read(self, name: str) -> bytes:
        """Read a file's whole lines through a handle of its own; b"" if it is not there."""
        return tail(f"{self.path}/{name}", 0)

    def link(self, name: str, new: str) -> bool:
        """Give a file a second name; tell whether that was free."""
        with translated(self.path):
            try:
                os.link(f"{self.path}/{name}", f"{self.path}/{new}")
            except FileExistsError:
                return False
        return True

    def rename(self, name: str, new: str) -> None:
        with translated(self.path):
            os.rename(f"{self.path}/{name}", f"{self.path}/{new}")

    def names(self) -> list[str]:
        with translated(self.path):
            try:
                return os.listdir(self.path)
            except FileNotFoundError:
                return []

    def clear(self, names: Iterable[str]) -> None:
        """Remove these files, those that are there, and the directory."""
        for name in names:
            remove(f"{self.path}/{name}")
        with translated(self.path), contextlib.suppress(FileNotFoundError):
            os.rmdir(self.path)


def _write_and_close(descriptor: int, data: bytes) -> None:
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
