"""The logs of one generation in the tree: what each machine says about URLs. Any answer may be out of date."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fscrawl.storage.block_log import LogEnd, LogView
from fscrawl.storage.layout import log_directory, log_path, machine_of
from fscrawl.store import TreeFiles

T = TypeVar("T")


class UrlLogs:
    """Raises TreeError, where nothing else is said. `generation`: 0 has no logs."""

    def __init__(self, files: TreeFiles, generation: int) -> None:
        self.generation = generation
        self._files = files

    def machines(self) -> list[str]:
        """List the machines that have a log."""
        names = self._files.names(log_directory(self.generation)) if self.generation else []
        return sorted(machine for name in names if (machine := machine_of(name)) is not None)

    def path(self, machine: str) -> str:
        return log_path(self.generation, machine)

    def size(self, machine: str) -> int | None:
        """Give the size of a log by its name; None if it is missing."""
        return self._files.size_if_there(self.path(machine))

    def open_view(self, machine: str) -> LogView | None:
        """Open a log for reading; None if it is missing."""
        return self._files.log_view(self.path(machine))

    def open_end(self, machine: str) -> LogEnd:
        """Open a log for writing; it is made if it is missing, and its name is durable. Raises OSError."""
        return self._files.log_end(self.path(machine))

    def remove(self, machine: str) -> None:
        """Remove a log in which nothing was said."""
        self._files.remove(self.path(machine))

    def retry(self, machine: str, call: Callable[[], T]) -> T:
        """Make a call that raises OSError again and again, within the limits of the tree."""
        return self._files.retrying(self._files.absolute(self.path(machine)), call)
