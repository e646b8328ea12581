"""A disk that loses power: operations in, and out what may be there afterwards.

Vocabulary:
  durable    what is surely there: a file's data as of its last fsync, a directory's entries as of theirs
  pending    what came since; it may be there or not
  survivors  one possible disk after a power loss: path → bytes, or None for a directory

Adversarial, but legal. Of a file's pending writes each may be there wholly, in part, as zeros (the size was extended
and the data never came) or not at all, in any combination. Of pending entries (a create, link, rename, unlink, mkdir):

  strict    those of one directory are there in their order, up to any one; directories know nothing of each other.
            Only an fsync of the directory settles them: one of the file keeps its data and not its name.
  journal   all directories' are there in one order, up to any one; any fsync settles all that came before it.

A rename within a directory is one entry operation: it is there or not. One between directories the product does not do,
and the model refuses it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tests.support.power.operations import Operation

Flavour = Literal["strict", "journal"]
FLAVOURS: tuple[Flavour, ...] = ("strict", "journal")
Survivors = dict[str, bytes | None]


class Change(NamedTuple):
    """A write of `data` at `offset`, or (None) a truncation to `offset`."""

    offset: int
    data: bytes | None


@dataclass(eq=False, slots=True)
class File:
    """A file's data, whatever its names."""

    durable: bytes = b""
    pending: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        self.durable, self.pending = self.content(), []

    def content(self) -> bytes:
        """Give what a reader sees while the power is on."""
        data = bytearray(self.durable)
        for change in self.pending:
            _apply(data, change, _wholly)
        return bytes(data)

    def survivor(self, rng: random.Random) -> bytes:
        data = bytearray(self.durable)
        for change in self.pending[: _some_of(len(self.pending), rng)]:
            _apply(data, change, lambda length: _some_of(length, rng))
        return bytes(data)


def _wholly(length: int) -> int:
    return length


def _some_of(count: int, rng: random.Random) -> int:
    """None, all, or some number between: the ends are where the trouble is, and come as often as all the rest."""
    return rng.choice((0, count, rng.randint(0, count)))


def _apply(data: bytearray, change: Change, share: Callable[[int], int]) -> None:
    """Do a change of which the size comes about up to one `share` of its length, and the bytes up to another."""
    if change.data is None:
        data[:] = data[: change.offset].ljust(change.offset, b"\0")
        return
    reach = share(len(change.data))
    kept = share(reach)
    if len(data) < change.offset + reach:
        data.extend(bytes(change.offset + reach - len(data)))
    data[change.offset : change.offset + kept] = change.data[:kept]


@dataclass(eq=False, slots=True)
class Directory:
    """A directory: what a program sees in it, what is durable of that, and what is pending."""

    seen: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    pending: list[Entry] = field(default_factory=list)

    def sync(self) -> None:
        self.durable, self.pending = dict(self.seen), []

    def after(self, count: int) -> dict[str, Node]:
        """Give the entries with the first `count` of the pending ones done."""
        entries = dict(self.durable)
        for entry in self.pending[:count]:
            entry.do(entries)
        return entries


Node = File | Directory


class Entry(NamedTuple):
    """What happens to a directory at once: a name goes ("": none), and a name comes (None: none)."""

    number: int  # of all entry operations of the disk
    goes: str
    comes: str
    node: Node | None

    def do(self, entries: dict[str, Node]) -> None:
        if self.goes:
            del entries[self.goes]
        if self.node is not None:
            entries[self.comes] = self.node


class Disk:
    """The file system below the mount point. `there`: what is on it, durably, before the first operation."""

    def __init__(self, flavour: Flavour, there: Mapping[str, bytes | None] | None = None) -> None:
        self.flavour = flavour
        self._root = Directory()
        self._unsettled: set[Directory] = set()
        self._entries = 0
        for path, data in sorted((there or {}).items()):
            directory, name = self._place(path)
            directory.seen[name] = Directory() if data is None else File(data)
            directory.sync()

    def do(self, operation: Operation) -> None:
        """Do one operation."""
        directory, name = self._place(operation.path)
        match operation.name:
            case "create" if name in directory.seen:  # an opening that might have made it
                self._file(operation.path).pending.append(Change(0, None))
            case "create":
                self._enter(directory, "", name, File())
            case "mkdir":
                self._enter(directory, "", name, Directory())
            case "unlink" | "rmdir":
                self._enter(directory, name, "", None)
            case "rename":
                target, new = self._place(operation.path2)
                assert target is directory, f"between directories: {operation}"
                self._enter(directory, name, new, directory.seen[name])
            case "link":
                target, new = self._place(operation.path2)
                self._enter(target, "", new, directory.seen[name])
            case "write":
                self._file(operation.path).pending.append(Change(operation.offset, operation.data))
            case "truncate":
                self._file(operation.path).pending.append(Change(operation.size, None))
            case "fsync" | "fsyncdir":
                self._sync(operation.path)
            case other:
                raise ValueError(other)

    def seen(self) -> Survivors:
        """Give what is there while the power is on."""
        seen: Survivors = {}
        directories = [("", self._root)]
        for prefix, directory in directories:
            for name, node in directory.seen.items():
                seen[f"{prefix}{name}"] = node.content() if isinstance(node, File) else None
                if isinstance(node, Directory):
                    directories.append((f"{prefix}{name}/", node))
        return seen

    def content(self, path: str) -> bytes:
        """Give what a reader of a file sees while the power is on."""
        return self._file(path).content()

    def after_power_loss(self, rng: random.Random) -> Survivors:
        """Give one of the disks that there may be if the power goes now."""
        survivors: Survivors = {}
        horizon = self._horizon(rng)
        self._gather(self._root, "", horizon, rng, survivors)
        return survivors

    def _horizon(self, rng: random.Random) -> int | None:
        """In a journal: the number of the first entry operation that did not reach the disk."""
        if self.flavour == "strict":
            return None
        numbers = sorted(entry.number for directory in self._unsettled for entry in directory.pending)
        count = _some_of(len(numbers), rng)
        return numbers[count] if count < len(numbers) else self._entries

    def _gather(
        self, directory: Directory, prefix: str, horizon: int | None, rng: random.Random, found: Survivors
    ) -> None:
        if horizon is None:
            count = _some_of(len(directory.pending), rng)
        else:
            count = sum(entry.number < horizon for entry in directory.pending)
        for name, node in directory.after(count).items():
            path = f"{prefix}{name}"
            if isinstance(node, File):
                found[path] = node.survivor(rng)
            else:
                found[path] = None
                self._gather(node, f"{path}/", horizon, rng, found)

    def _enter(self, directory: Directory, goes: str, comes: str, node: Node | None) -> None:
        entry = Entry(self._entries, goes, comes, node)
        entry.do(directory.seen)
        directory.pending.append(entry)
        self._entries += 1
        self._unsettled.add(directory)

    def _sync(self, path: str) -> None:
        node = self._node(path)
        if isinstance(node, File):
            node.sync()
        if self.flavour == "journal":
            settled = set(self._unsettled)
        else:
            settled = {node} if isinstance(node, Directory) else set()
        for directory in settled:
            directory.sync()
        self._unsettled -= settled

    def _place(self, path: str) -> tuple[Directory, str]:
        parent, _, name = path.rpartition("/")
        directory = self._node(parent)
        assert isinstance(directory, Directory), path
        return directory, name

    def _node(self, path: str) -> Node:
        node: Node = self._root
        for name in path.split("/") if path else ():
            assert isinstance(node, Directory), path
            node = node.seen[name]
        return node

    def _file(self, path: str) -> File:
        node = self._node(path)
        assert isinstance(node, File), path
        return node
