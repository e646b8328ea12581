"""Why a machine has little to do, said once for each reason: a user who sees it idle should not have to guess.

Vocabulary:
  busy      the workers have as much as they can take, or the machine may not fetch now (its state says why)
  idle      nothing was pending here for a while, and the crawl is not over
  paced     URLs are pending, and all their hosts have to wait for their next turn, or are paused
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fscrawl import urls
from fscrawl.config.settings import PolitenessSettings
from fscrawl.store import PAUSE
from fscrawl.util.humanize import number_of, span
from fscrawl.util.installed import command

if TYPE_CHECKING:  # `status` says a word of this, too, and has no frontier
    from fscrawl.frontier.host_scheduler import Fails, HostScheduler

_IDLE_S = 10.0
_PACED_S = 30.0
_MOST_SIGNS = 5  # in a line

Reason = Literal["idle", "paced"]


class Idleness:
    """Looks at the load again and again, and notices what a user may not expect."""

    def __init__(self, now: float, partition: str, *, waits: bool) -> None:
        """`partition`: what is divided among the machines, "host" or "url". `waits`: it waits for new seeds."""
        self._by_url = partition == "url"
        self._waits = waits
        self._busy_at = self._had_work_at = now
        self._noticed: set[Reason] = set()

    def look(self, now: float, *, could_take_more: bool, has_work: bool) -> Reason | None:
        """Give the reason for which there is little to do; None if there is none, or if it was given before.

        `could_take_more`: the workers have room, and may fetch. `has_work`: something is pending or in flight.
        """
        if not could_take_more or has_work:
            self._had_work_at = now
        if not could_take_more or not has_work:
            self._busy_at = now
        reason: Reason | None = None
        if now - self._had_work_at >= _IDLE_S:
            reason = "idle"
        elif now - self._busy_at >= _PACED_S:
            reason = "paced"
        if reason is None or reason in self._noticed:
            return None
        self._noticed.add(reason)
        return reason

    def why_idle(self, others: int) -> str:
        """Say why nothing is to be fetched here. `others`: other machines that take part now."""
        if others:
            return all_taken(by_url=self._by_url)
        if self._waits:
            return "nothing is left to fetch: waiting for new seeds (--wait)"
        return "nothing is left to fetch here: waiting until that is certain"


def all_taken(*, by_url: bool) -> str:
    """Say why a machine is idle while others work; `status` says so, too."""
    if by_url:
        return "idle: each URL belongs to one machine, and the others have all that are left"
    return (
        "idle: each host belongs to one machine, and all are taken."
        ' For one large site, make the tree with crawl.partition = "url"'
    )


def why_paced(politeness: PolitenessSettings, hosts: HostScheduler, now: float) -> str:
    """Say what hosts wait for, that they are asked no faster; "" if the settings want no delay.

    If all of them fail, the one that is waited for longest is named.
    """
    if paused := sorted(f"{PAUSE}.{name}" for name in hosts.all_paused()):
        named = ", ".join(paused[:_MOST_SIGNS])
        more = len(paused) - _MOST_SIGNS
        return (
            f"all hosts that are left are paused: {named}{f' and {more:,} more' if more > 0 else ''} in the root;"
            f" to go on there, use {command()} resume"
        )
    if failing := hosts.all_fail(now):
        host, fails = max(failing.items(), key=lambda each: (each[1].asked_rest_s, each[1].times, each[1].class_))
        shown = urls.shown_host(host)
        who = shown if len(failing) == 1 else f"all {number_of(len(failing), 'host')} that are left fail: {shown}"
        failed = f"{who} has failed {number_of(fails.times, 'time')} in a row ({fails.class_})"
        return failed + _what_comes(politeness, fails)
    if not politeness.delay:
        return ""
    return (
        f"speed limit: one request per host every {politeness.delay:g} s (politeness.delay), or fewer if its robots.txt"
        " asks for that. More workers or machines do not change it"
    )


def _what_comes(politeness: PolitenessSettings, fails: Fails) -> str:
    """Say when a host that fails is asked again, or given up. What it asks for goes before `give_up_after`."""
    if fails.asked_rest_s > 0:
        return (
            f" and asked for a pause (Retry-After): it is asked again in {span(fails.asked_rest_s)}; no pause is longer"
            f" than {politeness.max_rest:g} s (politeness.max_rest)"
        )
    return f"; a host that has been failing for {politeness.give_up_after:g} s is given up (politeness.give_up_after)"
