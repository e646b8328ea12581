"""The tree on the shared directory: the only file that touches it.

Vocabulary:
  root        the shared directory; `Tree` is this process's view of it
  publish     make a file appear whole (see `publish`)
  host        a directory name made by `urls.host`; `key` a name made by `urls.key`

Promise: a file that has its final name is whole, whatever is killed when. A page's body is published before its
record, so a record always has its body. Nothing above the root is ever created, and nothing below it but in the
places named here; a root that vanished (an unmounted share) is a TreeError, not a new tree on the local disk.

Every OSError leaves here as a TreeError with the path and the advice (see `errors.tree_error`).
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from fscrawl.errors import NotATreeError, RecordError, TreeError
from fscrawl.storage.atomic import (
    claim,
    make_directory,
    publish,
    read_file,
    remove,
    sync_directory,
    temporary_owner,
    translated,
    write_all,
)
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, RobotsRecord, TreeRecord
from fscrawl.storage.retrying import BRIEF, Retrying

SETTINGS = "crawl.toml"
SEEDS = "seeds.txt"
PAUSE = "PAUSE"
STOP = "STOP"
MACHINERY = ".fscrawl"
TORN = ".torn"

_PAGE_ROOMS = ("htmls", "links", "errs")
_ROOMS = (
    *_PAGE_ROOMS,
    MACHINERY,
    f"{MACHINERY}/machines",
    f"{MACHINERY}/leases",
    f"{MACHINERY}/feed",
    f"{MACHINERY}/robots",
)
_TREE_JSON = f"{MACHINERY}/tree.json"
_README = """\
The machinery of a crawl by fscrawl. Deleting this directory loses no page and no link:
the crawl finds its way again from ../links. Nothing in here needs to be edited;
what people edit is ../crawl.toml (settings) and ../seeds.txt (one URL a line).

  tree.json   format, crawl id, number of shards; written once
  machines/   one log per machine, a JSON line each heartbeat
  leases/     which machine owns which shard; the highest epoch holds
  feed/       URLs as machines discovered them
  robots/     robots.txt of each host as fetched
"""

_INSTANT_S = 0.02
_OTHERS_TAKE_S = 2.0  # to make a tree
_WITH_OTHERS = Retrying(10.0)  # many machines that make one tree at once get EIO from GlusterFS now and then
_PAGE_FILE = re.compile(r"[0-9a-f]{24}\.(html|json)\Z")
_FAN = re.compile(r"[0-9a-f]{2}\Z")


def state_of(root: Path) -> str:
    """Give what stands at `root`: "tree", "seeds" (a directory with seeds.txt), "directory" or "nothing"."""

    def look() -> str:
        if not root.exists():
            return "nothing"
        if not root.is_dir():
            raise NotATreeError(f"{root}: it is a file; the root of a crawl is a directory")
        names = os.listdir(root)
        if MACHINERY in names and (root / _TREE_JSON).exists():
            return "tree"
        return "seeds" if SEEDS in names else "directory"

    return BRIEF(root, look)


def is_stopped(root: Path) -> bool:
    """Tell whether somebody has asked all machines to leave."""
    return BRIEF.find(root, lambda: os.stat(root / STOP), None) is not None


def kept_settings(root: Path) -> str | None:
    """Read the `crawl.toml` of a directory that is not a tree (any more); None if there is none."""
    path = f"{root}/{SETTINGS}"
    data = BRIEF.find(path, lambda: read_file(path), None)
    return None if data is None else data.decode("utf-8", "replace")


def create(root: Path, record: TreeRecord, settings: str, seeds: str, machine: str = "creation") -> None:
    """Make a tree: directories, settings, seeds, and last `tree.json`, which says that it is one.

    Many machines may do so at the same instant: whoever is first with a file wins and the rest use what is there.
    What was made is removed again if any step fails.
    """
    made: list[Path] = []
    try:
        _make_directory(root, made)
        # Directories that several clients make at one instant GlusterFS may leave broken (EIO, for good): so whoever is
        # first with the settings makes them, and the others wait for that one, if it lives.
        if claim(root / SETTINGS, settings.encode(), machine, fsync=True, retrying=_WITH_OTHERS):
            made.append(root / SETTINGS)
        else:
            _wait_for_tree(root)
        for room in _ROOMS:
            _make_directory(root / room, made)
        for name, text in (
            (f"{MACHINERY}/README", _README),
            (SEEDS, seeds),
            (_TREE_JSON, record.to_json().decode()),
        ):
            if claim(root / name, text.encode(), machine, fsync=True, retrying=_WITH_OTHERS):
                made.append(root / name)
        BRIEF(root, lambda: sync_directory(str(root.parent)))
    except TreeError:
        if _may_be_a_tree(root):  # another machine has made its tree of what is here
            raise
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def _wait_for_tree(root: Path) -> None:
    """Let another machine make the tree, for a while: it may have died over it."""
    until = time.monotonic() + _OTHERS_TAKE_S
    while not _may_be_a_tree(root) and time.monotonic() < until:
        time.sleep(_OTHERS_TAKE_S / 50)


def _may_be_a_tree(root: Path) -> bool:
    try:
        return BRIEF.find(root, lambda: os.stat(root / _TREE_JSON), None) is not None
    except TreeError:
        return True


def _make_directory(path: Path, made: list[Path]) -> None:
    if _WITH_OTHERS(path, lambda: make_directory(str(path))):
        made.append(path)


class Tree:
    """One process's view of an existing tree; cheap to make, safe to share between threads."""

    def __init__(
        self,
        root: Path,
        machine: str,
        *,
        fsync: bool = False,
        retrying: Retrying = BRIEF,
        record: TreeRecord | None = None,
    ) -> None:
        """Open the tree at `root` as `machine`; NotATreeError if it is none, or one of a newer format.

        `record`: of whoever has opened it already; then nothing is read.
        """
        self.root = root
        self.machine = machine
        self.fsync = fsync
        self.retrying = retrying
        self.record = record or self._read_record()
        self._prefix = f"{root}/"

    def _read_record(self) -> TreeRecord:
        path = f"{self.root}/{_TREE_JSON}"
        data = self._read(path)
        if data is None:
            raise NotATreeError(f"{self.root}: there is no crawl here (no {_TREE_JSON}); is the share mounted?")
        try:
            record = TreeRecord.from_json(data)
        except RecordError as error:
            raise NotATreeError(f"{path}: {error}; it must be what the first machine wrote") from error
        if record.format > FORMAT:
            raise NotATreeError(f"{path}: format {record.format}; this fscrawl reads up to {FORMAT}: update it")
        return record

    def check_there(self) -> None:
        """NotATreeError if the tree is gone, as by an unmount: then all that is missing is missing for that reason."""
        if not self._exists(f"{self._prefix}{_TREE_JSON}"):
            raise NotATreeError(f"{self.root}: the crawl is gone (no {_TREE_JSON}); is the share mounted?")

    def free_bytes(self) -> int:
        """Tell what is free on the tree's file system, for who is not root."""
        there = self.retrying(self.root, lambda: os.statvfs(self.root))
        return there.f_bavail * there.f_frsize

    # -- pages

    def path_of(self, room: str, host: str, key: str) -> str:
        """Give the path of a page's file in `room`: "htmls", "links" or "errs"."""
        suffix = ".html" if room == "htmls" else ".json"
        return f"{self._directory(room, host, key)}/{key}{suffix}"

    def put_page(self, host: str, record: PageRecord, body: bytes | None) -> None:
        """Store a page: the body first (None: it has none), then the record, which makes it done."""
        if body is not None:
            self._put("htmls", host, record.key, body)
        self._put("links", host, record.key, record.to_json())

    def put_record(self, host: str, record: PageRecord) -> None:
        """Bring the record of a stored page up to date; its body stays."""
        self._put("links", host, record.key, record.to_json())

    def put_error(self, host: str, record: ErrorRecord) -> None:
        """Store the failure of a URL; an earlier one is replaced."""
        self._put("errs", host, record.key, record.to_json())

    def drop_body(self, host: str, key: str) -> None:
        """Remove the body of a page that has none any more, if there is one; its record says so first."""
        remove(self.path_of("htmls", host, key), self.retrying)

    def drop_error(self, host: str, key: str) -> None:
        """Remove the failure of a URL, if there is one."""
        remove(self.path_of("errs", host, key), self.retrying)

    def is_done(self, host: str, key: str) -> bool:
        """Ask by name whether a page is stored."""
        return self._exists(self.path_of("links", host, key))

    def page(self, host: str, key: str) -> PageRecord:
        """Read a record; RecordError if it is torn, TreeError if it is not there."""
        return PageRecord.from_json(self._get(self.path_of("links", host, key)))

    def error(self, host: str, key: str) -> ErrorRecord:
        """Read the failure of a URL; RecordError if it is torn, TreeError if it is not there."""
        return ErrorRecord.from_json(self._get(self.path_of("errs", host, key)))

    def failed_at(self, host: str, key: str) -> str | None:
        """Tell when a URL failed; None if it did not, or if that cannot be read."""
        data = self._read(self.path_of("errs", host, key))
        try:
            return None if data is None else ErrorRecord.from_json(data).failed_at
        except RecordError:
            return None

    def body(self, host: str, key: str) -> bytes:
        """Read a page's body; TreeError if it is not there."""
        return self._get(self.path_of("htmls", host, key))

    def hosts(self, room: str) -> list[str]:
        """List the hosts that have a directory in `room`."""
        return [name for name in self._list(f"{self._prefix}{room}") if not name.startswith(".")]

    def keys(self, room: str, host: str) -> list[str]:
        """List the keys of a host's files in `room`; none if the host has no directory."""
        return [
            name.partition(".")[0]
            for directory in self._directories(room, host)
            for name in self._list(directory)
            if _PAGE_FILE.match(name)
        ]

    def temporaries(self, room: str, host: str) -> list[tuple[str, str]]:
        """List a host's temporaries in `room`: (path, machine that was writing it)."""
        return self._temporaries_in(self._directories(room, host))

    def all_temporaries(self, host: str) -> list[tuple[str, str]]:
        """List a host's temporaries in all rooms, as `temporaries` does."""
        return [each for room in _PAGE_ROOMS for each in self.temporaries(room, host)]

    # -- machinery

    def machinery_temporaries(self) -> list[tuple[str, str]]:
        """List the temporaries beside settings, seeds and the machinery's own files, as `temporaries` does."""
        rooms = [f"{self._prefix}{room}" for room in _ROOMS if room not in _PAGE_ROOMS]
        return self._temporaries_in([str(self.root), *rooms])

    def put_robots(self, host: str, record: RobotsRecord) -> None:
        """Store a host's robots.txt; an earlier one is replaced."""
        self._publish(f"{self._prefix}{MACHINERY}/robots/{host}.json", record.to_json())

    def robots(self, host: str) -> RobotsRecord | None:
        """Read a host's robots.txt; None if it has not been stored, or is torn (then it is fetched again)."""
        data = self._read(f"{self._prefix}{MACHINERY}/robots/{host}.json")
        try:
            return None if data is None else RobotsRecord.from_json(data)
        except RecordError:
            return None

    def signs(self) -> frozenset[str]:
        """Give the names in the root that steer the machines: STOP, PAUSE, PAUSE.<host>.

        Asked for both ways: a listing is fresh on NFS and 20 s old on sshfs, a look-up by name the other way round.
        """
        found = {name for name in self._list(str(self.root)) if name in (PAUSE, STOP) or name.startswith(f"{PAUSE}.")}
        return frozenset(found | {name for name in (PAUSE, STOP) if self._exists(f"{self._prefix}{name}")})

    def put_sign(self, name: str) -> None:
        """Create a sign, if it is not there."""
        claim(f"{self._prefix}{name}", b"", self.machine, retrying=self.retrying)

    def drop_sign(self, name: str) -> bool:
        """Remove a sign; tell whether there was one."""
        there = self._exists(f"{self._prefix}{name}")
        remove(f"{self._prefix}{name}", self.retrying)
        return there

    def settings_text(self) -> str:
        """Read `crawl.toml`."""
        return self._text(SETTINGS)

    def settings_text_if_there(self) -> str | None:
        """Read `crawl.toml`; None in the moment in which an editor replaces it."""
        return kept_settings(self.root)

    def seeds_text(self) -> str:
        """Read `seeds.txt`; "" if somebody removed it."""
        return self._text(SEEDS) if self._exists(f"{self._prefix}{SEEDS}") else ""

    def add_seeds(self, urls: list[str]) -> None:
        """Append lines to `seeds.txt`, in one write; a last line without newline gets one first."""
        path = f"{self._prefix}{SEEDS}"
        old = self.seeds_text()
        new = ("" if not old or old.endswith("\n") else "\n") + "".join(f"{url}\n" for url in urls)
        with translated(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                write_all(descriptor, new.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _text(self, name: str) -> str:
        return self._get(f"{self._prefix}{name}").decode("utf-8", "replace")

    # -- file system

    def _directory(self, room: str, host: str, key: str) -> str:
        path = f"{self._prefix}{room}/{host}"
        return f"{path}/{key[:2]}" if self.record.fanout else path

    def _directories(self, room: str, host: str) -> list[str]:
        path = f"{self._prefix}{room}/{host}"
        return [f"{path}/{name}" for name in self._list(path) if _FAN.match(name)] if self.record.fanout else [path]

    def _put(self, room: str, host: str, key: str, data: bytes) -> None:
        path = self.path_of(room, host, key)
        try:
            self._publish(path, data)
        except TreeError as error:
            if not error.is_missing:
                raise
            self._make_host(room, host, key)
            self._publish(path, data)

    def _publish(self, path: str, data: bytes) -> None:
        publish(path, data, self.machine, fsync=self.fsync, retrying=self.retrying)

    def _make_host(self, room: str, host: str, key: str) -> None:
        """Make a host's directory, but never the room's: if that is missing, the share is gone."""
        self._make(f"{self._prefix}{room}/{host}")
        if self.record.fanout:
            self._make(self._directory(room, host, key))

    def _make(self, path: str) -> None:
        def make_once() -> None:
            make_directory(path)
            if self.fsync:
                sync_directory(os.path.dirname(path))

        self.retrying(path, make_once)

    def _temporaries_in(self, directories: list[str]) -> list[tuple[str, str]]:
        named = [
            (directory, name, temporary_owner(name)) for directory in directories for name in self._list(directory)
        ]
        return [(f"{directory}/{name}", owner) for directory, name, owner in named if owner is not None]

    def _exists(self, path: str) -> bool:
        return self.retrying.find(path, lambda: os.stat(path), None) is not None

    def _get(self, path: str) -> bytes:
        """Read what should be there: sshfs misses a name for an instant while it is being replaced."""
        data = self._read(path)
        if data is not None:
            return data
        time.sleep(_INSTANT_S)
        return self.retrying(path, lambda: read_file(path))

    def _read(self, path: str) -> bytes | None:
        return self.retrying.find(path, lambda: read_file(path), None)

    def _list(self, path: str) -> list[str]:
        return self.retrying.find(path, lambda: os.listdir(path), [])

    # -- by place, for the audit: a path from the root, made of names that were listed

    def entries(self, place: str) -> list[tuple[str, str]]:
        """List a directory: (name, "file" | "directory" | "other"); none if it is not there."""
        path = f"{self._prefix}{place}"
        return self.retrying.find(path, lambda: _scan(path), [])

    def read(self, place: str) -> bytes | None:
        """Read a file; None if it is not there."""
        return self._read(f"{self._prefix}{place}")

    def remove(self, place: str) -> None:
        """Remove a file that may be gone already."""
        remove(f"{self._prefix}{place}", self.retrying)

    def set_aside(self, place: str) -> None:
        """Give a file that may be gone already a name by which it is no page's any more: `<name>.torn`."""
        path = f"{self._prefix}{place}"
        self.retrying.find(path, lambda: os.rename(path, path + TORN), None)


def _scan(path: str) -> list[tuple[str, str]]:
    with os.scandir(path) as found:
        return [(entry.name, _kind(entry)) for entry in found]


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_file():
        return "file"
    return "directory" if entry.is_dir() else "other"
