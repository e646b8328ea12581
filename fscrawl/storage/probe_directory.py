"""A directory in `.fscrawl` in which one machine tries out what the file system does (see `admin.probe`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from fscrawl.storage.append_log import tail
from fscrawl.storage.atomic import remove, write_all
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import probe_path

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


class ProbeDirectory:
    """The directory of `machine`. Its calls are those that the store makes, one at a time."""

    def __init__(self, files: TreeFiles, machine: str) -> None:
        self._root = str(files.root)
        self._retrying = files.retrying
        self.path = files.absolute(probe_path(machine))

    def real_root(self) -> str:
        """Give the root's path without symbolic links, as a table of mounts has it."""
        return os.path.realpath(self._root)

    def make(self) -> None:
        def make_once() -> None:
            with contextlib.suppress(FileExistsError):  # an earlier try has made it
                os.mkdir(self.path)

        self._retrying(self.path, make_once)

    def create(self, name: str, data: bytes) -> bool:
        """Create a file with O_EXCL; tell whether it was not there."""

        def create_once() -> bool:
            try:
                descriptor = os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                return False
            _write_and_close(descriptor, data)
            return True

        return self._retrying(self.path, create_once)

    def append(self, name: str, data: bytes) -> None:
        """Append to a file. The data may come twice, if a call fails after it has written."""
        path = f"{self.path}/{name}"
        self._retrying(self.path, lambda: _write_and_close(os.open(path, _APPEND, 0o666), data))

    def read(self, name: str) -> bytes:
        """Read a file's whole lines through a new handle; b"" if it is not there."""
        return tail(f"{self.path}/{name}", 0, retrying=self._retrying)

    def link(self, name: str, new: str) -> bool:
        """Give a file a second name; tell whether that name was free."""

        def link_once() -> bool:
            try:
                os.link(f"{self.path}/{name}", f"{self.path}/{new}")
            except FileExistsError:
                return False
            return True

        return self._retrying(self.path, link_once)

    def rename(self, name: str, new: str) -> None:
        """Rename a file. A file that is missing is no error: a call that is sent twice does not find it."""
        self._retrying.find(self.path, lambda: os.rename(f"{self.path}/{name}", f"{self.path}/{new}"), None)

    def names(self) -> list[str]:
        return self._retrying.find(self.path, lambda: os.listdir(self.path), [])

    def clear(self, names: Iterable[str]) -> None:
        """Remove these files and the directory; some may be missing."""
        for name in names:
            remove(f"{self.path}/{name}", self._retrying)
        self._retrying.find(self.path, lambda: os.rmdir(self.path), None)


def _write_and_close(descriptor: int, data: bytes) -> None:
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
