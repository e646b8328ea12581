"""A machine's part in the fleet: it keeps the frontier in step with leases, logs, settings and generations.

Vocabulary:
  round      a look at heartbeats, leases, logs, settings and seeds; more often while this machine has nothing to do
  take       claim or adopt a shard, and put all that is known of it into the frontier (`intake`)
  retake     the same for a shard that is held: the rules or the generation have changed
  release    let go of a shard that another machine should hold, wait for its pages in flight, and hand it over
  fenced     this machine could not beat for a while (`heartbeat.Fence`)

Promise: the frontier has only shards whose lease this machine holds, and it has every URL of these shards that any
machine has stored or said. What is found of other shards is said in the own log. After a look, the machine goes by the
rules that stand in the tree: every shard that an edit or a new generation may touch is taken in anew, and a new seed of
a held shard is in the frontier. For shards of others, it waits until these have looked, too, before it agrees that the
crawl is over.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from fscrawl.config.watcher import EditWatcher
from fscrawl.errors import FscrawlError, MemoryGone, TreeError
from fscrawl.fleet.anchor import Anchor
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.ending import Ending, held_hash
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.handover import Handover
from fscrawl.fleet.hearing import Hearing
from fscrawl.fleet.heartbeat import Fence, Heartbeat, Permit
from fscrawl.fleet.housekeeping import Housekeeping
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rulebook import Rulebook, check_site, check_site_at_start
from fscrawl.fleet.rules import Rules
from fscrawl.fleet.seeding import OfCode, Seeding, no_seeds
from fscrawl.fleet.status_file import Coverage, covers_all
from fscrawl.fleet.survey import Survey, shards_of
from fscrawl.fleet.tidying import Tidying
from fscrawl.frontier.flags import NO_FLAGS, Flags
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import StoredOnTree
from fscrawl.frontier.task import PageTask
from fscrawl.storage.mounts import caches_live_s
from fscrawl.store import Tree

_MOST_OF_LEASE = 2 / 3  # the time between two beats: a permit holds for that of the last one, and some more
_STARVED_ROUND_S = 1.0
_SOON_S = 0.1
_LEAVING_S = 10.0  # between the last look of a machine that leaves and its goodbye: its housekeeping may take 5 s


class Membership:
    """One machine among those of a crawl: it joins, takes and gives shards, and leaves.

    Only the main loop uses it, except `snapshot` and `_confirm`, which the thread that beats calls.
    """

    def __init__(
        self,
        tree: Tree,
        frontier: Frontier,
        stored: StoredOnTree,
        watch: EditWatcher,
        *,
        reseed: bool,
        counters: Callable[[], Beat],
        warn: Callable[[str], None],
        refresh_before: str = "",
        clock: Callable[[], float] = time.monotonic,
        caches_s: float | None = None,
        of_code: OfCode = no_seeds,
    ) -> None:
        """`frontier`: this class only adds and removes shards; the engine alone chooses what to fetch next.

        `stored`: its list of hosts is kept up to date here. `counters`: more values for a heartbeat. `reseed`: begin a
        new generation, so that all records are read again. `refresh_before`: pages that were last fetched or checked
        before this time (RFC 3339) are fetched again. `caches_s`: how long the share may show old states; None: this
        is found out by the type of its file system. `of_code`: as for `Seeding`.
        """
        self._tree = tree
        self._frontier = frontier
        self._stored = stored
        self._watch = watch
        self._counters = counters
        self._warn = warn
        self._reseed = reseed
        self._clock = clock
        self._caches_s = caches_live_s(tree.root) if caches_s is None else caches_s
        self._make_parts(refresh_before, of_code)
        self._round_at = self._next_round = 0.0
        self._changed = False  # what a round has found is still to be said to the engine
        self._state = Beat(idle=False)
        self._waited_for_s = self.fleet.dead_after_s  # for so long, others certainly wait for this machine
        self._longer_from = float("inf")  # a longer `dead_after` counts for the own permit
        self._unseen_until = float("-inf")
        self._anchor = Anchor(tree)
        self._has_joined = False  # the next two are there
        self._heart: Heartbeat
        self._fence: Fence

    def _make_parts(self, refresh_before: str, of_code: OfCode) -> None:
        tree, watch, clock, caches_s = self._tree, self._watch, self._clock, self._caches_s
        dead_after_s, shards = watch.settings.fleet.dead_after, tree.record.shards
        self._machinery = Machinery(tree)
        self.permit = Permit()
        self.fleet = Fleet(self._machinery, tree.machine, dead_after_s, shards, caches_s=caches_s, clock=clock)
        generations = Generations(tree.files)
        self._rulebook = Rulebook(watch, generations, refresh_before, caches_s=caches_s)
        self.ledger = Ledger(
            tree.files,
            tree.machine,
            self._frontier,
            self.rules,
            shards=shards,
            caches_s=caches_s,
            holder_of=self.fleet.holder,
            warn=self._warn,
            clock=clock,
        )
        self._tidying = Tidying(tree, self.fleet, self._stored, clock)
        self.survey = Survey(tree, self._frontier, self.ledger, self._stored, self._warn, self._tidying)
        self.seeding = Seeding(tree, watch, self._frontier, self.ledger, self._warn, clock, of_code)
        self._intake = Intake(
            self._frontier,
            self.ledger,
            self.survey,
            caches_s=caches_s,
            stored=self._stored,
            seeding=self.seeding,
            clock=clock,
        )
        self._hearing = Hearing(self.fleet, self.ledger, caches_s)
        self._housekeeping = Housekeeping(self.fleet, self.ledger, self._intake, generations, self._warn, clock)
        self._handover = Handover(self.fleet, self._frontier, self.ledger, self._intake, tree.record, watch)
        self._ending = Ending(self.fleet, self.ledger, self._intake, self._frontier)

    # -- beginning and end

    def join(self) -> None:
        """Say hello, and take the shards that this machine should hold."""
        log = self._machinery.heartbeat_log()
        self._anchor = Anchor(self._tree, log)
        fleet = self._watch.settings.fleet
        self._heart = Heartbeat(
            log,
            self._tree.machine,
            self.snapshot,
            beat_s=fleet.beat,
            lease_s=self.fleet.dead_after_s / 2,
            permit=self.permit,
            confirm=self._confirm,
        )
        self._fence = Fence(self._heart, self._warn)
        self._has_joined = True
        self._anchor.check()  # who changes the layout of the tree has looked for machines after writing tree.json
        now = self._clock()
        self.fleet.observe(now)
        check_site_at_start(self._watch.settings.code, self._heart.written, self.fleet, now, self._warn)
        self._rulebook.begin(reseed=self._reseed, others=bool(self.fleet.live_peers(now)))
        self.ledger.use(self.rules)
        self._tidying.machinery()
        self._stored.list_hosts()
        self._learn_needed()
        self._hearing.hear_all(now)
        self._round(now, starved=True)

    def _learn_needed(self) -> None:
        """Take in which shards have URLs, whatever the logs of a generation say."""
        seeds = {self._frontier.location(seed).shard for seed in self._watch.seeds}
        self.ledger.needed |= seeds | self.seeding.shards | shards_of(self._tree, self._stored.hosts)

    def leave(self, *, finished: bool) -> None:
        """Flush the log, and say goodbye, which frees the leases. Of a run that has said nothing, no log stays."""
        self._housekeeping.close()
        self.seeding.close()
        self.ledger.flush()
        self.ledger.close()
        self._state = self._state_now()
        try:
            self._handover.say_rests(self._clock())
            if self._heart.stop(finished=finished):
                self.ledger.remove_if_empty()
        except TreeError as error:
            self._warn(f"{error}; nothing is lost, but others take over only after {self.fleet.dead_after_s:g} s")

    def abandon(self) -> None:
        """Stop beating: this process is about to end, and other machines should take its shards."""
        self.seeding.close()
        if self._has_joined:
            self._heart.abandon()

    def trouble(self, patience_s: float) -> FscrawlError | None:
        """Return the error of the heart, if somebody must repair its cause or it has lasted for `patience_s`."""
        error = self._heart.trouble
        if error is None or (isinstance(error, TreeError) and error.retry and self._heart.age_s() <= patience_s):
            return None
        return error

    def snapshot(self) -> Beat:
        """Give the counters of the next beat; called from the thread that beats."""
        state = self._state
        return replace(
            self._counters(),
            idle=state.idle,
            generation=state.generation,
            log=state.log,
            read=state.read,
            held=state.held,
            rules=state.rules,
            shards=state.shards,
            ready=state.ready,
            needed=state.needed,
            dead_after=self.fleet.dead_after_s,
        )

    def _confirm(self) -> bool:
        """Tell whether the memory of the fleet is surely the one that this machine joined; asked after each beat.

        Raises MemoryGone if it is surely another one.
        """
        if not self._anchor.check():
            return False
        self.ledger.check()
        return True

    def cause_of(self, error: FscrawlError) -> FscrawlError:
        """Give the reason of an error: a file may be missing because all of `.fscrawl` was deleted or replaced."""
        if isinstance(error, TreeError | MemoryGone) and not error.retry:
            try:
                self._confirm()
            except FscrawlError as cause:
                error = cause
        if isinstance(error, MemoryGone):
            self._mend_memory(str(error))
        return error

    def _mend_memory(self, what: str) -> None:
        """Begin the next generation if only a part of `.fscrawl` was replaced: its logs may fit no more together."""
        with contextlib.suppress(FscrawlError):
            if Tree(self._tree.root, self._tree.machine).record.machinery == self._tree.record.machinery:
                self._rulebook.mend(what)

    # -- what the main loop asks

    @property
    def rules(self) -> Rules:
        return self._rulebook.rules

    @property
    def fenced(self) -> bool:
        return self._has_joined and self._fence.is_up

    @property
    def beat_s(self) -> float:
        """Seconds between two beats now: more of them where many machines are live."""
        return self._heart.beat_s

    @property
    def known(self) -> Coverage:
        """How much of the tree this machine's figures count."""
        return Coverage(self._state.ready, self._state.needed)

    @property
    def all_known(self) -> bool:
        """Whether live machines have all shards: none is on its way to another machine."""
        peers = (peer.last() for peer in self.fleet.live_peers(self._clock()))
        return covers_all([self.known, *(Coverage(beat.ready, beat.needed) for beat in peers)])

    @property
    def busy(self) -> bool:
        """There are logs or records still to be read, or seeds to be made."""
        return self._intake.busy or self.seeding.is_busy

    def discover(self, links: Iterable[str], depth: int, referrer: str, flags: Flags = NO_FLAGS, of: str = "") -> None:
        """Take in URLs of a page, as the generation chooses them. `of`: the host that names them, "" if none does."""
        new_shards = self.ledger.discover(links, depth, referrer, flags, of)
        if any(not self._frontier.holds(shard) for shard in new_shards):  # perhaps no machine holds one: do not wait
            self._next_round = min(self._next_round, self._clock() + _SOON_S)

    def tell(self, task: PageTask, failed_at: str = "") -> None:
        """All links of a stored page were taken in; or it has failed for good, as its error record says."""
        self.ledger.tell(task, failed_at)

    def is_over(self) -> bool:
        """No work is left on any machine."""
        if not self._is_end_in_sight(self._state):
            return False
        self._changed = self._round(self._clock(), starved=True, at_all=True) or self._changed  # look once more
        return not self._changed and self._is_end_in_sight(self._state_now())

    def _is_end_in_sight(self, state: Beat) -> bool:
        if not state.idle or self._may_be_unseen(now := self._clock()):
            return False
        return self._ending.seems_reached(state, self._heart.written, now)

    def tick(self, *, starved: bool) -> bool:
        """Do what is due. Return whether settings, seeds or generation have changed. `starved`: nothing to fetch."""
        now = self._clock()
        if self._fence.may_end(now):
            self._end_fence(now)
        self._intake.step(now)
        self._housekeeping.step(now)
        self._tidying.step(now)
        self.seeding.step()
        if starved:  # the time that was set while there was work is too late
            self._next_round = min(self._next_round, self._round_at + self._pause_s(starved=True))
        if now >= self._next_round:
            self._frontier.forget_what_is_over(now)
            self._round_at, self._next_round = now, float("inf")  # a round may ask for an early next round
            self._changed = self._round(now, starved=starved) or self._changed
            self._next_round = min(self._next_round, now + self._pause_s(starved=starved))
            if self._ending.is_said_once(self._state, self._heart.written):
                self._heart.beat_now()  # the end waits for two beats that say the same
        peers, hungry = len(self.fleet.peers), self._hearing.somebody_is_hungry
        self.ledger.flush_if_due(now, machines=peers, somebody_is_hungry=hungry, starved=self._frontier.idle)
        self._update()
        changed, self._changed = self._changed, False
        return changed

    def _pause_s(self, *, starved: bool) -> float:
        """Give the time until the next round. It grows with the number of machines that are looked at."""
        often = starved or self._handover.releasing or not self._intake.is_done or self.fenced
        beat_s = self._heart.beat_s
        return max(min(_STARVED_ROUND_S, beat_s / 4) if often else beat_s, self._hearing.least_pause_s)

    def _update(self) -> None:
        """Update the counters of the next beat. If others wait for a change, beat at once."""
        state = self._state_now()
        is_news = state.idle and state != self._state
        is_news = is_news or state.ready != self._state.ready  # who looks on must not count what went elsewhere
        self._state = state
        if is_news:
            self._heart.beat_now()

    def _state_now(self) -> Beat:
        idle = (
            self._frontier.idle  # asked first: most often this is the answer
            and self._intake.is_done
            and self._tidying.is_done
            and self.seeding.is_done
            and not (self._handover.releasing or self.fenced or self.ledger.damaged or self._rulebook.waits)
            and self.ledger.is_flushed
        )
        return Beat(
            idle=idle,
            generation=self.rules.generation,
            log=self.ledger.place,
            read=self.ledger.vector_hash() if idle else "",
            held=held_hash(self.fleet.held.items()) if idle else "",
            rules=self.rules.digest,
            shards=len(self.fleet.held),
            ready=len(self.fleet.held.keys() - self._intake.incomplete() - self._handover.releasing),
            needed=len(self.ledger.needed),
        )

    # -- a round

    def _round(self, now: float, *, starved: bool, at_all: bool = False) -> bool:
        """Look at everything, `at_all` at each heartbeat, too; return whether settings, seeds or generation changed."""
        if self.fenced:
            return False
        self._watch.look_for_signs()
        self.fleet.observe(now, idle_s=0.0 if at_all else self._ending.may_wait_s(self._state, self._heart, now))
        check_site(self._watch.settings.code, self._heart.written, self.fleet.live_peers(now))
        changes = self.fleet.look(now)
        self._handover.lose(changes.lost)
        before = self.rules.generation
        changed = self._look_for_edits(now)
        if self.rules.generation != before:
            self._learn_needed()
        self.ledger.needed |= self.fleet.leased  # who held a shard may have stored pages that no log tells
        self._hearing.hear(now, starved=starved)
        self._heart.beat_s = min(self._hearing.beat_s(self._watch.settings.fleet), _MOST_OF_LEASE * self._heart.lease_s)
        self._handover.release(now)
        self._take(changes.adopted)
        if not (self._fence.is_due or self._ending.was_said(self._state_now())):
            self._take(self.fleet.claim_free(self.ledger.needed, self._watch.settings.fleet.beat / 2))
        self._intake.step(now)
        return changed

    def _take(self, shards: Iterable[int]) -> None:
        """Put shards into the frontier that were adopted or claimed, unless they were handed on in the same round.

        The last holder may have asked their hosts until a moment ago, so the hosts' delays and rests count from now.
        """
        now = self._clock()
        taken = (set(shards) & self.fleet.held.keys()) - self._handover.releasing
        first = {shard for shard in taken if self.fleet.held.get(shard) == 1}
        self._handover.heed(taken, now)
        self._intake.begin(taken, {shard: None if shard in first else now for shard in taken})

    # -- edits

    def _look_for_edits(self, now: float) -> bool:
        """Look for edits, damaged logs and new generations; retake what they touch. Return whether there were any."""
        self._lengthen_permit(now)
        if (damage := self.ledger.believed_damage(now)) is not None:
            self._warn(f"{damage.text}; all records are read again")
            self._rulebook.mend(damage.text)
        lists_grew = self.seeding.look()
        change = self._rulebook.look(now)
        shards = set() if change is None else {self._frontier.location(seed).shard for seed in change.seeds}
        if lists_grew or (change is not None and change.edited) or not all(map(self._frontier.holds, shards)):
            self._unseen_until = now + self._caches_s + _LEAVING_S
        if change is not None or now < self._unseen_until:
            self.fleet.finished_peers.clear()  # that the crawl was over says nothing any more
        if change is None:
            return False
        if change.edited:
            self._use_fleet_settings(now)
            self._frontier.use(self._watch.settings)  # before anything is taken in by the new limits
        self.ledger.needed |= shards
        if change.edited or change.retake:
            self.ledger.needed |= self.seeding.shards
            self.seeding.restart()
        before = self.ledger.rules.generation
        self.ledger.use(self._rulebook.rules)
        if self.ledger.rules.generation != before:
            self._intake.abandon()
            self._hearing.hear_all(now)
            self._housekeeping.restart()
        if change.retake:
            self._intake.begin(set(self.fleet.held) - self._handover.releasing, {})
        else:
            self.seeding.add(change.seeds)
            self.seeding.want(self._frontier.shards)
        return True

    def _may_be_unseen(self, now: float) -> bool:
        """Tell whether there may be work in shards of others that these have not seen yet.

        If they say now that the crawl is over, nobody would do it, though this machine knows of it.
        """
        return now < self._unseen_until and bool(self.fleet.live_peers(now))

    def _use_fleet_settings(self, now: float) -> None:
        """Go by an edited `dead_after`: a shorter one for the own permit, a longer one for others, at once.

        A shorter one is used for others in the next run: they may not have read it yet, and still beat slowly.
        """
        wanted_s = self._watch.settings.fleet.dead_after
        if wanted_s > self.fleet.dead_after_s:
            self.fleet.dead_after_s = wanted_s  # the next heartbeat says it
            self._longer_from = now + self._waited_for_s + self._caches_s
        self._heart.lease_s = min(self._waited_for_s, wanted_s) / 2

    def _lengthen_permit(self, now: float) -> None:
        """Let a longer `dead_after` count for the own permit, when all others have read that they must wait for it."""
        if now >= self._longer_from:
            self._longer_from = float("inf")
            self._waited_for_s = self.fleet.dead_after_s
            self._heart.lease_s = min(self._waited_for_s, self._watch.settings.fleet.dead_after) / 2

    # -- fencing

    def _end_fence(self, now: float) -> None:
        self.fleet.observe(now)
        changes = self.fleet.look_again(now)
        self._handover.lose(changes.lost)
        self.fleet.check_held()
        self._take(changes.adopted)
        self._fence.take_down()
