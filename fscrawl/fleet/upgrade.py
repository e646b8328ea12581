"""A tree of format 1 is brought to format 2 by the first machine that continues its crawl.

    1. its record is replaced, so that no machine of format 1 can join any more (`storage.upgrading`)
    2. the machines of format 1 that are running must end: they know nothing of the logs of format 2. They have as long
       as a machine may be silent until it counts as dead. One that is still there then must be stopped by a person
    3. of the old feeds, the failures that a person has asked to try again are put into a log
    4. the mark `.fscrawl/upgraded` is made

Until the mark is there, each machine that starts does 2 to 4 again; what is said twice does no harm. All else that the
feeds said is in the records of the pages. Nobody has surveyed a shard in format 2, so each is read from its records.

Promise: any number of machines may do this at once, and any of them may be killed at any step. No machine works in
format 2 while one of format 1 is certainly running.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fscrawl.errors import TreeError
from fscrawl.fleet.beat import Goodbye, Hello, parse_lines
from fscrawl.fleet.command_log import write_command_log
from fscrawl.fleet.format1 import retries
from fscrawl.fleet.heartbeat import is_gone, is_gone_by_name, new_machine_id, runs_here
from fscrawl.fleet.logs import Logs
from fscrawl.storage.layout import NEXT_TREE_RECORD, UPGRADED
from fscrawl.storage.records import FORMAT
from fscrawl.store import Tree, upgrade_record
from fscrawl.util.installed import command

_GLANCE_S = 1.0
_HELLO_BYTES = 4096
_END_BYTES = 1 << 16  # the last lines are in there


def upgraded(
    tree: Tree,
    dead_after_s: float,
    warn: Callable[[str], None],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Tree:
    """Give the tree in format 2, brought to it if need be. TreeError if a machine of format 1 is still running."""
    if tree.record.format < FORMAT:
        record = upgrade_record(tree.root, tree.machine, tree.record)
        tree = Tree(tree.root, tree.machine, fsync=tree.files.fsync, retrying=tree.files.retrying, record=record)
    mark = f"{tree.record.machinery}\n".encode()
    if tree.files.read_or_torn(UPGRADED) == mark or not tree.files.exists(NEXT_TREE_RECORD):
        return tree
    _await_old_machines(tree, dead_after_s, warn, clock, sleep)
    lines = (found for found in retries(tree.files) if 0 <= found.shard < tree.record.shards)
    write_command_log(Tree(tree.root, new_machine_id(), record=tree.record), lines)
    tree.files.publish(UPGRADED, mark)
    return tree


def check_format(tree: Tree) -> None:
    """TreeError if a command cannot write for the machines, because the tree must be brought to format 2 first."""
    if tree.record.format < FORMAT:
        raise TreeError(
            f"{tree.root}: the tree has format {tree.record.format}; to bring it to format {FORMAT}, first run "
            f" {command('crawl', tree.root)}"
        )


def _await_old_machines(
    tree: Tree,
    dead_after_s: float,
    warn: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    old = OldMachines(Logs(tree))
    until = clock() + dead_after_s
    old.look()
    if old.doubtful:
        names = ", ".join(sorted(old.doubtful))
        warn(f"waiting {dead_after_s:g} s for machines of an older fscrawl, which may still be running: {names}")
    while old.doubtful and (left_s := until - clock()) > 0:
        sleep(min(left_s, _GLANCE_S))
        old.look()
    if old.running:
        name = min(old.running)
        raise TreeError(
            f"{tree.root}: the machine {name} of an older fscrawl is still running in this tree; stop it"
            " (Ctrl-C there), then run the same command again"
        )


@dataclass
class _OldMachine:
    """size: of its log at the last look; grown: its log has grown since the first look."""

    size: int
    greeting: Hello | None = None
    grown: bool = False


class OldMachines:
    """The machines of format 1 that have a heartbeat log, and have not ended for certain."""

    def __init__(self, logs: Logs, gone: Callable[[Hello], bool] = is_gone) -> None:
        self._logs = logs
        self._gone = gone
        self._machines: dict[str, _OldMachine] = {}
        self._settled: set[str] = set()  # they have ended, or are of format 2

    @property
    def doubtful(self) -> frozenset[str]:
        """Machines that may be running."""
        return frozenset(self._machines)

    @property
    def running(self) -> frozenset[str]:
        """Machines that are certainly running: the log grows, or the process is here."""
        return frozenset(name for name, old in self._machines.items() if old.grown or runs_here(old.greeting))

    def look(self) -> None:
        """Look at the logs of all machines that may be running."""
        for name in {*self._logs.machines(), *self._machines} - self._settled:
            size = self._logs.heartbeats_size(name)
            old = self._machines.setdefault(name, _OldMachine(size))
            old.grown = old.grown or size > old.size
            old.size = size
            if self._is_settled(name, old):
                self._settled.add(name)
                del self._machines[name]

    def _is_settled(self, name: str, old: _OldMachine) -> bool:
        if old.greeting is None:
            first = next(parse_lines(self._logs.read_heartbeats(name, 0, _HELLO_BYTES)), None)
            old.greeting = first if isinstance(first, Hello) else None
        if old.greeting is None:
            return is_gone_by_name(name) or self._has_left(name, old)
        return old.greeting.format >= FORMAT or self._gone(old.greeting) or self._has_left(name, old)

    def _has_left(self, name: str, old: _OldMachine) -> bool:
        lines = list(parse_lines(self._logs.read_heartbeats(name, max(old.size - _END_BYTES, 0))))
        return bool(lines) and isinstance(lines[-1], Goodbye)
