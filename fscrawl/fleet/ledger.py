"""What this machine says about URLs, and what it hears: its own log, and the logs of all others.

Vocabulary:
  say       write a line into the own log; others can read it after the next flush
  hear      read the lines of another machine's log
  news      a URL, or a shorter way to one, of which the logs do not tell yet as far as this machine knows
  hungry    a machine that has nothing to fetch: others should flush soon
  cut       a log that holds less than it once did, or than another file says (see `log_reader.Cut`)

The state of a shard is a fold over all logs: the least depth of its `u` lines, and its `t` lines. Both only grow, so
order, repeats, lateness and writer of a line do not matter. A lease decides who fetches, never who may write a line.

Promise: a page's `t` line stands in the own log behind the `u` lines of all its links, unless those were known from
logs before. So whoever reads the `t` line need not read the page's record again.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from fscrawl import urls
from fscrawl.errors import TreeError
from fscrawl.fleet.lines import Found, Line, Surveyed, Told
from fscrawl.fleet.log_reader import Cut, LogReader, packs_of
from fscrawl.fleet.log_writer import LogWriter, Place, hash_of_places
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.rules import Rules
from fscrawl.fleet.terms import Terms
from fscrawl.frontier.flags import NO_FLAGS, Flags
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.seen import RecentDepths
from fscrawl.frontier.task import PageTask
from fscrawl.storage.layout import MACHINES, pack_of
from fscrawl.util.parallel import READERS
from fscrawl.util.waiting import in_turn_if_slow

_SENT_MEMORY = 200_000  # how many URLs of other machines' shards are remembered as sent, per generation of the memory
_HUNGRY_FLUSH_S = 0.2
_BUSY_FLUSH_S = 5.0
_FLUSH_S_A_MACHINE = 0.06  # with a thousand machines each flush has a line for most of them
_MOST_UNFLUSHED_BYTES = 1024 * 1024
_SHORT_BYTES = 64 * 1024  # of a log, whose lines may be in memory together, and those of some others
BEGINNING = Place(0, 0)


@lru_cache(10_000)
def _mark(label: str) -> int:
    """Give what tells the lines of a URL apart that were said for several tasks; 0 without a label."""
    return urls.fingerprint_of(label) if label else 0


class Ledger:
    """One machine's dealings with the logs. Only the main loop uses it, except `check`."""

    def __init__(
        self,
        files: TreeLogs,
        machine: str,
        frontier: Frontier,
        rules: Rules,
        terms: Terms,
        *,
        caches_s: float,
        holder_of: Callable[[int], str],
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`caches_s`: how long a file system may show an old state of a file; `holder_of`: of a shard, as believed."""
        self.rules = rules
        self.needed: set[int] = set()  # shards that have URLs
        self.surveyed: dict[int, int] = {}  # shard → newest generation in which all that is stored of it was said
        self.uncovered: set[int] = set()  # shards with a page that was told by rules that do not cover the present ones
        self.lines_since: Counter[int] = Counter()  # shard → lines in logs since its last snapshot was begun
        self._files = files
        self._machine = machine
        self._frontier = frontier
        self._terms = terms
        self._caches_s = caches_s
        self._warn = warn
        self._clock = clock
        self._writer = LogWriter(files, machine, holder_of=holder_of)
        self._reader = LogReader(files, machine)
        self._sent: RecentDepths[int] = RecentDepths(_SENT_MEMORY)
        self._flushed_at = clock()
        self._cut_since: dict[str, float] = {}
        self._owed: dict[str, Place] = {}  # where logs go to by snapshots that were read
        self._hashed: tuple[dict[str, Place], str] | None = None

    # -- beginning and end

    def open(self) -> None:
        """Make the own log, before there is anything to say: a listing may show a new file late."""
        self._writer.open()

    def end(self, *, others_agree: bool) -> None:
        """Let others read all that was said, and say nothing more.

        The last segment of a log is never removed, so a long one is followed by another, which only says what counts
        of it. `others_agree`: on where this log ends, so it must not change any more.
        """
        self.flush()
        if not others_agree:
            self.leave_long_segment()
        self.close()

    def close(self) -> None:
        self._writer.close()

    def check(self) -> None:
        """Raise MemoryGone if the own log is not as this machine left it; called from the thread that beats."""
        self._writer.check()

    def use(self, rules: Rules) -> None:
        """Go by other rules from now on.

        In a new generation all that was sent before must be written again. So it must where depths begin to count: a
        shorter way to a URL was no news before.
        """
        if rules.generation != self.rules.generation or rules.term.is_deep != self.rules.term.is_deep:
            self._sent = RecentDepths(_SENT_MEMORY)
        self.rules = rules
        self._terms.use(rules.term)

    # -- saying

    def discover(
        self, links: Iterable[str], depth: int, referrer: str, flags: Flags = NO_FLAGS, host: str = "", term: str = ""
    ) -> list[int]:
        """Say links of a page, all inside the scope; those of held shards go into the frontier, too.

        `host`: that names them; "" for what none does, such as seeds. `term`: the rules by which they were filtered,
        "" for those of now. If it is another one, what is outside of the rules of now is only said.

        Returns the shards that have their first URL now. A URL beyond `max_depth` is counted as cut, and not said.
        Those of a stopped task are only said. A URL that is not settled is said once for each task: one of them may be
        stopped later.
        """
        limit, is_stale = self.rules.max_depth, term not in ("", self.rules.term.digest)
        is_too_deep = limit is not None and depth > limit
        if is_too_deep and not is_stale:
            for url in links:
                self._frontier.leave_out_as_too_deep(url)
            return []
        new_shards = []
        mark = _mark(flags.label)
        is_only_said = is_too_deep or flags.label in self.rules.stopped
        held = self._frontier.shards
        if flags is NO_FLAGS and not is_only_said and not is_stale:
            located = self._frontier.unknown(links, self.rules.seeds)
        else:
            located = [(url, self._frontier.location(url)) for url in links]
        for url, location in located:
            shard = location.shard
            own = shard in held
            news = None
            if own and not is_only_said and not (is_stale and not self.rules.admit(url, flags)):
                foreign = host not in ("", location.host)
                news = self._frontier.add(url, depth, referrer, location, flags, foreign=foreign)
            if mark and own and not news and self._frontier.is_settled(shard, int.from_bytes(location.digest[:8])):
                continue
            if mark or news is None or (not news and url in self.rules.seeds):
                # The logs may not have it: a host beyond `max_hosts_per_domain` is not remembered by the frontier, and
                # a seed is known from `seeds.txt`, which somebody may edit. With another label it is another line.
                news = self._sent.add(int.from_bytes(location.digest[:8]) ^ mark, depth) or news
            if news:
                self._writer.add(Found(shard, depth, referrer, url, flags), own=own)
                if shard not in self.needed:
                    self.needed.add(shard)
                    new_shards.append(shard)
        return new_shards

    def told(self, task: PageTask, term: str) -> None:
        """Say that all links of a stored page stand in the log. `term`: the rules by which they were filtered."""
        self.say(Told(self._frontier.shard_of(task), task.key, task.depth, term))

    def failed(self, task: PageTask, failed_at: str) -> None:
        """Say that a URL has failed for good, and has an error record."""
        self.say(Told(self._frontier.shard_of(task), task.key, task.depth, self.rules.term.digest, failed_at))

    def say(self, line: Line) -> None:
        self._writer.add(line, own=self._frontier.holds(line.shard))

    def covers(self, term: str) -> bool:
        """Tell whether links that were filtered by the rules of `term` are all that the present rules ask for."""
        return self._terms.covers(term)

    @property
    def sitemaps_were_off(self) -> bool:
        """Tell whether some links were told by rules under which no sitemaps are read."""
        return self._terms.sitemaps_were_off

    @property
    def place(self) -> Place:
        """The flushed end of the own log."""
        return self._writer.place

    @property
    def is_flushed(self) -> bool:
        return self._writer.is_empty

    def flush(self) -> None:
        """Let others read all that was said: one write and one fsync."""
        lines = self._writer.unflushed_lines()
        self._writer.flush()
        self._flushed_at = self._clock()
        self.lines_since.update(lines)

    def flush_if_due(self, now: float, *, machines: int, somebody_is_hungry: bool, starved: bool) -> None:
        """Flush at once if nothing else is to be done, soon if somebody waits, and seldom while all are busy."""
        if self._writer.is_empty:
            return
        if starved:
            pause_s = 0.0
        elif somebody_is_hungry and self._writer.has_foreign:
            pause_s = _HUNGRY_FLUSH_S
        else:
            pause_s = max(_BUSY_FLUSH_S, _FLUSH_S_A_MACHINE * machines)
        if now - self._flushed_at >= pause_s or self._writer.unflushed_bytes >= _MOST_UNFLUSHED_BYTES:
            self.flush()

    def leave_long_segment(self) -> bool:
        """Begin another segment if the last one is long; tell whether the log ends elsewhere now."""
        place = self.place
        with contextlib.suppress(TreeError):  # it only saves space
            self._writer.leave_long_segment()
        return self.place != place

    # -- hearing

    def meet(self, ends: Mapping[str, Place | None]) -> None:
        """Do what `hear` does before any shard is held, so that no line is wanted: the heads name shards with URLs.

        On a slow share several logs are read at the same time: each past run has left one, and weeks leave thousands.
        """
        others = [log for log in ends.items() if log[0] != self._machine]
        for _ in in_turn_if_slow(self._read_heads, others, READERS):
            pass
        self.needed |= self._reader.needed

    def _read_heads(self, log: tuple[str, Place | None]) -> None:
        machine, end = log
        self._reader.begin_at(machine, self._first_place(machine, end))
        for _ in self._reader.read(machine, (), until=end):
            pass

    def has_grown(self, machine: str) -> bool:
        """Look whether a log has more than was read; see `LogReader.has_grown`."""
        return self._reader.has_grown(machine)

    def hear(self, ends: Mapping[str, Place | None]) -> None:
        """Read what logs have grown by. `ends`: how far each log goes, as a beat says; None: look at the file."""
        for machine, end in ends.items():
            if machine == self._machine:
                continue
            if machine not in self._reader.places:
                self._reader.begin_at(machine, self._first_place(machine, end))
            owed = self._owed.get(machine, BEGINNING)
            until = max(owed, end or owed) if owed > self.read_to(machine) else end
            for line in self._reader.read(machine, self._frontier.shards, until=until):
                self.take_line(line)
        self.needed |= self._reader.needed

    def hear_up_to(self, places: Mapping[str, Place]) -> None:
        """Hear logs as far as a snapshot has them. One that has less is cut, whatever its last beat says.

        A log that is not there at all is not asked for: it may have been lost with its pack, which is a cut of its own.
        """
        self._owed = {machine: place for machine, place in self._owed.items() if place > self.read_to(machine)}
        for machine in places.keys() & self._reader.places.keys():
            place = places[machine]
            if place > max(self.read_to(machine), self._reader.forgiven.get(machine, BEGINNING)):
                self._owed[machine] = max(place, self._owed.get(machine, BEGINNING))
        self.hear(dict.fromkeys(sorted(self._owed)))

    def first_places(self) -> dict[str, Place]:
        """Give where each log begins. The first segments of an old log may have been removed."""
        return {machine: self._first_place(machine, end) for machine, end in self.ends().items()}

    def _first_place(self, machine: str, end: Place | None) -> Place:
        """Give where a log begins. `end`: where it ends; None: that is not known."""
        if end is not None and end.segment == 0:
            return BEGINNING
        for segment in self._files.log_segments(machine):  # a listing may still show one that was removed
            if self._files.segment_size(machine, segment) is not None:
                return Place(segment, 0)
        return BEGINNING

    def machines(self) -> list[str]:
        """List the machines that have a log, this one too."""
        return self._files.log_machines()

    def read_to(self, machine: str) -> Place:
        """Give the place up to which a machine's log was read."""
        return self._reader.places.get(machine, BEGINNING)

    def take_line(self, line: Line) -> None:
        """Fold a line of some log into what is known of its shard."""
        self.count(line)
        self.fold(line)

    def count(self, line: Line) -> None:
        """Count a line of some log that is going to be folded."""
        self.lines_since[line.shard] += 1

    def fold(self, line: Line) -> None:
        """Fold a line into what is known of its shard; it need not stand in a log, but may be of a snapshot."""
        match line:
            case Found():
                location = self._frontier.location(line.url)
                if line.flags.label:  # it need not be said for this task once more
                    self._sent.add(int.from_bytes(location.digest[:8]) ^ _mark(line.flags.label), line.depth)
                if self._frontier.holds(location.shard) and self.rules.admit(line.url, line.flags):
                    foreign = bool(line.referrer or line.flags.sitemap)  # a line does not say which host names it
                    self._frontier.add(line.url, line.depth, line.referrer, location, line.flags, foreign=foreign)
            case Told():
                # A failure counts whatever the term: no links stand before it.
                if line.failed_at or self.covers(line.term):
                    failed = bool(line.failed_at)
                    self._frontier.mark_told(line.shard, urls.fingerprint(line.key), line.depth, failed=failed)
                else:
                    self.uncovered.add(line.shard)
            case Surveyed():
                self.surveyed[line.shard] = max(self.surveyed.get(line.shard, -1), line.generation)

    def lines_of(
        self, shards: frozenset[int], starts: Mapping[str, Place], ends: Mapping[str, Place]
    ) -> Iterator[Line]:
        """Give the lines of some shards in all logs, from `starts` (the beginning, if a log is not in it) to `ends`.

        What is short is read ahead on a slow share, several logs at the same time.
        """

        def read(machine: str) -> Iterable[Line]:
            start, end = starts.get(machine, BEGINNING), ends[machine]
            lines = self._reader.read_shards(machine, shards, start, end)
            return list(lines) if end < Place(start.segment, start.bytes + _SHORT_BYTES) else lines

        for lines in in_turn_if_slow(read, ends, READERS):
            yield from lines

    def ends(self) -> dict[str, Place]:
        """Give the place up to which each log was read, and the flushed end of the own one."""
        return {**self._reader.places, self._machine: self._writer.place}

    def vector_hash(self) -> str:
        """Give a hash of `ends()`: two machines with the same one have read the same.

        What was cut does not count, so it does not matter how much of that a machine had read before it was lost.
        """
        ends = self.ends()
        for machine, place in self._reader.forgiven.items():
            ends[machine] = max(place, ends.get(machine, BEGINNING))
        if self._hashed is None or self._hashed[0] != ends:  # a tree of years has many thousand logs
            self._hashed = ends, hash_of_places(ends)
        return self._hashed[1]

    # -- surveys

    def is_surveyed(self, shard: int) -> bool:
        """Tell whether all that is stored of a shard was said in this generation."""
        return self.surveyed.get(shard, -1) >= self.rules.generation

    def begin_anew(self, shard: int) -> None:
        """The newest snapshot of a shard is going to be read, and the logs since then."""
        self.surveyed.pop(shard, None)
        self.uncovered.discard(shard)
        self.lines_since.pop(shard, None)

    # -- cuts

    @property
    def doubted(self) -> Collection[str]:
        """The logs that seem to be cut: it may also be an old view of the file, so they are looked at again."""
        return {machine for machine in self._reader.cuts if pack_of(machine) is None}

    @property
    def has_doubts(self) -> bool:
        return bool(self._reader.cuts)

    def believed_cut(self, now: float, more: Mapping[str, Cut]) -> Cut | None:
        """Give a cut that has been seen for longer than any cache lives; None if there is none.

        `more`: cuts that were seen when a snapshot was made. That of a pack counts for all logs in it.
        """
        cuts = {**more, **self._reader.cuts}
        self._cut_since = {machine: self._cut_since.get(machine, now) for machine in cuts}
        lost = {number for machine, cut in cuts.items() for number in packs_of(machine, cut.expected)}
        cuts = {machine: cut for machine, cut in cuts.items() if self._files.packed_in(machine) not in lost}
        old = (cut for machine, cut in cuts.items() if now - self._cut_since[machine] >= self._caches_s)
        return next(old, None)

    def forgive(self, machine: str, expected: Place) -> None:
        """Go on from what a cut log still holds: a generation was made, so what is gone is said again."""
        if machine in self._reader.cuts:
            is_log = pack_of(machine) is None
            what = f"the log of {machine} was cut" if is_log else f"{MACHINES}/{machine} cannot be read"
            self._warn(f"{what}; all records are read again")
        self._reader.forgive(machine, expected)
        if self._owed.get(machine, BEGINNING) <= expected:
            self._owed.pop(machine, None)
