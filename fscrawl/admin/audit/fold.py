"""What logs say, for a process that only reads them: of all URLs, and which machines are live.

The lines of logs are put together as the machines do it; pages are known by their fingerprints. Which machines are
live is decided by the rules of `fleet.ownership`.

Vocabulary:
  there      the tree has a record of the page or of its failure
  marked     a mark says that the page's links stand in the logs
  done       marked, or failed: the machines do nothing more for it
  pending    known within scope and depth, and neither there nor done: the next crawl fetches it
  gone       done, and not there: somebody has removed the record

Promise: lines may come in any order, and repeatedly. Ten bytes for each URL, fifteen with `max_depth`; and the times of
failures whose record is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fscrawl import urls
from fscrawl.admin.audit.report import EXAMPLES
from fscrawl.fleet import heartbeat
from fscrawl.fleet.lines import Found, Line, Told
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rules import Rules
from fscrawl.frontier.url_table import UrlTable


class Fold:
    """`pending`: number of URLs. `has_gone`: some page may be gone, since a mark speaks of one that is not there."""

    def __init__(self, rules: Rules) -> None:
        self.pending = 0
        self.has_gone = False
        self._rules = rules
        self._table = UrlTable(deep=rules.links.is_deep)
        self._failures: dict[int, set[str]] = {}  # of what is not there: when it failed
        self._again: dict[int, set[str]] = {}  # and because of which failures it is to be tried again

    # -- what is learned

    def mark_there(self, number: int) -> None:
        """Note that there is a record. Call it before all else: what comes later is judged by it."""
        self._table.mark_there(number)

    def add(self, line: Line) -> None:
        """Add a line of a log."""
        match line:
            case Found():
                self._add_found(line)
            case Told():
                number = urls.fingerprint(line.key)
                if line.failed_at:
                    self._fail(number, {line.failed_at})
                else:
                    self._mark(number, line.depth)

    def know(self, url: str, depth: int) -> None:
        """Note that a URL within the scope is known at a depth."""
        number = urls.fingerprint_of(url)
        if self._rules.own.max_depth is None or depth <= self._rules.own.max_depth:
            before = self.is_pending(number)
            self._table.known(number, depth)
            self.pending += self.is_pending(number) - before

    def _add_found(self, found: Found) -> None:
        number = urls.fingerprint_of(found.url)
        if found.flags.retry_of and not self.is_there(number):
            before = self.is_pending(number)
            self._again.setdefault(number, set()).add(found.flags.retry_of)
            self.pending += self.is_pending(number) - before
        if self._rules.refuses(found.url, found.depth, found.flags) is None:
            self.know(found.url, found.depth)

    def _mark(self, number: int, depth: int) -> None:
        before = self.is_pending(number)
        self._table.told(number, depth)
        self.has_gone = self.has_gone or not self.is_there(number)
        self.pending += self.is_pending(number) - before

    def _fail(self, number: int, times: set[str]) -> None:
        if not self.is_there(number):
            before = self.is_pending(number)
            self._failures.setdefault(number, set()).update(times)
            self.has_gone = True
            self.pending += self.is_pending(number) - before

    # -- what is asked

    def is_there(self, number: int) -> bool:
        return self._table.state(number).there

    def is_marked(self, number: int) -> bool:
        """Tell whether all links of a page stand in the logs."""
        return self._table.settled(number)

    def is_gone(self, number: int) -> bool:
        return self._is_done(number) and not self.is_there(number)

    def is_pending(self, number: int) -> bool:
        state = self._table.state(number)
        return state.known is not None and not state.there and not self._is_done(number)

    def _is_done(self, number: int) -> bool:
        failures = self._failures.get(number)
        has_failed = failures is not None and not failures <= self._again.get(number, set())
        return has_failed or self._table.settled(number)


_GLANCE_S = 1.0


class Liveness:
    """What the heartbeat logs have shown since this object was made."""

    def __init__(
        self,
        machinery: Machinery,
        machine: str,
        dead_after_s: float,
        shards: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._fleet = Fleet(machinery, machine, dead_after_s, shards)
        self._clock = clock
        self._sleep = sleep
        self._watched = False
        self.look()
        self._first = {peer.machine: peer.offset for peer in self._fleet.peers.values()}
        self._since = clock()

    def look(self) -> None:
        """Read the new lines of the logs."""
        self._fleet.observe(self._clock())

    @property
    def live(self) -> frozenset[str]:
        """Machines that are not known to be dead."""
        return frozenset(name for name in self._fleet.peers if not self.is_dead(name))

    def ends(self) -> dict[str, tuple[int, int]]:
        """Give, by machine, its generation and how many bytes its log has, by its last line."""
        last = ((name, peer.last()) for name, peer in self._fleet.peers.items())
        return {name: (beat.generation, beat.log) for name, beat in last if beat.log}

    def is_dead(self, machine: str) -> bool:
        """Tell whether a machine is certainly dead. If it has no log, this is usually known only after `watch`."""
        peer = self._fleet.peers.get(machine)
        if peer is None:
            return self._watched or heartbeat.is_gone_by_name(machine)
        return peer.left or (self._watched and not self.is_seen(machine))

    def is_seen(self, machine: str) -> bool:
        """Tell whether it is certainly alive: its process runs here, or its log has grown since the first look."""
        peer = self._fleet.peers.get(machine)
        if peer is None or peer.left:
            return False
        return heartbeat.runs_here(peer.greeting) or peer.offset > self._first.get(machine, 0)

    def doubtful(self, owners: Iterable[str] = ()) -> set[str]:
        """Return the machines that are neither dead nor certainly alive: of those with a log, and of `owners`."""
        return {name for name in {*self._fleet.peers, *owners} if not (self.is_dead(name) or self.is_seen(name))}

    def watch(self, warn: Callable[[str], None], owners: Iterable[str] = ()) -> None:
        """Watch the logs until no machine is doubtful; at most so long since the first look that each would be dead.

        `warn`: is told before whose, and for how long.
        """
        if names := sorted(self.doubtful(owners)):
            which, limit_s = ", ".join(names[:EXAMPLES]), self._limit_s(names)
            what = f"machines that may be alive: {len(names)} ({which})"
            warn(f"{what}; watching their heartbeats for up to {limit_s:g} s")
        while (left := self.doubtful(owners)) and (left_s := self._since + self._limit_s(left) - self._clock()) >= 0:
            self._sleep(min(left_s + 0.01, _GLANCE_S))
            self.look()
        self._watched = True

    def _limit_s(self, machines: Iterable[str]) -> float:
        """Return for how many seconds machines may be silent before they are dead: the longest `dead_after`."""
        return max(map(self._fleet.dead_after_of, machines))
