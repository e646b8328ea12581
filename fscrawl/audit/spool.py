"""Work in any amount, in little memory: rows in a scratch file, answers of threads in their turn."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

READERS = 8  # on NFS each file is a wait for three calls
_WINDOW = 8 * READERS  # answers that may wait for their turn

T = TypeVar("T")


class Spool:
    """Rows in a local scratch file, however many; each comes back as a list."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - it lives as long as this
        self._size = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row; not while the rows are being read."""
        self._file.write(json.dumps(row) + "\n")
        self._size += 1

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[list[Any]]:
        self._file.seek(0)
        yield from map(json.loads, self._file)

    def close(self) -> None:
        self._file.close()


def readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(READERS, thread_name_prefix="audit")


def in_turn(pool: ThreadPoolExecutor, jobs: Iterable[Callable[[], T]]) -> Iterator[T]:
    """Give the jobs' answers in their order; only so many are begun before their turn."""
    waiting: deque[Future[T]] = deque()
    for job in jobs:
        waiting.append(pool.submit(job))
        if len(waiting) >= _WINDOW:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
