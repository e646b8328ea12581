"""The tree on the shared directory, and the door to `fscrawl.storage`, which does the work on its files.

Vocabulary:
  root        the shared directory; `Tree` is this process's view of the tree there
  directory, host, key, path
              see `storage.layout`, which has all names and paths
  publish     make a file appear whole (see `storage.atomic`)
  planted     what somebody has put in place of a file, and is none: a link, a FIFO, … (see `storage.safe_open`)

Promise: a file that has its final name is whole, even if a process is killed at any moment. A page's body is published
before its record, so a record always has its body. Nothing above the root is ever created. Below it only the files and
directories that `layout` names are; a root that has vanished (an unmounted share) is a TreeError, and no new tree is
made on the local disk.

Only this module and `fscrawl.storage` read, write or list files of a tree. All other modules ask a `Tree`, or the
types that are made of one: `Controls` (signs, settings, seeds), `TreeFiles` (files by their paths), `fleet.logs` and
`fleet.leases`. There are two exceptions: `merge` (with the `cluster` of its workers) compares the paths of tree and
dataset, and `doctor` tries out the directory in which there may be no tree yet. The contracts of import-linter and
`test_contracts.py` check this.

Every OSError leaves here as a TreeError with the path and the advice (see `errors.tree_error`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fscrawl.errors import NotATreeError, PlantedError, RecordError, TreeError, UsageError
from fscrawl.storage.controls import Controls, is_stopped, text_if_there
from fscrawl.storage.creation import (
    create,
    instead_of_tree,
    layout_there,
    remains_of_tree,
    state_of,
    strangers,
    wait_for_permits,
)
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import (
    BODY_DIRECTORIES,
    DIRECTORIES,
    ERRS,
    FILES,
    GENERATIONS,
    LINKS,
    MACHINERY,
    MACHINERY_DIRECTORIES,
    PAGE_DIRECTORIES,
    PAUSE,
    PICTURE,
    SEEDS,
    STOP,
    TREE_RECORD,
    body_path,
    dom_path,
    is_host,
    page_file_of,
    page_path,
    robots_path,
)
from fscrawl.storage.many_files import list_keys, read_beside
from fscrawl.storage.permissions import Access
from fscrawl.storage.records import FORMAT, ErrorRecord, FormatRecord, PageRecord, RobotsRecord, TreeRecord, Version
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.util.installed import command, path_word

if TYPE_CHECKING:
    from fscrawl.storage.packed_files import PackedFiles

__all__ = [
    "PAUSE",
    "SEEDS",
    "STOP",
    "Access",
    "Controls",
    "Tree",
    "TreeFiles",
    "create",
    "instead_of_tree",
    "is_stopped",
    "layout_there",
    "remains_of_tree",
    "state_of",
    "strangers",
    "text_if_there",
    "tree_record",
    "wait_for_permits",
]

Beside = Mapping[str, bytes] | None


def tree_record(files: TreeFiles) -> TreeRecord:
    """Read what was fixed when a tree was made; NotATreeError if there is none, or one of another format."""
    path, data = files.absolute(TREE_RECORD), files.read(TREE_RECORD)
    if data is None:
        raise NotATreeError(f"{files.root}: {instead_of_tree(files.root)}")
    try:
        found = FormatRecord.from_json(data).format
        if found != FORMAT:
            raise NotATreeError(
                f"{path}: the tree has format {found}; this fscrawl works with format {FORMAT}. All that is stored"
                f" counts without {MACHINERY}: remove that directory, and the next crawl makes it anew"
            )
        return TreeRecord.from_json(data)
    except RecordError as error:
        raise NotATreeError(f"{path}: {error}; it must be what the first machine wrote") from error


class Tree:
    """One process's view of an existing tree; cheap to make, safe to share between threads.

    root, machine    where it is, and the machine that looks at it
    record           what was fixed when the tree was made
    files            its files by their paths; also has `fsync` and `retrying`, which may be changed
    controls         signs, settings and seeds
    """

    def __init__(
        self,
        root: Path,
        machine: str,
        *,
        fsync: bool = False,
        retrying: Retrying = BRIEF,
        record: TreeRecord | None = None,
    ) -> None:
        """Open the tree at `root` as `machine`; NotATreeError if there is none, or one of another format.

        `record`: for a process that knows it already; then nothing is read.
        """
        self.root = root
        self.machine = machine
        self.files = TreeFiles(root, machine, fsync=fsync, retrying=retrying)
        self.record = record or self._usable_record()
        if self.record.layout == "packs":
            from fscrawl.storage.packed_files import PackedFiles  # noqa: PLC0415 - most trees have none

            self.files = PackedFiles(root, machine, self.record, fsync=fsync, retrying=retrying)
        self.controls = Controls(self.files)

    @property
    def _packed(self) -> PackedFiles | None:
        return cast("PackedFiles", self.files) if self.record.layout == "packs" else None

    def at_work(self) -> AbstractContextManager[None]:
        """Inside this, a thread is at work on a page that it may store."""
        return contextlib.nullcontext() if self._packed is None else self._packed.writer.at_work()

    def look_anew(self) -> None:
        """Look, before the next page is stored, at what others have written: they may have removed pages."""
        if self._packed is not None:
            self._packed.packs.is_loaded = False

    def close(self) -> None:
        """End what was written. Without this nothing is lost, and readers take longer."""
        if self._packed is not None:
            self._packed.writer.close()
            self._packed.packs.close()

    def _usable_record(self) -> TreeRecord:
        record = tree_record(self.files)
        if (change := record.change) is not None and not change.is_usable:
            how = command(change.command, self.root)
            raise TreeError(f"{self.root}: fscrawl {change.command} has begun, and is not done; to go on:  {how}")
        return record

    def check_there(self) -> None:
        """NotATreeError if the tree is gone, as after an unmount. Then other files are missing for that reason.

        Or because its layout has changed since it was opened: that is a TreeError.
        """
        if not self.files.exists(TREE_RECORD):
            raise NotATreeError(f"{self.root}: the crawl is gone (no {TREE_RECORD}); is the share mounted?")
        with contextlib.suppress(NotATreeError):
            if tree_record(self.files).changes != self.record.changes:
                raise TreeError(f"{self.root}: the layout of its pages has changed meanwhile; start the command again")

    def check_directories(self, directories: Iterable[str] = PAGE_DIRECTORIES) -> None:
        """TreeError if a directory for pages is missing: what stands in it would be taken for not stored, or worse."""
        self.check_there()
        for directory in self._missing_of(directories):
            path = self.files.absolute(directory)
            raise TreeError(
                f"{path}: it is not there; is the share mounted? "
                f"If somebody has removed it:  mkdir {path_word(path)} && {command('audit', self.root)} --repair"
            )

    def missing_directories(self) -> list[str]:
        """Give the directories that should be there, and are not; NotATreeError if the whole tree is gone."""
        missing = list(self._missing_of(DIRECTORIES))
        self.check_there()
        return missing

    def _missing_of(self, directories: Iterable[str]) -> Iterator[str]:
        return (directory for directory in directories if not self.files.exists(directory))

    # -- pages and failures

    def tree_path(self, directory: str, host: str, key: str) -> str:
        """Give the path of a page's file in `directory`, relative to the root."""
        return page_path(directory, host, key)

    def path_of(self, directory: str, host: str, key: str) -> str:
        """Give the path of a page's file in `directory`, with the root's."""
        return self.files.absolute(self.tree_path(directory, host, key))

    def body_path(self, host: str, key: str, file: str | None) -> str:
        """Give the path of a page's body, relative to the root. `file`: of its record."""
        return body_path(host, key, file or "")

    def dom_path(self, host: str, key: str) -> str:
        """Give the path of a rendered page, relative to the root."""
        return dom_path(host, key)

    def put_page(self, host: str, record: PageRecord, body: bytes | None, beside: Beside = None) -> None:
        """Store a page: the body first (None: it has none), then the record, which makes it done.

        `beside`: path → bytes of what stands beside the body; it is stored before it.
        """
        if self._packed is not None:
            self._packed.put_page(host, record, body, beside or {})
            return
        for path, data in (beside or {}).items():
            self._put(path, data)
        if body is not None:
            self._put(self.body_path(host, record.key, record.file), body)
        self.put_record(host, record)

    def put_record(self, host: str, record: PageRecord) -> None:
        """Bring the record of a stored page up to date; its body stays."""
        if self._packed is not None:
            self._packed.put_record(host, record)
            return
        self._put(self.tree_path(LINKS, host, record.key), record.to_json())

    def put_error(self, host: str, record: ErrorRecord) -> None:
        """Store the failure of a URL; an earlier one is replaced."""
        if self._packed is not None:
            self._packed.put_error(host, record)
            return
        self._put(self.tree_path(ERRS, host, record.key), record.to_json())

    def drop_bodies(self, host: str, before: PageRecord, now: PageRecord) -> None:
        """Remove the bodies that a page had and has no more; they may be missing. The new record must be there."""
        for path in self.bodies_of(host, before).keys() - self.bodies_of(host, now).keys():
            self._drop(path)

    def dom(self, host: str, key: str, size: int | None = None) -> bytes:
        """Read a rendered page; TreeError if it is not there. `size`: as for `body`."""
        return self.files.get(self.dom_path(host, key), size)

    def seen(self, host: str, record: PageRecord) -> bytes:
        """Read what a page looks like: its DOM if it was rendered, else its body.

        TreeError if it is not there.
        """
        rendered = record.rendered
        if rendered is not None and rendered.sha256:
            return self.dom(host, record.key, rendered.bytes)
        return self.body(host, record.key, record.bytes, record.file)

    def bodies_of(self, host: str, record: PageRecord) -> dict[str, tuple[int, str]]:
        """Give the files that a page has by its record: path → bytes and SHA-256 ("": it is not known)."""
        found = {}
        if record.sha256:
            found[self.body_path(host, record.key, record.file)] = (record.bytes, record.sha256)
        if record.rendered is not None and record.rendered.sha256:
            found[self.dom_path(host, record.key)] = (record.rendered.bytes, record.rendered.sha256)
        if record.rendered is not None and record.rendered.screenshot:
            found[self.body_path(host, record.key, PICTURE)] = (record.rendered.screenshot, "")
        return found

    def drop_error(self, host: str, key: str) -> None:
        """Remove the failure of a URL; it may be missing."""
        self._drop(self.tree_path(ERRS, host, key))

    def _drop(self, path: str) -> None:
        with contextlib.suppress(PlantedError):  # in place of the host's directory: then the file is not there
            self.files.remove(path)

    def is_done(self, host: str, key: str) -> bool:
        """Ask by name whether a page is stored. What is planted in its place is no page."""
        return self.files.is_file(self.tree_path(LINKS, host, key))

    def page(self, host: str, key: str) -> PageRecord:
        """Read a record; RecordError if it is torn, TreeError if it is not there."""
        return PageRecord.from_json(self.files.get(self.tree_path(LINKS, host, key)))

    def error(self, host: str, key: str) -> ErrorRecord:
        """Read the failure of a URL; RecordError if it is torn, TreeError if it is not there."""
        return ErrorRecord.from_json(self.files.get(self.tree_path(ERRS, host, key)))

    def failure(self, host: str, key: str) -> ErrorRecord | None:
        """Read the failure of a URL; None if it has not failed, or its record cannot be read."""
        try:
            data = self.files.read(self.tree_path(ERRS, host, key))
            return None if data is None else ErrorRecord.from_json(data)
        except RecordError:
            return None

    def body(self, host: str, key: str, size: int | None = None, file: str | None = None) -> bytes:
        """Read a page's body; TreeError if it is not there.

        `size`, `file`: what its record says; a larger one is not read.
        """
        return self.files.get(self.body_path(host, key, file), size)

    def hosts(self, directory: str) -> list[str]:
        """List the hosts that have a directory there."""
        return [name for name in self.files.names(directory) if is_host(name)]

    def keys(self, directory: str, host: str) -> list[str]:
        """List the keys of a host's files in `directory`; none if the host has no directory."""
        return [
            found[0]
            for name in self.files.names(f"{directory}/{host}")
            if (found := page_file_of(directory, name)) is not None
        ]

    def sorted_keys(self, directory: str, host: str) -> Iterable[str]:
        """List the keys of a host's files in `directory`, in little memory. `directory`: not `files`."""
        if self._packed is not None:
            return self._packed.sorted_keys(directory, host)
        return list_keys(self.files, directory, f"{directory}/{host}")

    def read_beside(self, directory: str, names: Sequence[str], most: int) -> list[bytes | None]:
        """Read some files of a directory quickly; None for each that must be read by its path, which says why."""
        if self._packed is not None:
            return self._packed.read_beside(directory, names, most)
        return read_beside(self.files, directory, names, most)

    def page_count(self, host: str, directories: Iterable[str] = BODY_DIRECTORIES) -> int:
        """Count the pages of a host by their bodies in `directories`. One that changes its type may have two."""
        return len({key for directory in directories for key in self.keys(directory, host)})

    def all_pages(self) -> int:
        """Count the pages of all hosts."""
        found = {directory: frozenset(self.hosts(directory)) for directory in BODY_DIRECTORIES}
        hosts = frozenset().union(*found.values())
        return sum(
            self.page_count(host, [directory for directory in BODY_DIRECTORIES if host in found[directory]])
            for host in hosts
        )

    def bodies(self, host: str, key: str) -> list[str]:
        """List the paths of all bodies that a page has, whatever its record says. A directory is listed for that."""
        if self._packed is not None:
            return self._packed.bodies(host, key)
        html = self.body_path(host, key, None)
        directory = f"{FILES}/{host}"
        found = [path for path in (html, self.dom_path(host, key)) if self.files.exists(path)]
        for name in self.files.names(directory):
            file = page_file_of(FILES, name)
            if file is not None and file[0] == key:
                found.append(f"{directory}/{name}")
        return found

    @property
    def has_members(self) -> bool:
        """Whether bodies stand in the tree as compressed WARC records."""
        return self._packed is not None

    def members(self, host: str, record: PageRecord, bodies: Mapping[str, bytes]) -> dict[str, bytes]:
        """Give those of the bodies of a page that stand in the tree as compressed WARC records, as they stand there.

        `bodies`: what each is ("body", "dom", "picture") → its bytes.
        """
        return {} if self._packed is None else self._packed.members(host, record, bodies)

    # -- versions of pages: a tree of the layout "packs" keeps all of them

    def check_keeps_versions(self, option: str) -> None:
        """UsageError if the tree keeps the last version of each page only. `option`: needs the others."""
        if self._packed is None:
            what = f'{self.root} has the layout "files", which keeps the last version of each page only'
            raise UsageError(f'{option}: {what}; a new tree keeps all with store.layout = "packs"')

    def versions(self, host: str, key: str) -> list[Version]:
        """Give all that was stored of a URL, the oldest first; nothing if the tree keeps no versions."""
        return [] if self._packed is None else self._packed.versions(host, key)

    def number(self, host: str, key: str) -> int | None:
        """Give the number of a page's version; None if the tree keeps no versions."""
        return None if self._packed is None else self._packed.number(host, key)

    def numbers(self, host: str) -> Iterator[tuple[str, int, bool]]:
        """Give key and number of all versions of a host's pages, in no order; and whether it says "gone"."""
        return iter(()) if self._packed is None else self._packed.numbers(host)

    def page_before(self, host: str, key: str, number: int) -> PageRecord | None:
        """Read the page that the version before one had; None if there was none."""
        return None if self._packed is None else self._packed.page_before(host, key, number)

    def showing(self, host: str, key: str, number: int) -> Tree:
        """Give a view of the tree in which a page is as one of its versions was; it is not for writing."""
        view = copy(self)
        if self._packed is not None:
            view.files = self._packed.showing(host, key, number)
        return view

    # -- robots.txt

    def put_robots(self, host: str, record: RobotsRecord) -> None:
        """Store a host's robots.txt; an earlier one is replaced."""
        self.files.publish(robots_path(host), record.to_json())

    def robots(self, host: str) -> RobotsRecord | None:
        """Read a host's robots.txt; None if it is not stored, or is torn. Then it is fetched again."""
        try:
            data = self.files.read(robots_path(host))
            return None if data is None else RobotsRecord.from_json(data)
        except RecordError:
            return None

    # -- temporaries: (path, machine that was writing it)

    def temporaries(self, directory: str, host: str) -> list[tuple[str, str]]:
        """List a host's temporaries in `directory`."""
        return self.files.temporaries([f"{directory}/{host}"])

    def all_temporaries(self, host: str) -> list[tuple[str, str]]:
        """List a host's temporaries in all directories of pages."""
        return [each for directory in PAGE_DIRECTORIES for each in self.temporaries(directory, host)]

    def machinery_temporaries(self) -> list[tuple[str, str]]:
        """List the temporaries beside settings and seeds, in `.fscrawl`, and beside packs."""
        generations = [f"{GENERATIONS}/{name}" for name in self.files.names(GENERATIONS)]
        return self.files.temporaries(["", *MACHINERY_DIRECTORIES, *generations, *self.pack_directories()])

    def pack_directories(self) -> list[str]:
        """List the directories of all that have written packs."""
        return [] if self._packed is None else self._packed.pack_directories()

    # -- directories

    def _put(self, path: str, data: bytes) -> None:
        try:
            self.files.publish(path, data)
        except TreeError as error:
            if not error.is_missing:
                raise
            self._make_host(path)
            self.files.publish(path, data)

    def _make_host(self, path: str) -> None:
        """Make a host's directory, but never the one above: if that is missing, the share is gone."""
        by_url = self.record.partition == "url"  # then many machines may meet a new host at once
        make = self.files.make_directory_alone if by_url else self.files.make_directory
        make(path.rpartition("/")[0])
