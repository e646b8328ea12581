"""Segments: the files of a log of which an append is never made again.

Vocabulary:
  end     the writing end of a segment
  view    one look at a segment: it is opened, asked for its size, read at some places, and closed

Promise: what `append` has written can be read by all machines when it returns, and outlives what the export promises.
"""

from __future__ import annotations

import contextlib
import os
from typing import Self

from fscrawl.errors import PlantedError
from fscrawl.storage.atomic import close_read, make_directory, sync, sync_directory_of, write_all
from fscrawl.storage.retrying import Retrying
from fscrawl.storage.safe_open import AnyPath, open_to_append, open_to_read, parent_of


class SegmentEnd:
    """The writing end of a segment. Raises OSError.

    size    bytes in the file, when it was opened
    """

    def __init__(self, path: AnyPath) -> None:
        directory = parent_of(path)
        try:
            descriptor, self.size = open_to_append(path, os.O_CREAT)
        except FileNotFoundError:
            make_directory(directory)
            sync_directory_of(directory)
            descriptor, self.size = open_to_append(path, os.O_CREAT)
        self._descriptor: int | None = descriptor
        try:
            sync_directory_of(path)  # what is flushed to a file needs its name
        except OSError:
            self.close()
            raise

    def append(self, data: bytes) -> int:
        """Write whole blocks, so that other machines see them; give the size of the file then."""
        assert self._descriptor is not None
        write_all(self._descriptor, data)
        sync(self._descriptor)
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # what was appended is on the tree; of the rest nobody says that it is
                os.close(self._descriptor)
            self._descriptor = None


class SegmentView:
    """One look at a segment. The file is opened each time: a handle that is kept open shows new data late.

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
        """Open a segment; None if it is missing, or is no file: then its log is cut there."""
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
            data = os.pread(self._descriptor, length, offset)
            while 0 < len(data) < length:
                more = os.pread(self._descriptor, length - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError:
            self.close()  # a handle may have gone stale; the next try opens the file again
            raise
        return data

    def close(self) -> None:
        if self._descriptor is not None:
            close_read(self._descriptor)
            self._descriptor = None
