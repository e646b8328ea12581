"""What goes into a pack of the heartbeat log of a past run: all of a short one, and some lines of a longer one.

Vocabulary:
  thinned   without most of the beats in its middle, so that the heartbeats of a day take little room
  sample    one line of a log that is too long to be read: those of months are read at some places, evenly spread

Promise: the first line and the last ones are always kept. Neither memory nor reading grows with the log.
"""

from __future__ import annotations

from collections.abc import Iterator

from fscrawl.store import TreeFiles

_LINES = 128  # of heartbeats that are kept, at least, if there are as many
_LAST_LINES = 3  # that are kept in any case: the goodbye, and the beats before
_MOST_BYTES = 16 * 1024  # of a log: more are thinned
_MOST_READ_BYTES = 4 * 1024 * 1024  # of a log, before it is thinned: eight threads read them at a time
_SAMPLE_BYTES = 16 * 1024  # more than two lines with many hosts that rest
_END_BYTES = 64 * 1024


def beats_left(files: TreeFiles, path: str) -> tuple[bytes, int]:
    """Give the lines to keep of a heartbeat log, and how long it is; no lines if it does not end with a whole one."""
    size = files.size(path)
    if size > _MOST_READ_BYTES:
        return b"".join(_samples(files, path, size)), size
    lines = files.tail(path, 0, size) if size else b""
    return thinned(lines, _MOST_BYTES) if len(lines) == size else b"", size


def _samples(files: TreeFiles, path: str, size: int) -> Iterator[bytes]:
    last = files.tail(path, size - _END_BYTES, _END_BYTES)
    if len(last) < _END_BYTES:  # it ends with a part of a line, or an old view of it was read
        return
    yield files.tail(path, 0, _SAMPLE_BYTES).partition(b"\n")[0] + b"\n"
    step = size // _LINES
    for place in range(step, size - _END_BYTES - _SAMPLE_BYTES, step):
        line, end, _ = files.tail(path, place, _SAMPLE_BYTES).partition(b"\n")[2].partition(b"\n")
        yield line + end
    yield b"".join(last.splitlines(keepends=True)[1:][-_LAST_LINES:])


def thinned(lines: bytes, most: int) -> bytes:
    """Leave out beats of a heartbeat log that has more than `most` bytes: the first and the last ones stay.

    >>> thinned(b"".join(b"%d\\n" % number for number in range(1000)), 100).split()[:3]
    [b'0', b'7', b'14']
    """
    if len(lines) <= most:
        return lines
    each = lines.splitlines(keepends=True)
    middle, last = each[:-_LAST_LINES], each[-_LAST_LINES:]
    return b"".join(middle[:: max(1, len(middle) // _LINES)] + last)
