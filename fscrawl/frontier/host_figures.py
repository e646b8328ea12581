"""How each host does, and why it is asked nothing now: figures for people. They decide nothing.

Vocabulary:
  cause     one word that says why a host is asked nothing now (`Cause`)
  delay     seconds between two requests to the host, and what sets them (`politeness.pace`)

Promise: the figures are of a limited number of hosts: first those in trouble, then those with most pending URLs. They
take one look at each host that is known by name.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from fscrawl.frontier.host_scheduler import HostScheduler
from fscrawl.frontier.hosts import Host


class Cause(StrEnum):
    """Why a host is asked nothing now. The values stand in files of the tree.

    NOTHING      it has nothing pending
    GIVEN_UP     it failed for too long; what waits for it is written down as failed
    PAUSED       by a sign, PAUSE.<host>
    RETRY_AFTER  its answer asked for a pause
    COSTLY       it takes much of the processor in vain: by its robots.txt, or by bodies that are too large
    FAILING      it failed many times in a row, or has no robots.txt that can be fetched
    PROBED       the network was gone, and this host was asked whether it is back
    TOLD         another machine had it before, and said that it must rest
    ROBOTS       its robots.txt is asked for first
    SITE, ADDRESS, SLOW    its domain, its IP address, or all slow hosts together have as many requests as they may
    PER_HOST     it has as many requests as one host may
    DELAY        its delay is not over
    TURN         it may be asked, and other hosts come first
    """

    NOTHING = ""
    GIVEN_UP = "given-up"
    PAUSED = "paused"
    RETRY_AFTER = "retry-after"
    COSTLY = "costly"
    FAILING = "failing"
    PROBED = "probed"
    TOLD = "told"
    ROBOTS = "robots"
    SITE = "site"
    ADDRESS = "address"
    SLOW = "slow"
    PER_HOST = "per-host"
    DELAY = "delay"
    TURN = "turn"


class HostFigure(NamedTuple):
    """The figures of one host. `wait_s`: seconds until it may be asked again; `set_by`: what sets its delay."""

    pending: int = 0
    in_flight: int = 0
    delay_s: float = 0.0
    set_by: str = ""
    wait_s: float = 0.0
    cause: str = ""
    failures: int = 0


class Figures(NamedTuple):
    """Of one machine: pending URLs by shard, without shards that have none; and some of its hosts by name."""

    shards: Mapping[int, int]
    hosts: Mapping[str, HostFigure]


def figures(by_name: Mapping[str, Host], scheduler: HostScheduler, now: float, most: int) -> Figures:
    """Give the figures at `now`, of `most` hosts at most. Only the main loop may call this."""
    rests = scheduler.rests(now)
    shards: Counter[int] = Counter()
    for host in by_name.values():
        if host.shard is not None and (pending := host.pending):
            shards[host.shard] += pending

    def rank(host: Host) -> tuple[bool, int, str]:
        return host.name in rests or bool(host.given_up) or host.pace.failures > 0, host.pending, host.name

    found = {host.name: _figure(host, scheduler, now) for host in heapq.nlargest(most, by_name.values(), key=rank)}
    for name in heapq.nlargest(most - len(found), rests.keys() - by_name.keys(), key=lambda each: rests[each]):
        found[name] = HostFigure(wait_s=rests[name], cause=scheduler.why_it_rests(name))
    return Figures(shards, found)


def _figure(host: Host, scheduler: HostScheduler, now: float) -> HostFigure:
    cause, wait_s = _cause(host, scheduler, now)
    delay_s, set_by = scheduler.delay_of(host)
    return HostFigure(host.pending, host.in_flight, delay_s, set_by, wait_s, cause, host.pace.failures)


def _cause(host: Host, scheduler: HostScheduler, now: float) -> tuple[Cause, float]:
    """Give why a host is asked nothing, and for how many seconds; 0 if nobody can say."""
    wait_s = max(0.0, host.ready_at - now)
    if host.given_up:
        return Cause.GIVEN_UP, 0.0
    if scheduler.is_paused(host):
        return Cause.PAUSED, 0.0
    if (rest_s := scheduler.rests_s(host.name, now)) > 0:
        return Cause(scheduler.why_it_rests(host.name)), max(rest_s, wait_s)
    if not host.pending:
        return Cause.NOTHING, wait_s
    if host.waits_for is not None:
        return Cause(scheduler.places.limit_of(host)), 0.0
    if host.in_flight >= scheduler.settings.politeness.per_host:
        return Cause.PER_HOST if host.is_open else Cause.ROBOTS, 0.0
    if wait_s:
        return Cause.DELAY, wait_s
    return Cause.TURN if host.is_open else Cause.ROBOTS, 0.0
