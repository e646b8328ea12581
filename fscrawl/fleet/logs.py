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

from fscrawl.storage.atomic import claim, close_read, read_file, remove, sync_directory, write_all
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.store import MACHINERY, Tree

SEGMENT_BYTES = 64 * 1024 * 1024
_READ_BYTES = 4 * 1024 * 1024
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class Lease(NamedTuple):
    """`shard` is held by machine `holder` (a claim that could not be read back is nobody's, "")."""

    shard: int
    epoch: int
    holder: str


class Log:
    """The writing end of a log.

    size    bytes in the file, as this writer knows; whole lines, but for what an append that failed has left
    """

    def __init__(self, path: str, retrying: Retrying = BRIEF) -> None:
        self.size = 0
        self._path = path
        self._retrying = retrying
        self._descriptor: int | None = None
        retrying(path, lambda: self._open(os.O_CREAT))
        retrying(path, lambda: sync_directory(os.path.dirname(path)))  # what is flushed to a file needs its name

    def _open(self, flags: int) -> int:
        descriptor = os.open(self._path, _APPEND | flags, 0o666)
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        return descriptor

    def append(self, data: bytes, retrying: Retrying | None = None) -> None:
        """Write whole lines, so that other machines see them: on NFS that takes an fsync.

        What fails may have been written nevertheless, or half of it; then the lines come again, on lines of their own.
        """
        (retrying or self._retrying)(self._path, lambda: self._append_once(data))

    def _append_once(self, data: bytes) -> None:
        descriptor = self._descriptor
        if descriptor is None:
            descriptor = self._open(0)
            data = b"\n" + data
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError:
            self.close()
            raise
        self.size += len(data)

    def close(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # what was appended is on the tree; the rest comes again
                os.close(self._descriptor)
            self._descriptor = None


class Machinery:
    """One process's view of a tree's `.fscrawl`."""

    def __init__(self, tree: Tree) -> None:
        self._directory = f"{tree.root}/{MACHINERY}"
        self._machine = tree.machine
        self._retrying = tree.retrying

    # -- logs

    def heartbeat_log(self) -> Log:
        """Open this machine's heartbeat log."""
        return Log(f"{self._directory}/machines/{self._machine}.log", self._retrying)

    def feed_log(self, segment: int) -> Log:
        """Open a segment of this machine's feed."""
        return Log(self._feed_path(self._machine, segment), self._retrying)

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
        return tail(f"{self._directory}/machines/{machine}.log", offset, most, self._retrying)

    def heartbeats_size(self, machine: str) -> int:
        """Give the size of a heartbeat log; 0 if it is gone."""
        path = f"{self._directory}/machines/{machine}.log"
        return self._retrying.find(path, lambda: os.stat(path).st_size, 0)

    def read_feed(self, machine: str, segment: int, offset: int) -> bytes:
        """Read whole lines of a feed's segment from `offset`, some MiB at most."""
        return tail(self._feed_path(machine, segment), offset, retrying=self._retrying)

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
        path = self._lease_path(shard, epoch)
        data = self._retrying.find(path, lambda: read_file(path), b"")
        try:
            return Lease(shard, epoch, str(json.loads(data)["holder"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Lease(shard, epoch, "")

    def has_lease(self, shard: int, epoch: int) -> bool:
        """Ask by name whether an epoch has been claimed."""
        path = self._lease_path(shard, epoch)
        return self._retrying.find(path, lambda: os.stat(path), None) is not None

    def claim_lease(self, shard: int, epoch: int, holder: str) -> bool:
        """Claim an epoch in the name of `holder`; tell whether this call won it."""
        data = json.dumps({"holder": holder, "by": self._machine, "nonce": os.urandom(8).hex()}).encode() + b"\n"
        return claim(self._lease_path(shard, epoch), data, self._machine, retrying=self._retrying)

    def drop_lease(self, shard: int, epoch: int) -> None:
        """Remove an epoch that has long been followed by another."""
        remove(self._lease_path(shard, epoch), self._retrying)

    def _lease_path(self, shard: int, epoch: int) -> str:
        return f"{self._directory}/leases/{shard}.{epoch}"

    def _list(self, name: str) -> list[str]:
        path = f"{self._directory}/{name}"
        return self._retrying.find(path, lambda: os.listdir(path), [])


def tail(path: str, offset: int, most: int | None = None, retrying: Retrying = BRIEF) -> bytes:
    """Read a log's whole lines from `offset`, `most` bytes of them; b"" if it has none there, or is gone.

    Opened anew each time, with an fstat: a handle kept open sees another machine's appends 20 s late on sshfs and
    later on NFS, a new one at once.
    """
    data = retrying.find(path, lambda: _read_from(path, offset, most or _READ_BYTES), b"")
    return data[: data.rfind(b"\n") + 1]


def _read_from(path: str, offset: int, most: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        wanted = min(os.fstat(descriptor).st_size - offset, most)
        data = os.pread(descriptor, wanted, offset) if wanted > 0 else b""
        while 0 < len(data) < wanted and (more := os.pread(descriptor, wanted - len(data), offset + len(data))):
            data += more
        return data
    finally:
        close_read(descriptor)


class Yard:
    """A directory of one machine's own in `.fscrawl`, where the file system is tried out (see `probe`)."""

    PREFIX = "probe-"

    def __init__(self, tree: Tree, machine: str) -> None:
        self._root = str(tree.root)
        self._retrying = tree.retrying
        self.path = f"{tree.root}/{MACHINERY}/{self.PREFIX}{machine}"

    def real_root(self) -> str:
        """Give the root's path without symbolic links, as a table of mounts has it."""
        return os.path.realpath(self._root)

    def make(self) -> None:
        def make_once() -> None:
            with contextlib.suppress(FileExistsError):  # from a try before
                os.mkdir(self.path)

        self._retrying(self.path, make_once)

    def create(self, name: str, data: bytes) -> bool:
        """Make a file that must not be there; tell whether it was not."""

        def create_once() -> bool:
            try:
                descriptor = os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                return False
            _write_and_close(descriptor, data)
            return True

        return self._retrying(self.path, create_once)

    def append(self, name: str, data: bytes) -> None:
        """Append to a file, twice perhaps."""
        path = f"{self.path}/{name}"
        self._retrying(self.path, lambda: _write_and_close(os.open(path, _APPEND | os.O_CREAT, 0o666), data))

    def read(self, name: str) -> bytes:
        """Read a file's whole lines through a handle of its own; b"" if it is not there."""
        return tail(f"{self.path}/{name}", 0, retrying=self._retrying)

    def link(self, name: str, new: str) -> bool:
        """Give a file a second name; tell whether that was free."""

        def link_once() -> bool:
            try:
                os.link(f"{self.path}/{name}", f"{self.path}/{new}")
            except FileExistsError:
                return False
            return True

        return self._retrying(self.path, link_once)

    def rename(self, name: str, new: str) -> None:
        """Rename a file, unless that is done already, as it seems to a call that is retransmitted."""
        self._retrying.find(self.path, lambda: os.rename(f"{self.path}/{name}", f"{self.path}/{new}"), None)

    def names(self) -> list[str]:
        return self._retrying.find(self.path, lambda: os.listdir(self.path), [])

    def clear(self, names: Iterable[str]) -> None:
        """Remove these files, those that are there, and the directory."""
        for name in names:
            remove(f"{self.path}/{name}", self._retrying)
        self._retrying.find(self.path, lambda: os.rmdir(self.path), None)


def _write_and_close(descriptor: int, data: bytes) -> None:
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
