"""Which files an index of searches consists of, and for which parts of the dataset they are. Needs no package.

    search/index.json               the list of shards; it is replaced as a whole, after its shards are there
    search/index-<digest>.sqlite    a shard: the words of the pages of one or more parts; never changed

A shard names the parts that it was made of by their SHA-256. So a reader sees for itself which of them fit the dataset,
whatever happened in between: an index is never out of date without a word about it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fscrawl.dataset import door
from fscrawl.dataset.manifest import Manifest, Part
from fscrawl.errors import UnfitFileError, UsageError, tree_error
from fscrawl.util.humanize import number_of, size

FOLDER = "search"
LIST = f"{FOLDER}/index.json"
FORMAT = 1

# name → SHA-256 of a part
Digests = dict[str, str]


def check_there(root: Path) -> None:
    """Raise TreeError if a dataset is not there, as where its share is not mounted. UsageError for a file."""
    try:
        next(root.iterdir(), None)
    except NotADirectoryError:
        right = "must be the directory of a dataset, made with fscrawl merge"
        raise UsageError(f"--dataset {root}: not a directory; {right}") from None
    except OSError as error:
        raise tree_error(error, root) from error


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of the index. `rows`: pages in it; `of_rows`: rows of its parts; `parts`: what it was made of."""

    file: str
    bytes: int
    rows: int
    of_rows: int
    parts: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "bytes": self.bytes,
            "rows": self.rows,
            "of_rows": self.of_rows,
            "parts": [list(part) for part in self.parts],
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Shard:
        """Read what `as_json` gives; KeyError, TypeError or ValueError if it is something else."""
        parts = tuple((str(path), str(digest)) for path, digest in values["parts"])
        file = str(values["file"])
        if file != file_name(parts):  # also what leads out of the folder
            raise ValueError(file)
        return cls(file, int(values["bytes"]), int(values["rows"]), int(values["of_rows"]), parts)

    def fits(self, digests: Digests) -> bool:
        """Tell whether all that it was made of stands in the dataset."""
        return all(digests.get(path) == digest for path, digest in self.parts)

    def is_whole(self, root: Path) -> bool:
        """Tell whether its file is there, and as long as it was."""
        try:
            return door.size(root, self.file) == self.bytes
        except OSError:
            return False


def file_name(parts: Iterable[tuple[str, str]]) -> str:
    """Return the name of the shard of these parts, relative to the dataset.

    >>> file_name([("pages/part-0001-00000.parquet", "00")])
    'search/index-565217891edd3d52.sqlite'
    """
    said = json.dumps([FORMAT, *map(list, parts)])
    return f"{FOLDER}/index-{hashlib.sha256(said.encode()).hexdigest()[:16]}.sqlite"


def parts_of(manifest: Manifest) -> list[Part]:
    """Return the parts of a dataset that have its pages and can be indexed."""
    return [part for part in manifest.parts if part.path.startswith("pages/") and part.path.endswith(".parquet")]


def digests_of(parts: Iterable[Part]) -> Digests:
    return {part.path: part.sha256 for part in parts}


def read_list(root: Path) -> list[Shard] | None:
    """Read the list of shards; None if there is none, or it is damaged or of a later version. OSError if it hides."""
    try:
        values = json.loads(door.read(root, LIST))
        return [Shard.from_json(each) for each in values["shards"]] if values["format"] == FORMAT else None
    except (FileNotFoundError, NotADirectoryError, UnfitFileError):
        return None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None


def report(root: Path) -> list[str]:
    """Say what index a dataset has, on one line; nothing if it has none."""
    shards = read_list(root)
    if shards is None:
        return []
    pages = number_of(sum(shard.rows for shard in shards), "page")
    return [f"search/      {number_of(len(shards), 'file')}, {size(sum(shard.bytes for shard in shards))}, {pages}"]


def list_of(shards: Sequence[Shard]) -> dict[str, Any]:
    return {"format": FORMAT, "shards": [shard.as_json() for shard in shards]}
