"""Compares files of the tree with what they should be: of pages, of failures, and the small files in `.fscrawl`.

Logs are read by `fleet.all_lines`. Snapshots are only a cache, and are not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from functools import partial

import msgspec

from fscrawl import urls
from fscrawl.admin.audit.report import Finding
from fscrawl.errors import PlantedError, RecordError
from fscrawl.fleet.generations import Generations
from fscrawl.request import is_normal, shown
from fscrawl.storage import flaws
from fscrawl.storage.layout import (
    ERRS,
    FILE_PATTERNS,
    GENERATIONS,
    LEASES,
    LINKS,
    LOG,
    ROBOTS,
    RULES,
    SNAP,
    generation_of,
    generation_path,
    is_key,
    log_directory,
    machine_of,
    rules_path,
    snapshot_directory,
    snapshot_of,
)
from fscrawl.storage.records import ErrorRecord, PageRecord, RobotsRecord
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of

Checked = tuple[PageRecord | None, Finding | None]


class Checker:
    """Reads and checks files. May be called from any number of threads."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def page(self, host: str, key: str, bodies: Collection[str] | None = None) -> Checked:
        """Check a record and its body. If they seem wrong, they are read again: they may just have been replaced.

        `bodies`: the paths of those that were listed; None: list them.
        """
        record, finding = self._page(host, key, bodies)
        if finding is None:
            return record, None
        return self._page(host, key, None if bodies is None else list(filter(self._tree.files.exists, bodies)))

    def _page(self, host: str, key: str, bodies: Collection[str] | None) -> Checked:
        path = self._tree.tree_path(LINKS, host, key)
        try:
            data = self._tree.files.read(path)
        except PlantedError as error:
            return None, _planted(path, error, host, key)
        if data is None:
            return None, None  # removed meanwhile
        try:
            record = PageRecord.from_json(data)
        except RecordError as error:
            return None, Finding("torn_records", path, str(error), host, key)
        if finding := _flaw(record, path, host, key, "misplaced_records", "torn_records"):
            return record, finding
        expected = self._tree.bodies_of(host, record)
        found = (self._body(record, path, expected[path], host, key) for path in expected)
        finding = next(filter(None, found), None)
        if finding is None:  # else all bodies go with the page
            there = self._tree.bodies(host, key) if bodies is None else bodies
            others = sorted(path for path in there if path not in expected)
            finding = Finding("unexpected_bodies", others[0], "", host, key) if others else None
        return record, finding

    def _body(self, record: PageRecord, path: str, recorded: tuple[int, str], host: str, key: str) -> Finding | None:
        """Compare a body with what its record says: bytes and SHA-256.

        Of one that is longer nothing is read: it may be as long as a disk.
        """
        size, sha256 = recorded
        again = (host, key, *_to_fetch(record))
        try:
            body = self._tree.files.read(path, max(size, 0))
        except PlantedError as error:
            if error.denied:
                return _planted(path, error)
            there = self._tree.files.size_if_there(path)
            how = error.what if there is None else f"{number_of(there, 'byte')}, but the record says {size}"
            return Finding("damaged_bodies", path, how, *again)
        if body is None:
            return Finding("missing_bodies", self._tree.tree_path(LINKS, host, key), shown(record.url), *again)
        if len(body) != size:
            return Finding(
                "damaged_bodies", path, f"{number_of(len(body), 'byte')}, but the record says {size}", *again
            )
        if sha256 and hashlib.sha256(body).hexdigest() != sha256:
            return Finding("damaged_bodies", path, "its SHA-256 differs from the record", *again)
        return None

    def record(self, host: str, key: str) -> PageRecord | None:
        """Read a record without its body; None if it cannot be read."""
        try:
            return PageRecord.from_json(self._tree.files.read(self._tree.tree_path(LINKS, host, key)) or b"")
        except RecordError:
            return None

    def error(self, host: str, key: str) -> Checked:
        """Check a failure."""
        path = self._tree.tree_path(ERRS, host, key)
        try:
            data = self._tree.files.read(path)
        except PlantedError as error:
            return None, _planted(path, error, host, key)
        if data is None:
            return None, None  # stored meanwhile
        try:
            record = ErrorRecord.from_json(data)
        except RecordError as error:
            return None, Finding("damaged_errors", path, str(error), host, key)
        return None, _flaw(record, path, host, key, "damaged_errors", "damaged_errors")

    def is_there(self, url: str) -> bool:
        """Ask by name whether a URL is stored or failed."""
        host, key = urls.host(url), urls.key(url)
        return self._tree.is_done(host, key) or self._tree.files.is_file(self._tree.tree_path(ERRS, host, key))


def _flaw(
    record: PageRecord | ErrorRecord, path: str, host: str, key: str, misplaced: str, wrong: str
) -> Finding | None:
    """Give the finding for a record that can be read. `misplaced`, `wrong`: its kind, if it is that."""
    again = (host, key, *_to_fetch(record))
    if flaw := flaws.misplaced(record, host, key):
        return Finding(misplaced, path, flaw, *again)
    if flaw := flaws.wrong_time(record):
        return Finding(wrong, path, flaw, *again)
    if flaw := flaws.not_normal(record):
        return Finding("not_normal", path, flaw)
    return None


def _planted(path: str, error: PlantedError, host: str = "", key: str = "") -> Finding:
    """Give the finding for what is no file. A repair leaves what may not be read: so it is named without its page."""
    return Finding("planted", path, error.what, *(("", "") if error.denied else (host, key)))


def _to_fetch(record: PageRecord | ErrorRecord) -> tuple[str, int, str]:
    """Return a record's URL, depth and referrer for a log; no URL if no crawl asks for it."""
    if not is_normal(record.url):
        return "", 0, ""
    return record.url, record.depth, record.referrer if is_key(record.referrer) else ""


class MachineryScan:
    """One pass over `.fscrawl`. `robots`: how many files of robots.txt there are."""

    def __init__(self, tree: Tree, note_odd: Callable[[str, str, str], None]) -> None:
        """`note_odd(directory, name, kind)`: gets names that do not belong there."""
        self.robots = 0
        self._files = tree.files
        self._note_odd = note_odd

    def checks(self) -> Iterator[Callable[[], Finding | None]]:
        """Look at all names; give the checks of the files that have to be read."""
        for directory, pattern in FILE_PATTERNS.items():
            for name, kind in self._files.entries(directory):
                if kind != "file" or not pattern.match(name):
                    self._note_odd(directory, name, kind)
                    continue
                self.robots += directory == ROBOTS
                if directory in (ROBOTS, LEASES):
                    yield partial(self.small_file, f"{directory}/{name}")
        for name, kind in self._files.entries(GENERATIONS):
            number = generation_of(name) if kind == "directory" else None
            if number is None:
                self._note_odd(GENERATIONS, name, kind)
            else:
                yield from self._checks_of_generation(number)

    def _checks_of_generation(self, number: int) -> Iterator[Callable[[], Finding | None]]:
        for name, kind in self._files.entries(generation_path(number)):
            if name == RULES and kind == "file":
                yield partial(self._rules, number)
            elif kind != "directory" or name not in (LOG, SNAP):
                self._note_odd(generation_path(number), name, kind)
        for directory, of in ((log_directory(number), machine_of), (snapshot_directory(number), snapshot_of)):
            for name, kind in self._files.entries(directory):
                if kind != "file" or of(name) is None:
                    self._note_odd(directory, name, kind)
                elif directory == log_directory(number):
                    yield partial(self._log, f"{directory}/{name}")

    # -- files

    def small_file(self, path: str) -> Finding | None:
        """Check a robots.txt, or that a lease names its holder; each may have been removed meanwhile."""
        is_lease = path.startswith(f"{LEASES}/")
        try:
            data = self._files.read(path)
            if data is None:
                return None
            if not is_lease:
                RobotsRecord.from_json(data)
            elif "holder" not in msgspec.json.decode(data, type=dict):
                return Finding("torn_leases", path)
        except PlantedError as error:
            return Finding("planted", path, error.what)
        except (RecordError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return Finding("torn_leases", path) if is_lease else Finding("torn_robots", path, str(error))
        return None

    def _log(self, path: str) -> Finding | None:
        """Check that a log can be opened."""
        what = self._files.planted(path)
        return Finding("planted", path, what) if what else None

    def _rules(self, number: int) -> Finding | None:
        """Check that a generation has link rules."""
        path = rules_path(number)
        is_sound = Generations(self._files).read(number).links is not None or not self._files.exists(path)
        return None if is_sound else Finding("damaged_rules", path)
