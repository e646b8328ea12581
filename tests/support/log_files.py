"""Logs of machines in memory: cheap, counted, and as wrong as a file system may be.

Each machine has a view of the same store. A view may be out of date: it is frozen, or shows less of some segments. An
append may be made and report an error, leave a part, or fail. Calls and bytes are counted by view.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from fscrawl.errors import may_pass, tree_error
from fscrawl.fleet.lines import Found

T = TypeVar("T")
Key = tuple[str, int]  # machine and segment
TRIES = 4  # of a call that fails
ALL = range(1000)  # shards


def found(shard: int, number: int = 0, *, length: int = 0) -> Found:
    """Give a line; `length`: of its URL, at least."""
    return Found(shard, 1, "ab" * 12, f"http://h{shard}.example/{number}".ljust(length, "x"))


@dataclass
class Store:
    """What is on the server: the bytes of all segments, and the segments of each machine."""

    files: dict[Key, bytearray] = field(default_factory=dict)
    segments: dict[str, list[int]] = field(default_factory=dict)

    def make(self, key: Key) -> bytearray:
        if key not in self.files:
            self.files[key] = bytearray()
            machine, segment = key
            self.segments[machine] = sorted([*self.segments.get(machine, []), segment])
        return self.files[key]

    def cut(self, machine: str, segment: int, size: int) -> None:
        """Lose what is behind `size`."""
        del self.files[machine, segment][size:]

    def remove(self, machine: str, segment: int) -> None:
        if self.files.pop((machine, segment), None) is not None:
            self.segments[machine] = [each for each in self.segments[machine] if each != segment]

    def log(self, machine: str) -> list[bytes]:
        """Give a log's segments."""
        return [bytes(self.files[machine, segment]) for segment in self.segments.get(machine, [])]


class LogsInMemory:
    """One machine's view of a store: `TreeLogs`.

    calls       how often each kind of call was made: open, size, read, list, append, make
    read_bytes, written_bytes
    sizes       (machine, segment) → how much of it this view shows; None: not even its name
    hidden      names that listings do not show yet
    faults      what happens to the next appends, in this order: the number of bytes that land before an error, -1 for
                all of them (a lost reply). None: nothing goes wrong
    open_faults errors of the next openings for appending, by number
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = Store() if store is None else store
        self.calls: Counter[str] = Counter()
        self.read_bytes = 0
        self.written_bytes = 0
        self.sizes: dict[Key, int | None] = {}
        self.hidden: set[Key] = set()
        self.faults: list[int | None] = []
        self.open_faults: list[int] = []
        self.reads: list[tuple[int, int]] = []  # offset and length of each

    # -- what this view shows

    def seen(self, key: Key) -> int | None:
        """Give the size that this view shows; None if it shows no file."""
        data = self.store.files.get(key)
        if data is None:
            return None
        if not self.sizes or key not in self.sizes:
            return len(data)
        size = self.sizes[key]
        return None if size is None else min(size, len(data))

    def freeze(self) -> None:
        """Show no more than now, until `thaw`."""
        self.sizes = {key: len(data) for key, data in self.store.files.items()}

    def thaw(self) -> None:
        self.sizes = {}
        self.hidden = set()

    # -- TreeLogs

    def log_machines(self) -> list[str]:
        self.calls["list"] += 1
        return list(self.store.segments)

    def log_segments(self, machine: str) -> list[int]:
        self.calls["list"] += 1
        segments = self.store.segments.get(machine, [])
        return [each for each in segments if (machine, each) not in self.hidden] if self.hidden else list(segments)

    def segment_size(self, machine: str, segment: int) -> int | None:
        self.calls["size"] += 1
        return self.seen((machine, segment))

    def open_segment(self, machine: str, segment: int) -> _View | None:
        self.calls["open"] += 1
        size = self.seen((machine, segment))
        return None if size is None else _View(self, (machine, segment), size)

    def open_segment_end(self, machine: str, segment: int) -> _End:
        self.calls["make"] += 1
        if self.open_faults:
            raise OSError(self.open_faults.pop(0), "as the test says")
        return _End(self, self.store.make((machine, segment)))

    def remove_segment(self, machine: str, segment: int) -> None:
        self.store.remove(machine, segment)

    def remove_empty_log(self, machine: str) -> None:
        self.store.remove(machine, 0)

    def retry_log(self, machine: str, call: Callable[[], T]) -> T:
        for left in reversed(range(TRIES)):
            try:
                return call()
            except OSError as error:
                if not left or not may_pass(error):
                    raise tree_error(error, f"the log of {machine}") from error
        raise AssertionError


class _View:
    def __init__(self, files: LogsInMemory, key: Key, size: int) -> None:
        self.size = size
        self._files = files
        self._key = key

    def read(self, offset: int, length: int) -> bytes:
        self._files.calls["read"] += 1
        self._files.reads.append((offset, length))
        data = self._files.store.files.get(self._key, b"")
        piece = bytes(data[offset : min(offset + length, self.size)])
        self._files.read_bytes += len(piece)
        return piece

    def close(self) -> None:
        pass


class _End:
    def __init__(self, files: LogsInMemory, data: bytearray) -> None:
        self.size = len(data)
        self._files = files
        self._data = data
        self._is_open = True

    def append(self, data: bytes) -> int:
        assert self._is_open
        self._files.calls["append"] += 1
        fault = self._files.faults.pop(0) if self._files.faults else None
        landed = data if fault in {None, -1} else data[:fault]
        self._data += landed
        self._files.written_bytes += len(landed)
        if fault is not None:
            raise OSError(errno.EIO, "as the test says")
        return len(self._data)

    def close(self) -> None:
        self._is_open = False
