"""Machines with logs in memory, which share a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from tests.support.log_files import LogsInMemory, Store


@pytest.fixture
def store() -> Store:
    return {}


@pytest.fixture
def files(store: Store) -> LogsInMemory:
    """What the reader "me" sees."""
    return LogsInMemory(store)


@pytest.fixture
def reader(files: LogsInMemory) -> LogReader:
    return LogReader(files, shards=1000)


@pytest.fixture
def make_writer(store: Store) -> Callable[..., LogWriter]:
    """Make the writer of a machine, with a view of its own."""

    def make(machine: str = "a", view: LogsInMemory | None = None, **options: Any) -> LogWriter:
        writer = LogWriter(view or LogsInMemory(store), machine, **options)
        writer.open()
        return writer

    return make


@pytest.fixture
def write() -> Callable[..., None]:
    """Write lines as one block."""

    def write(writer: LogWriter, *lines: Line, own: Iterable[Line] = ()) -> None:
        for line in lines:
            assert writer.add(line, own=False)
        for line in own:
            assert writer.add(line, own=True)
        writer.flush()

    return write
