"""A share in memory. Each machine has a view of it that may be old, within limits; changes are never old.

Vocabulary:
  node      a file's content. A name leads to it; after a removal, open files do
  version   a node under a name, from one time to another
  view      what one machine sees. Either its listings may be old, or its look-ups by name; never both
  as of     the time of which an answer is: it does not go back for one machine and one question

Which answers are old is decided by a hash of seed, step, machine and question. So it does not depend on the order of
questions, which differs between two runs of Python.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat as stat_module
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple
from zlib import crc32

C = 60.0  # so old may an answer be
BEATS_C = 15.0  # the same for heartbeats: what is claimed rests on them (see `ownership`)
ROOT = "/share"
_MACHINERY = f"{ROOT}/.fscrawl"
_OPEN = "/proc/self/fd/"  # and a descriptor: what it leads to


class Crash(BaseException):
    """A machine ends at this call."""


class Stat(NamedTuple):
    st_size: int
    st_mode: int
    st_uid: int = 0
    st_gid: int = 0
    st_nlink: int = 1
    st_mtime: float = 0.0


class Entry(NamedTuple):
    name: str
    directory: bool

    def is_file(self, **_: bool) -> bool:
        return not self.directory

    def is_dir(self, **_: bool) -> bool:
        return self.directory


class Node:
    """A file, or (`data` is None) a directory. `name`: its first one; `sizes`: (time, size) of each append."""

    def __init__(self, data: bytearray | None, owner: str, name: str) -> None:
        self.data, self.owner, self.name = data, owner, name
        self.sizes: list[tuple[float, int]] = []

    def size_as_of(self, at: float) -> int:
        """Give how much of it was there; never more than there is."""
        assert self.data is not None
        before = [size for since, size in self.sizes if since <= at]
        return min(before[-1] if before else 0, len(self.data))

    def modified_at(self, size: int) -> float:  # the append that is the last one in so many bytes
        return max((since for since, end in self.sizes if end <= size), default=0.0)


class Version(NamedTuple):
    since: float
    until: float
    node: Node


class Handle:
    __slots__ = ("append", "at", "node", "path", "visible")

    def __init__(self, node: Node, path: str, visible: int | None, *, append: bool) -> None:
        self.node, self.path, self.visible, self.append, self.at = node, path, visible, append, 0


class View:
    """What one machine sees, and the faults that its calls meet.

    on_call         called before each change with the call's name and path; says "", "before", "torn" or "after": how
                    the call fails. It may raise Crash
    was_disturbed   calls may have failed
    """

    def __init__(self, name: str, *, stale: bool) -> None:
        self.name, self.stale = name, stale
        self.was_disturbed = False
        self.asked: dict[tuple[str, str], float] = {}
        self.on_call: Callable[[str, str], str] = lambda call, path: ""


class Share:
    """The part of `os` that `fscrawl.storage` uses. `view`: whose turn it is."""

    path = os.path
    fspath = staticmethod(os.fspath)
    fsencode = staticmethod(os.fsencode)
    _descriptors = itertools.count(3)  # of all shares: what is closed late must not close another file
    getpid = staticmethod(lambda: 1)

    def __init__(self, seed: int, now: Callable[[], float], *, stale: bool) -> None:
        self.seed, self.now, self.stale = seed, now, stale
        self.step = 0
        self.view = View("", stale=False)
        self.is_not_own: Callable[[str, str], None] = lambda machine, path: None
        self._names: dict[str, dict[str, list[Version]]] = {ROOT: {}}
        self._is_there: set[str] = {ROOT}
        self._handles: dict[int, Handle] = {}
        self._drawn = itertools.count()

    @staticmethod
    def statvfs(_: Any) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=1 << 30, f_frsize=4096)

    def __getattr__(self, name: str) -> Any:
        if name.isupper():  # O_RDONLY
            return getattr(os, name)
        raise AttributeError(name)

    # -- how old an answer is

    def chance(self, *what: object) -> int:
        """Give a number that depends on the seed, the step and what it is for."""
        return crc32(" ".join(map(str, (self.seed, self.step, *what))).encode())

    def _as_of(self, kind: str, key: str, most_s: float = C) -> float:
        """Give the time of which an answer is."""
        now = self.now()
        view = self.view
        if not view.stale:
            return now
        first = now
        if kind != "name" and key != _MACHINERY:  # another process of that computer may have looked before
            first -= max(self.chance("first", kind, key, view.name) % 200 - 100, 0) / 100 * most_s
        known = max(view.asked.get((kind, key), first), now - most_s)
        known = now if self.chance(kind, key, view.name) % 2 else known
        view.asked[kind, key] = known
        return known

    @property
    def _mode(self) -> str:
        """Tell which answers may be old for this machine: "list" (as on sshfs), "name" (as on NFS) or none."""
        return ("list", "name", "")[crc32(f"{self.seed} {self.view.name}".encode()) % 3]

    def _seen(self, path: str) -> None:
        """The view has changed something itself, and knows it."""
        directory = path.rpartition("/")[0]
        self.view.asked["name", path] = self.view.asked["list", directory] = self.now()

    # -- names

    def _real(self, path: str | os.PathLike[str]) -> str:
        """Give a path's own names, where it begins at an open directory."""
        path = os.fspath(path)
        if not path.startswith(_OPEN):
            return path
        descriptor, slash, rest = path.removeprefix(_OPEN).partition("/")
        return f"{self._handles[int(descriptor)].path}{slash}{rest}"

    def readlink(self, path: str) -> str:
        return self._real(path)

    def urandom(self, size: int) -> bytes:
        return b"".join(crc32(f"{self.seed} {next(self._drawn)}".encode()).to_bytes(4) for _ in range(size // 4))

    def _missing(self, path: str) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, "no such file", path)

    def node(self, path: str) -> Node | None:
        """Give what is under a name now."""
        directory, _, name = path.rpartition("/")
        versions = self._names.get(directory, {}).get(name)
        return versions[-1].node if versions and versions[-1].until == float("inf") else None

    def _look_up(self, path: str) -> Node:
        directory, _, name = path.rpartition("/")
        at = self._as_of("name", path) if self._mode == "name" else self.now()
        for version in reversed(self._names.get(directory, {}).get(name, ())):
            if version.since <= at < version.until:
                return version.node
        raise self._missing(path)

    def _end(self, path: str) -> None:
        directory, _, name = path.rpartition("/")
        versions = self._names[directory][name]
        versions[-1] = versions[-1]._replace(until=self.now())

    def _put(self, path: str, node: Node) -> None:
        directory, _, name = path.rpartition("/")
        if directory not in self._is_there:
            raise self._missing(path)
        if self.node(path) is not None:
            self._end(path)
        self._names[directory].setdefault(name, []).append(Version(self.now(), float("inf"), node))
        self._seen(path)

    @contextlib.contextmanager
    def _changing(self, call: str, path: str) -> Iterator[str]:
        """Make a change, which may fail before or after it was made."""
        fails = self.view.on_call(call, path)
        if fails == "before":
            raise OSError(errno.EIO, "it fails", path)
        yield fails
        if fails:
            raise OSError(errno.EIO, "it was made, and fails", path)

    def stat(self, path: str | os.PathLike[str], *, dir_fd: int | None = None, **_: bool) -> Stat:
        path = self._real(path) if dir_fd is None else f"{self._handles[dir_fd].path}/{path}"
        if path in self._is_there:
            return Stat(4096, stat_module.S_IFDIR | 0o755)
        node = self._look_up(path)
        if node.data is None:
            raise self._missing(path)
        return Stat(self._visible(node, path), stat_module.S_IFREG | 0o644)

    def access(self, path: str, mode: int) -> bool:
        return True

    def mkdir(self, path: str) -> None:
        path = self._real(path)
        with self._changing("mkdir", path):
            if path in self._is_there:
                raise FileExistsError(errno.EEXIST, "it is there", path)
            self._put(path, Node(None, self.view.name, path))
            self._names.setdefault(path, {})
            self._is_there.add(path)

    def rename(self, path: str, to: str) -> None:
        path, to = self._real(path), self._real(to)
        with self._changing("rename", to):
            node = self.node(path)
            if node is None:
                raise self._missing(path)
            self._put(to, node)
            self._end(path)

    def link(self, path: str, to: str) -> None:
        path, to = self._real(path), self._real(to)
        with self._changing("link", to):
            if self.node(to) is not None:
                raise FileExistsError(errno.EEXIST, "it is there", to)
            node = self.node(path)
            if node is None:
                raise self._missing(path)
            self._put(to, node)

    def unlink(self, path: str) -> None:
        path = self._real(path)
        with self._changing("unlink", path):
            if self.node(path) is None:
                raise self._missing(path)
            self._end(path)
            self._seen(path)

    def rmdir(self, path: str) -> None:
        path = self._real(path)
        with self._changing("rmdir", path):
            if path not in self._is_there or any(self.node(f"{path}/{name}") for name in self._names[path]):
                raise OSError(errno.ENOTEMPTY if path in self._is_there else errno.ENOENT, "it stays", path)
            self._end(path)
            self._is_there.discard(path)

    def listdir(self, path: str | os.PathLike[str]) -> list[str]:
        return [entry.name for entry in self._list(self._real(path))]

    @contextlib.contextmanager
    def scandir(self, path: str) -> Iterator[list[Entry]]:
        yield self._list(self._real(path))

    def _list(self, path: str) -> list[Entry]:
        if path not in self._is_there:
            raise self._missing(path)
        at = self._as_of("list", path) if self._mode == "list" else self.now()
        return [
            Entry(name, each.node.data is None)
            for name, versions in self._names[path].items()
            for each in versions
            if each.since <= at < each.until
        ]

    # -- files

    def _visible(self, node: Node, path: str) -> int:
        """Give how much of a file a view shows: of a log that others write, perhaps only what was there before."""
        assert node.data is not None
        if not node.sizes or node.owner == self.view.name:
            return len(node.data)
        most_s = BEATS_C if "/machines/" in path else C
        old = node.size_as_of(self._as_of("data", node.name, most_s))
        newer = self.chance("prefix", node.name, self.view.name)
        if self.view.stale and path.endswith(".log") and old < len(node.data) and newer % 3 == 0:
            old += newer // 3 % (len(node.data) - old)  # a part of what was added since
        shown = ("shown", node.name)  # it never becomes shorter, unless the file does
        self.view.asked[shown] = max(old, self.view.asked.get(shown, 0))
        return min(int(self.view.asked[shown]), len(node.data))

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        path = self._real(path) if dir_fd is None else f"{self._handles[dir_fd].path}/{path}"
        if flags & os.O_DIRECTORY and path not in self._is_there:
            raise self._missing(path)
        if flags & (os.O_DIRECTORY | os.O_PATH) and path in self._is_there:
            return self._handle(Handle(Node(None, "", path), path, None, append=False))
        if not flags & os.O_WRONLY:
            node = self._look_up(path)
            if node.data is None:
                raise IsADirectoryError(errno.EISDIR, "it is a directory", path)
            return self._handle(Handle(node, path, self._visible(node, path), append=False))
        found = self.node(path)
        if found is not None and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "it is there", path)
        if found is None or flags & os.O_TRUNC:
            if not flags & os.O_CREAT:
                raise self._missing(path)
            with self._changing("create", path):
                found = Node(bytearray(), self.view.name, path)
                self._put(path, found)
        is_log = path.startswith(f"{_MACHINERY}/generations/") and path.endswith(".log")
        return self._handle(Handle(found, path, None, append=is_log or bool(flags & os.O_APPEND)))

    def _handle(self, handle: Handle) -> int:
        descriptor = next(self._descriptors)
        self._handles[descriptor] = handle
        return descriptor

    def close(self, descriptor: int) -> None:
        self._handles.pop(descriptor, None)

    def fsync(self, descriptor: int) -> None:
        handle = self._handles[descriptor]
        if handle.append:
            with self._changing("fsync", handle.path):
                pass

    def fstat(self, descriptor: int) -> Stat:
        handle = self._handles[descriptor]
        if handle.node.data is None:
            return Stat(4096, stat_module.S_IFDIR | 0o755)
        size = len(handle.node.data) if handle.visible is None else min(handle.visible, len(handle.node.data))
        return Stat(size, stat_module.S_IFREG | 0o644, st_mtime=handle.node.modified_at(size))

    def read(self, descriptor: int, size: int) -> bytes:
        handle = self._handles[descriptor]
        data = self.pread(descriptor, size, handle.at)
        handle.at += len(data)
        return data

    def pread(self, descriptor: int, size: int, offset: int) -> bytes:
        handle = self._handles[descriptor]
        assert handle.node.data is not None
        data = bytes(handle.node.data[: handle.visible])
        return data[offset : offset + size]

    def write(self, descriptor: int, data: bytes) -> int:
        handle = self._handles[descriptor]
        assert handle.node.data is not None
        return self.pwrite(descriptor, data, len(handle.node.data) if handle.append else handle.at)

    def pwrite(self, descriptor: int, data: bytes, at: int) -> int:
        handle = self._handles[descriptor]
        node = handle.node
        assert node.data is not None
        if handle.append:
            self.is_not_own(self.view.name, handle.path)
        with self._changing("write", handle.path) as fails:
            data = data[: len(data) // 2] if fails == "torn" else data
            node.data[at : at + len(data)] = data
            handle.at = at + len(data)
            if handle.append:
                node.sizes.append((self.now(), len(node.data)))
        return len(data)

    # -- what happens on the server

    def files(self, below: str) -> list[str]:
        """List the paths of all files below a directory now."""
        found = []
        for directory in sorted(self._is_there):
            if f"{directory}/".startswith(f"{ROOT}/{below}/"):
                found += [f"{directory}/{name}" for name in self._names[directory]]
        return [path for path in found if (node := self.node(path)) is not None and node.data is not None]

    def cut(self, path: str, size: int) -> None:
        """The server has lost the end of a file."""
        data = node.data if (node := self.node(path)) is not None else None
        assert data is not None
        del data[size:]

    def delete(self, below: str) -> None:
        """Somebody removes a directory with all that is in it."""
        top = f"{ROOT}/{below}"
        for directory in sorted(self._is_there, reverse=True):
            if directory == top or directory.startswith(f"{top}/"):
                for path in filter(self.node, [f"{directory}/{name}" for name in self._names[directory]]):
                    self._end(path)
                self._is_there.discard(directory)
        self._end(top)
