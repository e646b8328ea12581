"""Many files of one directory: listed in little memory, and read with few calls.

Promise: memory for the names of a directory does not grow by more than 12 bytes for each page. A directory is opened
once for all files that are read of it, so that a network file system need not look its path up for each of them.
What is not read here is not reported: whoever asks reads it again by its path, and learns why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from fscrawl.errors import PlantedError
from fscrawl.storage.atomic import read_file
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import key_before, suffix_of
from fscrawl.storage.safe_open import Place, open_directory

_KEY_BYTES = 12


class Keys:
    """A set of keys, given in their order.

    >>> keys = Keys()
    >>> for key in ("ff" * 12, "0a" * 12, "ff" * 12):
    ...     keys.add(key)
    >>> list(keys)
    ['0a0a0a0a0a0a0a0a0a0a0a0a', 'ffffffffffffffffffffffff']
    """

    def __init__(self) -> None:
        self._packed: dict[int, bytearray] = {}  # by the first byte, so that only a part is sorted at a time

    def add(self, key: str) -> None:
        data = bytes.fromhex(key)
        self._packed.setdefault(data[0], bytearray()).extend(data)

    def __iter__(self) -> Iterator[str]:
        for first in sorted(self._packed):
            packed = bytes(self._packed[first])
            for key in sorted({packed[at : at + _KEY_BYTES] for at in range(0, len(packed), _KEY_BYTES)}):
                yield key.hex()


def list_keys(files: TreeFiles, top: str, path: str) -> Keys:
    """List the keys of the pages that have a file in a directory of `top`; none if it is missing, or is planted.

    `top`: one whose files all have the same suffix, so not `FILES`.
    """
    place, suffix = Place(str(files.root), path), suffix_of(top)

    def list_once() -> Keys:
        keys = Keys()
        with open_directory(place) as here, os.scandir(here) as entries:
            for entry in entries:
                key = key_before(entry.name, suffix)
                if key is not None:
                    keys.add(key)
        return keys

    try:
        return files.retrying.find(place, list_once, Keys())
    except PlantedError:
        return Keys()


def read_beside(files: TreeFiles, directory: str, names: Sequence[str], most: int) -> list[bytes | None]:
    """Read files of one directory. None: it is missing, or something is wrong with it. `most`: bytes of each."""
    try:
        with open_directory(Place(str(files.root), directory)) as here:
            return [_read(f"{here}/{name}", most) for name in names]
    except OSError:
        return [None] * len(names)


def _read(path: str, most: int) -> bytes | None:
    try:
        return read_file(path, most)
    except OSError:
        return None
