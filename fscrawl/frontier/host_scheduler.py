"""Whose turn it is: when each host may be asked again, which task it gets, and when it is given up.

Vocabulary:
  ready       a host that has something pending, fewer than `per_host` tasks in flight, and whose time has come
  delay       seconds between two requests to a host, from settings, robots.txt and its own pace
  rest        a host is asked nothing before a given time: its delay, Retry-After, a failing robots.txt
  given up    a host that failed for too long: its tasks are handed out at once, only to be written down as failed

Who drives it: the frontier, for the hosts and tasks that come and go; and the engine alone, which reports how exchanges
went: `open`, `answered`, `failed`, `give_up`.

Promise: two tasks of a host are handed out at least its delay apart, counted from the moment when the earlier request
was surely with the server. Hosts take turns by earliest allowed time, so a large host never starves the rest. Nor do
hosts of which many pages need no request: each has its turn behind those whose time had come before.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Container, Mapping
from typing import NamedTuple

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.frontier.hosts import Host, Hosts
from fscrawl.frontier.places import Group, Places
from fscrawl.frontier.shards import Shards
from fscrawl.frontier.task import PageTask, RobotsTask, Task
from fscrawl.util.distinct import LeftOut

_MOST_GIVEN_UP = 10_000  # hosts of which it is known why
_MAY_OWE_S = 20.0  # of rest: an answer may have had bad luck
_MOST_OWED_S = 600.0  # one page of a site may be odd
_PAUSED_S = 1.0  # then a host that is paused is looked at again


class Fails(NamedTuple):
    """How a host fails: how many times in a row, how it did last, and for how many seconds it asked to be left alone.

    `asked_rest_s`: what remains of its Retry-After, 0 without one.
    """

    times: int
    class_: str
    asked_rest_s: float = 0.0


def _turn_at(host: Host) -> float:
    """Give when its turn may come. A host that was given up is asked nothing, so it need not wait."""
    return 0.0 if host.given_up else host.ready_at


class HostScheduler:
    """The hosts in the order of their turns."""

    def __init__(self, settings: Settings, hosts: Hosts, shards: Shards, in_flight: Container[str]) -> None:
        """`hosts`: all that were met, with their queues. `shards`: tell what is known of pending URLs.

        `in_flight`: the keys of the pages that are.
        """
        self.settings = settings
        self.places = Places(settings.politeness, self._set_turn)
        self.cut = LeftOut()  # URLs left out, by the rule that did it
        self._why_given_up: dict[str, str] = {}  # host → the failure for which it was given up; the latest ones
        self._next_task = NextTask(hosts, shards, in_flight, self.cut, self._why_given_up)
        self.paused: frozenset[str] = frozenset()  # hosts to leave alone, with their port or without
        self._hosts = hosts
        self._by_name = hosts.by_name
        self._ready: list[tuple[float, int, Host | Group]] = []
        self._turn = itertools.count()  # of two with the same time the earlier comes first
        self._now = 0.0  # when a task was last taken
        # Host, met or not → until when it was told to rest, and why: a cause of `host_figures`, for people.
        self._rests: dict[str, tuple[float, str]] = {}
        self._owed_until: dict[int, float] = {}  # by site: the time at which it owes nothing any more
        self.gave_up = 0  # hosts that are given up

    def __len__(self) -> int:
        """Tell how many hosts were met."""
        return len(self._hosts)

    def use(self, settings: Settings) -> None:
        """Go by edited settings from now on."""
        self.settings = settings
        self.places.use(settings.politeness)

    def _find(self, name: str) -> Host | None:
        """Give a host that was met, also one that was set aside."""
        return self._by_name.get(name) or self._hosts.recall(name)

    # -- for the frontier: hosts come and go

    def welcome(self, host: Host) -> None:
        """A host was met: it may have been told to rest before, or another machine may just have asked it."""
        if host.taken_at is not None:
            host.ready_at = host.taken_at + self._delay_of(host)
        host.ready_at = max(host.ready_at, self._rest_of(host.name)[0])
        self.places.judge(host)

    def forget_shards(self, shards: Collection[int]) -> None:
        """Forget the hosts of some shards, and what is pending for them."""
        given_up = sum(map(self._hosts.forget_aside, shards))
        for host in [each for each in self._by_name.values() if each.shard in shards]:
            while host.parked:
                self.places.unpark(host)
            if host.in_flight:
                self.places.leave(host, None, host.in_flight)
            self._hosts.forget(host)
            given_up += bool(host.given_up)
        self.gave_up -= given_up

    def set_aside_idle(self, now: float, expected: Container[str]) -> None:
        """Set all hosts aside that have nothing to do, except those of which tasks are expected back."""
        for host in list(self._by_name.values()):
            if not (host.pending or host.in_flight or host.in_heap or host.ready_at > now or host.name in expected):
                self._hosts.set_aside(host)

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Forget what is pending for all hosts, except the wanted URLs."""
        for host in self._by_name.values():
            self._hosts.keep(host, wanted)

    def try_again(self, host: Host) -> None:
        """A user asked for another try: ask the host again if it was given up."""
        if host.given_up:
            host.given_up = ""
            self._why_given_up.pop(host.name, None)
            self.gave_up -= 1
            host.pace.forget_failures()
            host.robots_attempt = 1

    # -- for the frontier: tasks go out and come back

    def schedule(self, host: Host) -> None:
        """Give a host a turn if it has something to hand out and no turn yet."""
        if host.in_heap or host.in_flight >= self.settings.politeness.per_host:
            return
        if host.queue.count or host.urgent:
            # A host that need not be asked, since robots.txt forbids its pages or it was given up, could have its turn
            # at any time. With a time that is long over it would always go before those whose delay has just passed.
            self._set_turn(max(_turn_at(host), self._now), host)
            host.in_heap = True

    def _set_turn(self, at: float, whose: Host | Group) -> None:
        turn = next(self._turn)
        if isinstance(whose, Host):
            whose.turn = turn  # one that was set before does not count any more
        heapq.heappush(self._ready, (at, turn, whose))

    def take(self, now: float) -> PageTask | RobotsTask | None:
        """Hand out the task of the host whose turn it is at `now`, or None."""
        self._now = now
        while (at := self.next_at()) is not None and at <= now:
            _, _, host = heapq.heappop(self._ready)
            if isinstance(host, Group):
                self.places.has_turn(host)
                continue
            host.in_heap = False
            if self.paused and self.is_paused(host):
                host.ready_at = max(host.ready_at, now + _PAUSED_S)
                self._next_task.drop_settled(host)  # nobody waits for a host of which nothing is left to do
            host.ready_at = max(host.ready_at, self._owed_until.get(host.site, 0.0) - _MAY_OWE_S)
            limit = self.settings.crawl.max_pages_per_host
            task = None
            if _turn_at(host) <= now:
                if not self.places.enter(host, now):
                    host.in_heap = True
                    continue
                task = self._next_task.of(host, now, limit, robots=self.settings.politeness.robots)
                if task is None:
                    self.places.leave(host, None)
            else:
                self.places.pass_on(host)
            if task is not None:
                host.in_flight += 1
                host.was_retry = task.attempt > 1
                if self.settings.politeness.per_host > 1:  # the next one need not wait for the answer to this one
                    host.ready_at = max(host.ready_at, now + self._delay_of(host))
                self.schedule(host)
                return task
            if _turn_at(host) > now:  # it was told to rest meanwhile
                self.schedule(host)
        return None

    def probe(self, now: float, name: str = "", url: str = "") -> RobotsTask | None:
        """Hand out a probe of the network for a host, by default for the pending one that has waited longest.

        None if it may not be asked now. `url`: any URL of the host, by default its next. See `politeness.outage`.
        """
        waiting = (each for each in self._by_name.values() if each.pending and self._may_be_asked(each, now))
        host = self._find(name) if name else min(waiting, key=lambda each: each.ready_at, default=None)
        if host is None or not self._may_be_asked(host, now) or not (url or self._next_task.drop_settled(host)):
            return None
        if not self.places.enter(host, now, waits=False):
            return None
        host.in_heap, host.waits_for, host.turn = False, None, next(self._turn)  # after the probe it gets a new turn
        host.in_flight += 1
        return RobotsTask(url or self._hosts.peek(host).url, host.name, attempt=0)

    def _may_be_asked(self, host: Host, now: float) -> bool:
        return not (host.in_flight or host.given_up or host.ready_at > now or self.is_paused(host))

    def is_quick(self, name: str) -> bool:
        """Tell whether a host answers soon, as far as is known."""
        return self._by_name[name].is_quick

    def park(self, name: str) -> None:
        """A page of a host waits to be read or rendered: as long as it does, it takes no place of slow hosts."""
        if (host := self._by_name.get(name)) is not None:
            self.places.park(host)

    def unpark(self, name: str) -> None:
        """That page is not waited for any more: its task is about to end."""
        if (host := self._by_name.get(name)) is not None:
            self.places.unpark(host)

    def is_paused(self, host: Host) -> bool:
        return host.name in self.paused or urls.without_port(host.name) in self.paused

    def drop_settled(self) -> None:
        """After much was marked as told: let no host that rests be waited for if nothing is left to do for it."""
        for name in self._rests:
            host = self._by_name.get(name)
            if host is not None:
                self._next_task.drop_settled(host)

    def finish(self, name: str, asked_at: float | None, *, stored: bool) -> None:
        """A task of a host is over; see `Frontier.finish`."""
        host = self._by_name.get(name)
        if host is None:  # its shard was let go
            return
        self.places.leave(host, asked_at)
        host.in_flight -= 1
        host.pages += stored
        if asked_at is not None:
            host.ready_at = max(host.ready_at, asked_at + self._delay_of(host))
        self.schedule(host)

    def retry_robots(self, host: Host, at: float) -> None:
        """A robots.txt could not be had: ask for it once more, not before `at`."""
        host.robots_attempt += 1
        host.ready_at = max(host.ready_at, at)

    def next_at(self) -> float | None:
        """Give when the next host has its turn."""
        while self._ready:
            at, turn, whose = self._ready[0]
            if isinstance(whose, Group) or whose.turn == turn:
                return at
            heapq.heappop(self._ready)
        return None

    # -- for the engine: how exchanges went

    def open(self, name: str, delay_s: float, now: float) -> None:
        """A host's robots.txt is known and asks for `delay_s` between requests: its pages may be handed out."""
        host = self._by_name.get(name)
        if host is None:
            return
        host.is_open = True
        host.opened_at = now
        host.robots_attempt = 1
        host.pace.robots_delay_s = delay_s
        if host.taken_at is not None:
            host.ready_at = max(host.ready_at, host.taken_at + self._delay_of(host))
        self.schedule(host)

    def is_open(self, name: str) -> bool:
        return self._by_name[name].is_open

    def answered(self, name: str, latency_s: float, address: str = "", *, by_page: bool = True) -> None:
        """A host answered a request, from an IP address ("": not known). `by_page`: for a page, not for robots.txt."""
        host = self._by_name.get(name)
        if host is not None:
            host.pace.answered(latency_s)
            self.places.answered_from(host, address)
            self.places.judge(host, by_page=by_page)

    def failed(self, task: Task, class_: str, now: float, message: str = "", *, asks_for_rest: bool = False) -> None:
        """A host did not answer, or said that it cannot. After many failures in a row it rests, then it is given up.

        `asks_for_rest`: its answer did, and it may have it.
        """
        host = self._by_name.get(task.host)
        if host is None:
            return
        no_robots = isinstance(task, RobotsTask) and task.attempt > self.settings.fetch.retries
        pause_s = host.pace.failed(now, self.settings.politeness, at_once=no_robots, timed_out=class_ == "timeout")
        self.places.judge(host, by_page=False)
        host.failure = class_
        if host.pace.should_give_up(now, self.settings.politeness, asks_for_rest=asks_for_rest):
            self.give_up(task.host, class_, message)
        elif pause_s:
            self.rest(task.host, now + pause_s, "failing")

    def give_up(self, name: str, class_: str, message: str = "") -> None:
        """Ask a host nothing more: hand out what is pending for it, to be written down as failed with `class_`.

        `message`: of its last failure.
        """
        host = self._find(name)
        if host is not None:
            self.gave_up += not host.given_up
            host.given_up = class_
            self._why_given_up[name] = message
            if len(self._why_given_up) > _MOST_GIVEN_UP:
                del self._why_given_up[next(iter(self._why_given_up))]
            self._reschedule(host)

    def why_given_up(self) -> Mapping[str, str]:
        """Give the hosts that were given up, with the message of the last failure; the latest last."""
        return self._why_given_up

    def _reschedule(self, host: Host) -> None:
        """Let a host's turn come earlier than it was set."""
        host.in_heap = False
        host.waits_for = None
        self.schedule(host)

    def forgive(self, names: Collection[str]) -> None:
        """The failures of these hosts were not theirs: the network was gone."""
        for name in names:
            host = self._find(name)
            if host is not None:
                host.pace.forget_failures()
                host.robots_attempt = 1

    # -- delays and rests

    def delay_s(self, name: str) -> float:
        """Give a host's seconds between two requests."""
        host = self._by_name.get(name)
        return self._delay_of(host) if host else self.settings.politeness.delay

    def _delay_of(self, host: Host) -> float:
        return host.pace.delay_s(self.settings.politeness)

    def rest(self, name: str, until: float, why: str = "told") -> None:
        """Ask a host, met or not, nothing before `until`. `why`: a cause of `host_figures`, for people."""
        if until > self._rest_of(name)[0]:
            self._rests[name] = until, why
        host = self._by_name.get(name)
        if host is not None:
            host.ready_at = max(host.ready_at, until)

    def charge(self, name: str, rest_s: float, now: float) -> None:
        """An answer was costly: all hosts of its site together have no turn for so long, beyond `_MAY_OWE_S`."""
        host = self._by_name.get(name)
        if host is not None:
            most_s = min(_MOST_OWED_S, self.settings.politeness.max_rest)
            until = max(self._owed_until.get(host.site, now), now) + rest_s
            self._owed_until[host.site] = min(until, now + most_s)
            self.rest(name, self._owed_until[host.site] - _MAY_OWE_S, "costly")

    def rests(self, now: float) -> dict[str, float]:
        """Give the hosts that were told to rest, with the seconds that remain; another thread may call this."""
        return {name: until - now for name, (until, _) in self._rests.copy().items() if until > now}

    def rests_s(self, name: str, now: float) -> float:
        """Give for how many seconds a host was told to rest; 0 or less if it need not."""
        return self._rest_of(name)[0] - now

    def why_it_rests(self, name: str) -> str:
        """Give why a host was told to rest."""
        return self._rest_of(name)[1]

    def _rest_of(self, name: str) -> tuple[float, str]:
        return self._rests.get(name, (0.0, "told"))

    def forget_past_rests(self, now: float) -> None:
        self._rests = {name: rest for name, rest in self._rests.items() if rest[0] > now}
        self._owed_until = {site: until for site, until in self._owed_until.items() if until > now}
        self.places.forget_past(now)

    def all_paused(self) -> set[str]:
        """Give the names in `paused` that stop all hosts with pending URLs; none if one of these may be asked."""
        found: set[str] = set()
        for host in self._by_name.values():
            if host.pending:
                names = {host.name, urls.without_port(host.name)} & self.paused
                if not names:
                    return set()
                found |= names
        return found

    def all_fail(self, now: float) -> dict[str, Fails]:
        """Give how each host with pending URLs fails; {} if one does not."""
        found = {}
        for host in self._by_name.values():
            if host.pending:
                if not host.pace.failures or not host.failure:
                    return {}
                asked_s = self.rests_s(host.name, now) if self.why_it_rests(host.name) == "retry-after" else 0.0
                found[host.name] = Fails(host.pace.failures, host.failure, max(0.0, asked_s))
        return found


# -- which task a host gets


_LISTING_PAUSE_S = 1.0  # then a host that waits for its listing is looked at again


class NextTask:
    """Chooses which task a host gets when its turn has come.

      settled     a URL of which nothing is left to do: it was told by another machine meanwhile
      open        a host whose robots.txt is known: before that, it gets tasks of stored pages, and then only "robots"
      twin        a pending task whose URL is in flight: one of both is a refresh, or a retry that a user wants
      full        a host with as many stored pages as `max_pages_per_host` allows

    A host that is full gets only tasks of stored pages, whose links must be told. Tasks of a host that was given up are
    handed out only to be written down as failed.
    """

    def __init__(
        self, hosts: Hosts, shards: Shards, in_flight: Container[str], cut: LeftOut, why: Mapping[str, str]
    ) -> None:
        """`in_flight`: the keys of the pages that are. `cut`: counts the URLs left out, by the limit.

        `why`: hosts that were given up, with the message of the last failure.
        """
        self._hosts = hosts
        self._shards = shards
        self._in_flight = in_flight
        self._cut = cut
        self._why = why

    def of(self, host: Host, now: float, limit: int | None, *, robots: bool) -> PageTask | RobotsTask | None:
        """Take a host's next task out of its queue; None if there is none now.

        `limit`: of its stored pages; `robots`: whether its robots.txt is asked for.
        """
        host.look_at_robots(now, wanted=robots)
        is_full = limit is not None and host.pages + host.in_flight >= limit
        if host.given_up:
            task = self._pop(host, now)
            failed = f"{host.given_up} {self._why.get(host.name, '')}".rstrip()
            return task and task._replace(check=True, flags=task.flags.with_host_given_up(failed))
        if host.is_open and not is_full:
            return self._pop(host, now)
        if not self.drop_settled(host):
            return None
        if not host.is_open:
            return self._stored_first(host, now) or self._robots_task(host)
        return self._stored_one_of(host, now) if host.pages >= (limit or 0) else None

    def drop_settled(self, host: Host) -> bool:
        """Drop tasks of a host until one is not settled; tell whether there is one."""
        while host.queue.count or host.urgent:
            task = self._hosts.pop(host)
            if task.flags.wanted_again or not self._shards.standing(task, host.shard).settled:
                self._hosts.put_first(host, task)
                return True
        return False

    def _pop(self, host: Host, now: float) -> PageTask | None:
        """Take a host's next task that is not a twin; these stay pending."""
        twins = []
        while (task := self._pop_open(host, now)) is not None and task.key in self._in_flight:
            twins.append(task)
        for twin in twins:
            self._hosts.put_first(host, twin)
        return task

    def _pop_open(self, host: Host, now: float) -> PageTask | None:
        """Take a host's next task that is not settled, as it is handed out: with the least depth that is known.

        A worker must look into the tree first if the tree may have a record.
        """
        while host.queue.count or host.urgent:
            task = self._hosts.pop(host)
            check = task.check or task.flags.is_special or self._shards.may_miss(task, host.shard, now)
            settled, recorded, known = self._shards.standing(task, host.shard)
            if settled and not task.flags.wanted_again:
                continue
            check = check or recorded
            depth = task.depth if known is None else known
            return task if check is task.check and depth == task.depth else task._replace(check=check, depth=depth)
        return None

    def _stored_one_of(self, host: Host, now: float) -> PageTask | None:
        """Give the next task that the tree has a record of; leave out all before it: the host has enough pages.

        As long as that is not known for sure, the host waits: the links of a stored page must be told.
        """
        while (task := self._pop(host, now)) is not None:
            may_miss = self._shards.may_miss(task, host.shard, now)  # asked first: it may list the host again
            if self._shards.standing(task, host.shard).recorded:
                return task
            if may_miss:
                self._hosts.put_first(host, task)
                host.ready_at = max(host.ready_at, now + _LISTING_PAUSE_S)
                return None
            self._cut.add("max_pages_per_host", task.fingerprint)
        return None

    def _stored_first(self, host: Host, now: float) -> PageTask | None:
        """Give the first task if the tree has a record of it: a worker tells it, and asks the host nothing.

        So a host of which nothing is left is not asked for its robots.txt, as after `.fscrawl` was deleted.
        """
        first = self._hosts.peek(host)
        is_new = first.flags.is_special or first.key in self._in_flight or self._shards.is_robots_first(host.name)
        return None if is_new or not self._shards.standing(first, host.shard).recorded else self._pop(host, now)

    def _robots_task(self, host: Host) -> RobotsTask | None:
        """Give the task that opens a host; None as long as any task of it is in flight."""
        if host.in_flight:
            return None
        return RobotsTask(self._hosts.peek(host).url, host.name, host.robots_attempt)
