"""The files of logs that are written at a place: what failed is written there once more.

Vocabulary:
  end     the writing end of a log
  view    one look at a log: it is opened, asked for its size, read at some places, and closed

Promise: what `write` has written can be read by all machines when it returns, and outlives what the export promises.
"""

from __future__ import annotations

import contextlib
import os
from typing import Self

from fscrawl.errors import PlantedError
from fscrawl.storage.atomic import close_read, read_at, sync, sync_directory_of
from fscrawl.storage.retrying import Retrying
from fscrawl.storage.safe_open import AnyPath, open_to_read, open_to_write


class LogEnd:
    """The writing end of a log. Raises OSError.

    size    bytes in the file, when it was opened
    """

    def __init__(self, path: AnyPath) -> None:
        descriptor, self.size = open_to_write(path, os.O_CREAT)
        self._descriptor: int | None = descriptor
        try:
            sync_directory_of(path)  # what is flushed to a file needs its name
        except OSError:
            self.close()
            raise

    def write(self, data: bytes, offset: int) -> int:
        """Write a block so that other machines see it; give the size of the file then.

        If it fails, the same block may be written again at the same place: some of it may be there.
        """
        assert self._descriptor is not None
        written = 0
        while written < len(data):
            written += os.pwrite(self._descriptor, data[written:], offset + written)
        sync(self._descriptor)
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # what was written is on the tree; of the rest nobody says that it is
                os.close(self._descriptor)
            self._descriptor = None


class LogView:
    """One look at a log. The file is opened each time: a handle that is kept open shows new data late.

    size    bytes in the file, when it was opened
    """

    def __init__(self, path: AnyPath, retrying: Retrying) -> None:
        """Prefer `open`. Raises OSError."""
        self._path = path
        self._retrying = retrying
        self._descriptor: int | None
        self._descriptor, self.size = open_to_read(path)

    @classmethod
    def open(cls, path: AnyPath, retrying: Retrying) -> Self | None:
        """Open a log; None if it is missing, or is no file."""
        try:
            return retrying.find(path, lambda: cls(path, retrying), None)
        except PlantedError:
            return None

    def read(self, offset: int, length: int) -> bytes:
        """Read a range; less, if the file ends before."""
        return self._retrying(self._path, lambda: self._read_once(offset, length))

    def _read_once(self, offset: int, length: int) -> bytes:
        if self._descriptor is None:
            self._descriptor, _ = open_to_read(self._path)
        try:
            return read_at(self._descriptor, offset, length)
        except OSError:
            self.close()  # a handle may have gone stale; the next try opens the file again
            raise

    def close(self) -> None:
        if self._descriptor is not None:
            close_read(self._descriptor)
            self._descriptor = None
