"""What logs cost at the full rate: one machine's blocks are made by the real writer, and read by the real reader.

The fleets here are slower than real ones, so their blocks are smaller, with shorter heads. So the blocks of one real
machine are made: as many pages as it stores between two looks of the others, with the flushes that it would make.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

from benchmarks.scale.machines import TURN_S, Extra
from benchmarks.scale.tally import HEADS, LINES, LOGS, Tally
from benchmarks.scale.web import ZipfWeb
from benchmarks.scale.world import World
from fscrawl.fleet.assignment import assign
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.rules import Rules
from fscrawl.store import Tree

_READERS = 8
_MOST_BLOCKS = 5


@dataclass
class Look:
    """What logs cost one machine.

    blocks_a_second        that each machine writes
    block_bytes            of one block
    head_bytes             of its head
    calls_a_look           to read what another machine has written since the last look
    calls_a_second         for the own log and for those of all others
    head_bytes_a_second    read, of all others
    line_bytes_a_second    the same for lines
    """

    blocks_a_second: float
    block_bytes: float
    head_bytes: float
    calls_a_look: float
    calls_a_second: float
    head_bytes_a_second: float
    line_bytes_a_second: float

    def facts(self) -> dict[str, float]:
        return asdict(self)


def full_rate_look(
    machines: int, hosts: int, shards: int, rate: float, flush_s: float, pass_s: float, seed: int
) -> Look:
    """Measure it. `flush_s`: between two flushes; `pass_s`: between two looks of another machine."""
    world = World(ZipfWeb(hosts=hosts, seed=seed), shards)
    with world.open():
        world.fleet_size = machines
        names = [world.new_name() for _ in range(machines)]
        wanted = assign(shards, names)
        world.holders.update(enumerate(wanted))
        writer = _writer(world, names[0], wanted, rate)
        begin = writer.ledger.place
        written = writer.tally.copy()
        seconds, blocks = _write(world, writer, flush_s, pass_s)
        spent = writer.tally.minus(written)
        head_bytes, line_bytes = spent.written[HEADS], spent.written[LINES]
        reads = Tally()
        for name in names[1 : 1 + _READERS]:
            reader = LogReader(TreeLogs(Tree(world.root, name, record=world.record)), name)
            reader.begin_at(writer.name, begin)
            world.os.tally = reads
            held = {shard for shard, holder in enumerate(wanted) if holder == name}
            for _ in reader.read(writer.name, held, until=writer.ledger.place):
                pass
        readers = max(len(names[1 : 1 + _READERS]), 1)
        looks_a_second = (machines - 1) / max(seconds, pass_s)  # a look finds all that was written since the last one
        share = seconds / max(seconds, pass_s)
        return Look(
            blocks_a_second=blocks / seconds,
            block_bytes=(head_bytes + line_bytes) / max(blocks, 1),
            head_bytes=head_bytes / max(blocks, 1),
            calls_a_look=reads.calls[LOGS] / readers,
            calls_a_second=spent.calls[LOGS] / seconds + looks_a_second * reads.calls[LOGS] / readers / share,
            head_bytes_a_second=looks_a_second * reads.read[HEADS] / readers / share,
            line_bytes_a_second=looks_a_second * reads.read[LINES] / readers / share,
        )


def _writer(world: World, name: str, wanted: list[str], rate: float) -> Extra:
    """Make the machine that writes, with something to do, and past its first pages."""
    rules = Rules.of(_watched(world), world.record, 0)
    shards = [shard for shard, holder in enumerate(wanted) if holder == name]
    writer = Extra(world, name, rate, shards, rules)
    fronts = world.web.front_pages(world.web.hosts)
    writer.begin([url for url in fronts if writer.frontier.location(url).shard in writer.held])
    world.extras.append(writer)
    return writer


def _watched(world: World) -> Any:
    return SimpleNamespace(settings=world.settings, seeds=world.seeds)


def _write(world: World, writer: Extra, flush_s: float, pass_s: float) -> tuple[float, int]:
    """Let the machine work for one pass, or for a few blocks; give for how long, and how many blocks it wrote."""
    flushes = 0
    place = writer.ledger.place
    began = ended = world.now
    while flushes < 1 or (flushes < _MOST_BLOCKS and world.now - began < max(pass_s, flush_s)):
        world.now += TURN_S
        writer.turn()
        if writer.ledger.place != place:
            flushes += 1
            place, ended = writer.ledger.place, world.now
    return ended - began, flushes
