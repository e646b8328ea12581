"""`fscrawl pack`, `unpack` and `compact`: bring the pages of a tree from files into packs, back, and into fewer packs.

Vocabulary:
  copy      each page is written in its new layout, read back, and compared with what it was
  switch    tree.json says that the new layout counts, in one step; the line in crawl.toml has been changed before
  remove    what was copied is removed in the old layout; what was not stays, and is named

While pages are copied, tree.json has a `change`, and every program refuses the tree with a line that names the command.
The command looks for machines after it has written that, and a machine reads tree.json after it has said hello. So
of a machine and a command that begin at the same moment, at least one sees the other, and leaves. The command has a
heartbeat, too: so there are never two of them at work.

Promise: at each moment all pages are in the layout that counts, so the command may be killed. The same command goes on
where that one was, and of pack and unpack each undoes what is half done of the other. If the disk gets full before the
switch, the tree is as it was before. A whole tree is converted: one of two layouts would have two places for each page.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from fscrawl.admin.audit.fold import Liveness
from fscrawl.admin.audit.report import EXAMPLES
from fscrawl.config import settings
from fscrawl.config.watcher import digest_of
from fscrawl.errors import PlantedError, RecordError, SettingsError, TreeError, UsageError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.heartbeat import Heartbeat, Permit, new_machine_id
from fscrawl.fleet.machinery import Machinery
from fscrawl.storage import flaws
from fscrawl.storage.layout import (
    ERRS,
    LINKS,
    PAGE_DIRECTORIES,
    SETTINGS,
    TREE_RECORD,
    heartbeat_path,
    is_segment,
    page_file_of,
)
from fscrawl.storage.mounts import caches_live_s
from fscrawl.storage.packed_files import PackedFiles
from fscrawl.storage.packs import Found, Where, moves
from fscrawl.storage.records import Change, ErrorRecord, PageRecord, TreeRecord
from fscrawl.store import Controls, Tree, TreeFiles, tree_record
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command as typed
from fscrawl.util.parallel import READERS, in_turn
from fscrawl.util.progress import SILENT, ProgressLine
from fscrawl.util.terminal import plain
from fscrawl.util.user_text import decode, encoding_of

LAYOUTS = {"pack": "packs", "unpack": "files", "compact": "packs"}
_DONE = {"pack": "put into packs", "unpack": "taken out of packs", "compact": "compacted"}
_NOTES = {
    "torn": "records that cannot be read, or are of another URL; they are no pages in packs",
    "missing": "bodies that are missing",
    "stays": "files that are not removed, since they belong to no page that was copied",
}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_LAYOUT = re.compile(r"""^[ \t]*(?:store[ \t]*\.[ \t]*)?layout[ \t]*=[ \t]*["'](files|packs)["']""", re.MULTILINE)

R = TypeVar("R", PageRecord, ErrorRecord)


class Done(msgspec.Struct):
    """What a command has done.

    said      in place of the counts, if it had nothing to copy
    counts    pages, failures, older versions that are not kept, files that were removed; and those of notes
    """

    command: str
    said: str = ""
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    examples: dict[str, list[str]] = msgspec.field(default_factory=dict)

    def note(self, kind: str, text: str) -> None:
        self.counts[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < EXAMPLES:
            examples.append(text)

    def lines(self) -> Iterator[str]:
        """Give the report as text, the line of counts first."""
        counts = self.counts
        copied = f"{number_of(counts['pages'], 'page')}, {number_of(counts['failures'], 'failure')}"
        older = f"; older versions that are not kept: {counts['older']:,}" if counts["older"] else ""
        yield (self.said or f"{_DONE[self.command]}: {copied}{older}") + f"; files removed: {counts['removed']:,}"
        for kind, text in _NOTES.items():
            if counts[kind]:
                yield f"{text}: {counts[kind]:,}"
                yield from (f"    {plain(example)}" for example in self.examples[kind])


def convert(
    root: Path,
    command: str,
    warn: Callable[[str], None],
    line: ProgressLine = SILENT,
    sleep: Callable[[float], None] = time.sleep,
) -> Done:
    """Do a command, or what is left of it. UsageError if it cannot be done here; TreeError as of any file."""
    return _Conversion(root, command, warn, line, sleep).run()


class _Conversion:
    def __init__(
        self,
        root: Path,
        command: str,
        warn: Callable[[str], None],
        line: ProgressLine,
        sleep: Callable[[float], None],
    ) -> None:
        self._files = TreeFiles(root, new_machine_id())
        self._record = tree_record(self._files)
        self._files.adopt_umask()
        self._command, self._warn, self._line, self._sleep = command, warn, line, sleep
        self._done = Done(command)
        self._controls = Controls(self._files)
        self._settings = settings.parse(self._controls.settings(), self._files.absolute(SETTINGS), self._record)

    def run(self) -> Done:
        change, command, root = self._record.change, self._command, self._files.root
        other = "" if change is None or change.command == command else change.command
        if command == "compact" and self._record.layout == "files" and change is None:
            raise UsageError(f"{root}: its pages are in files; to put them into packs:  {typed('pack', root)}")
        if other and change is not None and not change.is_usable and "compact" in (command, other):
            raise UsageError(f"{root}: fscrawl {other} has begun, and is not done; to go on:  {typed(other, root)}")
        if change is None and self._is_as_asked:
            self._done.said = f"nothing to do: the pages are in {self._record.layout}"
            return self._done
        with self._alone():
            if change is not None and change.copied:
                self._remove()
                if not other:
                    self._done.said = "removed what was left"
            elif other:
                self._undo()
                self._done.said = f"undone: the pages are in {self._record.layout}, as before fscrawl {other}"
            if self._record.change is not None or (not self._done.said and not self._is_as_asked):
                self._copy_and_switch()
                self._remove()
        return self._done

    @property
    def _is_as_asked(self) -> bool:
        return self._command != "compact" and self._record.layout == LAYOUTS[self._command]

    # -- nobody else is there

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no machine run, and no other command of this module; UsageError if one runs."""
        machinery = Machinery(Tree(self._files.root, self._files.machine, record=self._record))
        fleet = self._settings.fleet
        self._liveness = Liveness(
            machinery, self._files.machine, fleet.dead_after, self._record.shards, time.monotonic, self._sleep
        )
        self._refuse(name for name in self._liveness.live if self._liveness.is_seen(name))
        machinery.take_name()
        log, permit = machinery.heartbeat_log(), Permit()
        heart = Heartbeat(log, self._files.machine, Beat, beat_s=fleet.beat, lease_s=fleet.dead_after, permit=permit)
        try:
            before = self._record.change
            self._begin()
            if before is not None:
                self._files.remove(heartbeat_path(before.by))  # of a command that was killed
            yield
        finally:
            with contextlib.suppress(TreeError):
                heart.stop()
                self._files.remove(heartbeat_path(self._files.machine))

    def _refuse(self, live: Iterable[str]) -> None:
        if names := sorted(live):
            root = self._files.root
            machines = ", ".join(names[:EXAMPLES])
            raise UsageError(f"{root}: no machine may run meanwhile: {machines}; to end all:  {typed('stop', root)}")

    def _begin(self) -> None:
        """Write into tree.json that this process does it; then look for machines that have not read that."""
        before, machine = self._record, self._files.machine
        if before.change is not None:
            self._put(replace(before, change=replace(before.change, by=machine)))
        else:
            if self._command == "pack" and (packs := self._packs()):
                where = self._files.absolute(packs[0])
                raise UsageError(f"{where}: a pack, which nobody reads: the pages are in files; set it aside elsewhere")
            self._place_of_layout(LAYOUTS[self._command])  # refused now, and not after hours
            change = Change(self._command, machine, machine)
            self._put(replace(before, change=change, changes=before.changes + 1))
        self._line.begin("looking for machines", unit="")
        self._sleep(caches_live_s(self._files.root))
        self._liveness.look()
        self._liveness.watch(self._warn)
        if self._liveness.live:
            self._put(before)
            self._refuse(self._liveness.live)

    def _put(self, record: TreeRecord) -> None:
        """Write tree.json, unless another process has taken over."""
        there = tree_record(self._files)
        if there != self._record:
            raise TreeError(f"{self._files.absolute(TREE_RECORD)}: another process has changed it; nothing is lost")
        files = TreeFiles(self._files.root, self._files.machine, fsync=True)
        files.publish(TREE_RECORD, record.to_json())
        self._record = record

    @property
    def _change(self) -> Change:
        assert self._record.change is not None
        return self._record.change

    # -- the steps

    def _tree(self, layout: str) -> Tree:
        machine = self._files.machine if self._record.change is None else self._record.change.name
        return Tree(self._files.root, machine, record=replace(self._record, layout=layout))

    def _copy_and_switch(self) -> None:
        if self._record.change is None:  # what was left of another command has been removed
            self._begin()
        for path, _ in self._files.temporaries(self._packs()):
            self._files.remove(path)
        try:
            if self._command == "compact":
                _Compaction(self._tree("packs"), self._change.name, self._settings.store.versions, self._done).run(
                    self._line
                )
            else:
                to = LAYOUTS[self._command]
                old, new = self._tree("files" if to == "packs" else "packs"), self._tree(to)
                _Copy(old, new, self._done).run(self._line)
            self._line.begin("writing all to the disk", unit="")
            os.sync()
            self._set_layout(LAYOUTS[self._command])
            change = replace(self._change, copied=True)
            self._put(replace(self._record, layout=LAYOUTS[self._command], change=change))
        except TreeError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL and not self._change.copied:
                self._undo()
            raise

    def _undo(self) -> None:
        """Remove what was copied. The pages are where they were."""
        self._set_layout(self._record.layout)
        if self._change.command == "unpack":
            self._clear_files()
        else:
            self._clear_packs(lambda name: self._change.command == "pack" or self._is_new(name))
        self._put(replace(self._record, change=None))

    def _remove(self) -> None:
        """Remove what does not count any more."""
        if self._change.command == "pack":
            self._clear_files()
        else:
            self._clear_packs(lambda name: self._change.command == "unpack" or not self._is_new(name))
        self._put(replace(self._record, change=None))

    def _is_new(self, pack: str) -> bool:
        return pack.startswith(f"{self._change.name}+")

    def _clear_files(self) -> None:
        """Remove the files of pages that are in packs, and what killed machines were writing."""
        plain_, packed = self._tree("files"), self._tree("packs")
        self._line.begin("removing files", unit="files")
        hosts = {host for directory in PAGE_DIRECTORIES for host in plain_.hosts(directory)}
        with ThreadPoolExecutor(READERS, thread_name_prefix="remove") as pool:
            for host in sorted(hosts):
                for directory in reversed(PAGE_DIRECTORIES):  # the records first: nobody shall miss their bodies
                    self._clear_directory(plain_, packed, directory, host, pool)

    def _clear_directory(self, old: Tree, new: Tree, directory: str, host: str, pool: ThreadPoolExecutor) -> None:
        path = f"{directory}/{host}"
        copied, dead = frozenset(new.files.names(path)), {each for each, _ in old.temporaries(directory, host)}
        wanted: list[str] = []
        left: list[str] = []
        for name, kind in old.files.entries(path):
            is_page = kind == "file" and page_file_of(directory, name) is not None and name in copied
            (wanted if is_page or f"{path}/{name}" in dead else left).append(f"{path}/{name}")
        for _ in in_turn(pool, (partial(old.files.remove, each) for each in wanted)):
            self._line.advance()
        self._done.counts["removed"] += len(wanted)
        for each in left:
            self._done.note("stays", each)
        if not left:
            old.files.remove_empty_directory(path)

    def _packs(self) -> list[str]:
        return self._tree("packs").pack_directories()

    def _clear_packs(self, is_wanted: Callable[[str], bool]) -> None:
        """Remove packs, the lines first; of the others, what killed processes were writing."""
        self._line.begin("removing packs", unit="files")
        for pack in sorted(self._packs(), key=lambda path: not path.startswith((LINKS, ERRS))):
            dead = {path for path, _ in self._files.temporaries([pack])}
            for name, kind in self._files.entries(pack):
                path = f"{pack}/{name}"
                goes = kind == "file" and is_segment(name) and is_wanted(pack.partition("/")[2])
                if goes or path in dead:
                    self._files.remove(path)
                    self._done.counts["removed"] += 1
                    self._line.advance()
                elif is_wanted(pack.partition("/")[2]):
                    self._done.note("stays", path)
            self._files.remove_empty_directory(pack)

    # -- crawl.toml

    def _place_of_layout(self, layout: str) -> tuple[int, bytes] | None:
        """Find where in crawl.toml another layout stands, and what to write there; None if none does."""
        data = self._files.get(SETTINGS)
        text, encoding = decode(data), encoding_of(data)
        try:
            said = tomllib.loads(text).get("store", {}).get("layout")
        except (tomllib.TOMLDecodeError, AttributeError):
            said = None
        if said is None or said == layout:
            return None
        for found in _LAYOUT.finditer(text):
            begin, end = found.span(1)
            offset, old, new = (
                len(data) - len(text[begin:].encode(encoding, "surrogateescape")),
                found[1],
                layout.encode(encoding),
            )
            edited = tomllib.loads(text[:begin] + layout + text[end:])
            if edited.get("store", {}).get("layout") == layout and data[offset:].startswith(old.encode(encoding)):
                return offset, new
        where = self._files.absolute(SETTINGS)
        raise SettingsError(f"must stand on a line of its own, or not at all: {said!r}", "store.layout", where)

    def _set_layout(self, layout: str) -> None:
        """Change the layout in crawl.toml, and in the copy: a word of the same length, in the same file."""
        controls, place = self._controls, self._place_of_layout(layout)
        before, copied = digest_of(controls.settings()), controls.copied()
        if place is not None:
            self._files.overwrite(SETTINGS, *place)
        if controls.copy() is not None:
            text = controls.settings()
            chosen = settings.parse(text, self._files.absolute(SETTINGS), replace(self._record, layout=layout))
            controls.keep_copy(settings.render(chosen, secrets=False), digest_of(text) if copied == before else copied)


class _Copy:
    """Copies all pages and failures from one layout into the other."""

    def __init__(self, old: Tree, new: Tree, done: Done) -> None:
        self._old, self._new, self._done = old, new, done
        self._to_packs = new.record.layout == "packs"

    def run(self, line: ProgressLine) -> None:
        line.begin("copying pages", unit="pages")
        with (
            contextlib.closing(self._old),
            contextlib.closing(self._new),
            ThreadPoolExecutor(READERS, thread_name_prefix="copy") as pool,
        ):
            for notes in in_turn(pool, (partial(self._do, job) for job in self._jobs())):
                for kind, text in notes:
                    if kind in _NOTES:
                        self._done.note(kind, text)
                    else:
                        self._done.counts[kind] += 1
                line.advance()

    def _do(self, job: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
        with self._new.at_work():
            return job()

    def _jobs(self) -> Iterator[Callable[[], list[tuple[str, str]]]]:
        for host in sorted({*self._old.hosts(LINKS), *self._old.hosts(ERRS)}):
            for each, _ in self._new.all_temporaries(host) if not self._to_packs else ():
                self._new.files.remove(each)  # what a command that was killed was writing
            stored, failed = (frozenset(self._new.keys(directory, host)) for directory in (LINKS, ERRS))
            left = set(self._old.keys(ERRS, host))
            for key in self._old.sorted_keys(LINKS, host):
                yield partial(self._page, host, key, key in stored, key in left, key in failed)
                left.discard(key)
            for key in sorted(left):
                yield partial(self._failure, host, key, key in failed)
            if isinstance(self._old.files, PackedFiles):
                lines = sum(not is_gone for _, _, is_gone in self._old.numbers(host))
                self._done.counts["older"] += lines - len(self._old.keys(LINKS, host))

    def _page(
        self, host: str, key: str, is_there: bool, has_failed: bool, failure_is_there: bool
    ) -> list[tuple[str, str]]:
        path = self._old.tree_path(LINKS, host, key)
        record = self._read(PageRecord, path, host, key)
        if record is None:
            notes = self._torn(path, host, key)
        else:
            wanted = self._old.bodies_of(host, record)
            found = {each: data for each in wanted if (data := self._data(each)) is not None}
            notes = [("pages", ""), *(("missing", each) for each in wanted if each not in found)]
            if not (is_there and self._is_same(record, path, found)):
                if is_there and self._to_packs:
                    self._differs(path)
                body_path = self._old.body_path(host, key, record.file)
                beside = {each: data for each, data in found.items() if each != body_path or not record.sha256}
                self._new.put_page(host, record, found.get(body_path) if record.sha256 else None, beside)
                if not self._is_same(record, path, found):
                    self._differs(path)
        return [*notes, *(self._failure(host, key, failure_is_there) if has_failed else ())]

    def _failure(self, host: str, key: str, is_there: bool) -> list[tuple[str, str]]:
        path = self._old.tree_path(ERRS, host, key)
        record = self._read(ErrorRecord, path, host, key)
        if record is None:
            return self._torn(path, host, key)
        if not (is_there and self._is_same(record, path, {})):
            self._new.put_error(host, record)
            if not self._is_same(record, path, {}):
                self._differs(path)
        return [("failures", "")]

    def _read(self, kind: type[R], path: str, host: str, key: str) -> R | None:
        """Read a record; None if it cannot be read, or is of another URL."""
        try:
            record = kind.from_json(self._data(path) or b"")
        except RecordError:
            return None
        return None if self._to_packs and flaws.misplaced(record, host, key) else record

    def _data(self, path: str) -> bytes | None:
        try:
            return self._old.files.read(path)
        except PlantedError:
            return None

    def _torn(self, path: str, host: str, key: str) -> list[tuple[str, str]]:
        """In files, it stays what it is; in packs it has no place, and its files stay where they are."""
        if not self._to_packs:
            for each in [*(self._old.bodies(host, key) if path.startswith(LINKS) else ()), path]:
                self._new.files.make_directory(each.rpartition("/")[0])
                self._new.files.publish(each, self._data(each) or b"")
        return [("torn", path)]

    def _is_same(self, record: PageRecord | ErrorRecord, path: str, bodies: dict[str, bytes]) -> bool:
        """Read back what the new layout has."""
        try:
            there = self._new.files.read(path)
            return (
                there is not None
                and type(record).from_json(there) == record
                and all(self._new.files.read(each, len(data)) == data for each, data in bodies.items())
            )
        except (RecordError, PlantedError):
            return False

    def _differs(self, path: str) -> None:
        raise TreeError(f"{self._new.files.absolute(path)}: what was written is not what was read; nothing is removed")


class _Compaction:
    """Copies the lines of all packs, and the bodies that they name, into packs whose names begin with `name`."""

    def __init__(self, tree: Tree, name: str, versions: int | None, done: Done) -> None:
        """`versions`: so many of each page are kept; None: all."""
        assert isinstance(tree.files, PackedFiles)
        self._tree, self._files, self._versions, self._done = tree, tree.files, versions, done
        self._begins = tuple(f"{directory}/{name}+" for directory in (LINKS, ERRS))

    def run(self, line: ProgressLine) -> None:
        line.begin("copying lines", unit="lines")
        with contextlib.closing(self._tree):
            self._copy_all(line)
            self._files.write_copies()

    def _copy_all(self, line: ProgressLine) -> None:
        packs = self._files.packs
        for host in sorted({*packs.hosts(LINKS), *packs.hosts(ERRS)}):
            newest: dict[bytes, int] = {}
            for lines in packs.by_key(LINKS, host):
                newest[lines[-1][1].key] = lines[-1][1].version
                kept = self._kept(lines)
                versions = [entry for _, entry in kept if not entry.is_gone]
                self._done.counts["pages"] += bool(versions)
                self._done.counts["older"] += len({e.version for _, e in lines if not e.is_gone}) - len(versions)
                self._copy(LINKS, host, lines, kept)
                line.advance(len(lines))
            for lines in packs.by_key(ERRS, host):
                entry = lines[-1][1]
                counts = not entry.is_gone and newest.get(entry.key, 0) < entry.version
                self._done.counts["failures"] += counts
                self._copy(ERRS, host, lines, lines[-1:] if counts else [])
                line.advance(len(lines))

    def _kept(self, lines: list[Found]) -> list[Found]:
        if lines[-1][1].is_gone:  # it has the number from which the next version counts
            return lines[-1:]
        by_version = {entry.version: (of, entry) for of, entry in lines if not entry.is_gone}
        return list(by_version.values())[-(self._versions or 0) :]

    def _copy(self, directory: str, host: str, lines: list[Found], kept: list[Found]) -> None:
        """Copy the lines of a key that are kept, and not copied yet."""
        of = {is_new: {each[1].version: each for each in lines if self._is_new(each) == is_new} for is_new in (0, 1)}
        moved: dict[Where, Where] = {}
        answered: set[str] = set()
        packs = self._files.packs
        for _, entry in kept:
            found, copied = of[False].get(entry.version), of[True].get(entry.version)
            if found is not None and copied is not None:
                moved |= moves(packs.at(found), packs.at(copied))
            elif found is not None:
                try:
                    for what in self._files.copy(directory, host, found, moved, answered, shares=len(kept) > 1):
                        self._done.note("missing", f"{what} of {host} {entry.key.hex()}, version {entry.version}")
                except RecordError as error:
                    self._done.note("torn", str(error))

    def _is_new(self, found: Found) -> bool:
        return found[0].path.startswith(self._begins)
