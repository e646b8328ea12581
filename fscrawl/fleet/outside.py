"""For processes that take no part in the crawl: they read what all logs of the newest generation say (the audit,
`show`), or say something of URLs by a log of their own (`retry`, a repair).

The heartbeat log of such a log is written last, with hello and goodbye at once, and names the end of the log. So other
machines read the log, and never take the command for a machine that is there to work.

Promise: who reads writes nothing, and has one block of a log at a time in memory. Lines that were flushed count, also
if the command fails later.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from fscrawl import interrupts
from fscrawl.fleet.beat import command_log
from fscrawl.fleet.generations import Generation, Generations, UrlLogs
from fscrawl.fleet.heartbeat import hello
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import Damage, LogReader
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.machinery import Machinery
from fscrawl.store import Tree

_FLUSH_EVERY_BYTES = 1 << 20


class AllLines:
    """Reads what there is now.

    generation   the newest one; None if there is none
    damaged      by machine, logs that hold less than they should, or cannot be read to the end of that
    """

    def __init__(
        self,
        tree: Tree,
        shards: Container[int] | None = None,
        said: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        """`shards`: only what is said of these; None: of all. `said`: by machine, its generation and the bytes of its
        log, by its beats.
        """
        self.generation: Generation | None = Generations(tree.files).newest()
        self.damaged: dict[str, Damage] = {}
        self._shards = range(tree.record.shards) if shards is None else shards
        number = 0 if self.generation is None else self.generation.number
        self._logs = UrlLogs(tree.files, number)
        self._said = {machine: place for machine, (of, place) in (said or {}).items() if of == number}

    def lines(self, machines: Iterable[str] | None = None) -> Iterator[tuple[str, Line]]:
        """Give all lines of logs, each with its machine. `machines`: only theirs."""
        reader = LogReader(self._logs)
        for machine in sorted({*self._logs.machines(), *self._said} if machines is None else machines):
            for line in reader.read(machine, self._shards):
                yield machine, line
            said = self._said.get(machine, 0)
            place = reader.places.get(machine, 0)
            if said and place >= said:  # what stands behind it was being written when its machine was killed
                reader.damaged.pop(machine, None)
            elif place < said and machine not in reader.damaged:
                reader.damaged[machine] = Damage(self._logs.path(machine), place, said)
        self.damaged = dict(reader.damaged)


def write_command_log(tree: Tree, lines: Iterable[Line]) -> int:
    """Write lines into a log of their own in the newest generation, and sign it; return their number.

    Without any, nothing is written; so it is without a generation: the first machine finds all in the records.
    `tree`: opened under a machine id that has no log yet. TreeError if it cannot be written: then what was written so
    far counts nevertheless.
    """
    newest = Generations(tree.files).newest()
    generation = 0 if newest is None else newest.number
    writer = LogWriter(UrlLogs(tree.files, generation), tree.machine)
    written = 0
    try:
        for line in lines:
            if not generation:
                continue
            written += writer.add(line, own=False)
            if writer.unflushed_bytes >= _FLUSH_EVERY_BYTES:
                writer.flush()
        writer.flush()
    finally:
        with interrupts.later():  # an empty heartbeat log would be one of a machine that has not said hello yet
            writer.close()
            if written:
                log = Machinery(tree).heartbeat_log()
                log.append(command_log(hello(tree.machine), generation, writer.place))
                log.close()
    return written
