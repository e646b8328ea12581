"""The part of `os` that `fscrawl.storage` uses, over files in memory. Every call and every byte is counted.

So the code that is measured is the real one, down to the system call, and no table says what an operation costs. What
Python itself adds to a call is counted, too: `os.listdir` opens a directory, asks what it is, reads names until there
are none, and closes it (a test compares this with strace). To open a directory with O_PATH, and to close it, is not
counted: it only looks the name up, as each call with a path does anyway, and no server is asked for more.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat as stat_module
from bisect import bisect_right
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.scale.tally import CHECKS, HEADS, LINES, LOGS, PAGES, Tally, kind_of
from fscrawl.storage import append_log, atomic, block_log, controls, files, permissions, safe_open, temporary

_MODULES: tuple[ModuleType, ...] = (
    append_log,
    atomic,
    block_log,
    controls,
    files,
    permissions,
    safe_open,
    temporary,
)
_LISTING_BYTES = 32 * 1024  # that one call gives
_OPEN = "/proc/self/fd/"
_ENTRY_BYTES = 24  # of a listing, beside the name


class Stat(NamedTuple):
    """What is asked of a file's status."""

    st_size: int
    st_mode: int
    st_uid: int = 0
    st_gid: int = 0
    st_nlink: int = 1
    st_mtime: float = 0.0  # nothing is edited here


class Entry(NamedTuple):
    """An entry of a listing."""

    name: str
    directory: bool

    def is_file(self, *, follow_symlinks: bool) -> bool:  # noqa: ARG002
        return not self.directory

    def is_dir(self, *, follow_symlinks: bool) -> bool:  # noqa: ARG002
        return self.directory


class _File:
    """A file. Of a log, `begins` and `ends` tell where the heads of blocks stand, one after the other."""

    __slots__ = ("begins", "data", "ends")

    def __init__(self) -> None:
        self.data = bytearray()
        self.begins: list[int] = []
        self.ends: list[int] = []


class _Handle:
    __slots__ = ("append", "at", "file", "kind")

    def __init__(self, file: _File | None, kind: str, *, append: bool) -> None:
        self.file, self.kind, self.append, self.at = file, kind, append, 0


class MemoryOs:
    """Files below one root. Only what is used is there; anything else is an AttributeError.

    tally    of the machine whose turn it is
    """

    path = os.path
    fspath = staticmethod(os.fspath)
    fsencode = staticmethod(os.fsencode)
    urandom = staticmethod(os.urandom)

    def __init__(self, root: str) -> None:
        self.root = root
        self.tally = Tally()
        self._prefix = len(root) + 1
        self._files: dict[str, _File] = {}
        self._names: dict[str, dict[str, bool]] = {root: {}}  # directory → name → whether it is one, too
        self._handles: dict[int, _Handle] = {}
        self._looked_up: dict[int, str] = {}  # directories that are open with O_PATH
        self._next = 3

    def __getattr__(self, name: str) -> Any:
        if name.isupper():  # O_RDONLY
            return getattr(os, name)
        raise AttributeError(name)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let `fscrawl.storage` use these files in place of the real ones."""
        before = atomic.os
        _install(self)
        try:
            yield
        finally:
            _install(before)

    # -- counting

    def _count(self, name: str, kind: str, calls: int = 1) -> None:
        self.tally.calls[kind] += calls
        self.tally.names[name] += calls

    def _kind(self, path: str, *, writes: bool = False) -> str:
        kind = kind_of(path[self._prefix :])
        return CHECKS if kind is PAGES and not writes and not path.endswith(".tmp") else kind

    # -- names

    def _real(self, path: str | os.PathLike[str]) -> str:
        """Give the path behind one that begins with an open directory."""
        path = os.fspath(path)
        if not path.startswith(_OPEN):
            return path
        number, slash, rest = path[len(_OPEN) :].partition("/")
        return self._looked_up[int(number)] + slash + rest

    def _missing(self, path: str) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, "no such file", path)

    def _put(self, path: str, *, directory: bool = False) -> None:
        above, _, name = path.rpartition("/")
        if above not in self._names:
            raise self._missing(path)
        self._names[above][name] = directory

    def readlink(self, path: str) -> str:
        return self._real(path)

    def stat(
        self,
        path: str | os.PathLike[str],
        *,
        dir_fd: int | None = None,
        follow_symlinks: bool = True,  # noqa: ARG002
    ) -> Stat:
        path = self._real(path) if dir_fd is None else f"{self._looked_up[dir_fd]}/{path}"
        self._count("stat", self._kind(path))
        return self._status(path)

    def _status(self, path: str) -> Stat:
        if path in self._names:
            return Stat(4096, stat_module.S_IFDIR | 0o755)
        file = self._files.get(path)
        if file is None:
            raise self._missing(path)
        return Stat(len(file.data), stat_module.S_IFREG | 0o644)

    def access(self, path: str, mode: int) -> bool:  # noqa: ARG002
        path = self._real(path)
        self._count("access", self._kind(path))
        return path in self._names or path in self._files

    def mkdir(self, path: str) -> None:
        path = self._real(path)
        self._count("mkdir", self._kind(path, writes=True))
        if path in self._names:
            raise FileExistsError(errno.EEXIST, "it is there", path)
        self._put(path, directory=True)
        self._names[path] = {}

    def rename(self, path: str, to: str) -> None:
        path, to = self._real(path), self._real(to)
        self._count("rename", self._kind(to, writes=True))
        if path not in self._files:
            raise self._missing(path)
        self._put(to)
        self._files[to] = self._files[path]
        self._drop(path)

    def link(self, path: str, to: str) -> None:
        path, to = self._real(path), self._real(to)
        self._count("link", self._kind(to, writes=True))
        if to in self._files:
            raise FileExistsError(errno.EEXIST, "it is there", to)
        if path not in self._files:
            raise self._missing(path)
        self._put(to)
        self._files[to] = self._files[path]

    def unlink(self, path: str) -> None:
        path = self._real(path)
        self._count("unlink", self._kind(path, writes=True))
        if path not in self._files:
            raise self._missing(path)
        self._drop(path)

    def _drop(self, path: str) -> None:
        del self._files[path]
        above, _, name = path.rpartition("/")
        del self._names[above][name]

    def listdir(self, path: str | os.PathLike[str]) -> list[str]:
        return list(self._listed(self._real(path)))

    @contextlib.contextmanager
    def scandir(self, path: str) -> Iterator[list[Entry]]:
        yield [Entry(*each) for each in self._listed(self._real(path)).items()]

    def _listed(self, path: str) -> dict[str, bool]:
        kind = self._kind(path)
        self._count("open", kind)
        if path not in self._names:
            raise self._missing(path)
        names = self._names[path]
        size = sum(map(len, names)) + _ENTRY_BYTES * len(names)
        self._count("stat", kind)
        self._count("getdents64", kind, 2 + size // _LISTING_BYTES)
        self._count("close", kind)
        self.tally.read[kind] += size
        return names

    # -- files

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # noqa: ARG002
        path = self._real(path) if dir_fd is None else f"{self._looked_up[dir_fd]}/{path}"
        if flags & os.O_PATH:
            if path not in self._names and (flags & os.O_DIRECTORY or path not in self._files):
                raise self._missing(path)
            self._next += 1
            self._looked_up[self._next] = path
            return self._next
        writes = bool(flags & os.O_WRONLY)
        kind = self._kind(path, writes=writes)
        self._count("open", kind)
        file = None
        if not flags & os.O_DIRECTORY:
            file = self._files.get(path)
            if file is None:
                if not flags & os.O_CREAT:
                    raise self._missing(path)
                self._put(path)
                file = self._files[path] = _File()
            elif flags & os.O_EXCL:
                raise FileExistsError(errno.EEXIST, "it is there", path)
            elif flags & os.O_TRUNC:
                self._files[path] = file = _File()
        elif path not in self._names:
            raise self._missing(path)
        self._next += 1
        self._looked_up[self._next] = path
        self._handles[self._next] = _Handle(file, kind, append=bool(flags & os.O_APPEND))
        return self._next

    def _opened(self, name: str, descriptor: int) -> tuple[_Handle, _File]:
        handle = self._handles[descriptor]
        self._count(name, handle.kind)
        assert handle.file is not None
        return handle, handle.file

    def close(self, descriptor: int) -> None:
        del self._looked_up[descriptor]
        if descriptor in self._handles:
            self._count("close", self._handles.pop(descriptor).kind)

    def fsync(self, descriptor: int) -> None:
        self._count("fsync", self._handles[descriptor].kind)

    def fstat(self, descriptor: int) -> Stat:
        if descriptor not in self._handles:
            return self.stat(self._looked_up[descriptor])
        return Stat(len(self._opened("stat", descriptor)[1].data), stat_module.S_IFREG | 0o644)

    def read(self, descriptor: int, size: int) -> bytes:
        handle, _ = self._opened("read", descriptor)
        data = self._range(handle, handle.at, size)
        handle.at += len(data)
        return data

    def pread(self, descriptor: int, size: int, offset: int) -> bytes:
        handle, _ = self._opened("pread64", descriptor)
        return self._range(handle, offset, size)

    def _range(self, handle: _Handle, offset: int, size: int) -> bytes:
        assert handle.file is not None
        data = bytes(memoryview(handle.file.data)[offset : offset + size])
        if handle.kind is LOGS:
            heads = _overlap(handle.file, offset, offset + len(data))
            self.tally.read[HEADS] += heads
            self.tally.read[LINES] += len(data) - heads
        else:
            self.tally.read[handle.kind] += len(data)
        return data

    def write(self, descriptor: int, data: bytes) -> int:
        handle = self._handles[descriptor]
        assert handle.file is not None
        handle.at = len(handle.file.data) if handle.append else handle.at
        return self.pwrite(descriptor, data, handle.at)

    def pwrite(self, descriptor: int, data: bytes, at: int) -> int:
        handle, file = self._opened("write", descriptor)
        file.data[at : at + len(data)] = data
        handle.at = at + len(data)
        if handle.kind is LOGS:
            heads = _note_heads(file, at, data)
            self.tally.written[HEADS] += heads
            self.tally.written[LINES] += len(data) - heads
        else:
            self.tally.written[handle.kind] += len(data)
        return len(data)


def _install(what: Any) -> None:
    for module in _MODULES:
        module.os = what  # type: ignore[attr-defined]


def _note_heads(file: _File, at: int, data: bytes) -> int:
    """Note where the head of a block stands in what is written; give its length."""
    end = data.index(b"\n") + 1 if data.startswith(b"B ") else 0
    file.begins.append(at)
    file.ends.append(at + end)
    return end


def _overlap(file: _File, begin: int, end: int) -> int:
    """Tell how many bytes of a range are heads."""
    total = 0
    for index in range(max(bisect_right(file.begins, begin) - 1, 0), len(file.begins)):
        if file.begins[index] >= end:
            break
        total += max(min(end, file.ends[index]) - max(begin, file.begins[index]), 0)
    return total
