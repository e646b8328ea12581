"""What was read of one log, so that few bytes are read, by few calls.

A call costs a round trip, and every byte is read by many machines. So a look reads the head of a block by one small
call, and then only the ranges that are wanted. Across a small gap it reads on.
"""

from __future__ import annotations

from fscrawl.storage.block_log import LogView

# The first call at a block's head. Most heads are shorter; on a small web, where blocks are short, too, every machine
# reads as much of every block that is not for it. A longer head is read by the next call as a whole, or nearly so.
HEAD_BYTES = 1024
GAP_BYTES = 512  # between two wanted ranges: read, rather than spend a call
_MOST_HEAD_BYTES = 1 << 20  # of 60,000 shards. A line that is longer is none


class ShrunkError(Exception):
    """The log has become shorter than it was when it was opened."""


class Window:
    """A view of a log, and the last range that was read of it.

    size     bytes in the log
    limit    nothing is read behind it
    """

    def __init__(self, view: LogView, most: int | None = None) -> None:
        self.size = view.size
        self.limit = view.size if most is None else min(view.size, most)
        self._view = view
        self._begin = 0
        self._data = b""

    def close(self) -> None:
        self._view.close()

    def get(self, begin: int, end: int, ahead: int = 0) -> bytes:
        """Give a range, which must be below the limit. `ahead`: read up to there if a call is needed anyway."""
        have = self._begin + len(self._data)
        if not self._begin <= begin <= have:
            self._begin, self._data, have = begin, b"", begin
        if end > have:
            wanted = min(max(end, ahead), self.limit) - have
            more = self._view.read(have, wanted)
            self._data = self._data[begin - self._begin :] + more
            self._begin = begin
            if len(more) < wanted:
                self.size = self.limit = have + len(more)
                raise ShrunkError
        return self._data[begin - self._begin : end - self._begin]

    def line(self, begin: int, starts: bytes, first: int = HEAD_BYTES) -> bytes | None:
        """Give a line with its newline; None if it is not whole. ValueError if it does not start with `starts`.

        `first`: how much is read first.
        """
        have = self._begin + len(self._data)
        length = have - begin if self._begin <= begin < have else first
        while True:
            end = min(begin + length, self.limit)
            data = self.get(begin, end)
            newline = data.find(b"\n")
            if data[: len(starts)] != starts[: len(data)] or len(data) > _MOST_HEAD_BYTES:
                raise ValueError(data[:80])
            if newline >= 0:
                return data[: newline + 1]
            if end == self.limit:
                return None
            length = max(first, 2 * length)
