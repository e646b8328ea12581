"""Which call fails how: the one seam that every call of the pass-through file system goes through (see `passthrough`).

Vocabulary:
  call    one operation that the kernel asks of the file system: a name (`OPS`), a path, perhaps a second one
  fault   what is to happen to calls, and to which: by operation, by path, by number, or by chance
  seam    counts each call, chooses its fault, and does it: before / the call itself / after

Promise: a fault that fires is counted, and one that changes nothing is not. A call that hangs ends when its fault is
taken away, or when its caller has been sent SIGKILL: as on a hard mount, where only that helps.

  kind            what happens to the call
  error           it is not done; `code` is reported
  lost            it is done; `code` is reported: the reply was lost
  twice           it is done twice, and the second answer reported: a retransmission (EEXIST for its own success)
  slow, hang      it is done after `seconds`, or once the fault is taken away
  short           half the bytes are read or written
  torn            half the bytes are written; `code` is reported
  deferred        a write seems done and is not; `code` is reported at the next fsync or close
  stale-listing   a listing is what it was, up to `seconds` ago
  stale-size      a file that this client does not write has the size of up to `seconds` ago
  stale-missing   a name that another client made is missing for `seconds`, but not in listings
  unmount         the file system is detached, and the call done
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Entry = tuple[str, int, int]  # of a directory: name, type bits of its mode, inode number

NAMING = ("mkdir", "rmdir", "unlink", "rename", "link", "create")  # those that are not the same when done twice
OPS = (
    *NAMING,
    *("getattr", "opendir", "readdir", "open", "read", "write", "truncate", "flush", "fsync", "fsyncdir"),
    *("statfs", "chmod", "utimens"),
)  # "release" is counted too, but nobody hears of its failure
KINDS = (
    *("error", "lost", "twice", "slow", "hang", "short", "torn", "deferred"),
    *("stale-listing", "stale-size", "stale-missing", "unmount"),
)
_ONLY = {
    "twice": NAMING,
    "short": ("read", "write"),
    "torn": ("write",),
    "deferred": ("write", "flush", "fsync"),
    "stale-listing": ("readdir",),
    "stale-size": ("getattr",),
    "stale-missing": ("getattr", *NAMING),
}
_EXITING = 0x4  # PF_EXITING: it closes what it had open; a network file system has nothing to say to that
_LOOK_S = 0.05  # so often a call that hangs looks whether it may go on


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens, and to which calls: of those that match it fires at `first`, and then at every `every`-th.

    ops     names of operations; all that the kind makes sense for, if empty
    path    a regular expression searched for in the path, and in the second one
    every   0: once only; 1: from `first` on
    chance  of firing where it would
    """

    kind: str
    code: int = errno.EIO
    ops: tuple[str, ...] = ()
    path: str = ""
    first: int = 1
    every: int = 0
    chance: float = 1.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind
        assert set(self.ops) <= set(OPS), self.ops

    def concerns(self, op: str, paths: tuple[str, ...]) -> bool:
        """Tell whether calls like this are among those that are counted for the fault."""
        if op not in (self.ops or OPS) or op not in _ONLY.get(self.kind, OPS):
            return False
        return not self.path or any(re.search(self.path, path) for path in paths)

    def due(self, number: int) -> bool:
        """Tell whether the fault fires at the `number`-th of the calls that it concerns."""
        if number < self.first:
            return False
        return (number - self.first) % self.every == 0 if self.every else number == self.first


class Handle:
    """What is known of an open file: the path it was opened by, and an error that is yet to be reported."""

    __slots__ = ("code", "inode", "path")

    def __init__(self, path: str, inode: int) -> None:
        self.path = path
        self.inode = inode
        self.code = 0


class Seam:
    """All calls go through `call`; any thread may inject, heal and ask at any time."""

    def __init__(self, unmount: Callable[[], None], seed: int = 0) -> None:
        self._unmount = unmount
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._active: list[tuple[Fault, int]] = []  # with how many calls it has concerned
        self._calls: Counter[str] = Counter()
        self._injected: Counter[tuple[str, str]] = Counter()  # (kind, op)
        self._hanging = 0
        self._listings: dict[str, tuple[float, list[Entry]]] = {}
        self._sizes: dict[str, tuple[float, int]] = {}  # of files: when they were looked at, and what was seen
        self._own: set[str] = set()  # files that were written through this seam
        self._began = time.time()
        self._made: set[str] = set()
        self._missed: dict[str, float] = {}  # since when names have been missed that are there

    # -- what a test asks

    def inject(self, faults: list[Fault]) -> None:
        """Let these faults happen from now on, beside those that do."""
        with self._lock:
            self._active += [(fault, 0) for fault in faults]

    def heal(self) -> None:
        """Take all faults away; what hangs goes on."""
        with self._lock:
            self._active = []
            self._listings.clear()
            self._sizes.clear()
            self._missed.clear()

    def counts(self) -> dict[str, object]:
        """Tell the calls by operation, the faults that fired by kind and operation, and how many calls hang."""
        with self._lock:
            injected = [[kind, op, n] for (kind, op), n in sorted(self._injected.items())]
            return {"calls": dict(self._calls), "injected": injected, "hanging": self._hanging}

    # -- what a call does

    def call(
        self,
        op: str,
        paths: tuple[str, ...],
        do: Callable[[], T],
        *,
        discard: Callable[[T], object] = lambda _: None,
        caller: Callable[[], int] = os.getpid,
    ) -> T:
        """Do a call with the fault that is due, if any. `discard` undoes an answer that is not given."""
        fault = self._choose(op, paths)
        if fault is None:
            return do()
        match fault.kind:
            case "error":
                self._fired(fault, op)
                raise OSError(fault.code, os.strerror(fault.code))
            case "lost":
                discard(do())  # its own failure is an answer like any other
                self._fired(fault, op)
                raise OSError(fault.code, os.strerror(fault.code))
            case "twice":
                discard(do())
                self._fired(fault, op)
            case "slow":
                self._fired(fault, op)
                time.sleep(fault.seconds)
            case "hang":
                self._fired(fault, op)
                self._hang(fault, caller())
            case "unmount":
                self._fired(fault, op)
                self._unmount()
            case "stale-missing":
                return self._stale_missing(fault, op, paths, do)
            case _:
                pass  # the operation itself asks `shortened`, `torn`, `deferred`, `listing` or `size`
        return do()

    def shortened(self, size: int, op: str, path: str) -> int:
        """Give how many bytes are to be read or written."""
        fault = self._choose(op, (path,), kinds=("short",))
        if fault is None or size < 2:
            return size
        self._fired(fault, op)
        return size // 2

    def torn(self, size: int, path: str) -> tuple[int, int]:
        """Give how many bytes are to be written, and the error that is to be reported then; 0: none."""
        fault = self._choose("write", (path,), kinds=("torn",))
        if fault is None:
            return size, 0
        self._fired(fault, "write")
        return size // 2, fault.code

    def size(self, path: str, size: int) -> int:
        """Give the size of a file, or that of a while ago. Who writes a file knows its size."""
        fault = self._choose("getattr", (path,), kinds=("stale-size",))
        if fault is None:
            return size
        now = time.monotonic()
        with self._lock:
            at, old = self._sizes.get(path, (-fault.seconds, size))
            if now - at >= fault.seconds or path in self._own:
                self._sizes[path] = (now, size)
                return size
        if old != size:
            self._fired(fault, "getattr")
        return old

    def is_written(self, path: str) -> None:
        """A file is written by this client."""
        self._own.add(path)

    def deferred(self, op: str, handle: Handle) -> bool:
        """Tell whether a write is to be swallowed; a flush or fsync then reports it."""
        if op != "write":
            code, handle.code = handle.code, 0
            if code:
                raise OSError(code, os.strerror(code))
            return False
        fault = self._choose(op, (handle.path,), kinds=("deferred",))
        if fault is not None:
            self._fired(fault, op)
            handle.code = fault.code
        return fault is not None

    def listing(self, path: str, names: Callable[[], list[Entry]]) -> list[Entry]:
        """Give the entries of a directory, or those of a while ago."""
        fault = self._choose("readdir", (path,), kinds=("stale-listing",))
        if fault is None:
            return names()
        there = names()
        now = time.monotonic()
        with self._lock:
            at, old = self._listings.get(path, (-fault.seconds, there))
            if now - at >= fault.seconds:
                self._listings[path] = (now, there)
                return there
        if set(old) != set(there):
            self._fired(fault, "readdir")
        return old

    def _stale_missing(self, fault: Fault, op: str, paths: tuple[str, ...], do: Callable[[], T]) -> T:
        """As if every name had been looked for before it was made, and that had been remembered."""
        answer = do()
        path = paths[-1]
        with self._lock:
            if op != "getattr":  # who makes a name knows of it
                self._made.add(path)
            if path in self._made or getattr(answer, "st_ctime", 0.0) < self._began:
                return answer
            if time.monotonic() - self._missed.setdefault(path, time.monotonic()) >= fault.seconds:
                return answer
        self._fired(fault, op)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def _choose(self, op: str, paths: tuple[str, ...], kinds: tuple[str, ...] = ()) -> Fault | None:
        """Count the call for every fault that it concerns, and give the first that fires.

        Without `kinds`: of those that any operation may have. Those of one operation only are asked for by it.
        """
        inner = ("short", "torn", "deferred", "stale-listing", "stale-size")
        with self._lock:
            if not kinds:
                self._calls[op] += 1
            chosen = None
            for place, (fault, number) in enumerate(self._active):
                asked = fault.kind in kinds if kinds else fault.kind not in inner
                if not asked or not fault.concerns(op, paths):
                    continue
                self._active[place] = (fault, number + 1)
                lucky = fault.chance >= 1 or self._random.random() < fault.chance
                if chosen is None and fault.due(number + 1) and lucky:
                    chosen = fault
            return chosen

    def _fired(self, fault: Fault, op: str) -> None:
        with self._lock:
            self._injected[fault.kind, op] += 1

    def _hang(self, fault: Fault, caller: int) -> None:
        with self._lock:
            self._hanging += 1
        try:
            while any(fault is active for active, _ in self._active):
                if _is_killed(caller):
                    raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
                time.sleep(_LOOK_S)
        finally:
            with self._lock:
                self._hanging -= 1


def _is_killed(thread: int) -> bool:
    """Tell whether a thread has a SIGKILL pending, its own or its process's, or is on its way out: it waits for us."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{thread}/status").read_text(encoding="ascii", errors="replace").splitlines():
            name, _, mask = line.partition(":")
            if name in ("SigPnd", "ShdPnd") and int(mask, 16) & 1 << (signal.SIGKILL - 1):
                return True
        flags = Path(f"/proc/{thread}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[6]
        return bool(int(flags) & _EXITING)
    return True  # gone
