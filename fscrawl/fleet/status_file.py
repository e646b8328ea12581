"""What a machine says for people: one file beside its heartbeat log, replaced as often as the machine beats.

None of it stands in the heartbeats, since a log keeps every beat. Nothing that machines decide depends on it.

Promise: the file has `MOST_HOSTS` hosts and `_MOST_LABELS` labels at most. To put it together takes half a percent
of the main loop's time. Times in it are seconds that remain at the moment `at`, by the machine's own clock, as in its
beats. So nobody has to compare the clocks of two machines. A machine that leaves writes it once more, without hosts.
One that is killed has not counted what it stored since its last one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from fscrawl.errors import TreeError
from fscrawl.fleet.label_figures import Coverage, LabelFigure
from fscrawl.fleet.not_stored import NotStoredFigures
from fscrawl.frontier.host_figures import HostFigure
from fscrawl.storage.layout import status_path
from fscrawl.storage.records import encoded
from fscrawl.store import TreeFiles

MOST_HOSTS = 200
_FIRST_S = 1.0  # until then, others see the figures of the runs before
_TIMES_ITS_COST = 200
_MOST_BYTES = 8 << 20  # of a file: as many labels of four bytes a letter
_NO_FIGURES = NotStoredFigures()


class StatusFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of one machine.

    at           when they were put together (RFC 3339, by the machine's own clock)
    known        how much of the tree `pending` of the labels counts
    labels       label → how far this task is
    not_stored   what is not stored, and why
    hosts        some hosts: first those in trouble, then those with most pending URLs
    """

    at: datetime = datetime.fromtimestamp(0, UTC)
    known: Coverage = Coverage()
    labels: dict[str, LabelFigure] = {}
    not_stored: NotStoredFigures = _NO_FIGURES
    hosts: dict[str, HostFigure] = {}

    @property
    def written_at(self) -> float:
        return self.at.timestamp()


EMPTY = StatusFile()
_DECODER = msgspec.json.Decoder(StatusFile)  # made once, see `storage.records`


class StatusWriter:
    """Writes the file of one machine. Only the main loop uses it."""

    def __init__(
        self,
        files: TreeFiles,
        figures: Callable[[], StatusFile],
        hosts: Callable[[float, int], Mapping[str, HostFigure]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`figures`: gives all but the hosts. `hosts`: gives these at a time of `clock`, so many at most."""
        self._files = files
        self._figures = figures
        self._hosts = hosts
        self._clock = clock
        self._written = EMPTY
        self._ready = 0
        self._pause_s = _FIRST_S
        self._soon = self._due = 0.0

    def write_if_due(self, now: float, beat_s: float, ready: int) -> None:
        """Write the file if a pause is over: of a second at first, and of `beat_s` later.

        `ready`: how many shards it counts wholly; if they are not as many as before, a second is enough.
        """
        if now < (self._due if ready == self._ready else self._soon):
            return
        figures = msgspec.structs.replace(self._figures(), hosts=dict(self._hosts(now, MOST_HOSTS)))
        cost_s = self._clock() - now
        self._soon = now + max(_FIRST_S, _TIMES_ITS_COST * cost_s)
        self._due = now + max(self._pause_s, _TIMES_ITS_COST * cost_s)
        self._pause_s = min(2 * self._pause_s, max(beat_s, _FIRST_S))
        self._ready = ready
        self._write(figures)

    def write_last(self) -> None:
        """Write the file: the machine leaves, and has nothing to say of hosts any more."""
        self._write(self._figures())

    def _write(self, figures: StatusFile) -> None:
        """Write the file if it says something else than before. The crawl goes on if it cannot be written."""
        if figures != self._written:
            data = encoded(msgspec.structs.replace(figures, at=datetime.now(UTC)))
            with contextlib.suppress(TreeError):
                self._files.publish(status_path(self._files.machine), msgspec.json.format(data, indent=1) + b"\n")
                self._written = figures


def read_status(files: TreeFiles, machine: str) -> StatusFile:
    """Read a machine's file; `EMPTY` if there is none, or one that no machine wrote. TreeError as of any file."""
    return status_in(files.read_or_torn(status_path(machine)) or b"")


def status_in(data: bytes) -> StatusFile:
    """Read the bytes of such a file."""
    if len(data) <= _MOST_BYTES:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _DECODER.decode(data)
    return EMPTY
