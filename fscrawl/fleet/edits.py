"""What a machine does when settings, seeds or the generation have changed while it runs.

Promise: after a look, the machine goes by the rules that stand in the tree. Every shard that an edit or a new
generation may touch is taken in anew, and a new seed of a held shard is in the frontier. For shards of
others, it waits until these have looked, too, before it agrees that the crawl is over.
"""

from __future__ import annotations

from collections.abc import Callable

from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.handover import Handover
from fscrawl.fleet.hearing import Hearing
from fscrawl.fleet.heartbeat import Heartbeat
from fscrawl.fleet.housekeeping import Housekeeping
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rulebook import Rulebook
from fscrawl.fleet.seeding import Seeding
from fscrawl.frontier.frontier import Frontier

_LEAVING_S = 10.0  # between the last look of a machine that leaves and its goodbye: its housekeeping may take 5 s


class Edits:
    """Follows edits for one machine. Only the main loop uses it."""

    def __init__(
        self,
        watch: EditWatcher,
        rulebook: Rulebook,
        frontier: Frontier,
        fleet: Fleet,
        ledger: Ledger,
        intake: Intake,
        hearing: Hearing,
        housekeeping: Housekeeping,
        handover: Handover,
        seeding: Seeding,
        warn: Callable[[str], None],
        caches_s: float,
    ) -> None:
        """`caches_s`: how long the share may show old states."""
        self._warn = warn
        self._watch = watch
        self._rulebook = rulebook
        self._frontier = frontier
        self._fleet = fleet
        self._ledger = ledger
        self._intake = intake
        self._hearing = hearing
        self._housekeeping = housekeeping
        self._handover = handover
        self._seeding = seeding
        self._caches_s = caches_s
        self._waited_for_s = fleet.dead_after_s  # for so long, others certainly wait for this machine
        self._longer_from = float("inf")
        self._unseen_until = float("-inf")

    def look(self, now: float, heart: Heartbeat) -> bool:
        """Look for edits, damaged logs and new generations; retake what they touch. Return whether there were any."""
        self._lengthen_permit(now, heart)
        if (damage := self._ledger.believed_damage(now)) is not None:
            self._warn(f"{damage.text}; all records are read again")
            self._rulebook.mend(damage.text)
        lists_grew = self._seeding.look()
        change = self._rulebook.look(now)
        shards = set() if change is None else {self._frontier.location(seed).shard for seed in change.seeds}
        if lists_grew or (change is not None and change.edited) or not all(map(self._frontier.holds, shards)):
            self._unseen_until = now + self._caches_s + _LEAVING_S
        if change is not None or now < self._unseen_until:
            self._fleet.forget_finished_peers()
        if change is None:
            return False
        if change.edited:
            self._use_fleet_settings(now, heart)
            self._frontier.use(self._watch.settings)  # before anything is taken in by the new limits
        self._ledger.needed |= shards
        if change.edited or change.retake:
            self._ledger.needed |= self._seeding.shards
            self._seeding.restart()
        before = self._ledger.rules.generation
        self._ledger.use(self._rulebook.rules)
        if self._ledger.rules.generation != before:
            self._intake.abandon()
            self._hearing.hear_all(now)
            self._housekeeping.restart()
        if change.retake:
            self._intake.begin(set(self._fleet.held) - self._handover.releasing, {})
        else:
            self._seeding.add(change.seeds)
            self._seeding.want(self._frontier.shards)
        return True

    def may_be_unseen(self, now: float) -> bool:
        """Tell whether there may be work in shards of others that these have not seen yet.

        If they say now that the crawl is over, nobody would do it, though this machine knows of it.
        """
        return now < self._unseen_until and bool(self._fleet.live_peers(now))

    def _use_fleet_settings(self, now: float, heart: Heartbeat) -> None:
        """Go by an edited `dead_after`: a shorter one for the own permit, a longer one for others, at once.

        A shorter one is used for others in the next run: they may not have read it yet, and still beat slowly.
        """
        wanted_s = self._watch.settings.fleet.dead_after
        if wanted_s > self._fleet.dead_after_s:
            self._fleet.dead_after_s = wanted_s  # the next heartbeat says it
            self._longer_from = now + self._waited_for_s + self._caches_s
        heart.lease_s = min(self._waited_for_s, wanted_s) / 2

    def _lengthen_permit(self, now: float, heart: Heartbeat) -> None:
        """Let a longer `dead_after` count for the own permit, when all others have read that they must wait for it."""
        if now >= self._longer_from:
            self._longer_from = float("inf")
            self._waited_for_s = self._fleet.dead_after_s
            heart.lease_s = min(self._waited_for_s, self._watch.settings.fleet.dead_after) / 2
