"""Checks the small files in `.fscrawl`, and that each name in its directories is one that a machine gives.

Logs are read by `fleet.outside`. Snapshots are only a cache, and are not read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from fscrawl.admin.audit.check import Checked, Checker
from fscrawl.admin.audit.report import Finding
from fscrawl.errors import PlantedError
from fscrawl.fleet.generations import Generations
from fscrawl.storage.layout import (
    FILE_PATTERNS,
    GENERATIONS,
    LEASES,
    LOG,
    ROBOTS,
    RULES,
    SNAP,
    generation_of,
    generation_path,
    log_directory,
    machine_of,
    rules_path,
    snapshot_directory,
    snapshot_of,
)
from fscrawl.store import Tree


class MachineryScan:
    """One pass over `.fscrawl`. `robots`: how many files of robots.txt there are."""

    def __init__(self, tree: Tree, check: Checker, note_odd: Callable[[str, str, str], None]) -> None:
        """`note_odd(directory, name, kind)`: gets names that do not belong there."""
        self.robots = 0
        self._tree = tree
        self._files = tree.files
        self._note_odd = note_odd
        self._checks: dict[str, Callable[[str], Checked]] = {
            ROBOTS: check.robots,
            LEASES: self.lease,
        }

    def checks(self) -> Iterator[Callable[[], Checked]]:
        """Look at all names; give the checks of the files that have to be read."""
        for directory, pattern in FILE_PATTERNS.items():
            for name, kind in self._files.entries(directory):
                if kind != "file" or not pattern.match(name):
                    self._note_odd(directory, name, kind)
                    continue
                self.robots += directory == ROBOTS
                if directory in self._checks:
                    yield partial(self._check, directory, name)
        for name, kind in self._files.entries(GENERATIONS):
            number = generation_of(name) if kind == "directory" else None
            if number is None:
                self._note_odd(GENERATIONS, name, kind)
            else:
                yield from self._checks_of_generation(number)

    def _checks_of_generation(self, number: int) -> Iterator[Callable[[], Checked]]:
        for name, kind in self._files.entries(generation_path(number)):
            if name == RULES and kind == "file":
                yield partial(self._check_rules, number)
            elif kind != "directory" or name not in (LOG, SNAP):
                self._note_odd(generation_path(number), name, kind)
        for directory, of in ((log_directory(number), machine_of), (snapshot_directory(number), snapshot_of)):
            for name, kind in self._files.entries(directory):
                if kind != "file" or of(name) is None:
                    self._note_odd(directory, name, kind)
                elif directory == log_directory(number):
                    yield partial(self.log, f"{directory}/{name}")

    # -- files

    def _check(self, directory: str, name: str) -> Checked:
        try:
            return self._checks[directory](name)
        except PlantedError as error:
            return None, Finding("planted", f"{directory}/{name}", error.what)

    def log(self, path: str) -> Checked:
        """Check that a log can be opened."""
        what = self._files.planted(path)
        return None, Finding("planted", path, what) if what else None

    def _check_rules(self, number: int) -> Checked:
        return self.rules(rules_path(number))

    def rules(self, path: str) -> Checked:
        """Check that a generation has link rules."""
        number = generation_of(path.split("/")[-2])
        is_sound = number is None or Generations(self._files).read(number).links is not None
        return None, None if is_sound or not self._files.exists(path) else Finding("damaged_rules", path)

    def lease(self, name: str) -> Checked:
        """Check that a lease names its holder."""
        path = f"{LEASES}/{name}"
        return None, None if _is_object(self._files.read(path), "holder") else Finding("torn_leases", path)


def _is_object(data: bytes | None, *fields: str) -> bool:
    """Tell whether data is a JSON object with these fields, or was removed meanwhile."""
    if data is None:
        return True
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and all(field in values for field in fields)
