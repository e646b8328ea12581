"""The directory of a dataset. A file appears in it whole or not at all, and only one merge writes at a time.

    manifest.json   what the dataset holds (`manifest`); written last, it commits a run
    README.md       its card (`card`)
    pages/ links/ items/ errors/ warc/ warc-index/ jsonl/ jsonl.zst/ csv/             parts (`write`)
    search/         the index of searches, if it was asked for (`search`)
    .merge/         options.json, lock, writer-<n> (`writer`), seen-<run>.parquet (`dedupe`); run-<run>/ while a run
                    is under way

Promise: only `start_over` removes what `manifest.json` names. It removes the directories above with all that is in
them; files beside them are never removed.

Others may write into the directory, as into a tree (`storage.safe_open`). Where a file or a directory should be, they
may put a symbolic link to something else, a FIFO that nobody writes to, a device, or 30 GB of nothing. None is
followed, waited for, or read: what is opened is a regular file below the dataset's directory, and what is removed or
renamed has its name there. Paths that `DatasetDir` gives lead to what is open, by its descriptor: links that appear
later do not matter.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from fscrawl.dataset import writer
from fscrawl.dataset.manifest import Manifest, Part
from fscrawl.dataset.options import FORMATS, Options, check
from fscrawl.errors import FscrawlError, TreeError, UsageError, reason, tree_error
from fscrawl.storage import atomic
from fscrawl.storage.inside import what_is_around
from fscrawl.storage.safe_open import Place, look_at, open_directory, open_to_append, open_to_read
from fscrawl.util.humanize import number_of

MANIFEST = "manifest.json"
CARD = "README.md"
FOLDERS = (
    *("pages", "links", "items", "errors", "changes", "warc-index", "search"),
    *(each for each in FORMATS if each != "parquet"),
)
STATE = ".merge"
OPTIONS = f"{STATE}/options.json"
_WRONG_NAME = frozenset({errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# What Arrow says of bytes that are no Parquet has no number.
_DAMAGE = frozenset({None, errno.ENOENT, errno.EISDIR})
_SEEN = re.compile(r"seen-(\d+)\.parquet")
_OTHER_VERSION = "if a newer fscrawl has written it, update this one; else start again with --rebuild"
_MOST_TEXT_BYTES = 64 << 20  # of a file that is read whole: a manifest of 250,000 parts
_MOST_DEPTH = 3  # a merge makes directories in directories, and no deeper ones
Kind = Literal["directory", "file", "other"]
T = TypeVar("T")


class Made(msgspec.Struct, frozen=True):
    """What a dataset is made of, and how: the same for all of its runs. In `OPTIONS`, from its first run on."""

    crawl: str
    options: Options


@dataclass
class DatasetDir:
    """A dataset's directory. It can be pickled; all processes of one merge may use it.

    `writer`: the number of the merge that writes here; 0: it is only read.
    """

    root: Path
    writer: int = 0

    # -- files

    def path(self, name: str) -> Path:
        """Give the path of a file as users know it. It is not for opening the file."""
        return self.root / name

    def _place(self, name: str) -> Place:
        return Place(str(self.root), name)

    @contextlib.contextmanager
    def beside(self, name: str) -> Iterator[Path]:
        """Give a path of a file in its directory, which is open meanwhile. An OSError has the file's own path."""
        above, _, leaf = name.rpartition("/")
        try:
            with open_directory(self._place(above)) as here:
                yield Path(here, leaf)
        except OSError as error:
            if error.filename is None or os.fspath(error.filename).startswith("/proc/"):
                error.filename = f"{self.root}/{name}"
            raise

    @contextlib.contextmanager
    def reading(self, name: str) -> Iterator[Path]:
        """Open a file, and give a path for whatever library reads it. Raises OSError."""
        with self.beside(name) as path:
            descriptor, _ = open_to_read(path)
        try:
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)

    def read(self, name: str) -> bytes:
        """Read a small file. Raises OSError."""
        with self.beside(name) as path:
            return atomic.read_file(path, _MOST_TEXT_BYTES)

    def make_folder(self, name: str) -> None:
        """Make a directory, and those above it but the dataset's own. Raises OSError."""
        names = name.split("/") if name else []
        for depth in range(1, len(names) + 1):
            atomic.make_directory(self._place("/".join(names[:depth])))

    @contextlib.contextmanager
    def publish(self, name: str) -> Iterator[Path]:
        """Yield a temporary path to write to. It becomes `name` if the block succeeds, and is removed if not."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.make_folder(name.rpartition("/")[0])
            with self.beside(name) as path:
                # nobody can guess it; and two machines of a cluster can have the same pid
                temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
                try:
                    yield temporary
                    self.check_writer()
                    temporary.replace(path)
                except BaseException:
                    with contextlib.suppress(OSError):
                        temporary.unlink()
                    raise
        except OSError as error:
            raise tree_error(error, self.root / name) from error

    def write(self, name: str, text: str, *, durable: bool = False) -> None:
        """Write a text. `durable`: it outlives a power loss when this returns."""
        with self.publish(name) as temporary:
            temporary.write_text(text, encoding="utf-8")
            if durable:
                _sync_file(temporary)
        if durable:
            self._sync_directories([name])

    def sync(self, names: Iterable[str]) -> None:
        """Let files outlive a power loss. Raises OSError."""
        names = list(names)
        for name in names:
            with self.reading(name) as path:
                _sync_file(path)
        self._sync_directories(names)

    def _sync_directories(self, names: Iterable[str]) -> None:
        for path in sorted({above for name in names for above in (self.root / name).parents}):
            if path.is_relative_to(self.root):
                atomic.sync_directory(str(path))
        with contextlib.suppress(PermissionError):  # a directory that others own may be entered, and not listed
            atomic.sync_directory(str(self.root.parent))

    def read_json(self, name: str, kind: type[T]) -> T | None:
        """Read a JSON file; None if it is not there. UsageError if it is something else than a `kind`."""
        try:
            return msgspec.json.decode(self.read(name), type=kind)
        except FileNotFoundError:
            return None
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.root / name}: not what a merge writes ({error}); {_OTHER_VERSION}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise unreadable(self.root / name, error) from error

    def read_scratch(self, name: str, kind: type[T]) -> T | None:
        """Read a JSON file of a run that was interrupted; None if it is not there, or torn: then it is made again."""
        try:
            return msgspec.json.decode(self.read(name), type=kind)
        except (FileNotFoundError, ValueError):
            return None

    def ends_with(self, name: str, magic: bytes) -> bool:
        """Tell whether a file has its end. After a power failure, one that had its name may be short, or all zeros."""
        try:
            with self.reading(name) as path, path.open("rb") as file:
                file.seek(-len(magic), os.SEEK_END)
                return file.read() == magic
        except OSError:
            return False

    def size(self, name: str) -> int | None:
        """Give the size of a file; None if there is no such file. Raises OSError."""
        try:
            found = look_at(self._place(name))
        except FileNotFoundError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def listed(self, folder: str) -> dict[str, Kind]:
        """List a directory, sorted by name; nothing if it is not there. "": the dataset's own."""
        try:
            with self.beside(f"{folder}/") as here, os.scandir(here) as entries:
                return {entry.name: _kind(entry) for entry in sorted(entries, key=lambda entry: entry.name)}
        except FileNotFoundError:
            return {}

    def files(self, *folders: str) -> list[str]:
        """List what is below directories and is none itself, by the paths in the dataset."""
        found = []
        for folder in folders:
            for leaf, kind in self.listed(folder).items():
                name = f"{folder}/{leaf}"
                found += self.files(name) if kind == "directory" else [name]
        return found

    def discard(self, name: str) -> None:
        """Remove a file, if it is there. Raises OSError."""
        with contextlib.suppress(FileNotFoundError), self.beside(name) as path:
            path.unlink()

    def write_json(self, name: str, value: Any, *, durable: bool = False) -> None:
        self.write(name, msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n", durable=durable)

    def part(self, name: str, rows: int) -> Part:
        """Describe a file that is complete, for the manifest."""
        with self.reading(name) as path, path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Part(name, rows, os.fstat(file.fileno()).st_size, digest)

    def is_whole(self, part: Part) -> bool:
        """Tell whether a file is there, and as long as the manifest says."""
        try:
            return self.size(part.path) == part.bytes
        except OSError:
            return False

    def is_same(self, part: Part) -> bool:
        """Tell whether a file has the bytes that it had. After a power failure they may be zeros."""
        try:
            return self.part(part.path, part.rows) == part
        except OSError:
            return False

    def remove(self, name: str) -> None:
        """Remove a directory."""
        try:
            with self.beside(name) as path:
                shutil.rmtree(path)
        except OSError as error:
            raise tree_error(error, self.root / name) from error

    def remove_parts(self, run: int, but: AbstractSet[str]) -> None:
        """Remove the parts of a run that it has not made: it was interrupted, and cut otherwise before that."""
        for name in self.files(*FOLDERS):
            if name.rpartition("/")[2].startswith(f"part-{run:04}-") and name not in but:
                self.discard(name)

    # -- the whole

    def manifest(self) -> Manifest | None:
        """Read the manifest; None before the first run has ended."""
        return self.read_json(MANIFEST, Manifest)

    def check_runs(self, before: Manifest | None) -> None:
        """Raise UsageError if there were more runs than the manifest names: it is an old copy, or was removed.

        The next run would write over the files of the second one, and beside those of later ones: pages would come
        twice.
        """
        named = len(before.runs) if before else 0
        found = map(_SEEN.fullmatch, self.listed(STATE))
        last = max((int(name[1]) for name in found if name), default=0)
        if last > named + 1:  # one more may have been under way
            what = "an old copy" if before else "missing"
            raise UsageError(
                f"{self.path(MANIFEST)}: {what}: there were {number_of(last, 'run')}, or one fewer; put back what the"
                " last one has written, or start again with --rebuild"
            )

    def made_of(self, before: Manifest | None) -> Made | None:
        """Give the crawl and the options that a dataset was made with; None if it is new."""
        made = self.read_json(OPTIONS, Made)
        if made is None and before is not None:  # somebody has removed the file
            made = Made(before.crawl, before.options)
        if made is not None:
            try:
                check(made.options)
            except UsageError as error:
                raise UsageError(
                    f"{self.path(OPTIONS)}: not what a merge writes ({error}); {_OTHER_VERSION}"
                ) from error
        return made

    def whole(self, before: Manifest, warn: Callable[[str], None]) -> Manifest:
        """Name files that are missing or cut. Return the manifest without those among them that are made anew."""
        spoilt = [part for part in before.parts if not self.is_whole(part)]
        lost = [part for part in spoilt if not part.is_rewritten]
        if lost:
            more = len(lost) - 1
            others = f", as {'is' if more == 1 else 'are'} {number_of(more, 'other file')}" if more else ""
            what = f"missing, or not as long as {MANIFEST} says{others}"
            warn(f"{self.path(lost[0].path)}: {what}; to make all files anew, add --rebuild")
        gone = {part.path for part in spoilt if part.is_rewritten}
        return msgspec.structs.replace(before, parts=tuple(part for part in before.parts if part.path not in gone))

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Create the directory if it is missing, and keep other merges out of it."""
        self._refuse_other_directories()
        try:
            self._refuse_what_is_planted()
            self.root.mkdir(parents=True, exist_ok=True)
            self.make_folder(STATE)
            lock, _ = open_to_append(self._place(f"{STATE}/{writer.LOCK}"), os.O_CREAT)
        except OSError as error:
            raise tree_error(error, self.root) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.root}: another merge is writing here; wait until it has ended") from None
            except OSError:
                pass  # a file system without locks
            with self.beside(f"{STATE}/") as state:
                self.writer = writer.begin(state)
            yield
        except BrokenPipeError:  # nobody reads the messages
            raise
        except Exception as error:
            with contextlib.suppress(TreeError):  # it is the same trouble
                self.check_writer()  # another merge may have removed or replaced what this one was working with
            if isinstance(error, OSError):  # of a file that somebody else has made, moved or protected
                raise tree_error(error, error.filename or self.root) from error
            raise
        finally:
            os.close(lock)

    def check_writer(self) -> None:
        """Raise UsageError if another merge has begun to write here, where the lock does not keep it out.

        TreeError if that cannot be found out.
        """
        try:
            if self.writer == 0:
                return
            with self.beside(f"{STATE}/") as state:
                is_over = writer.is_over(state, self.writer)
        except OSError as error:
            raise tree_error(error, self.root) from error
        if is_over:
            what = "another merge has begun to write here, and goes on with what this one has done"
            raise UsageError(f"{self.root}: {what}; wait until it has ended")

    def _refuse_other_directories(self) -> None:
        names = self._names()
        if names and STATE not in names:
            copied = f"a dataset without its {STATE}, as published ones are: nothing can be added to it"
            what = copied if MANIFEST in names else "not empty, and not a dataset"
            raise UsageError(f"--out {self.root}: {what}; give a new directory")
        if not names and (around := what_is_around(self.root)):
            raise UsageError(f"--out {self.root}: it is inside {around}; name a directory outside of it")

    def _refuse_what_is_planted(self) -> None:
        """Name what no merge has made, before anything is changed. What appears later is not opened."""
        made = {STATE, *FOLDERS, MANIFEST, CARD}
        waiting = [(name, kind) for name, kind in self.listed("").items() if name in made]
        while waiting:
            name, kind = waiting.pop()
            if kind == "directory" and name.count("/") < _MOST_DEPTH:
                waiting += [(f"{name}/{leaf}", kind) for leaf, kind in self.listed(name).items()]
            elif kind != "file":
                raise UsageError(
                    f"{self.root / name}: no merge has made this: a dataset has no symbolic links, FIFOs and devices,"
                    " and no directories that deep; remove it, or give a new directory"
                )

    def _names(self) -> set[str]:
        """Give the names of what is there; none if the directory is not there yet, and can be made."""
        try:
            return {path.name for path in self.root.iterdir()}
        except FileNotFoundError:
            for path in (self.root, *self.root.parents):
                if path.is_symlink() and not path.exists():
                    to = f"a symbolic link to {path.readlink()}, which is not there; is the share mounted?"
                    raise TreeError(f"--out {self.root}: {'' if path == self.root else f'{path} is '}{to}") from None
            return set()
        except OSError as error:
            if error.errno not in _WRONG_NAME:
                raise tree_error(error, f"--out {self.root}") from error
            raise UsageError(f"--out {self.root}: {reason(error)}; must be a directory") from error

    def sweep(self) -> None:
        """Remove half written files of a killed merge. Call it only while no other merge is running."""
        beside = (name for name, kind in self.listed("").items() if kind == "file")
        for name in [*beside, *self.files(STATE, *FOLDERS)]:
            leaf = name.rpartition("/")[2]
            if leaf.startswith(".") and leaf.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    self.discard(name)

    def start_over(self) -> None:
        """Remove the dataset's files. If this is killed, a marker remains, and the next merge removes the rest."""
        marker = f"{STATE}/rebuilding"
        try:
            self.write(marker, "")
            for name in (MANIFEST, CARD):
                self.discard(name)
            for folder in FOLDERS:
                with self.beside(folder) as path:
                    shutil.rmtree(path, ignore_errors=True)
            for leaf, kind in self.listed(STATE).items():
                name = f"{STATE}/{leaf}"
                if kind == "directory":
                    self.remove(name)
                elif name != marker and leaf != writer.LOCK and not writer.is_writer(leaf):
                    self.discard(name)
            self.discard(marker)
        except OSError as error:
            raise tree_error(error, self.root) from error

    def was_starting_over(self) -> bool:
        return self.size(f"{STATE}/rebuilding") is not None


def unreadable(path: Path, error: OSError | ValueError | RecursionError) -> FscrawlError:
    """Say that a file of a dataset cannot be read. What may be whole is no reason to make the dataset anew."""
    if isinstance(error, OSError) and error.errno not in _DAMAGE:
        return tree_error(error, path)
    return UsageError(f"{path}: cannot be read ({error}); start again with --rebuild")


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        atomic.sync(descriptor)
    finally:
        os.close(descriptor)
