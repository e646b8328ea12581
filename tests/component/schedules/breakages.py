"""The table of what is broken on purpose, one at a time: a schedule must find it, or this test looks at nothing.

`seed` is a schedule that does; `python -m tests.component.schedules --mutate` finds another. Some rules have no
breakage here, as a schedule would have to be very lucky to need them; unit tests show these.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unittest.mock import patch

from tests.component.schedules import broken
from tests.component.schedules.broken import Change


class Breakage(NamedTuple):
    """`faults`: those of `faults.py` that its schedules have; "": any. `note`: why there is no seed.

    `slow`: the schedule takes many seconds until it is sure that there is no end.
    """

    name: str
    says: str
    make: Callable[[], list[Change]]
    faults: str = ""
    seed: int | None = None
    note: str = ""
    slow: bool = False

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for where, name, value in self.make():
                stack.enter_context(patch.object(where, name, value))
            yield


BREAKAGES = (
    Breakage(
        "told_without_reading",
        "what is stored and not told is told without its links",
        broken.told_without_reading,
        seed=0,
    ),
    Breakage("told_first", "a page is told before its links", broken.told_first, "crash_at_call join", seed=27),
    Breakage("no_survey", "what is stored and said nowhere is not looked for", broken.no_survey, seed=43),
    Breakage(
        "early_survey",
        "a survey does not wait until the listing is new",
        broken.early_survey,
        "takeover cut join",
        note="what it misses is nearly always found by lines",
    ),
    Breakage("survey_tells_nothing", "a survey reads no records", broken.survey_tells_nothing, seed=43),
    Breakage(
        "hands_over_in_flight",
        "a shard is handed over while a page of it is in flight",
        broken.hands_over_in_flight,
        seed=8,
    ),
    Breakage("end_by_idleness", "a machine leaves when it has nothing to do", broken.end_by_idleness, seed=0),
    Breakage(
        "end_without_leases", "a machine leaves though nobody holds some shard", broken.end_without_leases, seed=0
    ),
    Breakage(
        "end_without_last_look",
        "a machine leaves without a last look",
        broken.end_without_last_look,
        "late_edit join",
        seed=57,
    ),
    Breakage(
        "snapshot_ahead", "a snapshot claims more than it holds", broken.snapshot_ahead, "crash join edit", seed=287
    ),
    Breakage(
        "own_cut_ignored",
        "a machine goes on with its log though it was cut",
        broken.own_cut_ignored,
        "cut join",
        seed=49,
    ),
    Breakage("generation_ignored", "a new generation changes nothing", broken.generation_ignored, seed=4),
    Breakage(
        "damage_ignored",
        "that a log is cut changes nothing",
        broken.damage_ignored,
        "cut crash join",
        seed=1,
        slow=True,
    ),
    Breakage(
        "sent_forever",
        "a new generation repeats nothing that was sent",
        broken.sent_forever,
        "cut takeover join",
        seed=8,
    ),
    Breakage(
        "listing_only", "after a take, a stored page is looked for in a listing only", broken.listing_only, seed=51
    ),
    Breakage("nothing_is_looked_for", "what is stored is fetched again", broken.nothing_is_looked_for, seed=1),
    Breakage("told_forever", "what was told counts under all settings", broken.told_forever, seed=5),
    Breakage("told_while_stale", "what is of an older generation is told", broken.told_while_stale, "edit", seed=2),
    Breakage(
        "links_by_own_rules", "links are chosen by the settings of now", broken.links_by_own_rules, "edit", seed=46
    ),
    Breakage(
        "survey_by_own_rules", "a survey goes by the settings of now", broken.survey_by_own_rules, "edit", seed=434
    ),
    Breakage("left_out_unsaid", "what is outside of the settings is not said", broken.left_out_unsaid, "edit", seed=26),
    Breakage("uncovered_is_idle", "nobody begins a generation for an edit", broken.uncovered_is_idle, "edit", seed=7),
    Breakage(
        "removed_early", "a generation is removed under machines in it", broken.removed_early, "edit join", seed=143
    ),
    Breakage("depth_ignored", "what was told counts for all depths", broken.depth_ignored, seed=7),
    Breakage(
        "edit_retakes_nothing",
        "an edit does not put shards together anew",
        broken.edit_retakes_nothing,
        "edit",
        seed=46,
    ),
    Breakage("retake_in_flight", "nobody waits for what is in flight", broken.retake_in_flight, "edit join", seed=0),
    Breakage(
        "no_wait_after_fence", "a fence ends with the first beat", broken.no_wait_after_fence, "takeover join", seed=4
    ),
    Breakage(
        "fence_without_leases",
        "a fence ends without a look at leases",
        broken.fence_without_leases,
        "takeover join",
        seed=86,
    ),
    Breakage("no_permit", "workers do not look at the permit", broken.no_permit, "takeover join", seed=0),
    Breakage(
        "deletion_ignored",
        "a machine goes on though `.fscrawl` was deleted",
        broken.deletion_ignored,
        "delete join",
        note="the writer of the log notices it, too",
    ),
    Breakage(
        "no_grace", "who makes `.fscrawl` anew claims at once", broken.no_grace, "delete join pause resume", seed=3
    ),
    Breakage("claims_from_the_living", "shards are taken from live machines", broken.claims_from_the_living, seed=0),
    Breakage(
        "removed_leases_count_on",
        "leases that somebody has removed are believed for ever",
        broken.removed_leases_count_on,
        "remove_leases join",
        seed=78,
    ),
    Breakage(
        "own_parts_unread",
        "own lines are not read when a shard is put together",
        broken.own_parts_unread,
        "edit join",
        seed=9,
    ),
    Breakage("logs_unread", "logs are not read when a shard is put together", broken.logs_unread, seed=2),
    Breakage("seeds_forgotten", "seeds are not added", broken.seeds_forgotten, seed=0),
    Breakage(
        "taken_in_unflushed",
        "own lines are not flushed before a shard is read",
        broken.taken_in_unflushed,
        "edit join",
        seed=9,
    ),
    Breakage(
        "own_parts_unheard",
        "what a machine says of its own shards is not heard",
        broken.own_parts_unheard,
        "takeover join",
        note="who takes a shard reads all of it",
    ),
    Breakage(
        "retries_without_end",
        "another try answers no wish for one",
        broken.retries_without_end,
        "page_fails retry crash join",
        seed=38,
    ),
    Breakage(
        "newest_refresh_only",
        "a later generation forgets a refresh",
        broken.newest_refresh_only,
        "refresh cut join",
        note="it takes faults that fit; `tests/unit/fleet/test_rulebook.py` shows it",
    ),
    Breakage(
        "refresh_looked_up",
        "what is only looked for is not refreshed",
        broken.refresh_looked_up,
        "refresh join",
        seed=4,
    ),
    Breakage(
        "away_and_back", "a shard that was away is not taken anew", broken.away_and_back, "takeover join", seed=42
    ),
    Breakage(
        "end_by_idle_beats",
        "a machine leaves when all are idle, whatever they have read",
        broken.end_by_idle_beats,
        seed=16,
    ),
    Breakage(
        "end_before_intake",
        "a machine leaves before it has put its shards together",
        broken.end_before_intake,
        "join",
        seed=6,
    ),
)
