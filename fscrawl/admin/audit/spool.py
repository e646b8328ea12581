"""Any number of rows in little memory: they are kept in a scratch file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from typing import Any


class Spool:
    """Any number of rows in a local scratch file. Each is returned as a list."""

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
