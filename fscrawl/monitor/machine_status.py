"""A machine of a crawl, as its heartbeat log shows it to somebody who looks on.

Vocabulary:
  history   the beats of its last hour; fewer if its log is long
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import msgspec

from fscrawl.fleet.beat import Beat, Goodbye, Hello, parse_lines
from fscrawl.fleet.status_file import EMPTY, StatusFile

_HISTORY_BEATS = 4000

CounterName = Literal["pages", "stored", "bytes", "pending", "in_flight", "hosts", "resting", "gave_up"]
State = Literal["alive", "left", "dead"]
_NO_COUNTERS = Beat()


class MachineStatus(msgspec.Struct):
    """A machine, as its log shows it.

    grown_at    when its log was last seen to grow, by the observer's monotonic clock
    grew_at     the same by the observer's clock (UNIX time), 0 before
    proven      it was seen to grow
    looked_at   when the observer last looked whether it has grown
    status      its status file; `status_is_last`: it will not change any more; `status_read_at`: when it was read
    """

    name: str
    offset: int = 0
    hello: Hello | None = None
    history: deque[Beat] = msgspec.field(default_factory=lambda: deque(maxlen=_HISTORY_BEATS))
    goodbye: Goodbye | None = None
    state: State = "dead"
    grown_at: float = 0.0
    grew_at: float = 0.0
    looked_at: float = float("-inf")
    proven: bool = False
    status: StatusFile = EMPTY
    status_is_last: bool = False
    status_read_at: float = float("-inf")

    @property
    def last(self) -> Beat:
        """Its newest counters."""
        return self.history[-1] if self.history else _NO_COUNTERS

    @property
    def left(self) -> bool:
        return self.goodbye is not None

    @property
    def finished(self) -> bool:
        """It left because the crawl was over."""
        return self.goodbye is not None and self.goodbye.finished

    @property
    def greeted_at(self) -> float:
        """When it said hello, by its own clock."""
        return self.hello.at if self.hello is not None else 0.0

    @property
    def seen_at(self) -> float:
        """When it wrote its last line, by its own clock."""
        return max(self.last.at, self.greeted_at)

    def heard_at(self, now: float) -> float:
        """Give when its last line came, by the observer's clock.

        Before the log was seen to grow, there is only the machine's own clock to go by, and it may be ahead of `now`.
        """
        return self.grew_at or min(self.seen_at, now)

    @property
    def doing(self) -> str:
        """What keeps it from fetching; "" if nothing does."""
        return self.last.state or ("idle" if self.last.idle else "")

    @property
    def took_part(self) -> bool:
        """Whether it is a machine. An empty log is none, nor is that of a command that wrote URLs into a log."""
        if self.goodbye is not None and self.goodbye.is_command:
            return False
        return self.hello is not None or bool(self.history)

    def read(self, data: bytes) -> None:
        """Read lines of its log."""
        for line in parse_lines(data):
            if isinstance(line, Hello):
                self.hello = line
            else:
                self.goodbye = line if isinstance(line, Goodbye) else None
                self.history.append(line.counters if isinstance(line, Goodbye) else line)

    def read_ends(self, hello: Hello | None, goodbye: Goodbye) -> None:
        """Read the first and the last line of its log, in place of all lines."""
        self.hello, self.goodbye = hello, goodbye
        self.history.append(goodbye.counters)

    def forget_before(self, moment: float) -> None:
        """Forget the beats before a time by its own clock, but never the last one."""
        while len(self.history) > 1 and self.history[0].at < moment:
            self.history.popleft()

    def rate(self, window_s: float, counter: CounterName = "stored") -> float:
        """Give how much a counter grew a second, over the last `window_s` seconds of its beats."""
        last = first = self.last
        for first in reversed(self.history):
            if last.at - first.at >= window_s:
                break
        span_s = last.at - first.at
        return max(0.0, getattr(last, counter) - getattr(first, counter)) / span_s if span_s > 0 else 0.0
