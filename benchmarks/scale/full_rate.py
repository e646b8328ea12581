"""What logs cost at the full rate: one machine's blocks are made by the real writer, and read by the real reader.

The fleets here are slower than real ones, so their blocks are smaller, with shorter heads. So the blocks of one real
machine are made: as many pages as it stores between two looks of the others, with the flushes that it would make.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from benchmarks.scale.machines import TURN_S, Extra
from benchmarks.scale.tally import HEADS, LINES, LOGS, Tally
from benchmarks.scale.web import ZipfWeb
from benchmarks.scale.world import World
from fscrawl.fleet.assignment import assign
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.log_reader import LogReader
from fscrawl.store import Tree

_READERS = 8
_WARM_UP = 3  # blocks, until most links to large hosts were sent
_CALLS_OF_A_LOOK = 3  # a log is opened, asked for its size, and closed; the rest depends on the blocks


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
        readers = _readers(world, names[1 : 1 + _READERS], wanted, writer.ledger.rules.generation)
        for _ in range(_WARM_UP):
            _write(world, writer, 0.0)
            for reader, held in readers:
                _look(reader, writer, held)  # from now on it knows how long heads are
        written, reads = writer.tally.copy(), Tally()
        seconds, blocks = _write(world, writer, max(flush_s, pass_s))
        spent = writer.tally.minus(written)
        head_bytes, line_bytes = spent.written[HEADS], spent.written[LINES]
        world.os.tally = reads
        for reader, held in readers:
            _look(reader, writer, held)
        share = min(pass_s / seconds, 1.0)  # of what was written, in one look
        calls = _CALLS_OF_A_LOOK + (reads.calls[LOGS] / max(len(readers), 1) - _CALLS_OF_A_LOOK) * share
        others = (machines - 1) / seconds / max(len(readers), 1)
        return Look(
            blocks_a_second=blocks / seconds,
            block_bytes=(head_bytes + line_bytes) / max(blocks, 1),
            head_bytes=head_bytes / max(blocks, 1),
            calls_a_look=calls if readers else 0.0,
            calls_a_second=spent.calls[LOGS] / seconds + (machines - 1) / max(pass_s, flush_s) * calls,
            head_bytes_a_second=others * reads.read[HEADS],
            line_bytes_a_second=others * reads.read[LINES],
        )


def _readers(world: World, names: list[str], wanted: list[str], generation: int) -> list[tuple[LogReader, set[int]]]:
    """Make some machines' readers, each with the shards that it holds."""
    return [
        (
            LogReader(UrlLogs(Tree(world.root, name, record=world.record).files, generation)),
            {shard for shard, holder in enumerate(wanted) if holder == name},
        )
        for name in names
    ]


def _look(reader: LogReader, writer: Extra, held: set[int]) -> None:
    for _ in reader.read(writer.name, held, until=writer.ledger.place):
        pass


def _writer(world: World, name: str, wanted: list[str], rate: float) -> Extra:
    """Make the machine that writes, with something to do, and past its first pages."""
    shards = [shard for shard, holder in enumerate(wanted) if holder == name]
    writer = Extra(world, name, rate, shards, world.begin_generation())
    fronts = world.web.front_pages(world.web.hosts)
    writer.begin([url for url in fronts if writer.frontier.location(url).shard in writer.held])
    world.extras.append(writer)
    return writer


def _write(world: World, writer: Extra, least_s: float) -> tuple[float, int]:
    """Let the machine work for so long, up to the end of a flush; give for how long, and how many blocks it wrote."""
    flushes = 0
    place = writer.ledger.place
    began = world.now
    while not flushes or world.now - began < least_s or writer.ledger.place == place:
        place = writer.ledger.place
        world.now += TURN_S
        writer.turn()
        flushes += writer.ledger.place != place
    return world.now - began, flushes
