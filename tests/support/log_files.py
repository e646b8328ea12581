"""Logs of one generation in memory: cheap, counted, and as wrong as a file system may be.

Each machine has a view of the same store. A view may be out of date: it shows less of some logs. A write may be made
and report an error, leave a part, or fail. Calls and bytes are counted by view.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from fscrawl.errors import may_pass, tree_error
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.lines import Found

T = TypeVar("T")
Store = dict[str, bytearray]  # machine → what is on the server of its log
TRIES = 4  # of a call that fails
ALL = range(1000)  # shards


def found(shard: int, number: int = 0, *, length: int = 0) -> Found:
    """Give a line; `length`: of its URL, at least."""
    return Found(shard, 1, "ab" * 12, f"http://h{shard}.example/{number}".ljust(length, "x"))


class LogsInMemory(UrlLogs):
    """One machine's view of a store.

    calls       how often each kind of call was made: open, size, read, list, write, make
    read_bytes, written_bytes
    reads       offset and length of each
    sizes       machine → how much of its log this view shows; None: not even its name
    faults      what happens to the next writes, in this order: the number of bytes that land before an error, -1 for
                all of them (a lost reply). None: nothing goes wrong
    open_faults errors of the next openings for writing, by number
    """

    def __init__(self, store: Store | None = None, generation: int = 1) -> None:
        self.generation = generation
        self.store = {} if store is None else store
        self.calls: Counter[str] = Counter()
        self.read_bytes = 0
        self.written_bytes = 0
        self.reads: list[tuple[int, int]] = []
        self.sizes: dict[str, int | None] = {}
        self.faults: list[int | None] = []
        self.open_faults: list[int] = []

    def machines(self) -> list[str]:
        self.calls["list"] += 1
        return sorted(self.store)

    def size(self, machine: str) -> int | None:
        self.calls["size"] += 1
        return self._seen(machine)

    def _seen(self, machine: str) -> int | None:
        if machine not in self.store:
            return None
        there = len(self.store[machine])
        size = self.sizes.get(machine, there)
        return None if size is None else min(size, there)

    def open_view(self, machine: str) -> _View | None:  # type: ignore[override]
        self.calls["open"] += 1
        size = self._seen(machine)
        return None if size is None else _View(self, machine, size)

    def open_end(self, machine: str) -> _End:  # type: ignore[override]
        self.calls["make"] += 1
        if self.open_faults:
            raise OSError(self.open_faults.pop(0), "as the test says")
        return _End(self, self.store.setdefault(machine, bytearray()))

    def remove(self, machine: str) -> None:
        self.store.pop(machine, None)

    def retry(self, machine: str, call: Callable[[], T]) -> T:
        for left in reversed(range(TRIES)):
            try:
                return call()
            except OSError as error:
                if not left or not may_pass(error):
                    raise tree_error(error, f"the log of {machine}") from error
        raise AssertionError


class _View:
    def __init__(self, files: LogsInMemory, machine: str, size: int) -> None:
        self.size = size
        self._files = files
        self._machine = machine

    def read(self, offset: int, length: int) -> bytes:
        self._files.calls["read"] += 1
        self._files.reads.append((offset, length))
        piece = bytes(self._files.store.get(self._machine, b"")[offset : min(offset + length, self.size)])
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

    def write(self, data: bytes, offset: int) -> int:
        assert self._is_open
        self._files.calls["write"] += 1
        fault = self._files.faults.pop(0) if self._files.faults else None
        landed = data if fault in {None, -1} else data[:fault]
        self._data[offset : offset + len(landed)] = landed
        self._files.written_bytes += len(landed)
        if fault is not None:
            raise OSError(errno.EIO, "as the test says")
        return len(self._data)

    def close(self) -> None:
        self._is_open = False
