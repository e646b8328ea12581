"""Generations: each is a directory with its own link rules, and the logs in it count without condition.

    .fscrawl/generations/<g>/rules.json    its link rules, and why it was made; made by link(), and never changed
    .fscrawl/generations/<g>/log/<m>.log   what machines say in it (`log_writer`, `log_reader`)
    .fscrawl/generations/<g>/snap/…        a cache of that (`snapshots`)

Machines work in the newest generation. Whoever needs other rules, or has found that something is missing in a log,
begins the next one. Then every page is told once more, from its record. No fetch is made for that. Any answer of the
tree may be out of date.

Promise: generations are only added, and old ones are removed as a whole. When `begin_next` returns, there is a
generation that was made after the call began, by whichever machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec

from fscrawl.fleet.rules import LinkRules
from fscrawl.storage.block_log import LogEnd, LogView
from fscrawl.storage.layout import (
    GENERATIONS,
    generation_of,
    generation_path,
    log_directory,
    log_path,
    machine_of,
    rules_path,
    snapshot_directory,
)
from fscrawl.store import TreeFiles


class Generation(NamedTuple):
    """What is known of a generation.

    links            its link rules; None: its file is torn or damaged
    refresh_before   pages that were last fetched or checked before this time (RFC 3339) are fetched again; "": none
    reason           why it was made, for people
    """

    number: int
    links: LinkRules | None
    refresh_before: str = ""
    reason: str = ""

    def covers(self, wanted: LinkRules) -> bool:
        """Tell whether its link rules are known, and cover those that are wanted."""
        return self.links is not None and self.links.covers(wanted)


class _File(msgspec.Struct, frozen=True):
    """What rules.json says. `by`, `nonce`: of the machine that made it."""

    links: LinkRules
    refresh_before: str
    reason: str
    by: str
    nonce: str


_DECODER = msgspec.json.Decoder(_File)


class Generations:
    """One process's view of the generations of a tree."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files
        self._newest = 0
        self._read: dict[int, Generation] = {}

    def newest(self) -> Generation | None:
        """Look for the newest generation; None if there is none. A listing may be old, and so may be a look by name."""
        if listed := max(self.numbers(), default=0):
            self._newest = max(self._newest, listed)
        while self._files.exists(rules_path(self._newest + 1)):
            self._newest += 1
        return self.read(self._newest) if self._newest else None

    def numbers(self) -> list[int]:
        """List the generations, in order. A directory without rules is none: whoever was making it may have died."""
        numbers = sorted(n for name in self._files.names(GENERATIONS) if (n := generation_of(name)) is not None)
        while numbers and numbers[-1] > self._newest and not self._files.exists(rules_path(numbers[-1])):
            numbers.pop()
        return numbers

    def read(self, number: int) -> Generation:
        """Read what a generation says."""
        if number not in self._read:
            try:
                said = _DECODER.decode(self._files.read_or_torn(rules_path(number)) or b"")
                said.links.scope()  # ValueError: an expression is none
            except (msgspec.DecodeError, ValueError, RecursionError):
                return Generation(number, None)
            before = said.refresh_before if _is_time(said.refresh_before) else ""
            self._read[number] = Generation(number, said.links, before, said.reason)
        return self._read[number]

    def begin_next(self, links: LinkRules, refresh_before: str, reason: str) -> Generation:
        """Begin the generation after the newest; give it, or the one that another machine has just begun."""
        self.newest()
        number = self._newest + 1
        for directory in (generation_path(number), log_directory(number), snapshot_directory(number)):
            self._files.make_directory_alone(directory, fsync=True)
        said = _File(links, refresh_before, reason, self._files.machine, os.urandom(8).hex())
        # It outlives a power loss, as what is flushed to logs in it does.
        self._files.claim(rules_path(number), msgspec.json.encode(said, order="deterministic") + b"\n", fsync=True)
        self._newest = number
        return self.read(number)

    def remove_before(self, present: int) -> None:
        """Remove all older generations. If that is interrupted, the next call goes on: the rules of each go last."""
        for number in self.numbers():
            if number >= present:
                return
            for directory in (log_directory(number), snapshot_directory(number)):
                for name in self._files.names(directory):
                    self._files.remove(f"{directory}/{name}")
                self._files.remove_empty_directory(directory)
            self._files.remove(rules_path(number))
            self._files.remove_empty_directory(generation_path(number))


def seconds_between(one: str, other: str) -> float:
    """Give the seconds from one time (RFC 3339) to another."""
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


T = TypeVar("T")


class UrlLogs:
    """Raises TreeError, where nothing else is said. `generation`: 0 has no logs."""

    def __init__(self, files: TreeFiles, generation: int) -> None:
        self.generation = generation
        self._files = files

    def machines(self) -> list[str]:
        """List the machines that have a log."""
        names = self._files.names(log_directory(self.generation)) if self.generation else []
        return sorted(machine for name in names if (machine := machine_of(name)) is not None)

    def path(self, machine: str) -> str:
        return log_path(self.generation, machine)

    def size(self, machine: str) -> int | None:
        """Give the size of a log by its name; None if it is missing."""
        return self._files.size_if_there(self.path(machine))

    def open_view(self, machine: str) -> LogView | None:
        """Open a log for reading; None if it is missing."""
        return self._files.log_view(self.path(machine))

    def open_end(self, machine: str) -> LogEnd:
        """Open a log for writing; it is made if it is missing, and its name is durable. Raises OSError."""
        return self._files.log_end(self.path(machine))

    def remove(self, machine: str) -> None:
        """Remove a log in which nothing was said."""
        self._files.remove(self.path(machine))

    def retry(self, machine: str, call: Callable[[], T]) -> T:
        """Make a call that raises OSError again and again, within the limits of the tree."""
        return self._files.retrying(self._files.absolute(self.path(machine)), call)
