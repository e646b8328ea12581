"""Which pages link to a URL, from the link files of a tree: by file name if a key is known, else by reading all files.

Vocabulary:
  inlink     a stored page that links to a URL, and how: "link", "nofollow", "redirect", "sitemap" or "unfollowed"
  by name    a key gives the name of a file but not its host, so all hosts are tried

Promise: it only reads, several files at a time, and keeps only what it finds. Torn records are skipped: the audit
reports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from fscrawl.errors import RecordError
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn
from fscrawl.util.progress import SILENT, ProgressLine


class Inlink(NamedTuple):
    """A stored page that links to a URL. `how`: see above; `depth`: the depth of the URL by this link."""

    url: str
    how: str
    depth: int


def tree_path_of(tree: Tree, directory: str, host: str, key: str) -> str:
    """Give the tree path of a page's file."""
    return tree.tree_path(directory, host, key)


def host_of(tree: Tree, key: str, directory: str, first: str = "") -> str | None:
    """Find the host that has a file with this key in `directory`, `first` before the others; None if there is none."""
    others = (host for host in sorted(tree.hosts(directory)) if host != first)
    if first and tree.files.read_or_torn(tree_path_of(tree, directory, first, key)) is not None:
        return first
    with ThreadPoolExecutor(READERS, thread_name_prefix="inlinks") as pool:
        asked = in_turn(pool, (partial(_has, tree, directory, host, key) for host in others))
        return next((host for host in asked if host is not None), None)


def _has(tree: Tree, directory: str, host: str, key: str) -> str | None:
    return host if tree.files.read_or_torn(tree_path_of(tree, directory, host, key)) is not None else None


def record_of(tree: Tree, key: str, first: str = "") -> PageRecord | None:
    """Find the record of a key, on `first` or another host; None if there is none or it is torn."""
    host = host_of(tree, key, LINKS, first)
    return None if host is None else record_at(tree, host, key)


def record_at(tree: Tree, host: str, key: str) -> PageRecord | None:
    """Read the record of a page whose host is known; None if there is none or it is torn."""
    return _record(tree.files.read_or_torn(tree_path_of(tree, LINKS, host, key)))


def _record(data: bytes | None) -> PageRecord | None:
    try:
        return PageRecord.from_json(data or b"")
    except RecordError:
        return None


def inlinks(tree: Tree, url: str, line: ProgressLine = SILENT) -> Iterator[Inlink]:
    """Give the stored pages that link to a URL (a normal form), from all link files. `line`: shows how far it is."""
    line.begin("listing records")
    hosts = sorted(tree.hosts(LINKS))
    quoted = f'"{url}"'.encode()  # a normal form is ASCII, and JSON escapes none of its characters
    with ThreadPoolExecutor(READERS, thread_name_prefix="inlinks") as pool:
        names = []
        for host in hosts:
            names += [(host, key) for key in tree.keys(LINKS, host)]
            line.reach(len(names))
        line.begin("reading records", len(names))
        jobs = (partial(_read, tree, host, key, quoted) for host, key in names)
        for record in in_turn(pool, jobs):
            line.advance()
            how = None if record is None or record.url == url else record.names(url)
            if record is not None and how is not None:
                yield Inlink(record.url, how, record.depth_of_links)


def _read(tree: Tree, host: str, key: str, quoted: bytes) -> PageRecord | None:
    data = tree.files.read_or_torn(tree_path_of(tree, LINKS, host, key))
    return _record(data) if data is not None and quoted in data else None  # most need no parsing
