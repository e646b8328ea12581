"""Shards on their way into the frontier. A take, an edit of the settings and a new generation all go this one way.

    arriving     the shard is held, and pages of it from an earlier holding are still in flight: their hosts are asked.
                 Or it waits for others that are: shards come into the frontier together
    reading      the frontier has the shard; the newest snapshot and the logs are read (catch up)
    surveying    what is stored of it and was not told in this generation is read from the records
    complete     everything that is known of the shard is in the frontier

While a shard is being read the frontier already hands out its URLs. That is safe: for a while after a take each task is
checked against the tree first, so a page that is stored is not fetched, but told from its record. But for the first of
a host its robots.txt may be asked for, and nothing be left of the host. So URLs wait, as far as there is room, until
what was told has been read.

Promise: a shard is complete only when its snapshot, its lines in all logs, and the records that no log tells have been
read. Work is done in slices of 0.05 s, so that workers do not wait.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping

from fscrawl.errors import RecordError
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.lines import Found, Line, Surveyed
from fscrawl.fleet.seeding import Seeding
from fscrawl.fleet.snapshot_file import Snapshot
from fscrawl.fleet.survey import Survey
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import StoredOnTree

_SLICE_S = 0.05  # of reading, before the workers are looked at again
_STEPS_A_LOOK = 64  # at the clock
_GATHER_S = 1.0  # shards that arrive one after the other are held together, since the tree is listed each time
_TIMES_ITS_COST = 10  # as long as one such time took, until the next one; at least
_MOST_WAITING = 50_000  # URLs that have been read, and are not in the frontier yet: some 15 MB


class Intake:
    """Takes shards in, a slice at a time. Only the main loop uses it."""

    def __init__(
        self,
        frontier: Frontier,
        ledger: Ledger,
        survey: Survey,
        *,
        caches_s: float,
        stored: StoredOnTree,
        seeding: Seeding,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`caches_s`: how long a listing may be old. `stored`: gets a new one for shards that have just come."""
        self._frontier = frontier
        self._ledger = ledger
        self._survey = survey
        self._caches_s = caches_s
        self._stored = stored
        self._seeding = seeding
        self._clock = clock
        self._taken_at: dict[int, float | None] = {}  # shard → when it was taken from another machine; None: it was not
        self._new: set[int] = set()  # nobody has held them before
        self._arriving: set[int] = set()
        self._next_hold = float("-inf")  # not before, unless no shard is waited for
        self._to_survey: dict[int, float] = {}  # shard → when its directories may be listed
        self._chores: deque[Generator[None]] = deque()  # each reads or surveys some shards
        self._under_way: list[set[int]] = []  # for each of them, those of its shards that were not dropped since

    # -- what others ask

    @property
    def busy(self) -> bool:
        """There is something to read."""
        return bool(self._chores)

    @property
    def is_done(self) -> bool:
        """All shards that were begun are complete."""
        return not (self._arriving or self._to_survey or any(self._under_way))

    def is_complete(self, shard: int) -> bool:
        """Tell whether all that is known of a shard is in the frontier."""
        return not any(shard in each for each in (self._arriving, self._to_survey, *self._under_way))

    def incomplete(self) -> set[int]:
        """Give the shards of which something may be missing in the frontier."""
        return self._arriving.union(self._to_survey, *self._under_way)

    # -- in and out

    def begin(self, shards: set[int], taken_at: dict[int, float | None]) -> None:
        """Take shards in, or take them in anew. `taken_at`: of those that were just taken over or never held."""
        self.drop(shards)
        for shard in shards:
            if shard in taken_at and taken_at[shard] is None:
                self._new.add(shard)
            self._taken_at[shard] = taken_at.get(shard, self._taken_at.get(shard))
            self._arriving.add(shard)

    def abandon(self) -> None:
        """End all reading: it is of a generation that is over. The shards are to be begun anew."""
        for chore in self._chores:
            chore.close()
        for each in (self._chores, self._under_way, self._to_survey):
            each.clear()
        self._survey.refreshing.clear()

    def drop(self, shards: Collection[int]) -> None:
        """Forget shards, and let the frontier forget them, all at once: it goes through all that is pending."""
        for each in (self._arriving, *self._under_way):
            each.difference_update(shards)  # a chore that goes on must not take a later holding for its own
        for shard in shards:
            self._to_survey.pop(shard, None)
        if held := [shard for shard in shards if self._frontier.holds(shard)]:
            self._frontier.let_go(*held)

    def forget(self, shards: Collection[int]) -> None:
        """The shards are no longer held."""
        self.drop(shards)
        self._new.difference_update(shards)
        for shard in shards:
            self._taken_at.pop(shard, None)

    # -- work

    def step(self, now: float) -> None:
        """Go on for a short while."""
        until = self._clock() + _SLICE_S
        while True:
            self._hold_arrived()
            self._begin_surveys(now)
            if not self._chores or self._clock() >= until:
                return
            self._work_on(self._chores[0], until)

    def _work_on(self, chore: Iterator[None], until: float) -> None:
        for done, _ in enumerate(chore):
            if done % _STEPS_A_LOOK == 0 and self._clock() >= until:
                return
        self._chores.popleft()

    def _hold_arrived(self) -> None:
        """Give the frontier the shards of which nothing is in flight any more, and begin to read about them."""
        shards = {shard for shard in self._arriving if not self._frontier.in_flight_of(shard)}
        if not shards:
            return
        now = self._clock()
        if now < self._next_hold and shards != self._arriving:
            return
        self._arriving -= shards
        self._ledger.flush()  # what was said of them before is read back with all else
        deep = self._ledger.rules.links.is_deep
        for shard in shards:
            taken_at = self._taken_at[shard]
            # Until now the hosts may have been asked: by the holder before, or by this machine, for what was in flight.
            asked_until = None if shard in self._new else now
            check_s = max(0.0, taken_at + self._caches_s - now) if taken_at is not None else 0.0
            self._frontier.hold(shard, asked_until, check_s=check_s, deep=deep)
            self._ledger.begin_anew(shard)
        new = shards & self._new
        self._new -= new
        self._stored.list_hosts()
        self._frontier.learn_stored()
        self._next_hold = now + max(_GATHER_S, _TIMES_ITS_COST * (self._clock() - now))
        ends = self._ledger.ends()
        for some in filter(None, (new, shards - new)):  # without a snapshot, logs are read from their beginning
            self._under_way.append(some)
            self._chores.append(self._catch_up(some, ends))

    def _catch_up(self, shards: set[int], ends: dict[str, int]) -> Generator[None]:
        """Fold what snapshots and logs say of `shards`, up to `ends`. What is dropped meanwhile is left out."""
        waiting: list[Found] = []
        starts: Mapping[str, int] | None = None
        for shard in sorted(shards):
            at = yield from self._load_snapshot(shard, shards, waiting)
            self._ledger.hear_up_to(at)
            starts = at if starts is None else {m: min(place, at[m]) for m, place in starts.items() if m in at}
        for line in self._ledger.lines_of(frozenset(shards), starts or {}, ends):
            if line.shard in shards:
                self._ledger.lines_since[line.shard] += 1
                yield from self._take(line, shards, waiting)
            yield
        yield from self._seeding.add_of(shards)  # first: a page may link to a seed, and it stays one, of depth 0
        yield from self._take_waiting(shards, waiting)
        self._seeding.want(shards)
        self._under_way.remove(shards)
        self._frontier.scheduler.drop_settled()
        for shard in shards:
            self._plan_survey(shard)

    def _take(self, line: Line, shards: set[int], waiting: list[Found]) -> Iterator[None]:
        """Fold a line, or let it wait if it is a URL."""
        if not isinstance(line, Found):
            self._ledger.fold(line)
            return
        waiting.append(line)
        if len(waiting) >= _MOST_WAITING:
            yield from self._take_waiting(shards, waiting)

    def _take_waiting(self, shards: set[int], waiting: list[Found]) -> Iterator[None]:
        """Fold the URLs that wait, but those of shards that were dropped."""
        for found in waiting:
            if found.shard in shards:
                self._ledger.fold(found)
            yield
        waiting.clear()

    def _load_snapshot(
        self, shard: int, wanted: set[int], waiting: list[Found]
    ) -> Generator[None, None, Mapping[str, int]]:
        """Fold the newest readable snapshot of a shard; return from where on each log is to be read.

        `waiting`: gets the URLs that are pending in it.
        """
        snapshots = self._ledger.snapshots
        snapshot = snapshots.newest(shard)
        if snapshot is None:
            return {}
        try:
            for _ in self._fold(shard, snapshot, wanted, waiting) if shard in wanted else ():
                yield
                if shard not in wanted:
                    break
        except RecordError:  # it was removed meanwhile, since there is a newer one
            snapshots.could_not_read(snapshot.head)
            return (yield from self._load_snapshot(shard, wanted, waiting))
        return snapshot.head.at

    def _fold(self, shard: int, snapshot: Snapshot, wanted: set[int], waiting: list[Found]) -> Iterator[None]:
        for columns in snapshot.told():
            self._frontier.load(shard, *columns)
            yield
        for fingerprints, known in snapshot.failed():
            self._frontier.load_failed(shard, fingerprints, known)
            yield
        for found in snapshot.pending():
            yield from self._take(found, wanted, waiting)
            yield
        if snapshot.head.surveyed:
            self._ledger.fold(Surveyed(shard))

    # -- surveys

    def _plan_survey(self, shard: int) -> None:
        """Decide whether the records of a shard must be read, and when its directories may be listed.

        A listing may be old: nobody has listed the shard in this generation, so what its last holder stored must be in
        the listing.
        """
        if shard not in self._ledger.surveyed:
            taken_at = self._taken_at[shard]
            self._to_survey[shard] = 0.0 if taken_at is None else taken_at + self._caches_s

    def _begin_surveys(self, now: float) -> None:
        # The last holder may have said meanwhile that it made the survey.
        for shard in self._to_survey.keys() & self._ledger.surveyed:
            del self._to_survey[shard]
        if shards := {shard for shard, at in self._to_survey.items() if at <= now}:
            for shard in shards:
                del self._to_survey[shard]
            self._under_way.append(shards)
            self._chores.append(self._survey_all(shards))

    def _survey_all(self, shards: set[int]) -> Generator[None]:
        yield from self._survey.run(shards)
        self._under_way.remove(shards)
        self._frontier.scheduler.drop_settled()
        for shard in shards:
            self._ledger.fold(Surveyed(shard))
            if shard not in self._survey.refreshing:  # the next holder must look for what was not fetched again
                self._ledger.say(Surveyed(shard))
