"""A machine joins a crawl of millions of pages: what does it read beside its share of the links?

The tree is made up, by the real writers. A crawl that has stored P pages knows 2 P URLs: P are told, P wait. Snapshots
have three quarters of that, as they do in the mean; the rest stands in the logs, in blocks as large as real ones.
Blocks are made once for each log and then repeated, since only their sizes count here. Only the newcomer's shards get
snapshots.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.scale.machines import Extra, Machine
from benchmarks.scale.tally import HEADS, LINES, SNAPSHOTS
from benchmarks.scale.web import ZipfWeb
from benchmarks.scale.world import World
from fscrawl import urls
from fscrawl.fleet import snapshots
from fscrawl.fleet.assignment import assign
from fscrawl.fleet.lines import Found, Line, Surveyed, Told, encode_block, format_line
from fscrawl.fleet.snapshot_file import SnapshotHead

_MACHINES = 100
_SHARDS = 512
_SINCE = 0.25  # of all lines: those since the last snapshot
_BLOCK_BYTES = 900_000
_LONGEST_S = 600.0


@dataclass
class LargeJoin:
    """What a newcomer has read until it was complete.

    share_bytes      of all lines that were ever written of its shards
    needed_bytes     the least that it must read: its snapshots, and its lines since then
    read, calls      by kind
    measured         False: extrapolated
    """

    pages: int
    machines: int
    shards: int
    share_bytes: float
    needed_bytes: float
    read: dict[str, float]
    calls: dict[str, float]
    cpu_s: float
    seconds: float
    known: int
    measured: bool = True

    @property
    def beside(self) -> float:
        """What it has read, divided by its share of the links."""
        return sum(self.read.values()) / self.share_bytes


def large_join(pages: int, seed: int) -> LargeJoin:
    """Measure one join."""
    world = World(ZipfWeb(seed=seed), _SHARDS, seeds=1)
    with world.open():
        names = [world.new_name() for _ in range(_MACHINES)]
        newcomer_name = world.new_name()
        wanted = assign(_SHARDS, frozenset({*names, newcomer_name}))
        share = {shard for shard, name in enumerate(wanted) if name == newcomer_name}
        tree = _Made(pages)
        log_bytes = _make(world, names, tree, share)
        newcomer = world.join(0.0, newcomer_name)
        world.run(30.0)
        for extra in world.extras:
            lost = {shard: wanted[shard] for shard in extra.held if wanted[shard] != extra.name}
            if lost:
                extra.act(lambda extra=extra, lost=lost: extra.hand_over(lost))  # type: ignore[misc]
        seconds = 30.0 + world.run(_LONGEST_S, lambda: newcomer.held >= share and newcomer.is_complete)
        assert newcomer.held >= share, world.warnings
        return _result(newcomer, pages, share, tree, log_bytes, seconds)


def _result(newcomer: Machine, pages: int, share: set[int], tree: _Made, log_bytes: float, seconds: float) -> LargeJoin:
    read, calls = newcomer.tally.read, newcomer.tally.calls
    return LargeJoin(
        pages=pages,
        machines=_MACHINES,
        shards=len(share),
        share_bytes=tree.line_bytes + log_bytes,
        needed_bytes=read[SNAPSHOTS] + log_bytes,
        read=dict(read),
        calls=dict(calls),
        cpu_s=newcomer.cpu_s,
        seconds=seconds,
        known=newcomer.frontier.known,
    )


def extrapolated(small: LargeJoin, large: LargeJoin, pages: int) -> LargeJoin:
    """Give what is to be expected with more pages: snapshots and logs grow with them, nothing else does."""
    factor = pages / large.pages
    grows = (SNAPSHOTS, HEADS, LINES)
    return LargeJoin(
        pages=pages,
        machines=large.machines,
        shards=large.shards,
        share_bytes=large.share_bytes * factor,
        needed_bytes=large.needed_bytes * factor,
        read={kind: count * (factor if kind in grows else 1) for kind, count in large.read.items()},
        calls={
            kind: count + (count - small.calls.get(kind, 0)) * (factor - 1) / (1 - small.pages / large.pages)
            for kind, count in large.calls.items()
        },
        cpu_s=large.cpu_s * factor,
        seconds=large.seconds,
        known=int(large.known * factor),
        measured=False,
    )


class _Made:
    """The lines of a made-up tree. `line_bytes`: of those that were put into snapshots."""

    def __init__(self, pages: int) -> None:
        self.line_bytes = 0
        self.pages = pages
        self._hosts: dict[int, list[str]] = {}
        for number in range(10 * _SHARDS):
            host = f"www.site-{number}.example"
            self._hosts.setdefault(urls.shard(host, _SHARDS), []).append(host)

    def url(self, shard: int, number: int) -> str:
        hosts = self._hosts[shard]
        return f"http://{hosts[number % len(hosts)]}/articles/2024/page-{number}.html"

    def lines(self, shard: int, begin: int, end: int) -> Iterator[Line]:
        """Give the lines that some stored pages have left in a shard: its own, and one URL that waits."""
        referrer = urls.key(self.url(shard, begin))
        for number in range(begin, end):
            url = self.url(shard, number)
            yield Found(shard, 5, referrer, url)
            yield Found(shard, 6, referrer, self.url(shard, self.pages + number))
            yield Told(shard, urls.key(url), 5)

    def counted(self, lines: Iterator[Line]) -> Iterator[Line]:
        for line in lines:
            self.line_bytes += len(format_line(line))
            yield line


def _make(world: World, names: list[str], tree: _Made, share: set[int]) -> float:
    """Make leases, heartbeats, logs and snapshots; give the bytes of the share's lines in the logs."""
    rules = world.begin_generation()
    wanted = assign(_SHARDS, frozenset(names))
    world.holders.update(enumerate(wanted))
    for name in names:
        held = [shard for shard, holder in enumerate(wanted) if holder == name]
        world.extras.append(Extra(world, name, 0.0, held, rules))
    at = {extra.name: extra.ledger.place for extra in world.extras}
    a_shard = tree.pages // _SHARDS
    in_snapshots = int(a_shard * (1 - _SINCE))
    for shard in sorted(share):
        lines = tree.counted(tree.lines(shard, 0, in_snapshots))
        head = SnapshotHead(rules.generation, shard, 1, 1, rules.links.is_deep, at=at)
        snapshots.write(world.extras[0].tree.files, None, itertools.chain(lines, [Surveyed(shard)]), head)
    log_bytes = 0.0
    for index, extra in enumerate(world.extras):
        log_bytes += _write_log(extra, tree, share, in_snapshots, index, (a_shard - in_snapshots) / len(names))
        extra.act(extra.heart.beat)
        world.start(extra)
    return log_bytes


def _write_log(extra: Extra, tree: _Made, share: set[int], first: int, index: int, pages_a_shard: float) -> float:
    """Write the log of one machine, block by block; give the bytes of the share's lines."""
    least = max(round(_BLOCK_BYTES / _SHARDS / 290), 1)  # pages of a shard in a block; a page leaves some 290 bytes
    most = max(round(pages_a_shard), 1)
    begin = first + index * most
    by_shard = {
        shard: [format_line(line) for line in tree.lines(shard, begin, begin + min(least, most))]
        for shard in range(_SHARDS)
    }
    foreign = {shard: lines for shard, lines in by_shard.items() if shard not in extra.held}
    own = {shard: lines for shard, lines in by_shard.items() if shard in extra.held}
    block = encode_block(foreign, own, extra.world.holders.__getitem__)
    count = max(round(pages_a_shard / min(least, most)), 1)
    writer = extra.ledger._writer  # noqa: SLF001
    for _ in range(count):
        writer._block = block  # noqa: SLF001
        writer._write()  # noqa: SLF001
    return count * sum(len(line) for shard in share for line in by_shard[shard])
