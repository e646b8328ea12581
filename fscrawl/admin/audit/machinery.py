"""Checks the small files in `.fscrawl`, and that each name in its directories is one that a machine gives.

Logs and snapshots are read by `fleet.all_lines`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from fscrawl.admin.audit.check import Checked, Checker
from fscrawl.admin.audit.report import Finding
from fscrawl.errors import PlantedError
from fscrawl.fleet.terms import Term
from fscrawl.storage.layout import (
    AGAIN,
    FILE_PATTERNS,
    LEASES,
    LOG,
    ROBOTS,
    TERMS,
    is_machine,
    log_directory,
    log_segment_of,
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
            TERMS: self.rules,
            AGAIN: self.generation,
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
        yield from self._checks_of_logs()

    def _checks_of_logs(self) -> Iterator[Callable[[], Checked]]:
        for machine, kind in self._files.entries(LOG):
            if kind != "directory" or not is_machine(machine):
                self._note_odd(LOG, machine, kind)
                continue
            for name, of_segment in self._files.entries(log_directory(machine)):
                if of_segment != "file" or log_segment_of(name) is None:
                    self._note_odd(log_directory(machine), name, of_segment)
                else:
                    yield partial(self.segment, f"{log_directory(machine)}/{name}")

    # -- files

    def _check(self, directory: str, name: str) -> Checked:
        try:
            return self._checks[directory](name)
        except PlantedError as error:
            return None, Finding("planted", f"{directory}/{name}", error.what)

    def segment(self, path: str) -> Checked:
        """Check that a segment of a log can be opened."""
        what = self._files.planted(path)
        return None, Finding("planted", path, what) if what else None

    def rules(self, name: str) -> Checked:
        """Check that a file of rules holds those that its name says."""
        path = f"{TERMS}/{name}"
        data = self._files.read(path)
        try:
            if data is None or Term.from_json(data).digest == name.removesuffix(".json"):
                return None, None
        except ValueError as error:
            return None, Finding("damaged_rules", path, str(error))
        return None, Finding("damaged_rules", path, "it holds other rules than its name says")

    def generation(self, name: str) -> Checked:
        """Check that a generation says why it was made."""
        path = f"{AGAIN}/{name}"
        return None, None if _is_object(self._files.read(path)) else Finding("damaged_generations", path)

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
