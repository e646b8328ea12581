"""What is broken on purpose: each function takes one rule away, and gives what is put in the place of what."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from fscrawl.engine.outcomes import Bookkeeper
from fscrawl.fleet import ending
from fscrawl.fleet.anchor import Anchor
from fscrawl.fleet.ending import Ending
from fscrawl.fleet.handover import Handover
from fscrawl.fleet.heartbeat import Fence, Permit
from fscrawl.fleet.housekeeping import Housekeeping
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.lines import Head
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rulebook import Rulebook
from fscrawl.fleet.rules import LinkRules
from fscrawl.fleet.seeding import Seeding
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.fleet.survey import Survey
from fscrawl.frontier.flags import NO_FLAGS
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.url_table import UrlTable
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Known
from fscrawl.handlers.pages import PageHandler
from fscrawl.handlers.refreshes import RefreshHandler
from tests.component.schedules import world

Change = tuple[Any, str, Any]


def told_without_reading() -> list[Change]:
    def report(self: Any, task: Any, record: object) -> Known:
        return Known(task, (), None, (), self._context.generation)

    return [(PageHandler, "report", report)]


def told_first() -> list[Change]:
    real = Bookkeeper._stored

    def stored(self: Any, outcome: Any) -> None:
        self._membership.tell(outcome.task)
        self._membership.ledger.flush()
        real(self, outcome)

    return [(Bookkeeper, "_stored", stored)]


def no_survey() -> list[Change]:
    return [(Intake, "_plan_survey", lambda self, shard: None)]


def early_survey() -> list[Change]:
    def plan(self: Any, shard: int) -> None:
        if shard not in self._ledger.surveyed:
            self._to_survey[shard] = 0.0

    return [(Intake, "_plan_survey", plan)]


def survey_tells_nothing() -> list[Change]:
    return [(Survey, "run", lambda self, shards: iter(()))]


def hands_over_in_flight() -> list[Change]:
    def release(self: Any, shard: int, to: str, now: float) -> None:
        self._ledger.flush()
        self.lose([shard])
        self._fleet.hand_over(shard, to)

    return [(Handover, "_release", release)]


def end_by_idleness() -> list[Change]:
    return [(Ending, "seems_reached", lambda self, own, own_beats, now: True)]


def end_without_leases() -> list[Change]:
    return [(Ending, "_is_held", lambda self, shard, now: True)]


def end_without_last_look() -> list[Change]:
    def is_over(self: Any) -> bool:
        return bool(self._is_end_in_sight(self._state))

    return [(Membership, "is_over", is_over)]


def snapshot_ahead() -> list[Change]:
    return [(Snapshots, "_lines", lambda self, shard, starts, ends: iter(()))]


def own_cut_ignored() -> list[Change]:
    return [(LogWriter, "check", lambda self: None), (LogWriter, "_expect", lambda self, there, counted: None)]


def generation_ignored() -> list[Change]:
    return [(Rulebook, "_go_by", lambda self, found, now, *, edited: None)]


def damage_ignored() -> list[Change]:
    return [(Ledger, "believed_damage", lambda self, now: None), (Ledger, "damaged", ())]


def sent_forever() -> list[Change]:
    real = Ledger.use

    def use(self: Any, rules: Any) -> None:
        sent = self._sent
        real(self, rules)
        self._sent = sent

    return [(Ledger, "use", use)]


def listing_only() -> list[Change]:
    real = Frontier.hold

    def hold(self: Any, shard: int, taken_at: Any = None, **facts: Any) -> Any:
        return real(self, shard, taken_at, **{**facts, "check_s": 0.0})

    return [(Frontier, "hold", hold)]


def nothing_is_looked_for() -> list[Change]:
    return [(PageHandler, "look_up", lambda self, task: None)]


def told_forever() -> list[Change]:
    return [(LinkRules, "covers", lambda self, other: True)]


def told_while_stale() -> list[Change]:
    return [(Bookkeeper, "_is_stale", lambda self, outcome: False)]


def links_by_own_rules() -> list[Change]:
    return [(CrawlConfig, "link_rules", lambda self: LinkRules.of(self.settings, self.seeds))]


def survey_by_own_rules() -> list[Change]:
    real = Survey._tell

    def tell(self: Any, page: Any) -> None:
        rules = self._ledger.rules
        self._ledger.rules = rules._replace(links=rules.own, chosen=rules.scope)
        real(self, page)
        self._ledger.rules = rules

    return [(Survey, "_tell", tell)]


def left_out_unsaid() -> list[Change]:
    real = Ledger.discover

    def discover(self: Any, links: Any, depth: int, referrer: str, flags: Any = NO_FLAGS, host: str = "") -> Any:
        inside = [url for url in links if self.rules.refuses(url, depth, flags) is None]
        return real(self, inside, depth, referrer, flags, host)

    return [(Ledger, "discover", discover)]


def uncovered_is_idle() -> list[Change]:
    def go_by(self: Any, found: Any, now: float, *, edited: bool) -> None:
        if found.links is not None and found.number != self.rules.generation:
            self._enter(found)

    return [(Rulebook, "_go_by", go_by)]


def removed_early() -> list[Change]:
    return [(Housekeeping, "_may_remove", lambda self, present, now: True)]


def depth_ignored() -> list[Change]:
    real = UrlTable.told
    return [(UrlTable, "told", lambda self, fingerprint, depth: real(self, fingerprint, 0))]


def edit_retakes_nothing() -> list[Change]:
    real = Rulebook.look

    def look(self: Any, now: float) -> Any:
        generation = self.rules.generation
        change = real(self, now)
        return change and change._replace(retake=self.rules.generation != generation)

    return [(Rulebook, "look", look)]


def retake_in_flight() -> list[Change]:
    return [
        (Frontier, "in_flight_of", lambda self, shard: 0),
    ]


def no_wait_after_fence() -> list[Change]:
    real = Fence.may_end

    def may_end(self: Any, now: float) -> bool:
        real(self, now)
        return bool(self.is_up and self._heart.age_s() <= self._heart.lease_s)

    return [(Fence, "may_end", may_end)]


def fence_without_leases() -> list[Change]:
    def end_fence(self: Any, now: float) -> None:
        self._fence.take_down()

    return [(Membership, "_end_fence", end_fence)]


def no_permit() -> list[Change]:
    return [(Permit, "holds", lambda self: True)]


def deletion_ignored() -> list[Change]:
    return [(Anchor, "check", lambda self: True), (Ledger, "check", lambda self: True)]


def no_grace() -> list[Change]:
    return [(world, "longest_permit_s", lambda dead_after_s, caches_s: 0.0)]


def claims_from_the_living() -> list[Change]:
    def is_free(self: Any, shard: int, now: float) -> bool:
        return shard not in self.held

    return [(Fleet, "is_free", is_free)]


def removed_leases_count_on() -> list[Change]:
    return [(Fleet, "_check_there", lambda self: None)]


def own_parts_unread() -> list[Change]:
    real = Ledger.lines_of

    def lines_of(self: Any, shards: Any, starts: Any, ends: Any) -> Any:
        return real(self, shards, starts, {machine: end for machine, end in ends.items() if machine != self._machine})

    return [(Ledger, "lines_of", lines_of)]


def logs_unread() -> list[Change]:
    return [(Ledger, "lines_of", lambda self, shards, starts, ends: iter(()))]


def seeds_forgotten() -> list[Change]:
    return [(Seeding, "add", lambda self, seeds: None)]


def taken_in_unflushed() -> list[Change]:
    real = Intake._hold_arrived

    def hold_arrived(self: Any) -> None:
        with patch.object(self._ledger, "flush", lambda: None):
            real(self)

    return [(Intake, "_hold_arrived", hold_arrived)]


def own_parts_unheard() -> list[Change]:
    real = LogReader.read

    def read(self: Any, machine: str, shards: Any, *, until: Any = None) -> Any:
        def foreign(head: Head, shards: Any) -> Any:
            return [part for part in head.foreign if part.shard in shards]

        with patch.object(Head, "parts", foreign):
            lines = list(real(self, machine, shards, until=until))
        yield from lines

    return [(LogReader, "read", read)]


def retries_without_end() -> list[Change]:
    real = PageHandler.look_up

    def look_up(self: Any, task: Any) -> Any:
        known = real(self, task)
        return None if known is not None and known.failed_at and task.flags.retry_of else known

    return [(PageHandler, "look_up", look_up)]


def newest_refresh_only() -> list[Change]:
    def begin_next(self: Any, found: Any, reason: str, refresh_before: str = "") -> Any:
        return self._generations.begin_next(self.rules.own, refresh_before, reason)

    def mend(self: Any, what: str) -> None:
        if self._generations.newest().number == self.rules.generation:
            self._generations.begin_next(self.rules.links, "", what)

    return [(Rulebook, "_begin_next", begin_next), (Rulebook, "mend", mend)]


def refresh_looked_up() -> list[Change]:
    return [(RefreshHandler, "is_due", lambda self, task: task.flags.refresh)]


def away_and_back() -> list[Change]:
    real = Fleet._learn

    def learn(self: Any, lease: Any, changes: Any, now: float) -> None:
        if lease.holder == self.machine and lease.shard in self.held:
            self.held[lease.shard] = lease.epoch
            self._newest[lease.shard] = lease
        else:
            real(self, lease, changes, now)

    return [(Fleet, "_learn", learn)]


def end_by_idle_beats() -> list[Change]:
    def agrees(beat: Any, own: Any, told: Any) -> bool:
        return bool(beat.idle and beat.rules == own.rules and beat.held == told.held)

    return [(ending, "_agrees", agrees)]


def end_before_intake() -> list[Change]:
    real = Ending._is_held

    def is_held(self: Any, shard: int, now: float) -> bool:
        return shard in self._fleet.held or real(self, shard, now)

    return [(Intake, "is_done", True), (Ending, "_is_held", is_held)]
