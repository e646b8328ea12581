"""What a machine says for people: one file beside its heartbeat log, replaced as often as the machine beats.

None of it stands in the heartbeats, since a log keeps every beat. Nothing that machines decide depends on it.

Vocabulary:
  label       the name of a task (`fscrawl.labels`)
  known       of how many shards the figures count the pending URLs (`Coverage`)
  types       answers of a type that is not accepted: `skipped` of their records, perhaps with `LIKE_HTML`, and how many
  left out    links that belong to no page of this crawl: rule → how many different URLs

Promise: the file has `MOST_HOSTS` hosts and `_MOST_LABELS` labels at most. To put it together takes half a percent
of the main loop's time. Times in it are seconds that remain at the moment `at`, by the machine's own clock, as in its
beats. So nobody has to compare the clocks of two machines. A machine that leaves writes it once more, without hosts.
One that is killed has not counted what it stored since its last one. What the file of another machine says is believed
only if a machine could have written it; text in it may be from the web.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, NamedTuple, Self

import msgspec

from fscrawl.errors import TreeError
from fscrawl.frontier.host_figures import HostFigure
from fscrawl.storage.layout import status_path
from fscrawl.storage.records import encoded
from fscrawl.store import TreeFiles
from fscrawl.util.distinct import LeastDigests, LeftOut

_Count = Annotated[int, msgspec.Meta(gt=-(1 << 62), lt=1 << 62)]  # no higher number was written by a machine
OTHERS = "(others)"
_MOST_LABELS = 5_000  # that one machine counts apart; what it stores for further ones is counted as OTHERS
_MOST_TYPES = 100
_MOST_NAMED = 10  # seeds and hosts
_MOST_CHARS = 1000
OTHER_TYPES = "type (others)"
LIKE_HTML = ", begins like HTML"  # the end of a reason
MOST_HOSTS = 200
_FIRST_S = 1.0  # until then, others see the figures of the runs before
_TIMES_ITS_COST = 200


class LabelFigure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of one task: stored pages; other records, which are redirects and types without a body; failures;
    and URLs that wait or are in flight.
    """

    stored: _Count = 0
    other: _Count = 0
    failed: _Count = 0
    pending: _Count = 0

    @property
    def found(self) -> int:
        return sum(msgspec.structs.astuple(self))

    def plus(self, more: Self) -> LabelFigure:
        """Add two of the same label.

        >>> LabelFigure(1, pending=2).plus(LabelFigure(3)).found
        6
        """
        return LabelFigure(*map(sum, zip(*map(msgspec.structs.astuple, (self, more)), strict=True)))


class Coverage(NamedTuple):
    """How many shards a machine's figures count wholly, and how many of the tree have URLs, as far as it knows.

    `needed` None: the machine has not looked yet.
    """

    ready: _Count = 0
    needed: _Count | None = None


def covers_all(known: Collection[Coverage]) -> bool:
    """Tell whether these machines, which are all that are alive, count the URLs of all shards that have some.

    >>> covers_all([Coverage(3, 5), Coverage(2, 4)]), covers_all([Coverage(5, 5), Coverage()])
    (True, False)
    """
    needed = [each.needed for each in known]
    return None not in needed and sum(each.ready for each in known) >= max(filter(None, needed), default=0)


Figures = Mapping[str, LabelFigure]


def summed(figures: Iterable[Figures]) -> dict[str, LabelFigure]:
    """Add the figures of several machines."""
    total: dict[str, LabelFigure] = {}
    for each in figures:
        for label, figure in each.items():
            total[label] = total.get(label, _NOTHING).plus(figure)
    return total


_NOTHING = LabelFigure()


class LabelCounter:
    """Counts for one machine. Only the main loop uses it."""

    def __init__(self, pending: Callable[[], Counter[str]]) -> None:
        """`pending`: gives how many URLs wait or are in flight, by label."""
        self._pending = pending
        self._done: dict[str, LabelFigure] = {}

    def add(self, label: str, *, stored: int = 0, other: int = 0, failed: int = 0) -> None:
        """Count records that the tree has more, or less; nothing without a label."""
        if label:
            name = label if label in self._done or len(self._done) < _MOST_LABELS else OTHERS
            self._done[name] = self._done.get(name, _NOTHING).plus(LabelFigure(stored, other, failed))

    def figures(self) -> dict[str, LabelFigure]:
        """Give the figures as they are now."""
        waiting: Counter[str] = Counter()
        for label, number in self._pending().items():
            waiting[label if label in self._done or len(self._done) + len(waiting) < _MOST_LABELS else OTHERS] += number
        return summed([self._done, {label: LabelFigure(pending=number) for label, number in waiting.items()}])


class Astray(NamedTuple):
    """Why a seed leads nowhere in the crawl.

    how      "redirects" or "links": only out of it; "scripts": only scripts have more than a few words
    target   the first URL that it leads to, and `rule` against it; both are "" for scripts
    """

    how: str
    target: str
    rule: str


class NotStoredFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The same as a machine writes it; of seeds and hosts a few."""

    types: dict[str, _Count] = {}
    left_out: dict[str, LeastDigests] = {}
    seeds: dict[str, Astray] = {}
    hosts: dict[str, str] = {}


class NotStored:
    """Counts for one machine, and adds what several machines have counted."""

    def __init__(self, left_out: LeftOut | None = None, hosts: Callable[[], Mapping[str, str]] = dict) -> None:
        """`left_out`: counted elsewhere. `hosts`: gives those that are given up now, and why."""
        self.types: Counter[str] = Counter()
        self.left_out = LeftOut() if left_out is None else left_out
        self.seeds: dict[str, Astray] = {}
        self.hosts: dict[str, str] = {}
        self._hosts_now = hosts

    def count_type(self, skipped: str, number: int = 1) -> None:
        """Count records that say why they have no body; a refresh takes some away again."""
        self.types[skipped if skipped in self.types or len(self.types) < _MOST_TYPES else OTHER_TYPES] += number

    def note_seed(self, seed: str, astray: Astray | None) -> None:
        """Note where a seed has led; None: into the crawl."""
        if astray is None:
            self.seeds.pop(seed, None)
        elif seed in self.seeds or len(self.seeds) < _MOST_NAMED:
            self.seeds[seed] = astray

    def figures(self) -> NotStoredFigures:
        types = {name: number for name, number in self.types.items() if number}
        hosts = dict(list(self._hosts_now().items())[-_MOST_NAMED:])
        return NotStoredFigures(types, self.left_out.digests(), self.seeds.copy(), hosts)

    def add(self, figures: NotStoredFigures) -> None:
        """Add what another machine, or an earlier run, has counted."""
        for skipped, number in figures.types.items():
            self.count_type(skipped[:_MOST_CHARS], number)
        self.left_out.add_digests(figures.left_out)
        for seed, astray in figures.seeds.items():
            self.note_seed(seed, astray)
        for host, why in figures.hosts.items():
            if len(self.hosts) < _MOST_NAMED:
                self.hosts[host] = why[:_MOST_CHARS]


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
    data = files.read_or_torn(status_path(machine)) or b""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _DECODER.decode(data)
    return EMPTY
