"""What a tree holds, whatever its layout is: for tests that convert trees, and compare what was there with what is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from fscrawl.errors import RecordError
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree


def contents(root: Path) -> dict[tuple[str, str, str], object]:
    """Give all records and failures, each page with the digests of its bodies; None: a record that cannot be read.

    What counts is read, also while the layout is being changed.
    """
    tree = Tree(root, "m-9-ff", record=msgspec.structs.replace(record_of(root), change=None))
    found: dict[tuple[str, str, str], object] = {}
    for directory in (LINKS, ERRS):
        for host in tree.hosts(directory):
            keys = tree.keys(directory, host)
            assert len(keys) == len(set(keys)), "a page came twice"
            for key in keys:
                try:
                    found[directory, host, key] = (_page if directory == LINKS else Tree.error)(tree, host, key)
                except RecordError:
                    found[directory, host, key] = None
    return found


def _page(tree: Tree, host: str, key: str) -> object:
    record = tree.page(host, key)
    bodies = {path: tree.files.read(path) for path in tree.bodies_of(host, record)}
    digests = {path: data and hashlib.sha256(data).hexdigest() for path, data in bodies.items()}
    return record, digests, sorted(tree.bodies(host, key))


def record_of(root: Path) -> TreeRecord:
    return TreeRecord.from_json((root / ".fscrawl/tree.json").read_bytes())


def page_files(root: Path) -> list[str]:
    """Give the paths of all files in the directories of pages."""
    found = []
    for directory in ("htmls", "files", "links", "errs"):
        for above, _, names in os.walk(root / directory):
            found += [str(Path(above, name).relative_to(root)) for name in names]
    return sorted(found)
