"""One way through a log, from one place towards another: whole blocks, and what is missing. Used by `log_reader`.

Vocabulary:
  place       the end of the last block that was read
  end         how far to go; the writer said that so much is there. None: as far as there is
  successor   the next segment whose first line is whole. It says how much counts of those before it
  cut         something is missing: between the place and the end, or that a successor says counts. A log in which
              nothing was said may be missing: its machine removes it when it leaves
  damage      bytes that cannot be read as a block although they are there. They may be a server's, that shows a file's
              size before its content. What does not count, since a successor says so, is no damage
  forgiven    a place; it was believed before that up to there something is missing

Promise: no line of a block is given before the whole block is there and its lines of the wanted shards can be read. The
place goes over a segment's end only when as much of it was read as counts.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from fscrawl.fleet.blocks import FIRST_BEGINS, HEAD_BEGINS, First, Head, Part, heads_in, parse_first, parse_head
from fscrawl.fleet.lines import Line, parse_lines
from fscrawl.fleet.log_window import GAP_BYTES, HEAD_BYTES, ShrunkError, Window
from fscrawl.fleet.log_writer import Place, without_blocks
from fscrawl.fleet.logs import Segments
from fscrawl.storage.layout import log_directory

_SEARCH_BYTES = 1 << 20


class Cut(NamedTuple):
    """A log holds less than it should: up to `expected`. `found`: what is there; None if nothing is."""

    machine: str
    expected: Place
    found: Place | None

    @property
    def path(self) -> str:
        return log_directory(self.machine)

    @property
    def text(self) -> str:
        """What is missing, for people."""
        segment, end = self.expected
        if self.found is None:
            return f"it is missing; it went up to byte {end} of segment {segment}"
        there = f"of segment {self.found.segment} {self.found.bytes} bytes can be read"
        return f"{there}; it went up to byte {end} of {segment}"


class Walk:
    """One way through the log of a machine.

    place         where it is
    cut           the first thing that is missing
    resume        behind the damage that ended the way
    head_bytes    how much is read at first where a block begins; the next head is expected to be as long as the last
    """

    def __init__(
        self,
        files: Segments,
        machine: str,
        shards: Container[int],
        needed: set[int],
        begin: Place,
        end: Place | None,
        *,
        forgiven: Place,
        skips: bool,
    ) -> None:
        """`needed` gets the shards that heads name. `skips`: a cut is noted and gone over, and does not end the way."""
        self.place = begin
        self.cut: Cut | None = None
        self.resume: Place | None = None
        self._files = files
        self._machine = machine
        self._shards = shards
        self._needed = needed
        self._end = end
        self._forgiven = forgiven
        self._skips = skips
        self.head_bytes = HEAD_BYTES
        self._size: int | None = None  # of the segment of the place
        self._damage: int | None = None  # behind it, in the segment of the place

    def blocks(self) -> Iterator[list[Line]]:
        """Give the wanted lines of one block after the other. Until then, `place` is behind that block."""
        window = self._window(self.place.segment)
        self._size = None if window is None else window.size
        while True:
            if window is not None:
                try:
                    yield from self._blocks_of(window)
                except ShrunkError:
                    pass
                finally:
                    self._size = window.size
                    window.close()
            window = self._go_on()
            if window is None:
                return

    def _window(self, segment: int) -> Window | None:
        view = self._files.open_segment(self._machine, segment)
        most = self._end.bytes if self._end is not None and self._end.segment == segment else None
        return None if view is None else Window(view, most)

    # -- within a segment

    def _blocks_of(self, window: Window) -> Iterator[list[Line]]:
        """Give the blocks from the place on, up to what is not whole."""
        segment = self.place.segment
        while self.place.bytes < window.limit:
            begin = self.place.bytes
            try:
                step = self._block(window, begin) if begin else self._first_line(window)
            except ValueError:
                self._damage = _next_head(window, begin + 1)
                return
            if step is None:
                if not self._skips and self._end is not None and self._end == (segment, window.limit):
                    self._damage = window.limit  # the writer's blocks end there
                return
            end, lines = step
            if lines is None:
                self._damage = end
                return
            self.place = Place(segment, end)
            if lines:
                yield lines

    def _first_line(self, window: Window) -> tuple[int, list[Line]] | None:
        line = window.line(0, FIRST_BEGINS)
        if line is None:
            return None
        self._check_first(parse_first(line), self.place.segment)
        return len(line), []

    def _check_first(self, first: First, segment: int) -> First:
        if (first.machine, first.segment) != (self._machine, segment):
            raise ValueError(first)
        return first

    def _block(self, window: Window, begin: int) -> tuple[int, list[Line] | None] | None:
        """Give a block's end and its lines, None for damaged ones; None if it is not whole."""
        line = window.line(begin, HEAD_BEGINS, self.head_bytes)
        if line is None:
            return None
        head = parse_head(line)
        self.head_bytes = max(HEAD_BYTES, len(line) + len(line) // 8)
        end = begin + head.bytes
        if end > window.limit:
            return None
        try:
            lines = self._lines(window, begin, head)
        except ValueError:
            return end, None
        self._needed.update(part.shard for part in (*head.foreign, *head.own))
        return end, lines

    def _lines(self, window: Window, begin: int, head: Head) -> list[Line]:
        """Read the parts of a block that are wanted. The last call may bring the next head, too."""
        lines: list[Line] = []
        end = begin + head.bytes
        groups = _groups(head.parts(self._shards))
        for group in groups:
            goes_on = group is groups[-1] and head.bytes - group[-1].end < GAP_BYTES and end < window.limit
            ahead = end + self.head_bytes if goes_on else 0
            window.get(begin + group[0].begin, begin + group[-1].end, ahead)
            for part in group:
                lines += parse_lines(part.shard, window.get(begin + part.begin, begin + part.end))
        return lines

    # -- from segment to segment

    def _go_on(self) -> Window | None:
        """Go on to where more can be read, and give its window; None at the end of the way. Notes what is missing."""
        segment = self.place.segment
        found = self._successor()
        if found is None:
            return self._end_of_way()
        window, start, first = found
        promise = first.promise(segment) if first is not None else None
        if promise is not None and Place(*promise) > self.place:
            expected = Place(*promise)
            if expected > self._forgiven:
                self._note(expected, self._found_before(start.segment))
            if self._damage is not None and Place(segment, self._damage) < expected and self._goes_over(expected):
                window.close()
                return self._behind_damage()
            if not self._goes_over(expected):
                window.close()
                self.resume = None if self._damage is None else min(expected, Place(segment, self._damage))
                return None
        self._damage = None
        self.place = start
        return window

    def _goes_over(self, expected: Place) -> bool:
        return self._skips or expected <= self._forgiven

    def _found_before(self, successor: int) -> Place:
        """Say what is there of what should be before a successor."""
        if self._size is None:
            return Place(successor, 0)
        there = self.place.bytes if self._damage is not None else self._size
        return Place(self.place.segment, there)

    def _end_of_way(self) -> Window | None:
        """Note what is missing where there is no successor; give a window behind damage that is gone over."""
        segment = self.place.segment
        asked = max(self.place, self._end or self.place)
        if self._damage is not None:
            expected = Place(segment, self._damage)
            if expected > self._forgiven:
                self._note(expected, self.place)
            if self._goes_over(expected):
                return self._behind_damage()
            self.resume = expected
        elif self._size is None:
            if asked > max(self._forgiven, without_blocks(self._machine)):
                self._note(asked, None)
        elif asked > max(self._forgiven, Place(segment, self._size)):
            self._note(asked, Place(segment, self._size))
        return None

    def _behind_damage(self) -> Window | None:
        assert self._damage is not None
        self.place = Place(self.place.segment, self._damage)
        self._damage = None
        return self._window(self.place.segment)

    def _note(self, expected: Place, found: Place | None) -> None:
        if self.cut is None:
            self.cut = Cut(self._machine, expected, found)

    def _successor(self) -> tuple[Window, Place, First | None] | None:
        """Find the next segment whose first line is whole: its window, the place behind that line, and the line.

        If the line is damaged, and that is forgiven, the segment is gone over from its beginning: who was in it before
        goes on behind the damage, too, and all must come to the same place.
        """
        for segment in self._later_segments():
            window = self._window(segment)
            if window is None:
                continue
            begin = Place(segment, 0)
            try:
                line = window.line(0, FIRST_BEGINS)
                if line is not None:
                    return window, Place(segment, len(line)), self._check_first(parse_first(line), segment)
            except ShrunkError:
                pass
            except ValueError:
                if begin < self._forgiven:
                    return window, begin, None
            window.close()
        return None

    def _later_segments(self) -> Iterator[int]:
        """Give the segments that may come next. If the end is known, the next one needs no listing."""
        next_one = self.place.segment + 1
        if self._end is not None:
            if next_one > self._end.segment:
                return
            if self._size is not None:
                yield next_one
        listed = set(self._files.log_segments(self._machine))
        if self._end is not None:
            listed = {segment for segment in listed if segment <= self._end.segment} | {self._end.segment}
            if self._size is not None:
                listed.discard(next_one)
        yield from sorted(segment for segment in listed if segment >= next_one)


def _groups(parts: list[Part]) -> list[list[Part]]:
    """Put together parts that are read by one call."""
    groups: list[list[Part]] = []
    for part in parts:
        if groups and part.begin - groups[-1][-1].end < GAP_BYTES:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _next_head(window: Window, begin: int) -> int:
    """Find the next head of a block in a segment; its end if there is none. A head is shorter than what is read."""
    while begin < window.limit:
        end = min(begin + 2 * _SEARCH_BYTES, window.limit)
        for place in heads_in(window.get(begin, end)):
            return begin + place
        if end == window.limit:
            break
        begin += _SEARCH_BYTES
    return window.limit
