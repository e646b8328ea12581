"""The reading end of all machines' logs (their layout: `blocks`).

Vocabulary:
  live reading   following the logs of other machines, block by block
  cut            a log holds less than it should (`log_walk`). A look that is out of date shows the same, so the caller
                 waits before it believes
  place          how far a log was read

Promise: the lines of a block are given whole or not at all, and in the log's order. Nothing is gone over unless it was
reported as a cut and `accept` was called, or the next segment says that it does not count. A block may be given twice
if an append failed and had in fact been made.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TypeVar

from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_walk import Cut, Walk
from fscrawl.fleet.log_writer import Place, without_blocks
from fscrawl.fleet.logs import TreeLogs

__all__ = ["Cut", "LogReader"]

_BEGINNING = Place(0, 0)
T = TypeVar("T")


class LogReader:
    """Reads logs.

    machine   whose reader this is
    places    where the live reading of each log of other machines is; (0, 0) for those that are not named
    needed    shards that some head named
    forgiven  up to where in each log what is missing is not reported: there is a generation for it
    """

    def __init__(self, files: TreeLogs, machine: str) -> None:
        self.machine = machine
        self.places: dict[str, Place] = {}
        self.needed: set[int] = set()
        self._files = files
        self._live: dict[str, Cut] = {}
        self._past: dict[str, Cut] = {}
        self._resume: dict[str, Place] = {}  # behind the damage of a live cut
        self.forgiven: dict[str, Place] = {}
        self._head_bytes: dict[str, int] = {}  # that the next head of a log may have

    @property
    def cuts(self) -> dict[str, Cut]:
        """Logs that hold less than was read, asked for, or promised by the next segment, by machine.

        A log that is whole at a later look is not there any more.
        """
        return {**self._past, **self._live}

    def read(self, machine: str, shards: Container[int], *, until: Place | None = None) -> Iterator[Line]:
        """Read the new whole blocks of a log; give their lines of `shards`, and move its place on.

        Of `shards` the writer's own lines are given, too: a former holder may write some late.
        `until`: where its writer says that it ends. Nothing behind it is read, and no listing is needed.
        """
        begin = self.places.get(machine, _BEGINNING)
        if until is not None and until <= begin and machine not in self._live:
            return
        if until is not None and begin == _BEGINNING and until == without_blocks(machine):
            self.places[machine] = until
            return
        end = None if until is None else max(until, begin)
        walk = self._walk(machine, shards, begin, end, skips=False)
        for lines in walk.blocks():
            yield from lines
            self.places[machine] = walk.place
        if walk.place > begin:
            self.places[machine] = walk.place
        self._head_bytes[machine] = walk.head_bytes
        _put(self._live, machine, walk.cut)
        _put(self._resume, machine, walk.resume)

    def has_grown(self, machine: str) -> bool:
        """Tell whether there is more, or less, than was read of the segment up to which a log was read.

        It needs no listing, so a segment after that one does not count.
        """
        place = self.places.get(machine, _BEGINNING)
        view = self._files.open_segment(machine, place.segment)
        if view is None:
            return True
        try:
            return view.size != place.bytes
        finally:
            view.close()

    def begin_at(self, machine: str, place: Place) -> None:
        """Begin the live reading of a log at `place`: what was before has been removed."""
        self.places.setdefault(machine, place)

    def read_shards(self, machine: str, shards: Container[int], start: Place, end: Place) -> Iterator[Line]:
        """Give the lines of `shards` in the blocks from `start` to `end`. Moves no place.

        What is missing is reported and gone over.
        """
        walk = self._walk(machine, shards, start, end, skips=True)
        if start < end != without_blocks(machine):
            for lines in walk.blocks():
                yield from lines
        known = self._past.get(machine)
        cut = walk.cut
        if cut is not None and cut.expected <= self.forgiven.get(machine, _BEGINNING):
            cut = None  # it was forgiven while this was being read
        if cut is not None or (known is not None and start <= (known.found or start) and known.expected <= end):
            _put(self._past, machine, cut)

    def _walk(self, machine: str, shards: Container[int], begin: Place, end: Place | None, *, skips: bool) -> Walk:
        forgiven = self.forgiven.get(machine, _BEGINNING)
        walk = Walk(self._files, machine, shards, self.needed, begin, end, forgiven=forgiven, skips=skips)
        walk.head_bytes = self._head_bytes.get(machine, walk.head_bytes)
        return walk

    def forgive(self, machine: str, expected: Place) -> None:
        """Report no cut of a log up to `expected`: a generation was made for it, perhaps by another machine."""
        self.forgiven[machine] = max(expected, self.forgiven.get(machine, _BEGINNING))
        cuts = [cuts[machine] for cuts in (self._live, self._past) if machine in cuts]
        if cuts and all(cut.expected <= self.forgiven[machine] for cut in cuts):
            self.accept(machine)

    def accept(self, machine: str) -> None:
        """Believe the cuts of a log: live reading goes on with what is there, and they are not reported again."""
        live = self._live.pop(machine, None)
        resume = self._resume.pop(machine, None)
        past = self._past.pop(machine, None)
        for cut in (live, past):
            if cut is not None:
                self.forgiven[machine] = max(cut.expected, self.forgiven.get(machine, _BEGINNING))
        if live is not None:
            place = self.places.get(machine, _BEGINNING)
            self.places[machine] = resume or _what_is_there(live, place)

    def end_of(self, machine: str) -> Place:
        """Give the end of a log by names and sizes now. It may lie within a block that is not whole."""
        last = max(self._files.log_segments(machine), default=0)
        size = self._files.segment_size(machine, last)
        while (more := self._files.segment_size(machine, last + 1)) is not None:  # the listing may be out of date
            last, size = last + 1, more
        return Place(last, size or 0)


def _what_is_there(cut: Cut, place: Place) -> Place:
    """Say where reading goes on after a cut without damage: at the beginning of a segment.

    So all machines come to the same place, the end of the last whole block, wherever they were before.
    """
    if cut.found is None:
        return _BEGINNING
    if cut.found.segment > place.segment:
        return cut.found
    if cut.expected.segment > place.segment:
        return Place(cut.expected.segment, 0)
    return Place(cut.found.segment, 0)


def _put(values: dict[str, T], machine: str, value: T | None) -> None:
    if value is None:
        values.pop(machine, None)
    else:
        values[machine] = value
