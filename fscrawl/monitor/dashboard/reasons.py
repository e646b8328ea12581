"""Why a host is asked nothing now, and what sets its delay, in words. Pure.

Promise: each cause has its words; one that a newer version has is shown as it is.
"""

from __future__ import annotations

from fscrawl.frontier.host_figures import Cause
from fscrawl.monitor.dashboard.paces import HostNow

_CAUSES = {
    Cause.NOTHING: "nothing to do",
    Cause.GIVEN_UP: "given up: it failed for too long",
    Cause.PAUSED: "paused by a sign",
    Cause.RETRY_AFTER: "rests: its answer asked for a pause (Retry-After)",
    Cause.COSTLY: "rests: its answers take much of the processor",
    Cause.FAILING: "rests: it failed too often",
    Cause.PROBED: "rests: it was asked whether the network is back",
    Cause.TOLD: "rests: its last machine logged that",
    Cause.ROBOTS: "its robots.txt comes first",
    Cause.SITE: "its domain has as many requests as it may",
    Cause.ADDRESS: "its IP address has as many requests as it may",
    Cause.SLOW: "slow hosts have as many requests as they may",
    Cause.PER_HOST: "has as many requests as it may",
    Cause.DELAY: "its delay is not over",
    Cause.TURN: "waits for its turn",
}
_MACHINES = {
    "paused": "the crawl is paused",
    "fenced": "its machine cannot reach the tree",
    "no network": "its machine has no network",
    "stopping": "its machine is leaving",
}
_SETS = {
    "settings": "by the settings",
    "robots": "by its robots.txt",
    "answers": "its answers are slow",
    "failures": "after failures",
}
HELD_BACK = frozenset(
    {Cause.GIVEN_UP, Cause.PAUSED, Cause.RETRY_AFTER, Cause.COSTLY, Cause.FAILING, Cause.PROBED, Cause.TOLD}
    | {Cause.SITE, Cause.ADDRESS, Cause.SLOW}
)


def why(host: HostNow) -> str:
    """Say why a host is asked nothing now."""
    cause = host.figure.cause
    if host.doing in _MACHINES and cause not in {Cause.GIVEN_UP, Cause.PAUSED}:
        return _MACHINES[host.doing]
    words = next((words for each, words in _CAUSES.items() if each == cause), cause)
    failures = host.figure.failures
    return f"{words} ({failures} in a row)" if failures > 1 and cause == Cause.FAILING else words


def set_by(host: HostNow) -> str:
    """Say what sets the delay of a host.

    >>> from fscrawl.frontier.host_figures import HostFigure
    >>> set_by(HostNow("m", HostFigure(set_by="robots"), 0.0, ""))
    'by its robots.txt'
    """
    return _SETS.get(host.figure.set_by, host.figure.set_by)
