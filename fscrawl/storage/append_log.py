"""Logs: files that only grow, with one writer and any number of readers.

Vocabulary:
  log         whole lines; the writer adds some with one write and one fsync
  tail        a log's whole lines from an offset
  same        the file that has a log's name now is the one that its writer has written

Promise: a reader gets a prefix of what the writer wrote, in whole lines. A writer can tell whether its file was
removed, replaced, or cut.
"""

from __future__ import annotations

import contextlib
import os
from typing import Literal

from fscrawl.errors import PlantedError, UnfitFileError
from fscrawl.storage.atomic import opened, read_at, read_range, sync, sync_directory_of, write_all
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.safe_open import AnyPath, open_to_append

_Sameness = Literal["same", "other", "missing"]
_MARK_BYTES = 256  # a line of a log has a number, a time or a key, so no other file ends like it
_READ_BYTES = 4 * 1024 * 1024


class Log:
    """The writing end of a log.

    size    bytes in the file, as this writer knows: whole lines, and what a failed append may have left
    """

    def __init__(self, path: AnyPath, retrying: Retrying = BRIEF) -> None:
        self.size = 0
        self._path = path
        self._retrying = retrying
        self._descriptor: int | None = None
        self._mark = (0, b"")  # where the last bytes that were certainly written begin, and what they are
        self._is_other = False
        retrying(path, lambda: self._open(os.O_CREAT))
        retrying(path, lambda: sync_directory_of(path))  # what is flushed to a file needs its name

    def _open(self, flags: int) -> int:
        descriptor, self.size = open_to_append(self._path, flags)
        self._descriptor = descriptor
        return descriptor

    def append(self, data: bytes, retrying: Retrying | None = None) -> None:
        """Write whole lines, so that other machines see them. On NFS that takes an fsync.

        A call that fails may have written all of them, or half. It is made again, and writes them on new lines.
        """
        (retrying or self._retrying)(self._path, lambda: self._append_once(data))

    def _append_once(self, data: bytes) -> None:
        descriptor = self._descriptor
        if descriptor is None:
            self._is_other = self._is_other or same_file(self._path, *self._mark) == "other"
            descriptor = self._open(0)
            data = b"\n" + data
        try:
            write_all(descriptor, data)
            sync(descriptor)
        except OSError:
            self.close()
            raise
        self._mark = (self.size + max(len(data) - _MARK_BYTES, 0), data[-_MARK_BYTES:])
        self.size += len(data)

    def sameness(self, retrying: Retrying | None = None) -> _Sameness:
        """Tell whether the file that has this log's name is the one that was written here."""
        if self._is_other:
            return "other"
        return (retrying or self._retrying)(self._path, lambda: same_file(self._path, *self._mark))

    def close(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # what was appended is on the tree; the rest is written again
                os.close(self._descriptor)
            self._descriptor = None


def same_file(path: AnyPath, offset: int, data: bytes) -> _Sameness:
    """Tell whether the file at `path` holds `data` at `offset`, where its only writer has put it. Raises OSError.

    The bytes show it, and not the number of the inode: sshfs makes these numbers up, gives a new file the old number
    if it has the same name, and the same file a new number later. The file is opened by its name each time, since a
    file system may answer for a handle, or for a name without opening it, from a cache.
    """
    try:
        return "same" if read_range(path, offset, len(data)) == data else "other"
    except FileNotFoundError:
        return "missing"
    except UnfitFileError:
        return "other"


def tail(path: AnyPath, offset: int, most: int | None = None, retrying: Retrying = BRIEF) -> bytes:
    """Read a log's whole lines from `offset`, at most `most` bytes; b"" if there are none, or it is no file.

    The file is opened and asked for its size each time. A handle that is kept open shows another machine's lines
    20 s late on sshfs, and later on NFS; a new one shows them at once.
    """
    try:
        data = retrying.find(path, lambda: _read_from(path, offset, most or _READ_BYTES), b"")
    except PlantedError:
        return b""
    return data[: data.rfind(b"\n") + 1]


def _read_from(path: AnyPath, offset: int, most: int) -> bytes:
    with opened(path) as (descriptor, size):
        return read_at(descriptor, offset, min(size - offset, most))


def newest(path: AnyPath, offset: int, most: int, retrying: Retrying = BRIEF) -> tuple[bytes, int]:
    """Read a log's newest whole lines from `offset`: all, or if they have more than `most` bytes, only the last ones.

    Of the last ones at least two are read if there are two in some MiB. Return the lines, and the offset behind them.
    What is no file has no lines.
    """
    try:
        return retrying.find(path, lambda: _newest_from(path, offset, most), (b"", offset))
    except PlantedError:
        return b"", offset


def _newest_from(path: AnyPath, offset: int, most: int) -> tuple[bytes, int]:
    with opened(path) as (descriptor, size):
        while True:
            start = max(offset, size - most)
            data = read_at(descriptor, start, size - start)
            begin = data.find(b"\n") + 1 if start > offset else 0  # the first line is cut
            end = data.rfind(b"\n") + 1
            if start == offset or most >= _READ_BYTES or data.count(b"\n", begin) >= 2:
                return data[begin:end], start + end if end else offset
            most = min(8 * most, _READ_BYTES)
