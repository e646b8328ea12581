"""Do all machines crawl by the same site file? One that does not would follow other links, and lose pages. Pure.

Promise: of machines that do not agree, those that came later leave. Which ones came later is told by how many
heartbeats they have written, since no clocks are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from fscrawl.errors import UsageError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.peer import Peer
from fscrawl.sites.rules import digest_of

if TYPE_CHECKING:  # it loads the parsers
    from fscrawl.sites.rules import SiteRules


def check(code: Sequence[SiteRules], written: Sequence[Beat], others: Iterable[Peer]) -> None:
    """Raise UsageError if this machine must leave.

    `code`: its classes of the site file; `written`: its last heartbeats; `others`: live machines.
    """
    site, beats = digest_of(code), max((beat.number or 0 for beat in written), default=0)
    for other in others:
        last = other.last()
        theirs = (last.number or 0, last.site)
        if last.number is not None and last.site != site and theirs > (beats, site):
            raise UsageError(_line(site, last.site, other.machine))


def begin(
    code: Sequence[SiteRules], written: Sequence[Beat], fleet: Fleet, now: float, warn: Callable[[str], None]
) -> None:
    """Do the same when this machine starts, and warn if earlier machines had a site file, and this one has none."""
    check(code, written, fleet.live_peers(now))
    theirs = {digest for peer in fleet.peers.values() if (digest := peer.last().site)}
    if theirs and not code:
        warn(
            f"this crawl has had a site file, of digest {max(theirs)}, and this machine has none: the links of all"
            " pages are followed; if that is not meant, stop it, and start it with --site FILE"
        )


def _line(site: str, theirs: str, machine: str) -> str:
    """Say what to do.

    >>> _line("", "0a1b2c3d", "m-1-aa")
    'm-1-aa crawls with a site file of digest 0a1b2c3d; start this machine with the same, by --site FILE'
    """
    if not theirs:
        return f"--site: {machine} crawls without a site file; stop it first, or leave --site out"
    if not site:
        return f"{machine} crawls with a site file of digest {theirs}; start this machine with the same, by --site FILE"
    return (
        f"--site: this file has the digest {site}, and that of {machine} has {theirs}; all machines must have the same:"
        " copy it to this one, or stop all and start them again"
    )
