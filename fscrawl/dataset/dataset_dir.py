"""The directory of a dataset: files that appear whole, one writer at a time, and what it says of itself.

    manifest.json   what the dataset holds: written last, it commits a run
    README.md       its card
    pages/ links/ errors/ warc/ warc-index/ jsonl/ jsonl.zst/ csv/       parts, see `formats`
    .merge/         options.json, lock, seen-<run>.parquet (see `judge`), run-<run>/ while a run is under way

Promise: nothing is removed that `manifest.json` names, but by `start_over`; nothing that is not a dataset's.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fscrawl.errors import UsageError, tree_error

MANIFEST = "manifest.json"
CARD = "README.md"
ROOMS = ("pages", "links", "errors", "warc", "warc-index", "jsonl", "jsonl.zst", "csv")
STATE = ".merge"
FORMAT = 1


class Shelf:
    """A dataset's directory; can be pickled, and opened by several processes of one merge."""

    def __init__(self, root: Path) -> None:
        self.root = root

    # -- files

    def path(self, name: str) -> Path:
        return self.root / name

    @contextlib.contextmanager
    def publish(self, name: str) -> Iterator[Path]:
        """Give a temporary path to write to; it gets its name when the block ends well, else it is removed."""
        path = self.root / name
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")  # pids recur on a cluster
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            temporary.replace(path)
        except OSError as error:
            _discard(temporary)
            raise tree_error(error, path) from error
        except BaseException:
            _discard(temporary)
            raise

    def write(self, name: str, text: str) -> None:
        with self.publish(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def read_json(self, name: str) -> Any:
        """Read a JSON file; None if it is not there."""
        try:
            return json.loads((self.root / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.root / name}: it cannot be read ({error}); start over by --rebuild") from error

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def facts(self, name: str, rows: int) -> dict[str, Any]:
        """Describe a part for the manifest."""
        path = self.root / name
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"path": name, "rows": rows, "bytes": path.stat().st_size, "sha256": digest}

    def remove(self, name: str) -> None:
        """Remove a directory; by another name, so that nothing that is half removed has this one."""
        path = self.root / name
        going = path.with_name(f"{path.name}.going")
        try:
            path.rename(going)
            shutil.rmtree(going)
        except OSError as error:
            raise tree_error(error, path) from error

    # -- the whole

    def manifest(self) -> dict[str, Any] | None:
        """Read the manifest; None before the first run has ended."""
        manifest: dict[str, Any] | None = self.read_json(MANIFEST)
        if manifest is not None and manifest.get("format", 0) > FORMAT:
            raise UsageError(f"{self.root / MANIFEST}: format {manifest['format']}: update fscrawl, or --rebuild")
        return manifest

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Make the directory where it is missing, and keep other merges out of it."""
        self._refuse_what_is_not_ours()
        try:
            (self.root / STATE).mkdir(parents=True, exist_ok=True)
            lock = os.open(self.root / STATE / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise tree_error(error, self.root) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.root}: another merge is writing it; wait for its end") from None
            except OSError:
                pass  # a file system without locks; then it is for the user not to run two at once
            yield
        finally:
            os.close(lock)

    def _refuse_what_is_not_ours(self) -> None:
        try:
            names = {path.name for path in self.root.iterdir()}
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"--out {self.root}: {error.strerror}; it takes a directory") from error
        if names and STATE not in names:
            raise UsageError(f"--out {self.root}: it is not empty, and not a dataset; name a new directory")

    def sweep(self) -> None:
        """Remove what a killed merge left half written; only while no other is at work."""
        for room in (".", STATE, *ROOMS):
            for path in (self.root / room).rglob(".*.tmp") if room != "." else self.root.glob(".*.tmp"):
                _discard(path)

    def start_over(self) -> None:
        """Remove all that is the dataset's, so that a kill in the middle leaves one that is still to be removed."""
        marker = self.root / STATE / "rebuilding"
        try:
            marker.touch()
            for name in (MANIFEST, CARD):
                (self.root / name).unlink(missing_ok=True)
            for room in ROOMS:
                shutil.rmtree(self.root / room, ignore_errors=True)
            for path in (self.root / STATE).iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name not in (marker.name, "lock"):
                    path.unlink()
            marker.unlink()
        except OSError as error:
            raise tree_error(error, self.root) from error

    def was_starting_over(self) -> bool:
        return (self.root / STATE / "rebuilding").exists()


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
