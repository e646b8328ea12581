"""How each host does, and why it is asked nothing now: figures for people. They decide nothing.

Vocabulary:
  cause     one word that says why a host is asked nothing now (`Cause`)
  delay     seconds between two requests to the host, and what sets them (`politeness.pace`)

Promise: the figures are of a limited number of hosts: first those in trouble, then those with most pending URLs. They
take one look at each host that is known by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:  # who reads the figures of machines needs no scheduler
    from fscrawl.frontier.host_scheduler import HostScheduler
    from fscrawl.frontier.hosts import Host


class Cause(StrEnum):
    """Why a host is asked nothing now. The values stand in files of the tree.

    NOTHING      it has nothing pending
    GIVEN_UP     it failed for too long; what waits for it is written down as failed
    PAUSED       by a sign, PAUSE.<host>
    RETRY_AFTER  its answer asked for a pause
    COSTLY       its answers take more of the processor than those for people do (see `handlers.costs`)
    FAILING      it failed many times in a row, or has no robots.txt that can be fetched
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
    TOLD = "told"
    ROBOTS = "robots"
    SITE = "site"
    ADDRESS = "address"
    SLOW = "slow"
    PER_HOST = "per-host"
    DELAY = "delay"
    TURN = "turn"


SLOW_S = 1.0
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]  # a wait ends at a time that is a date
_Word = Annotated[str, msgspec.Meta(max_length=40)]


class HostFigure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of one host.

    latency_s  seconds that it takes to answer, smoothed
    delay_s    seconds between two requests, and what sets them: `set_by`
    wait_s     seconds until it may be asked again
    cause      why it is asked nothing now: a `Cause`, or one of a newer version
    failures   how many in a row
    """

    pending: _Count = 0
    in_flight: _Count = 0
    latency_s: _Seconds = 0.0
    delay_s: _Seconds = 0.0
    set_by: _Word = ""
    wait_s: _Seconds = 0.0
    cause: _Word = ""
    failures: _Count = 0


def figures(by_name: Mapping[str, Host], scheduler: HostScheduler, now: float, most: int) -> dict[str, HostFigure]:
    """Give the figures of some hosts by name, `most` at most, at `now`. Only the main loop may call this."""
    rests = scheduler.rests(now)

    def rank(host: Host) -> tuple[bool, int, str]:
        is_in_trouble = host.name in rests or host.given_up or host.pace.failures or host.pace.latency_s >= SLOW_S
        return bool(is_in_trouble), host.pending, host.name

    found = {host.name: _figure(host, scheduler, now) for host in heapq.nlargest(most, by_name.values(), key=rank)}
    for name in heapq.nlargest(most - len(found), rests.keys() - by_name.keys(), key=lambda each: rests[each]):
        found[name] = HostFigure(wait_s=round(rests[name], 1), cause=str(scheduler.why_it_rests(name)))
    return found


def _figure(host: Host, scheduler: HostScheduler, now: float) -> HostFigure:
    cause, wait_s = _cause(host, scheduler, now)
    politeness = scheduler.settings.politeness
    return HostFigure(
        host.pending,
        host.in_flight,
        round(host.pace.latency_s, 2),
        round(host.pace.delay_s(politeness), 2),
        host.pace.set_by(politeness),
        round(wait_s, 1),
        str(cause),
        host.pace.failures,
    )


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
