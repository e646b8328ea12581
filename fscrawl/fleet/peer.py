"""Another machine, as its heartbeat log shows it.

Vocabulary: hello, beat and goodbye are the lines of a log (`beat`).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fscrawl.fleet.beat import HELLO_BYTES, Beat, Goodbye, Hello, goodbye_of, hello_in, parse_lines
from fscrawl.fleet.logs import Logs

_NO_COUNTERS = Beat()


class Heard(NamedTuple):
    """What a machine's log has grown by: its newest `lines`, and where they end; the `beginning` if it was not read.

    planted   it is no heartbeat log: somebody has put something else there
    """

    beginning: bytes
    lines: bytes
    end: int
    planted: bool = False


class Peer(msgspec.Struct):
    """What is known of another machine, from the beginning and the end of its log.

    offset       so far the log has been read
    grown_at     when the log was last seen to grow, by the clock of this machine
    looked_at    when this machine last looked whether it has grown
    greeting     its hello
    beats        the last two
    planted      what stands there is no heartbeat log
    gone         its process is known to have ended
    proven       it was seen to appear or to beat; until then the log may be of a machine that died long ago
    """

    machine: str
    grown_at: float
    looked_at: float = float("-inf")
    offset: int = 0
    greeting: Hello | None = None
    beats: list[Beat] = msgspec.field(default_factory=list)
    bye: Goodbye | None = None
    gone: bool = False
    planted: bool = False
    proven: bool = False

    def read(self, logs: Logs, now: float) -> int:
        """Read what its log has grown by; return the number of lines."""
        return self.hear(self.listen(logs), now)

    def listen(self, logs: Logs) -> Heard:
        """Read what its log has grown by, and take nothing in: another thread may do this.

        Of a log that has grown by much, only the newest lines are read; and the beginning, if it was not read before.
        """
        lines, end = logs.read_newest_heartbeats(self.machine, self.offset)
        is_cut = end > len(lines) and not self.offset
        beginning = logs.read_heartbeats(self.machine, 0, HELLO_BYTES) if is_cut else b""
        return Heard(beginning, lines, end, planted=end == 0 and logs.is_planted(self.machine))

    def hear(self, heard: Heard, now: float) -> int:
        """Take in what was read; return the number of its newest lines. Beats before a goodbye say nothing more."""
        self.planted = heard.planted
        if heard.end > self.offset:
            self.offset, self.grown_at = heard.end, now
        bye = goodbye_of(heard.lines)
        if bye is None:
            self.take(heard.lines)
            self.greeting = hello_in(heard.beginning) or self.greeting
        else:
            self.bye = bye
            self.greeting = hello_in(heard.beginning + heard.lines) or self.greeting
        return heard.lines.count(b"\n")

    def take(self, data: bytes) -> None:
        """Take in lines of its log."""
        for line in parse_lines(data):
            if isinstance(line, Hello):
                self.greeting = line
            elif isinstance(line, Goodbye):
                self.bye = line
            else:
                self.beats = [*self.beats[-1:], line]

    @property
    def left(self) -> bool:
        """It will not beat again."""
        return self.bye is not None or self.gone or self.planted

    def last(self) -> Beat:
        """Its newest counters."""
        if self.bye is not None:
            return self.bye.counters
        return self.beats[-1] if self.beats else _NO_COUNTERS
