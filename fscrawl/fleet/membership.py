"""A machine's part in the fleet: it keeps the frontier in step with leases and feeds.

Vocabulary:
  round      a look at heartbeats, leases, feeds, settings and seeds; more often while this machine has nothing to do
  take       put a shard into the frontier: its seeds and its lines of all feeds. If it was not handed over cleanly, the
             links in the link files of its hosts, too (re-seed)
  release    remove from the frontier a shard that another machine should hold, wait for its pages in flight, and hand
             it over
  chore      reading feeds or link files for newly taken shards, in small slices between the pages
  fenced     this machine could not write a heartbeat for half of `dead_after`. It fetches nothing until one beat after
             it has written one and has read its leases: another machine may just be taking them

Promise: the frontier has only shards whose lease this machine holds, and it has every URL of these shards that any
machine has stored or discovered. URLs of other shards go into the feed.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from fscrawl import urls
from fscrawl.config.watcher import EditWatcher
from fscrawl.errors import TreeError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.feed import FeedReader, FeedWriter, Found
from fscrawl.fleet.heartbeat import Heartbeat, Permit
from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.recovery import may_have_pages_of, records_of, remove_temporaries_of_the_dead, shards_of
from fscrawl.frontier.flags import NO_FLAGS, REFRESH, SITEMAP_PART, Flags
from fscrawl.frontier.frontier import ShardHolder
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.seen import RecentlySeen
from fscrawl.frontier.stored import StoredOnTree
from fscrawl.storage.caches import caches_live_s
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree

_FLUSH_S = 1.0
_STARVED_ROUND_S = 1.0
_SOON_S = 0.1
_STARVED_FLUSH_S = 0.2  # another machine may be waiting for the URLs found here
_SLICE_S = 0.05  # of chores, before the workers are looked at again
_SENT_MEMORY = 200_000  # how many URLs of other machines' shards are remembered as sent, per generation
_LONG_REST_S = 5.0  # shorter rests are over before another machine could begin
_TOLD_RESTS = 200


class Membership:
    """Only the main loop uses it, except `snapshot`, which the heart's thread calls."""

    def __init__(
        self,
        tree: Tree,
        frontier: ShardHolder,
        stored: StoredOnTree,
        watch: EditWatcher,
        *,
        reseed: bool,
        counters: Callable[[], Beat],
        warn: Callable[[str], None],
        refresh_before: str = "",
    ) -> None:
        """`frontier`: this class only adds and removes shards; the engine alone chooses what to fetch next.

        `stored`: its list of hosts is kept up to date here. `counters`: more values for a heartbeat. `reseed`: read the
        link files instead of trusting the feeds. `refresh_before`: pages that were last fetched or checked before this
        time (RFC 3339) are fetched again.
        """
        self._tree = tree
        self._frontier = frontier
        self._stored = stored
        self._watch = watch
        self._counters = counters
        self._warn = warn
        self._distrust = reseed or bool(refresh_before)
        self._damaged_feeds: set[str] = set()  # machines whose feeds are damaged
        self._refresh_before = refresh_before
        self._machinery = Machinery(tree)
        dead_after_s = watch.settings.fleet.dead_after
        self.fleet = Fleet(self._machinery, tree.machine, dead_after_s, caches_s=caches_live_s(tree.root))
        self._reader = FeedReader(self._machinery, tree.machine)
        self._writer = FeedWriter(self._machinery)
        self._needed: set[int] = set()
        self._drained: set[str] = set()  # machines that have ended and whose feeds have been read to the end
        self._releasing: set[int] = set()
        self._arriving: list[tuple[int, bool | None]] = []  # taken, but pages from before are still in flight
        self._chores: deque[Iterator[Any]] = deque()
        self._sent: RecentlySeen[int] = RecentlySeen(_SENT_MEMORY)
        self.reseeding = 0  # hosts whose link files are still to be read
        self.fenced = False
        self._beating_since: float | None = None
        self.permit = Permit()
        self._unsettled: Counter[int] = Counter()  # shards whose link files are being read
        self._next_round = self._next_flush = 0.0
        self._state = Beat(idle=False, sent=0, consumed=0)
        self._heart: Heartbeat
        self.scope = self._new_scope()
        self._max_depth = watch.settings.crawl.max_depth
        self.scope_was_edited = False  # then pending URLs may be outside the scope

    def _new_scope(self) -> Scope:
        return Scope(self._watch.settings.crawl, self._watch.seeds)

    # -- beginning and end

    def join(self) -> None:
        """Say hello, and take the shards that this machine should hold."""
        self._heart = Heartbeat(
            self._machinery.heartbeat_log(),
            self._tree.machine,
            self.snapshot,
            beat_s=self._watch.settings.fleet.beat,
            lease_s=self.fleet.dead_after_s / 2,
            permit=self.permit,
        )
        self._writer.open()
        now = time.monotonic()
        self.fleet.observe(now)
        self._tidy_up(self._tree.machinery_temporaries())
        self._stored.list_hosts()
        self._needed |= {self._frontier.location(seed).shard for seed in self._watch.seeds}
        self._needed |= shards_of(self._tree, self._stored.hosts)
        self._round(now, starved=True)
        self._check_feeds()

    def _check_feeds(self) -> None:
        """Distrust the feeds if one is shorter than its machine said, or cannot be read.

        Feeds of live machines are not checked: they grow during the reading, and no machine ends before it has read
        them to their end.
        """
        now = time.monotonic()
        over = {peer.machine: peer.sent for peer in self.fleet.peers.values()}
        for peer in self.fleet.live_peers(now):
            del over[peer.machine]
        if any(sent > self._reader.offsets.get(machine, 0) for machine, sent in over.items()):
            self._read_feeds(now, starved=True)  # they may have grown between that reading and this look
        self._read_instead_of(m for m, sent in over.items() if sent > self._reader.offsets.get(m, 0))

    def _read_instead_of(self, damaged: Iterable[str]) -> None:
        """Read all link files, once for each machine with a damaged feed: its lines may belong to any shard."""
        news = sorted({*damaged} - self._damaged_feeds)
        if not news:
            return
        for machine in news:
            self._warn(f"the feed of {machine} is damaged or missing; the link files are read instead")
        self._damaged_feeds.update(news)
        self._distrust = True
        self._sent = RecentlySeen(_SENT_MEMORY)  # links of other shards go into this machine's feed again
        self._stored.list_hosts()
        self._read_link_files(set(range(self._tree.record.shards)))

    def leave(self, *, finished: bool) -> None:
        """Flush the feed, and say goodbye, which frees the leases."""
        self._writer.flush()
        self._writer.close()
        self._update()
        try:
            self._heart.stop(finished=finished, clean=not (self._unsettled or self._arriving))
        except TreeError as error:
            self._warn(f"{error}; nothing is lost, but others take over only after {self.fleet.dead_after_s:g} s")

    def abandon(self) -> None:
        """Stop beating: this process is about to end, and other machines should take its shards."""
        if hasattr(self, "_heart"):
            self._heart.abandon()

    def trouble(self, patience_s: float) -> TreeError | None:
        """Return the error of the heart, if somebody must repair its cause or it has lasted for `patience_s`."""
        error = self._heart.trouble
        return error if error and (not error.retry or self._heart.age_s() > patience_s) else None

    def snapshot(self) -> Beat:
        """Give the counters of the next beat; called from the thread that beats."""
        state, rests = self._state, self._told_to_rest()
        return replace(
            self._counters(),
            idle=state.idle,
            sent=state.sent,
            consumed=state.consumed,
            shards=state.shards,
            dead_after=self.fleet.dead_after_s,
            rests=rests,
        )

    def _told_to_rest(self) -> dict[str, float]:
        """Return the hosts with a long rest, for their next holder. In seconds, because clocks are never compared."""
        rests = {host: round(s, 1) for host, s in self._frontier.rests(time.monotonic()).items() if s > _LONG_REST_S}
        return dict(itertools.islice(rests.items(), _TOLD_RESTS))

    # -- what the main loop asks

    @property
    def busy(self) -> bool:
        """There are feeds or link files still to be read."""
        return bool(self._chores)

    def discover(self, links: Iterable[str], depth: int, referrer: str, flags: Flags = NO_FLAGS) -> None:
        """Take in URLs of a page, all inside the scope: all into the feed, those of held shards into the frontier."""
        limit = self._watch.settings.crawl.max_depth
        if limit is not None and depth > limit:
            self._frontier.cut["max_depth"] += len(tuple(links))
            return
        for url in links:
            location = self._frontier.location(url)
            if self._frontier.holds(location.shard):
                new = self._frontier.add(url, depth, referrer, location, flags)
            else:
                new = self._send(int.from_bytes(location.digest[:8]))
            if new:
                self._need(location.shard)
                self._writer.add(Found(location.shard, depth, referrer, url, flags))

    def _need(self, shard: int) -> None:
        if shard not in self._needed:
            self._needed.add(shard)
            if not self._frontier.holds(shard):  # perhaps no machine holds it: do not wait for the next round
                self._next_round = min(self._next_round, time.monotonic() + _SOON_S)

    def _send(self, fingerprint: int) -> bool:
        return self._sent.add(fingerprint)

    def is_over(self) -> bool:
        """No work is left on any machine."""
        state = self._state
        if not state.idle:
            return False
        return self.fleet.is_over(
            state, self._heart.written, self._reader.offsets, self._all_needed(), time.monotonic()
        )

    def pages_elsewhere(self) -> int:
        """How many pages other machines have stored, in this and in earlier runs."""
        return self.fleet.pages_elsewhere

    def tick(self, *, starved: bool) -> bool:
        """Do what is due. Return whether settings or seeds have changed. `starved`: there is nothing to fetch."""
        now = time.monotonic()
        changed = False
        self._fence(now)
        self._work_at_chores()
        if starved:  # the time that was set while there was work is too late
            self._next_round = min(self._next_round, now + _STARVED_ROUND_S)
        if now >= self._next_round:
            self._frontier.forget_what_is_over(now)
            self._next_round = float("inf")  # a round may ask for an early next round
            changed = self._round(now, starved=starved)
            often = starved or self._releasing or self._arriving or self.fenced
            beat = self._watch.settings.fleet.beat
            self._next_round = min(self._next_round, now + (min(_STARVED_ROUND_S, beat / 4) if often else beat))
        if now >= self._next_flush or self._frontier.idle:
            self._writer.flush()
            self._next_flush = now + (_STARVED_FLUSH_S if starved else _FLUSH_S)
        self._update()
        return changed

    def _update(self) -> None:
        """Update the counters of the next beat. If others wait for a change, beat at once."""
        idle = (
            not (self._chores or self._releasing or self._arriving or self.fenced)
            and self._frontier.idle
            and self._writer.is_empty
        )
        sent = self._writer.sent
        consumed = self._reader.consumed + sent
        state = Beat(idle=idle, sent=sent, consumed=consumed, shards=len(self.fleet.held))
        before, self._state = self._state, state
        if idle and (before.idle, before.sent, before.consumed) != (idle, sent, consumed):
            self._heart.beat_now()

    # -- a round

    def _round(self, now: float, *, starved: bool) -> bool:
        if self.fenced:
            return False
        self._watch.look_for_signs()
        self.fleet.observe(now)
        changes = self.fleet.look(now)
        self._lose(changes.lost)
        self._read_feeds(now, starved=starved)
        self._release(now)
        self._take([(shard, True) for shard in changes.adopted] + self._claim(now))
        return self._look_for_edits(now)

    def _read_feeds(self, now: float, *, starved: bool) -> None:
        """Read new lines. A busy machine reads only feeds that have new lines by their machines' heartbeats.

        A starved machine reads all feeds, except those of dead machines once no cache can hide new lines any more.
        """
        live = {peer.machine: peer.sent for peer in self.fleet.live_peers(now)}
        told = [machine for machine, sent in live.items() if sent]
        self._drained -= live.keys()
        if starved:
            since = now - 2 * self.fleet.stale_s
            nothing_new = {machine for machine in self._drained if self.fleet.peers[machine].grown_at < since}
        else:
            nothing_new = {machine for machine, sent in live.items() if sent <= self._reader.offsets.get(machine, 0)}
            nothing_new |= self._drained
        for found in self._reader.read(self._frontier.shards, told, nothing_new):
            self._add_found(found)
        self._drained |= self.fleet.peers.keys() - live.keys()

    def _lose(self, shards: list[int]) -> None:
        for shard in shards:
            self._releasing.discard(shard)
            if self._frontier.holds(shard):
                self._frontier.let_go(shard)

    def _release(self, now: float) -> None:
        arriving = {shard for shard, _ in self._arriving}
        roster = self.fleet.roster(now)
        for shard in list(self.fleet.held):
            wanted = roster.wanted(shard, is_held=True)
            if wanted == self.fleet.machine:
                if shard in self._releasing:  # the machine that should have it is gone
                    self._releasing.discard(shard)
                    self._arriving.append((shard, True))
                continue
            if self._unsettled[shard] or shard in arriving:  # otherwise the next holder would take it for clean
                continue
            if shard not in self._releasing:
                self._releasing.add(shard)
                if self._frontier.holds(shard):  # it may still be arriving
                    self._frontier.let_go(shard)
            if not self._frontier.in_flight_of(shard):
                if not self._has_told_rests(shard):
                    self._heart.beat_now()
                    continue
                self._writer.flush()
                self._releasing.discard(shard)
                self.fleet.hand_over(shard, wanted)

    def _has_told_rests(self, shard: int) -> bool:
        """Return whether a beat has named the resting hosts of a shard. Its next holder reads them there."""
        told = self._heart.written[-1].rests if self._heart.written else {}
        rests = self._told_to_rest()
        return all(told.get(host, 0.0) >= s for host, s in rests.items() if self._may_be_of(host, {shard}))

    def _may_be_of(self, host: str, shards: set[int]) -> bool:
        record = self._tree.record
        return record.partition == "url" or urls.shard(host, record.shards) in shards

    def _all_needed(self) -> set[int]:
        return self._needed | self._reader.needed

    def _claim(self, now: float) -> list[tuple[int, bool | None]]:
        """Claim free shards that this machine should hold. Return those it won, and whether they are clean."""
        taken = []
        roster = self.fleet.roster(now)
        for shard in sorted(self._all_needed()):
            if time.monotonic() - now > self._heart.beat_s / 2:  # the heartbeats read then are too old
                self._next_round = now
                break
            if shard in self.fleet.held or roster.wanted(shard, is_held=False) != self.fleet.machine:
                continue
            self.fleet.look_at_holder(shard, now)
            if self.fleet.is_free(shard, now):
                clean = self.fleet.was_left_clean(shard)
                if self.fleet.claim(shard):
                    taken.append((shard, clean))
        return taken

    def _take(self, taken: list[tuple[int, bool | None]]) -> None:
        """Put shards into the frontier. The second of each pair: whether it is clean, None if it was never held.

        A shard with pages still in flight from before must wait, because its hosts are being asked.
        """
        taken = [*self._arriving, *taken]
        ours = [pair for pair in taken if pair[0] in self.fleet.held and pair[0] not in self._releasing]
        self._arriving = [pair for pair in ours if self._frontier.in_flight_of(pair[0])]
        taken = [pair for pair in ours if pair not in self._arriving]
        if not taken:
            return
        self._stored.list_hosts()
        inhabited = shards_of(self._tree, self._stored.hosts)
        now = time.monotonic()
        for shard, clean in taken:
            if not self._frontier.holds(shard):
                before = clean is not None
                self._frontier.hold(shard, now if before else None, check_s=self.fleet.stale_s)
        self._frontier.learn_stored()
        shards = {shard for shard, _ in taken}
        self._respect_rests(shards, now)
        for seed in sorted(self._watch.seeds):
            if self._frontier.location(seed).shard in shards:
                self._frontier.add(seed, 0, "")
        self._writer.flush()
        self._chores.append(self._pass_over_feeds(shards))
        unclean = {s for s, clean in taken if self._distrust or clean is False or (clean is None and s in inhabited)}
        if unclean:
            self._read_link_files(unclean)

    def _respect_rests(self, shards: set[int], now: float) -> None:
        """Let hosts rest as long as their last holder's beat said, counted from now, which is on the safe side."""
        self.fleet.observe(now)  # the last holder wrote a beat before it handed anything over
        for peer in self.fleet.peers.values():
            for host, seconds in peer.last().rests.items():
                if self._may_be_of(host, shards):
                    self._frontier.rest(host, now + seconds)

    # -- chores

    def _work_at_chores(self) -> None:
        until = time.monotonic() + _SLICE_S
        while self._chores and time.monotonic() < until:
            for _ in self._chores[0]:
                if time.monotonic() >= until:
                    break
            else:
                self._chores.popleft()

    def _pass_over_feeds(self, shards: set[int]) -> Iterator[None]:
        for found in self._reader.read_again(shards, self._writer):
            self._add_found(found)
            yield
        if self._reader.damaged:
            self._tree.check_there()
            self._read_instead_of(self._reader.damaged)

    def _add_found(self, found: Found) -> None:
        location = self._frontier.location(found.url)
        if self._frontier.holds(location.shard):
            self._frontier.add(found.url, found.depth, found.referrer, location, found.flags)

    def _refresh(self, record: PageRecord) -> None:
        """Queue a page again if it is older than `refresh_before`."""
        location = self._frontier.location(record.url)
        old = (record.checked_at or record.fetched_at) < self._refresh_before
        if old and self._frontier.holds(location.shard) and self.scope.refuses(record.url) is None:
            self._frontier.add(record.url, record.depth, record.referrer, location, REFRESH)

    def _read_link_files(self, shards: set[int]) -> None:
        hosts = [host for host in sorted(self._stored.hosts) if may_have_pages_of(self._tree, host, shards)]
        self.reseeding += len(hosts)
        self._unsettled.update(shards)
        self._chores.append(self._reseed(hosts, shards))

    def _reseed(self, hosts: list[str], shards: set[int]) -> Iterator[None]:
        """Discover all links of the hosts' records again, and remove temporary files of dead machines."""
        for host in hosts:
            self._tidy_up(self._tree.all_temporaries(host))
            for record in records_of(self._tree, host, shards, self._warn):
                if record is not None:
                    links = record.links_to(nofollow=self._watch.settings.crawl.follow_nofollow)
                    inside = [url for url in links if self.scope.refuses(url) is None]
                    self.discover(inside, record.depth_of_links, record.key)
                    self.discover(record.sitemaps or (), record.depth, record.key, Flags(SITEMAP_PART))
                    self._refresh(record)
                yield
            self.reseeding -= 1
            yield
        self._unsettled.subtract(shards)
        self._unsettled = +self._unsettled

    def _tidy_up(self, temporaries: list[tuple[str, str]]) -> None:
        remove_temporaries_of_the_dead(temporaries, self.fleet, self._tree)

    # -- fencing

    def _fence(self, now: float) -> None:
        if self._heart.age_s() > self._heart.lease_s:
            self._begin_fence()
            self._beating_since = None
        elif self.fenced or self._heart.suspended:
            self._begin_fence()
            self._beating_since = self._beating_since or now
            if now - self._beating_since > self._heart.beat_s:
                self._end_fence(now)

    def _begin_fence(self) -> None:
        if not self.fenced:
            self.fenced = True
            self._warn("no heartbeat could be written for a while; this machine fetches nothing until it can write one")

    def _end_fence(self, now: float) -> None:
        self.fleet.observe(now)
        changes = self.fleet.look_again(now)
        self._lose(changes.lost)
        self._arriving += [(shard, True) for shard in changes.adopted]
        self.fenced = False
        self._beating_since = None
        self._heart.readmit()
        self._warn("heartbeats can be written again; this machine goes on with the shards that it still holds")

    # -- edits

    def _look_for_edits(self, now: float) -> bool:
        edited = self._watch.settings_edited(now)
        seeds = self._watch.new_seeds()
        if not edited and not seeds:
            return False
        scope_before, depth_before = self.scope, self._max_depth
        self._max_depth = self._watch.settings.crawl.max_depth
        self.scope = self._new_scope()
        self.scope_was_edited = True
        self._heart.beat_s = self._watch.settings.fleet.beat
        dead_after_s = self._watch.settings.fleet.dead_after
        self._heart.lease_s = min(self.fleet.dead_after_s, dead_after_s) / 2
        # A shorter time is used in the next run: other machines may not have read it yet, and still beat slowly.
        self.fleet.dead_after_s = max(self.fleet.dead_after_s, dead_after_s)
        self._add_seeds(seeds)
        deeper = depth_before is not None and (self._max_depth is None or self._max_depth > depth_before)
        if deeper or not self.scope.is_within(scope_before):
            self._stored.list_hosts()
            self._read_link_files(set(self.fleet.held))  # links that were outside the scope are inside now
        return True

    def _add_seeds(self, seeds: list[str]) -> None:
        for seed in seeds:
            self._need(self._frontier.location(seed).shard)
            if self._frontier.holds(self._frontier.location(seed).shard):
                self._frontier.add(seed, 0, "")
