"""In which generation a machine works, and by which rules: both follow from the settings, the seeds and the tree.

A machine works in the newest generation if its link rules cover what the settings ask for: narrower settings are a
filter when URLs come in. If they do not cover that, one of two things has happened. This machine has just read an edit:
then it begins the next generation. Or another machine has, and this one reads the edit a little later: so it waits for
as long as it may take until it has read all edits, and only then begins one itself.

Promise: a machine never goes back to an older generation. Links are chosen by the rules of the generation, so all
marks in its logs count. A refresh that a generation asked for goes on in all later ones. All machines crawl by one site
file: one that does not would follow other links, and lose pages. Of machines that do not agree, those that came later
leave. Which ones came later is told by how many heartbeats they have written, since no clocks are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from fscrawl.config.watcher import EditWatcher
from fscrawl.errors import UsageError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.generations import Generation, Generations, seconds_between
from fscrawl.fleet.machinery import Peer
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rules import Rules
from fscrawl.sites.rules import digest_of

if TYPE_CHECKING:  # it loads the parsers
    from fscrawl.sites.rules import SiteRules


_LEAST_SLACK_S = 600.0  # between the starts of machines that are to refresh the same pages
_SLACK = 0.1  # of the age that pages must have: who says seven days does not mind half a day
_READ_EDITS_S = 10.0  # until a machine has read an edit that it can see


class Change(NamedTuple):
    """What a look has found: edited settings, new seeds, and whether all shards must be taken in anew."""

    edited: bool
    seeds: list[str]
    retake: bool


class Rulebook:
    """The rules of one machine. Only the main loop uses it.

    rules   those in force
    waits   the link rules of the newest generation do not cover what the settings ask for, or cannot be read
    """

    def __init__(
        self, watch: EditWatcher, generations: Generations, refresh_before: str = "", *, caches_s: float = 0.0
    ) -> None:
        """`refresh_before`: what the user asks for. `caches_s`: for how many seconds the share may show old states."""
        self.rules = Rules.of(watch, 0)
        self.waits = False
        self._watch = watch
        self._generations = generations
        self._wanted_before = refresh_before
        self._patience_s = caches_s + _READ_EDITS_S
        self._unfit_since: tuple[int, float] | None = None  # the newest generation, and since when it does not do
        self._limits = watch.settings.crawl

    def begin(self, *, reseed: bool, others: bool) -> None:
        """Find the newest generation; begin one if a user asks for it or there is none that does.

        `others`: other machines are at work.
        """
        found = self._generations.newest()
        if self._wanted_before:
            found = self._refresh(found, others=others)
        elif reseed or found is None or not found.covers(self.rules.own):
            found = self._begin_next(found, "reseed" if reseed else "settings")
            while not found.covers(self.rules.own):  # another one has begun it
                found = self._begin_next(found, "settings")
        self._enter(found)

    def _refresh(self, found: Generation | None, *, others: bool) -> Generation:
        """Give a generation that asks for the refresh.

        "Older than seven days" means another time on each machine, by when it was started. So one counts whose time is
        only a little earlier, if it was made since this call began, or others are working in it.
        """
        wanted = self._wanted_before
        slack_s = max(_LEAST_SLACK_S, _SLACK * _age_s(wanted))
        is_new = False
        while True:
            before = found.refresh_before if found else ""
            may_be_it = bool(before) and (others or is_new) and seconds_between(before, wanted) <= slack_s
            if found is not None and may_be_it and found.covers(self.rules.own):
                return found
            found, is_new = self._begin_next(found, "refresh", wanted), True

    def _begin_next(self, found: Generation | None, reason: str, refresh_before: str = "") -> Generation:
        before = max(refresh_before, found.refresh_before if found else "")
        return self._generations.begin_next(self.rules.own, before, reason)

    def mend(self, what: str) -> None:
        """Something is missing in a log of this generation, so that its marks do not count any more: begin the next.

        Nothing is done if there is one already. `what`: for people.
        """
        found = self._generations.newest()
        if found is not None and found.number <= self.rules.generation:
            self._generations.begin_next(self.rules.links, self.rules.refresh_before, f"damage: {what}")

    def look(self, now: float) -> Change | None:
        """Look for edits and new generations; None if there is nothing new."""
        edited = self._watch.settings_edited(now)
        seeds = self._watch.new_seeds()
        before, limits = self.rules, self._limits
        if edited or seeds:
            self.rules = Rules.of(self._watch, before.generation, before.links, before.refresh_before)
            self._limits = self._watch.settings.crawl
        found = self._generations.newest()
        if found is not None:
            self._go_by(found, now, edited=self.rules.own != before.own)
        entered = self.rules.generation != before.generation
        if not (edited or seeds or entered):
            return None
        retake = entered or self.rules.own != before.own or self._limits != limits
        return Change(edited, seeds, retake)

    def _go_by(self, found: Generation, now: float, *, edited: bool) -> None:
        """Work in the newest generation, or begin the next one if that does not do. `edited`: the own rules are new."""
        own = self.rules.own
        self.waits = not found.covers(own)
        if self.waits:
            if self._unfit_since is None or self._unfit_since[0] != found.number:
                self._unfit_since = found.number, now
            if edited or now - self._unfit_since[1] >= self._patience_s:
                found = self._begin_next(found, "settings")
                self.waits = not found.covers(own)
        if found.number != self.rules.generation and found.links is not None and found.links.sites == own.sites:
            self._enter(found)

    def _enter(self, found: Generation) -> None:
        assert found.links is not None
        self.rules = Rules.of(self._watch, found.number, found.links, found.refresh_before)


def _age_s(moment: str) -> float:
    """Give the seconds that have passed since a time (RFC 3339), by the clock of this machine."""
    return seconds_between(moment, datetime.now(UTC).isoformat())


def check_site(code: Sequence[SiteRules], written: Sequence[Beat], others: Iterable[Peer]) -> None:
    """Raise UsageError if this machine must leave.

    `code`: its classes of the site file; `written`: its last heartbeats; `others`: live machines.
    """
    site, beats = digest_of(code), max((beat.number or 0 for beat in written), default=0)
    for other in others:
        last = other.last()
        if last.number is not None and last.site != site and (last.number, last.site) > (beats, site):
            raise UsageError(
                f"--site: {other.machine} crawls with {_named(last.site)}, and this machine with {_named(site)};"
                " start all machines with the same"
            )


def check_site_at_start(
    code: Sequence[SiteRules], written: Sequence[Beat], fleet: Fleet, now: float, warn: Callable[[str], None]
) -> None:
    """Do the same when this machine starts, and warn if earlier machines had a site file, and this one has none."""
    check_site(code, written, fleet.live_peers(now))
    theirs = max((peer.last().site for peer in fleet.peers.values()), default="")
    if theirs and not code:
        warn(
            f"this crawl has had {_named(theirs)}, and this machine has none: the links of all pages are followed; if"
            " that is not meant, stop it, and start it with --site FILE"
        )


def _named(site: str) -> str:
    """Say which site file.

    >>> _named("0a1b2c3d"), _named("")
    ('a site file of digest 0a1b2c3d', 'no site file')
    """
    return f"a site file of digest {site}" if site else "no site file"
