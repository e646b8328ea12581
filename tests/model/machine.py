"""One machine: what it knows and holds. What it does stands in the other modules, as functions of a machine."""

from __future__ import annotations

from dataclasses import dataclass

from tests.model.fold import Fold
from tests.model.lines import Config, Line, Place, Term, shard_of
from tests.model.share import Beat, Generation, Log
from tests.model.world import World


@dataclass
class Task:
    """A request that is under way. `term`: by which its worker filters; `again`: the retries that it answers."""

    url: int
    depth: int
    term: Term
    again: tuple[int, ...] = ()
    refresh: bool = False


@dataclass
class Result:
    """What is stored and not told yet."""

    url: int
    depth: int
    term: Term
    links: tuple[int, ...]
    again: tuple[int, ...] = ()
    failed_at: int | None = None


class Machine:
    """Alive until it crashes, `done` when it has left. It may stand still (`paused`) while its permit runs out."""

    def __init__(self, world: World, *, refresh: int = -1) -> None:
        self.world = world
        self.alive, self.paused, self.done, self.gone = True, False, False, False
        self.refresh = refresh  # the command's --refresh-before
        self.rests: dict[int, int] = {}  # host → until when, by this machine's clock
        self.late: list[Task] = []
        self.append_fault = ""
        self._reset()

    def _reset(self) -> None:
        world = self.world
        world.names += 1
        self.name = f"m{world.names}"
        self.share = world.share
        self.joined_at = world.now
        self.permit, self.fenced, self.beaten_again, self.is_new = True, False, False, True
        self.config: Config = world.config
        self.config_at = world.now
        self.generation: Generation | None = self.share.newest_generation()
        self.refresh_before = max((each.refresh for each in self.share.generations), default=-1)
        # what it says
        self.log = self.share.logs[self.name] = Log(world.now)
        self.counted: Place = (0, 0)  # the size of its log as it counts it
        self.beats = [Beat(world.now)]  # hello
        self.share.beats[self.name] = self.beats
        self.beaten = 1
        self.buffer: list[tuple[bool, Line]] = []
        self.sent: dict[int, int] = {}
        self.in_snapshots: dict[str, Place] = {}  # how far the snapshots go that it has read
        # what it hears
        self.places: dict[str, Place] = {}
        self.owed: dict[str, Place] = {}  # how far it must come, as others had come so far
        self.suspects: dict[tuple[object, str], int] = {}  # a cut, as seen by whom → since when it is seen
        self.believed: set[tuple[str, Place]] = set()  # cuts that were waited for
        self.needed: set[int] = set()
        # what it holds
        self.held: dict[int, int] = {}
        self.folds: dict[int, Fold] = {}
        self.seen: dict[int, int] = dict.fromkeys(world.shards(), 0)
        self.holder: dict[int, str] = {}
        self.thinks_dead: set[str] = set()
        self.taken_at: dict[int, int] = {}
        self.arriving: set[int] = set()  # not put together yet, or not any more
        self.releasing: dict[int, str] = {}
        self.listed: dict[int, tuple[int, set[int]]] = {}
        self.surveys: dict[int, list[int] | None] = {}  # None: not listed yet
        # what it does
        self.in_flight: dict[int, Task] = {}
        self.says_retries: list[tuple[int, int]] = []  # of format 1, until they are flushed
        self.results: list[Result] = []
        self.given_back: set[int] = set()

    def note(self, text: str) -> None:
        self.world.note(f"{self.name} {text}")

    def without(self, rule: str) -> bool:
        return rule in self.world.without

    # -- states

    def is_up(self) -> bool:
        return self.alive and not self.paused and not self.done

    def may_go_on(self) -> bool:
        return self.is_up() and self.permit and not self.fenced

    def may_change_leases(self) -> bool:
        return self.may_go_on() and self.share is self.world.share and not self.is_new

    @property
    def term(self) -> Term:
        generation = self.generation
        if generation is None:
            return Term(self.config.wide, self.config.max_depth, 0)
        mark = generation.number if self.without("generation_nonce") else generation.mark
        return Term(self.config.wide, self.config.max_depth, mark)

    @property
    def number(self) -> int:
        return self.generation.number if self.generation else 0

    def active(self, shard: int) -> Fold | None:
        """Give the fold of a shard that is put together."""
        return None if shard in self.arriving else self.folds.get(shard)

    def is_busy_with(self, shard: int) -> bool:
        return any(shard_of(u) == shard for u in self.in_flight) or any(shard_of(r.url) == shard for r in self.results)

    # -- shards

    def hold(self, shard: int, epoch: int) -> None:
        self.held[shard] = epoch
        self.retake(shard)

    def retake(self, shard: int) -> None:
        """Let a shard go in the frontier; `taking.arrive` puts it together anew."""
        self.arriving.add(shard)

    def drop(self, shard: int) -> None:
        """Let a shard go that another machine holds: what is in flight is given back."""
        for url in [url for url in self.in_flight if shard_of(url) == shard]:
            self.world.accounts.excused[url] += 1
            del self.in_flight[url]
        for each in (self.held, self.folds, self.releasing, self.listed, self.surveys, self.taken_at):
            each.pop(shard, None)
        self.arriving.discard(shard)
        self.suspects = {key: since for key, since in self.suspects.items() if key[0] != shard}

    # -- identity

    def is_gone(self) -> bool:
        """GONE: `.fscrawl` is not the one that it joined, or its own logs are not as it left them."""
        if self.world.share.machinery != self.share.machinery:
            return not self.without("machinery_is_looked_at")
        return self.is_stale() and not self.without("own_log_is_looked_at")

    def is_stale(self) -> bool:
        """Return whether it works by a `.fscrawl` that is not there any more, whether it knows it or not."""
        share, name = self.world.share, self.name
        same = share is self.share and share.logs.get(name) is self.log and share.beats.get(name) is self.beats
        return not same or self.log.size() != self.counted or len(self.beats) != self.beaten

    def rejoin(self) -> None:
        """End this run, and join under a new name. It never touches the old leases."""
        self.note("gone")
        if self.world.share.machinery == self.share.machinery and not self.without("gone_makes_generation"):
            self.advance()
        self.excuse()
        self._reset()
        self.gone = True

    def excuse(self) -> None:
        """Excuse what a fault costs: repeats of what is in flight, rests that no beat has told of."""
        accounts = self.world.accounts
        for url in self.in_flight:
            accounts.excused[url] += 1
            accounts.over_limit[shard_of(url)] += 1
        told = self.beats[-1].rests if self.beats else {}
        for shard in self.held:
            if self.rests.get(shard, 0) > self.world.now and shard not in told:
                accounts.rest_until[shard] = 0

    def advance(self, *, refresh: int = -1, cut: tuple[str, Place] | None = None) -> None:
        """Make the next generation after the newest by listing and by name. That it is there already is as good."""
        world, share = self.world, self.world.share
        newest = share.newest_generation()
        world.marks += 1
        share.generations.append(
            Generation(newest.number + 1 if newest else 1, 1000 + world.marks, world.now, refresh, cut)
        )
        world.accounts.restored = False
        self.note(f"generation {share.generations[-1]}")
