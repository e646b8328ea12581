"""Which rules are in force: they follow from the settings, the seeds and the newest generation, and all may change.

Vocabulary:
  generation   a number; what was told in an earlier one does not count (see `generations`)
  refresh      a generation may say that pages which were last looked at before some time are to be fetched again

Promise: generations never go back. A refresh that one of them asked for goes on in all later ones, and a cut for which
one of them was made is forgiven.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.generations import Generations, cut_of, refresh_of
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.rules import Rules
from fscrawl.storage.records import TreeRecord

_LEAST_SLACK_S = 600.0  # between the starts of machines that are to refresh the same pages
_SLACK = 0.1  # of the age that pages must have: who says seven days does not mind half a day


class Change(NamedTuple):
    """What a look has found: edited settings, new seeds, and whether all shards must be taken in anew."""

    edited: bool
    seeds: list[str]
    retake: bool


class Rulebook:
    """The rules of one machine.

    rules            those in force
    refresh_before   pages that were last fetched or checked before this time (RFC 3339) are fetched again; "": none
    """

    def __init__(
        self,
        watch: EditWatcher,
        record: TreeRecord,
        generations: Generations,
        forgive: Callable[[str, Place], None],
        refresh_before: str = "",
        *,
        caches_s: float = 0.0,
    ) -> None:
        """`forgive(machine, place)`: called for each log that was cut, when the generation that mends it is known.

        `caches_s`: for how many seconds a file may be missing by its name though it is listed.
        """
        self.refresh_before = refresh_before
        self.rules = Rules.of(watch, record, 0)
        self._watch = watch
        self._record = record
        self._generations = generations
        self._generation = 0
        self._forgive = forgive
        self._crawl = watch.settings.crawl
        self._caches_s = caches_s
        self._unread_since: dict[int, float] = {}  # generations that are listed, and whose reason cannot be read

    @property
    def waits(self) -> bool:
        """There is a newer generation, and its reason cannot be read yet."""
        return any(number > self._generation for number in self._unread_since)

    def begin(self, now: float, *, reseed: bool, others: bool) -> None:
        """Begin a new generation if a user asked for it, and find the newest. `others`: other machines are at work."""
        if self.refresh_before:  # all machines that are told about the same time go by one generation
            slack_s = max(_LEAST_SLACK_S, _SLACK * _age_s(self.refresh_before))
            self.refresh_before = self._generations.ensure_refresh(self.refresh_before, slack_s, others=others)
        if reseed:
            self._generations.advance({"reason": "reseed"})
        self._use(self._newest_read(now))

    def mend(self, log: str, expected: Place) -> None:
        """A log was cut: something that was told may be gone for others. The heart's thread may call this, too.

        If there is a generation for it already, all that was told before does not count any more, and none is made.
        """
        self._generations.ensure({"reason": "cut", "log": log, "expected": list(expected)})

    def look(self, now: float) -> Change | None:
        """Look for edits and new generations; None if there is nothing new."""
        edited = self._watch.settings_edited(now)
        seeds = self._watch.new_seeds()
        generation = self._newest_read(now)
        if not (edited or seeds or generation != self._generation):
            return None
        before, limits = self.rules, self._crawl
        self._use(generation)
        self._crawl = self._watch.settings.crawl
        return Change(edited, seeds, retake=self.rules.term != before.term or self._crawl != limits)

    def _newest_read(self, now: float) -> int:
        """Give the newest generation up to which all reasons can be read. What is damaged is not waited for for ever.

        What is gone by then was never there, but in an old listing. To go by a generation without its reason would be
        to forget a refresh, or a cut that is never forgiven then.
        """
        self._generations.newest()
        self._generations.learn()
        there = self._generations.after(self._generation)
        unread = [number for number in there if not self._generations.reason(number)]
        # Somebody may have made many: they are waited for at the same time.
        self._unread_since = {number: self._unread_since.get(number, now) for number in unread}
        given_up = {number for number, since in self._unread_since.items() if now - since > self._caches_s}
        for number in self._generations.forget_gone(given_up) if given_up else ():
            there.remove(number)
            del self._unread_since[number]
        for before, number in zip([self._generation, *there], there, strict=False):
            if number in self._unread_since and number not in given_up:
                return before
        return there[-1] if there else self._generation

    def _use(self, generation: int) -> None:
        """Go by a generation. A refresh that one of them asked for goes on in the later ones."""
        for number in self._generations.after(self._generation):
            if number > generation:
                break
            reason = self._generations.reason(number)
            self.refresh_before = max(self.refresh_before, refresh_of(reason))
            cut = cut_of(reason)
            if cut is not None:
                self._forgive(*cut)
        self._generation = generation
        self.rules = Rules.of(self._watch, self._record, generation)


def _age_s(moment: str) -> float:
    """Give the seconds that have passed since a time (RFC 3339), by the clock of this machine."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
