"""The reading end of all machines' logs."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import LogFiles


class Cut(NamedTuple):
    """A log holds less than it should: up to `expected`. `found`: what is there; None if nothing is."""

    machine: str
    expected: Place
    found: Place | None


class LogReader:
    """Reads logs.

    places    where the live reading of each log of other machines is; (0, 0) for those that are not named
    needed    shards that some head named
    """

    def __init__(self, files: LogFiles, machine: str) -> None:  # noqa: ARG002
        self.places: dict[str, Place] = {}
        self.needed: set[int] = set()
        raise NotImplementedError

    @property
    def cuts(self) -> dict[str, Cut]:
        """Logs that hold less than was read, asked for, or promised by the next segment, by machine.

        A log that is whole at a later look is not there any more. The caller waits before it believes.
        """
        raise NotImplementedError

    def read(self, machine: str, shards: Container[int], *, until: Place | None = None) -> Iterator[Line]:
        """Read the new whole blocks of a log; give their lines of `shards`, and move its place on.

        `until`: where its writer says that it ends. Nothing behind it is read, and no listing is needed.
        """
        raise NotImplementedError

    def read_shards(self, machine: str, shards: Container[int], start: Place, end: Place) -> Iterator[Line]:
        """Give the lines of `shards` in the blocks from `start` to `end`. Moves no place."""
        raise NotImplementedError

    def accept(self, machine: str) -> None:
        """Believe the cut of a log: go on with what is there. What is missing is not reported again."""
        raise NotImplementedError

    def end_of(self, machine: str) -> Place:
        """Give the end of a log by names and sizes now. It may lie within a block that is not whole."""
        raise NotImplementedError
