"""A directory in `.fscrawl` in which one machine tries out what the file system does (see `admin.probe`)."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fscrawl.errors import PlantedError
from fscrawl.storage.append_log import tail
from fscrawl.storage.atomic import make_directory, write_all
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import probe_path
from fscrawl.storage.safe_open import Place, create, open_directory, open_to_append


class ProbeDirectory:
    """The directory of `machine`. Its calls are those that the store makes, one at a time."""

    def __init__(self, files: TreeFiles, machine: str) -> None:
        self._files = files
        self._retrying = files.retrying
        self._path = probe_path(machine)
        self.path = files.absolute(self._path)

    def _at(self, name: str) -> Place:
        return Place(str(self._files.root), f"{self._path}/{name}")

    def _here(self) -> open_directory:
        return open_directory(Place(str(self._files.root), self._path))

    def make(self) -> None:
        """Make the directory; an earlier try may have made it."""
        self._retrying(self.path, lambda: make_directory(Place(str(self._files.root), self._path)))

    def create(self, name: str, data: bytes) -> bool:
        """Create a file with O_EXCL; tell whether it was not there."""

        def create_once() -> bool:
            try:
                with self._here() as here:
                    descriptor = create(here, name)
            except FileExistsError:
                return False
            _write_and_close(descriptor, data)
            return True

        return self._retrying(self.path, create_once)

    def append(self, name: str, data: bytes) -> None:
        """Append to a file. The data may come twice, if a call fails after it has written."""
        self._retrying(self.path, lambda: _write_and_close(open_to_append(self._at(name), os.O_CREAT)[0], data))

    def read(self, name: str) -> bytes:
        """Read a file's whole lines through a new handle; b"" if it is not there."""
        return tail(self._at(name), 0, retrying=self._retrying)

    def link(self, name: str, new: str) -> bool:
        """Give a file a second name; tell whether that name was free."""

        def link_once() -> bool:
            try:
                with self._here() as here:
                    os.link(f"{here}/{name}", f"{here}/{new}")
            except FileExistsError:
                return False
            return True

        return self._retrying(self.path, link_once)

    def rename(self, name: str, new: str) -> None:
        """Rename a file. A file that is missing is no error: a call that is sent twice does not find it."""

        def rename_once() -> None:
            with self._here() as here:
                os.rename(f"{here}/{name}", f"{here}/{new}")

        self._retrying.find(self.path, rename_once, None)

    def names(self) -> list[str]:
        return self._files.names(self._path)

    def clear(self, names: Iterable[str] | None = None) -> bool:
        """Remove these files (None: all that are there) and the directory; some may be missing.

        Tell whether the directory is gone. One in which somebody has put a directory stays.
        """
        if names is None:
            names = [name for name, kind in self._files.entries(self._path) if kind != "directory"]
        try:
            for name in names:
                self._files.remove(f"{self._path}/{name}")
        except PlantedError:  # a link stands there; it is no directory of a probe
            return False
        self._files.remove_empty_directory(self._path)
        return not self._files.exists(self._path)


def _write_and_close(descriptor: int, data: bytes) -> None:
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
