"""What names in a tree's directories mean to an audit. Pure."""

from __future__ import annotations

from fscrawl.storage.atomic import temporary_owner
from fscrawl.storage.layout import MACHINERY, PAGE_DIRECTORIES, PLANTED, PROBE, SEEDS, SETTINGS, is_key, key_of

OWN_NAMES = frozenset({SETTINGS, SEEDS, *PAGE_DIRECTORIES})  # in the root, beside the hidden ones
OF_A_CLIENT = (".nfs", ".fuse_hidden")  # network file systems keep these for open handles
WHAT = {"link": "a symbolic link", "other": "a FIFO, a socket or a device", "directory": "a directory"}
_KEY_CHARS = 24


def is_probe(path: str, name: str) -> bool:
    return path == MACHINERY and name.startswith(PROBE)


def is_planted(path: str, name: str, kind: str) -> bool:
    """Tell whether something stands where a file should be, and is none."""
    if kind == "directory":
        return key_of(name) is not None or name.endswith(PLANTED) or path.startswith(f"{MACHINERY}/")
    return kind != "file"


def key_of_temporary(path: str) -> str | None:
    """Give the key of the page of which a path is a temporary; "" if it is not of a page, None if it is none.

    >>> key_of_temporary("links/a.example/.599370d5687c3fd078c314ad.json.host-7-ab12.5a0c66e2b9f1d374.tmp")
    '599370d5687c3fd078c314ad'
    >>> key_of_temporary(".fscrawl/leases/.7.host-7-ab12.5a0c66e2b9f1d374.tmp"), key_of_temporary(".fscrawl/probe.x")
    ('', None)
    """
    name = path.rpartition("/")[2]
    if temporary_owner(name) is None:
        return None
    key = name[1 : 1 + _KEY_CHARS]
    return key if path.startswith(tuple(f"{directory}/" for directory in PAGE_DIRECTORIES)) and is_key(key) else ""
