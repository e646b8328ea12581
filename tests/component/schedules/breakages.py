"""What is broken on purpose, one at a time: a schedule must find it, or this test looks at nothing.

`seed` is the first schedule that does; `python -m tests.component.schedules --mutate` finds it anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

from fscrawl.engine.outcomes import Bookkeeper
from fscrawl.fleet.anchor import Anchor
from fscrawl.fleet.claims import Claims
from fscrawl.fleet.edits import Seeds
from fscrawl.fleet.ending import Ending
from fscrawl.fleet.fence import Fence
from fscrawl.fleet.handover import Handover
from fscrawl.fleet.heartbeat import Permit
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.lines import Told
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rulebook import Rulebook
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.fleet.survey import Survey
from fscrawl.fleet.terms import Terms
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.url_table import UrlTable
from fscrawl.handlers.outcome import Known
from fscrawl.handlers.pages import PageHandler

Change = tuple[type, str, Any]


class Breakage(NamedTuple):
    """`faults`: those of `faults.py` that its schedules have; "": any. `note`: why there is no seed."""

    name: str
    says: str
    make: Callable[[], list[Change]]
    faults: str = ""
    seed: int | None = None
    note: str = ""

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for where, name, value in self.make():
                stack.enter_context(patch.object(where, name, value))
            yield


def _told_without_reading() -> list[Change]:
    def report(self: Any, task: Any, record: object) -> Known:
        return Known(task, (), None, (), self._context.term)

    return [(PageHandler, "report", report)]


def _told_first() -> list[Change]:
    real = Bookkeeper._stored

    def stored(self: Any, outcome: Any) -> None:
        self._membership.told(outcome.task, outcome.term)
        self._membership.ledger.flush()
        real(self, outcome)

    return [(Bookkeeper, "_stored", stored)]


def _no_survey() -> list[Change]:
    return [(Intake, "_plan_survey", lambda self, shard: None)]


def _early_survey() -> list[Change]:
    def plan(self: Any, shard: int) -> None:
        if self._needs_survey(shard):
            self._to_survey[shard] = 0.0

    return [(Intake, "_plan_survey", plan)]


def _survey_tells_nothing() -> list[Change]:
    return [(Survey, "run", lambda self, shards: iter(()))]


def _hands_over_in_flight() -> list[Change]:
    def release(self: Any, shard: int, to: str, now: float) -> None:
        self._ledger.flush()
        self.lose([shard])
        self._fleet.hand_over(shard, to)

    return [(Handover, "_release", release)]


def _end_by_idleness() -> list[Change]:
    return [(Ending, "seems_reached", lambda self, own, own_beats, now: True)]


def _end_without_leases() -> list[Change]:
    return [(Ending, "_is_held", lambda self, shard, now: True)]


def _end_without_last_look() -> list[Change]:
    def is_over(self: Any) -> bool:
        return bool(self._is_end_in_sight(self._state))

    return [(Membership, "is_over", is_over)]


def _snapshot_ahead() -> list[Change]:
    return [(Snapshots, "_lines", lambda self, shard, starts, ends: iter(()))]


def _own_cut_ignored() -> list[Change]:
    return [(LogWriter, "check", lambda self: None), (LogWriter, "_expect", lambda self, counted: None)]


def _generation_ignored() -> list[Change]:
    return [(Rulebook, "_newest_read", lambda self, now: 0)]


def _cut_ignored() -> list[Change]:
    return [
        (Ledger, "believed_cut", lambda self, now, more: None),
        (Ledger, "has_doubts", False),
    ]


def _sent_forever() -> list[Change]:
    real = Ledger.use

    def use(self: Any, rules: Any) -> None:
        sent = self._sent
        real(self, rules)
        self._sent = sent

    return [(Ledger, "use", use)]


def _listing_only() -> list[Change]:
    real = Frontier.hold

    def hold(self: Any, shard: int, taken_at: Any = None, **facts: Any) -> Any:
        return real(self, shard, taken_at, **{**facts, "check_s": 0.0})

    return [(Frontier, "hold", hold)]


def _nothing_is_looked_for() -> list[Change]:
    return [(PageHandler, "look_up", lambda self, task: None)]


def _told_forever() -> list[Change]:
    return [(Terms, "covers", lambda self, term: True)]


def _term_at_telling() -> list[Change]:
    def told(self: Any, task: Any, term: str) -> bool:
        shard = self._frontier.location(task.url).shard
        self.say(Told(shard, task.key, task.depth, self.rules.term.digest))
        return True

    return [(Ledger, "told", told)]


def _edit_unseen_in_links() -> list[Change]:
    real = Ledger.discover
    return [(Ledger, "discover", lambda self, *found: real(self, *found[:5]))]


def _depth_ignored() -> list[Change]:
    real = UrlTable.told
    return [(UrlTable, "told", lambda self, fingerprint, depth: real(self, fingerprint, 0))]


def _edit_retakes_nothing() -> list[Change]:
    real = Rulebook.look

    def look(self: Any, now: float) -> Any:
        generation = self._generation
        change = real(self, now)
        return change and change._replace(retake=change.retake and self._generation != generation)

    return [(Rulebook, "look", look)]


def _retake_in_flight() -> list[Change]:
    return [
        (Frontier, "in_flight_of", lambda self, shard: 0),
    ]


def _no_wait_after_fence() -> list[Change]:
    real = Fence.may_end

    def may_end(self: Any, now: float) -> bool:
        real(self, now)
        return bool(self.is_up and self._heart.age_s() <= self._heart.lease_s)

    return [(Fence, "may_end", may_end)]


def _fence_without_leases() -> list[Change]:
    def end_fence(self: Any, now: float) -> None:
        self._fence.take_down()

    return [(Membership, "_end_fence", end_fence)]


def _no_permit() -> list[Change]:
    return [(Permit, "holds", lambda self: True)]


def _deletion_ignored() -> list[Change]:
    return [(Anchor, "check", lambda self: True), (Ledger, "check", lambda self: True)]


def _no_grace() -> list[Change]:
    return [(Claims, "wait_for_old_permits", lambda self, now: None)]


def _claims_from_the_living() -> list[Change]:
    def is_free(self: Any, shard: int, now: float) -> bool:
        return shard not in self.held

    return [(Fleet, "is_free", is_free)]


def _leases_stay_removed() -> list[Change]:
    return [
        (Fleet, "put_back", lambda self, now, confirm: 0),
        (Fleet, "are_some_to_be_put_back", lambda self, now: False),
    ]


def _claims_beside_removed_leases() -> list[Change]:
    return [(Fleet, "are_some_to_be_put_back", lambda self, now: False)]


def _removed_leases_count_on() -> list[Change]:
    return [(Fleet, "_doubt_removed", lambda self, now: None)]


def _own_parts_unread() -> list[Change]:
    real = LogReader.read_shards

    def read_shards(self: Any, machine: str, shards: Any, start: Any, end: Any) -> Any:
        if machine == self.machine:
            return iter(())
        return real(self, machine, shards, start, end)

    return [(LogReader, "read_shards", read_shards)]


def _logs_unread() -> list[Change]:
    return [(Ledger, "lines_of", lambda self, shards, starts, ends: iter(()))]


def _seeds_forgotten() -> list[Change]:
    return [(Seeds, "add", lambda self, seeds: None)]


BREAKAGES = (
    Breakage(
        "told_without_reading", "what is stored and not told is told without its links", _told_without_reading, seed=12
    ),
    Breakage("told_first", "a page is told before its links", _told_first, "crash_at_call join", seed=4),
    Breakage(
        "no_survey",
        "what is stored and said nowhere is not looked for",
        _no_survey,
        note="nearly all that is stored is found by lines, and told then (see `tests/model`)",
    ),
    Breakage(
        "early_survey",
        "a survey does not wait until the listing is new",
        _early_survey,
        "takeover cut join",
        note="the same",
    ),
    Breakage("survey_tells_nothing", "a survey reads no records", _survey_tells_nothing, note="the same"),
    Breakage(
        "hands_over_in_flight", "a shard is handed over while a page of it is in flight", _hands_over_in_flight, seed=5
    ),
    Breakage("end_by_idleness", "a machine leaves when it has nothing to do", _end_by_idleness, seed=0),
    Breakage("end_without_leases", "a machine leaves though nobody holds some shard", _end_without_leases, seed=23),
    Breakage(
        "end_without_last_look",
        "a machine leaves without a last look",
        _end_without_last_look,
        "late_edit join",
        seed=243,
    ),
    Breakage("snapshot_ahead", "a snapshot claims more than it holds", _snapshot_ahead, "crash join edit", seed=224),
    Breakage(
        "own_cut_ignored", "a machine goes on with its log though it was cut", _own_cut_ignored, "cut join", seed=7
    ),
    Breakage("generation_ignored", "a new generation changes nothing", _generation_ignored, seed=4),
    Breakage("cut_ignored", "that a log is cut changes nothing", _cut_ignored, "cut crash join", seed=5),
    Breakage(
        "sent_forever",
        "a new generation repeats nothing that was sent",
        _sent_forever,
        "cut takeover join",
        note="it takes two faults that fit; `tests/model` has generations",
    ),
    Breakage("listing_only", "after a take, a stored page is looked for in a listing only", _listing_only, seed=130),
    Breakage("nothing_is_looked_for", "what is stored is fetched again", _nothing_is_looked_for, seed=1),
    Breakage("told_forever", "what was told counts under all settings", _told_forever, seed=6),
    Breakage("term_at_telling", "a mark has the term of the telling", _term_at_telling, "edit", seed=101),
    Breakage("edit_unseen_in_links", "links are cut by other rules than told", _edit_unseen_in_links, seed=20778),
    Breakage("depth_ignored", "what was told counts for all depths", _depth_ignored, seed=76),
    Breakage(
        "edit_retakes_nothing", "an edit does not put shards together anew", _edit_retakes_nothing, "edit", seed=0
    ),
    Breakage("retake_in_flight", "nobody waits for what is in flight", _retake_in_flight, "edit join", seed=0),
    Breakage(
        "no_wait_after_fence", "a fence ends with the first beat", _no_wait_after_fence, "takeover join", seed=111
    ),
    Breakage(
        "fence_without_leases", "a fence ends without a look at leases", _fence_without_leases, "takeover join", seed=88
    ),
    Breakage("no_permit", "workers do not look at the permit", _no_permit, "takeover join", seed=0),
    Breakage(
        "deletion_ignored", "a machine goes on though `.fscrawl` was deleted", _deletion_ignored, "delete join", seed=0
    ),
    Breakage("no_grace", "who makes `.fscrawl` anew claims at once", _no_grace, "delete join pause resume", seed=3),
    Breakage("claims_from_the_living", "shards are taken from live machines", _claims_from_the_living, seed=0),
    Breakage(
        "leases_stay_removed",
        "leases that somebody has removed are not made again",
        _leases_stay_removed,
        "remove_leases join",
        seed=0,
    ),
    Breakage(
        "claims_beside_removed",
        "who joins claims shards though leases were removed",
        _claims_beside_removed_leases,
        "remove_leases join",
        seed=146,
    ),
    Breakage(
        "removed_leases_count_on",
        "leases that somebody has removed are believed for ever",
        _removed_leases_count_on,
        "remove_leases join",
        seed=78,
    ),
    Breakage(
        "own_parts_unread",
        "own lines are not read when a shard is put together",
        _own_parts_unread,
        "edit join",
        seed=9,
    ),
    Breakage("logs_unread", "logs are not read when a shard is put together", _logs_unread, seed=2),
    Breakage("seeds_forgotten", "seeds are not added", _seeds_forgotten, seed=0),
)
