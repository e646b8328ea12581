"""What the pass-through file system does when the kernel asks, and what it records (see `tests.support.passthrough`).

Vocabulary:
  backing   the directory that everything is passed through to
  handle    an open file or directory: the descriptor of the backing's
  record    the log of the operations that change something, or make a change last

Promise: each operation goes through the seam, so that any of them can be made to fail; what is recorded stands in the
order in which it was done.
"""

# ruff: noqa: PTH101, PTH102, PTH104, PTH106, PTH108 - strings and os calls, as the kernel has it

from __future__ import annotations

import base64
import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import mfusepy

from tests.support.faults import Entry, Handle, Seam

T = TypeVar("T")


class Recorder:
    """Writes down the operations in the order in which they are done; without a file, nothing."""

    def __init__(self, path: Path | None) -> None:
        self._file: BinaryIO | None = path.open("ab") if path else None
        self._lock = threading.Lock()
        self._seq = 0

    def during(self, op: str, path: str, do: Callable[[], T], inode: Callable[[T], int], **more: object) -> T:
        """Do it and write it down; one at a time, since the order counts."""
        if self._file is None:
            return do()
        with self._lock:
            self._seq += 1
            line: dict[str, object] = {"seq": self._seq, "t": 0.0, "op": op, "path": path}
            try:
                answer = do()
                line |= {"ino": inode(answer), **more, "ok": True}
                return answer
            except OSError as error:
                line |= {**more, "ok": False, "error": os.strerror(error.errno or 0)}
                raise
            finally:
                line["t"] = time.monotonic()
                self._file.write(json.dumps(line).encode() + b"\n")
                self._file.flush()


class Operations:
    """What FUSE calls, by mfusepy's names and arguments. Handles are the descriptors of the backing files."""

    use_ns = True

    def __init__(self, backing: str, seam: Seam, recorder: Recorder) -> None:
        self._backing = backing
        self._seam = seam
        self._recorder = recorder
        self._handles: dict[int, Handle] = {}

    def init_with_config(self, _connection: Any, config: Any) -> None:
        """Cache nothing, ask for no paths where there are handles, and remove what is removed, open or not."""
        config.entry_timeout = config.attr_timeout = config.negative_timeout = 0.0
        config.direct_io = config.use_ino = config.hard_remove = config.nullpath_ok = 1

    def _real(self, path: str) -> str:
        return self._backing + path

    def _call(
        self, op: str, paths: tuple[str, ...], do: Callable[[], T], discard: Callable[[T], object] = lambda _: None
    ) -> T:
        return self._seam.call(op, paths, do, discard=discard, caller=_caller)

    def _inode(self, path: str) -> int:
        return os.lstat(self._real(path)).st_ino

    def _naming(self, op: str, paths: tuple[str, ...], do: Callable[[], object]) -> int:
        """Make, move or remove names."""
        more = {"path2": paths[1]} if len(paths) > 1 else {}

        def concerned() -> int:
            inode = self._inode(paths[0]) if op in ("rmdir", "unlink", "rename", "link") else 0
            do()
            return inode or self._inode(paths[0])

        self._call(op, paths, lambda: self._recorder.during(op, paths[0], concerned, lambda inode: inode, **more))
        return 0

    # -- by path

    def getattr(self, path: str | None, fh: int | None = None) -> dict[str, int]:
        name = path if path is not None else self._handles[fh or 0].path
        found = self._call("getattr", (name,), lambda: os.fstat(fh) if fh else os.lstat(self._real(name)))
        fields = ("mode", "ino", "nlink", "uid", "gid", "size", "blocks")
        times = {f"st_{which}": getattr(found, f"st_{which}_ns") for which in ("atime", "mtime", "ctime")}
        told = {f"st_{field}": getattr(found, f"st_{field}") for field in fields} | times
        if stat.S_ISREG(found.st_mode):
            told["st_size"] = self._seam.size(name, found.st_size)
        return told

    def mkdir(self, path: str, mode: int) -> int:
        return self._naming("mkdir", (path,), lambda: os.mkdir(self._real(path), mode))

    def rmdir(self, path: str) -> int:
        return self._naming("rmdir", (path,), lambda: os.rmdir(self._real(path)))

    def unlink(self, path: str) -> int:
        return self._naming("unlink", (path,), lambda: os.unlink(self._real(path)))

    def rename(self, old: str, new: str) -> int:
        return self._naming("rename", (old, new), lambda: os.rename(self._real(old), self._real(new)))

    def link(self, target: str, source: str) -> int:
        """Give `source` a second name, `target`: mfusepy turns them round, as symlink(1) would."""
        return self._naming("link", (source, target), lambda: os.link(self._real(source), self._real(target)))

    def truncate(self, path: str | None, length: int, fh: int | None = None) -> int:
        name = path if path is not None else self._handles[fh or 0].path

        def do() -> None:
            self._recorder.during(
                *("truncate", name, lambda: os.truncate(fh or self._real(name), length), lambda _: self._inode(name)),
                size=length,
            )

        self._call("truncate", (name,), do)
        return 0

    def chmod(self, path: str, mode: int) -> int:
        self._call("chmod", (path,), lambda: os.chmod(self._real(path), mode))
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        self._call("utimens", (path,), lambda: os.utime(self._real(path), ns=times) if times else None)
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        found = self._call("statfs", (path,), lambda: os.statvfs(self._real(path)))
        names = ("bsize", "frsize", "blocks", "bfree", "bavail", "files", "ffree", "favail", "namemax")
        return {f"f_{name}": getattr(found, f"f_{name}") for name in names}

    # -- open files. Appending is the client's business, as on a network: it says at which offset

    def create(self, path: str, mode: int, flags: int) -> int:
        return self._open("create", path, flags | os.O_CREAT, mode)

    def open(self, path: str, flags: int) -> int:
        return self._open("open", path, flags, 0)

    def _open(self, op: str, path: str, flags: int, mode: int) -> int:
        def do() -> int:
            return os.open(self._real(path), flags & ~(os.O_APPEND | os.O_DIRECT), mode)

        def recorded() -> int:
            if op == "open" and not flags & os.O_TRUNC:
                return do()
            return self._recorder.during(op, path, do, lambda fd: os.fstat(fd).st_ino, size=0)

        fh = self._call(op, (path,), recorded, discard=os.close)
        self._handles[fh] = Handle(path, os.fstat(fh).st_ino)
        return fh

    def read(self, _path: str | None, size: int, offset: int, fh: int) -> bytes:
        path = self._handles[fh].path
        wanted = self._seam.shortened(size, "read", path)
        return self._call("read", (path,), lambda: os.pread(fh, wanted, offset))

    def write(self, _path: str | None, data: bytes, offset: int, fh: int) -> int:
        handle = self._handles[fh]
        size, code = self._seam.torn(self._seam.shortened(len(data), "write", handle.path), handle.path)
        taken = data[:size]
        self._seam.is_written(handle.path)

        def do() -> int:
            if self._seam.deferred("write", handle):
                return len(taken)
            more = {"offset": offset, "data": base64.b64encode(taken).decode()}
            written = self._recorder.during(
                "write", handle.path, lambda: os.pwrite(fh, taken, offset), lambda _: handle.inode, **more
            )
            if code:
                raise OSError(code, os.strerror(code))
            return written

        return self._call("write", (handle.path,), do)

    def flush(self, _path: str | None, fh: int) -> int:
        handle = self._handles[fh]
        self._call("flush", (handle.path,), lambda: self._seam.deferred("flush", handle))
        return 0

    def fsync(self, _path: str | None, _datasync: int, fh: int) -> int:
        handle = self._handles[fh]

        def do() -> None:
            self._seam.deferred("fsync", handle)
            self._recorder.during("fsync", handle.path, lambda: None, lambda _: handle.inode)

        self._call("fsync", (handle.path,), do)
        return 0

    def release(self, _path: str | None, fh: int) -> int:
        handle = self._handles.pop(fh)

        def do() -> None:
            self._recorder.during("release", handle.path, lambda: os.close(fh), lambda _: handle.inode)

        self._call("release", (handle.path,), do)
        return 0

    # -- directories

    def opendir(self, path: str) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY
        fh = self._call("opendir", (path,), lambda: os.open(self._real(path), flags), discard=os.close)
        self._handles[fh] = Handle(path, os.fstat(fh).st_ino)
        return fh

    def readdir(self, _path: str | None, fh: int) -> list[tuple[str, dict[str, int], int]]:
        path = self._handles[fh].path
        found = self._call("readdir", (path,), lambda: self._seam.listing(path, lambda: _entries(self._real(path))))
        return [(name, {"st_mode": mode, "st_ino": inode}, 0) for name, mode, inode in found]

    def releasedir(self, _path: str | None, fh: int) -> int:
        del self._handles[fh]
        os.close(fh)
        return 0

    def fsyncdir(self, _path: str | None, _datasync: int, fh: int) -> int:
        handle = self._handles[fh]

        def do() -> None:
            self._recorder.during("fsyncdir", handle.path, lambda: None, lambda _: handle.inode)

        self._call("fsyncdir", (handle.path,), do)
        return 0


def _entries(path: str) -> list[Entry]:
    """List a directory, its type bits and inode numbers with the names, as readers of directories expect."""
    dots = [(name, stat.S_IFDIR, 1) for name in (".", "..")]  # an entry with inode 0 would be skipped
    with os.scandir(path) as found:
        return dots + [(each.name, _type_of(each), each.inode()) for each in found]


def _type_of(entry: os.DirEntry[str]) -> int:
    return stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else stat.S_IFREG


def _caller() -> int:
    return int(mfusepy.fuse_get_context()[2])
