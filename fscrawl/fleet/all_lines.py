"""All that the logs of the newest generation say, for a process that only reads: the audit, and `show`.

Promise: nothing is written. Memory is bounded: one block of a log at a time.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from fscrawl.fleet.generations import Generation, Generations
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import Damage, LogReader
from fscrawl.fleet.url_logs import UrlLogs
from fscrawl.store import Tree


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
        self._machine = tree.machine
        self._said = {machine: place for machine, (of, place) in (said or {}).items() if of == number}

    def lines(self, machines: Iterable[str] | None = None) -> Iterator[tuple[str, Line]]:
        """Give all lines of logs, each with its machine. `machines`: only theirs."""
        reader = LogReader(self._logs, self._machine)
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
