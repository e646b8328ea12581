"""What this machine says about URLs, and what it hears: its own log, and the logs of all others, in one generation.

Vocabulary:
  say       write a line into the own log; others can read it after the next flush
  hear      read the lines of another machine's log
  news      a URL, or a shorter way to one, of which the logs do not tell yet as far as this machine knows
  hungry    a machine that has nothing to fetch: others should flush soon

The state of a shard is a fold over all logs: the least depth of its `u` lines, and its `t` lines. Both only grow, so
order, repeats, lateness and writer of a line do not matter. A lease decides who fetches, never who may write a line.

Promise: a page's `t` line stands in the own log behind the `u` lines of all its links, unless those were known from
logs before. So whoever reads the `t` line need not read the page's record again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from fscrawl import urls
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.lines import Found, Line, Surveyed, Told
from fscrawl.fleet.log_reader import Damage, LogReader
from fscrawl.fleet.log_writer import LogWriter, hash_of_places
from fscrawl.fleet.rules import STOPPED, Rules
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.frontier.flags import NO_FLAGS, Flags
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import Location
from fscrawl.frontier.task import PageTask
from fscrawl.store import TreeFiles
from fscrawl.util.lru import RecentDepths
from fscrawl.util.parallel import READERS, in_turn_if_slow

_SENT_MEMORY = 200_000  # how many URLs of other machines' shards are remembered as sent, per generation of the memory
_HUNGRY_FLUSH_S = 0.2
_BUSY_FLUSH_S = 5.0
_FLUSH_S_A_MACHINE = 0.06  # with a thousand machines each flush has a line for most of them
_MOST_UNFLUSHED_BYTES = 1024 * 1024
_SHORT_BYTES = 64 * 1024  # of a log, whose lines may be in memory together, and those of some others


@lru_cache(10_000)
def _mark(label: str) -> int:
    """Give what tells the lines of a URL apart that were said for several tasks; 0 without a label."""
    return urls.fingerprint_of(label) if label else 0


class Ledger:
    """One machine's dealings with the logs of its generation. Only the main loop uses it, except `check`.

    rules        those in force
    needed       shards that have URLs in this generation
    surveyed     shards of which all that is stored was said in this generation
    lines_since  shard → lines in logs since its last snapshot was begun
    snapshots    of the generation
    """

    def __init__(
        self,
        files: TreeFiles,
        machine: str,
        frontier: Frontier,
        rules: Rules,
        *,
        shards: int,
        caches_s: float,
        holder_of: Callable[[int], str],
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`shards`: how many the tree has. `caches_s`: how long a file system may show an old state of a file.

        `holder_of`: of a shard, as believed. `warn`: is told of snapshots that are damaged.
        """
        self.rules = rules
        self.needed: set[int] = set()
        self.surveyed: set[int] = set()
        self.lines_since: Counter[int] = Counter()
        self._files = files
        self._machine = machine
        self._frontier = frontier
        self._shards = shards
        self._caches_s = caches_s
        self._holder_of = holder_of
        self._warn = warn
        self._clock = clock
        self._work_in(rules)

    def _work_in(self, rules: Rules) -> None:
        """Begin to read and write the logs of a generation."""
        self._logs = UrlLogs(self._files, rules.generation)
        self._writer = LogWriter(self._logs, self._machine, holder_of=self._holder_of)
        self._reader = LogReader(self._logs, self._shards)
        self.snapshots = Snapshots(
            self._files, self._logs, deep=rules.links.is_deep, warn=self._warn, clock=self._clock
        )
        self._sent: RecentDepths[int] = RecentDepths(_SENT_MEMORY)
        self._flushed_at = self._clock()
        self._damaged_since: dict[str, float] = {}
        self._owed: dict[str, int] = {}  # how long logs are by snapshots that were read
        self._hashed: tuple[dict[str, int], str] | None = None
        self.needed.clear()  # others may not know what was said before, and would never hold these shards
        self.surveyed.clear()
        self.lines_since.clear()

    # -- beginning and end

    def remove_if_empty(self) -> None:
        """Remove the own log if nothing was said in it: others have read that it has no bytes."""
        if not self._writer.place and self.rules.generation:
            self._logs.remove(self._machine)

    def close(self) -> None:
        self.snapshots.stop()
        self._writer.close()

    def check(self) -> None:
        """Raise MemoryGone if the own log is not as this machine left it; called from the thread that beats."""
        self._writer.check()

    def use(self, rules: Rules) -> None:
        """Go by other rules from now on. In another generation all that was said before must be said again."""
        before, self.rules = self.rules, rules
        if rules.generation != before.generation:
            self.close()
            self._work_in(rules)
            self._writer.open()

    # -- saying

    def discover(
        self, links: Iterable[str], depth: int, referrer: str, flags: Flags = NO_FLAGS, host: str = ""
    ) -> list[int]:
        """Say links of a page, as the generation chooses them; those of held shards go into the frontier, too.

        `host`: that names them; "" for what none does, such as seeds. What is outside of the settings of now, or of a
        stopped task, is only said. A URL beyond the `max_depth` of the generation is counted as cut, and not said.

        Returns the shards that have their first URL now. A URL that is not settled is said once for each task: one of
        them may be stopped later.
        """
        rules = self.rules
        limit = rules.links.max_depth
        if limit is not None and depth > limit:
            for url in links:
                self._frontier.leave_out_as_too_deep(url)
            return []
        new_shards = []
        mark = _mark(flags.label)
        is_filtered = rules.is_narrowed or flags.label in rules.stopped
        held = self._frontier.shards
        if flags is NO_FLAGS and not is_filtered:
            located = self._frontier.unknown(links, rules.seeds)
        else:
            located = [(url, self._frontier.location(url)) for url in links]
        for url, location in located:
            shard = location.shard
            own = shard in held
            news = None
            if own and not (is_filtered and self._is_left_out(url, depth, flags, location)):
                foreign = host not in ("", location.host)
                news = self._frontier.add(url, depth, referrer, location, flags, foreign=foreign)
            if mark and own and not news and self._frontier.is_settled(shard, location.fingerprint):
                continue
            if mark or news is None or (not news and url in rules.seeds):
                # The logs may not have it: a host beyond `max_hosts_per_domain` is not remembered by the frontier, and
                # a seed is known from `seeds.txt`, which somebody may edit. With another label it is another line.
                news = self._sent.add(location.fingerprint ^ mark, depth) or news
            if news:
                self._writer.add(Found(shard, depth, referrer, url, flags), own=own)
                if shard not in self.needed:
                    self.needed.add(shard)
                    new_shards.append(shard)
        return new_shards

    def _is_left_out(self, url: str, depth: int, flags: Flags, location: Location) -> bool:
        """Tell whether a URL is outside of the settings of now, and count it then."""
        rule = self.rules.refuses(url, depth, flags)
        if rule is not None and rule != STOPPED:
            self._frontier.cut.add(rule, location.fingerprint)
        return rule is not None

    def tell(self, task: PageTask, failed_at: str = "") -> None:
        """Say that all links of a stored page stand in the log; or that it has failed for good, and when."""
        self.say(Told(self._frontier.shard_of(task), task.key, task.depth, failed_at))

    def say(self, line: Line) -> None:
        self._writer.add(line, own=self._frontier.holds(line.shard))

    @property
    def place(self) -> int:
        """How many bytes of the own log are flushed."""
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

    # -- hearing

    def meet(self, ends: Mapping[str, int | None]) -> None:
        """Do what `hear` does before any shard is held, so that no line is wanted: the heads name shards with URLs.

        On a slow share several logs are read at the same time: each past run may have left one.
        """
        others = [machine for machine in ends if machine != self._machine]
        for _ in in_turn_if_slow(lambda log: list(self._reader.read(log, (), until=ends[log])), others, READERS):
            pass
        self.needed |= self._reader.needed

    def has_grown(self, machine: str) -> bool:
        """Look whether a log has more than was read."""
        return self._reader.has_grown(machine)

    def hear(self, ends: Mapping[str, int | None]) -> None:
        """Read what logs have grown by. `ends`: how long each log is, as a beat says; None: look at the file."""
        for machine, end in ends.items():
            if machine == self._machine:
                continue
            owed = self._owed.get(machine, 0)
            until = max(owed, end or owed) if owed > self.read_to(machine) else end
            for line in self._reader.read(machine, self._frontier.shards, until=until):
                self.lines_since[line.shard] += 1
                self.fold(line)
        self.needed |= self._reader.needed

    def hear_up_to(self, places: Mapping[str, int]) -> None:
        """Hear logs as far as a snapshot has them. One that has less is damaged, whatever its last beat says."""
        self._owed = {machine: place for machine, place in self._owed.items() if place > self.read_to(machine)}
        for machine, place in places.items():
            if machine != self._machine and place > self.read_to(machine):
                self._owed[machine] = max(place, self._owed.get(machine, 0))
        self.hear(dict.fromkeys(sorted(self._owed)))

    def machines(self) -> list[str]:
        """List the machines that have a log, this one too."""
        return self._logs.machines()

    def read_to(self, machine: str) -> int:
        """Give how many bytes of a machine's log were read."""
        return self._reader.places.get(machine, 0)

    def fold(self, line: Line) -> None:
        """Fold a line into what is known of its shard; it need not stand in a log, but may be of a snapshot."""
        match line:
            case Found():
                location = self._frontier.location(line.url)
                if line.flags.label:  # it need not be said for this task once more
                    self._sent.add(location.fingerprint ^ _mark(line.flags.label), line.depth)
                if not self._frontier.holds(location.shard):
                    return
                if not self._is_left_out(line.url, line.depth, line.flags, location):
                    foreign = bool(line.referrer or line.flags.sitemap)  # a line does not say which host names it
                    self._frontier.add(line.url, line.depth, line.referrer, location, line.flags, foreign=foreign)
            case Told():
                number = urls.fingerprint(line.key)
                self._frontier.mark_told(line.shard, number, line.depth, failed=bool(line.failed_at))
            case Surveyed():
                self.surveyed.add(line.shard)

    def lines_of(self, shards: frozenset[int], starts: Mapping[str, int], ends: Mapping[str, int]) -> Iterator[Line]:
        """Give the lines of some shards in all logs, from `starts` (the beginning, if a log is not in it) to `ends`.

        What is short is read ahead on a slow share, several logs at the same time.
        """

        def read(machine: str) -> Iterable[Line]:
            start, end = starts.get(machine, 0), ends[machine]
            lines = self._reader.read_shards(machine, shards, start, end)
            return list(lines) if end < start + _SHORT_BYTES else lines

        for lines in in_turn_if_slow(read, ends, READERS):
            yield from lines

    def ends(self) -> dict[str, int]:
        """Give how many bytes of each log were read, and how many of the own one are flushed."""
        return {**self._reader.places, self._machine: self._writer.place}

    def vector_hash(self) -> str:
        """Give a hash of `ends()`: two machines with the same one have read the same."""
        ends = self.ends()
        if self._hashed is None or self._hashed[0] != ends:  # a tree of years has many thousand logs
            self._hashed = ends, hash_of_places(ends)
        return self._hashed[1]

    # -- surveys

    def begin_anew(self, shard: int) -> None:
        """The newest snapshot of a shard is going to be read, and the logs since then."""
        self.surveyed.discard(shard)
        self.lines_since.pop(shard, None)

    # -- damage

    @property
    def damaged(self) -> Collection[str]:
        """The logs that seem to be damaged: it may also be an old view of a file, so they are looked at again."""
        return self._reader.damaged.keys() | self._reader.missed.keys()

    def believed_damage(self, now: float) -> Damage | None:
        """Give damage of a log that has been seen for longer than any cache lives; None if there is none."""
        damaged = {**self.snapshots.damaged, **self._reader.missed, **self._reader.damaged}
        self._damaged_since = {machine: self._damaged_since.get(machine, now) for machine in damaged}
        old = (machine for machine, since in self._damaged_since.items() if now - since >= self._caches_s)
        return next((damaged[machine] for machine in old), None)
