"""Where a URL is named: in which link files of a tree, and in which lines of the newest generation's logs.

Vocabulary:
  inlink     a stored page that links to a URL, and how: "link", "nofollow", "redirect", "sitemap" or "unfollowed"
  by name    a key gives the name of a file but not its host, so all hosts are tried

Promise: it only reads, several files at a time, and keeps only what it finds. Torn records are skipped: the audit
reports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.outside import AllLines
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.flags import format_flags
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn
from fscrawl.util.progress import SILENT, ProgressLine


class Inlink(msgspec.Struct, frozen=True, order=True):
    """A stored page that links to a URL. `how`: see above; `depth`: the depth of the URL by this link."""

    url: str
    how: str
    depth: int


def host_of(tree: Tree, key: str, directory: str, first: str = "") -> str | None:
    """Find the host that has a file with this key in `directory`, `first` before the others; None if there is none."""
    others = (host for host in sorted(tree.hosts(directory)) if host != first)
    if first and tree.files.read_or_torn(tree.tree_path(directory, first, key)) is not None:
        return first
    with ThreadPoolExecutor(READERS, thread_name_prefix="inlinks") as pool:
        asked = in_turn(pool, (partial(_has, tree, directory, host, key) for host in others))
        return next((host for host in asked if host is not None), None)


def _has(tree: Tree, directory: str, host: str, key: str) -> str | None:
    return host if tree.files.read_or_torn(tree.tree_path(directory, host, key)) is not None else None


def record_of(tree: Tree, key: str, first: str = "") -> PageRecord | None:
    """Find the record of a key, on `first` or another host; None if there is none or it is torn."""
    host = host_of(tree, key, LINKS, first)
    return None if host is None else record_at(tree, host, key)


def record_at(tree: Tree, host: str, key: str) -> PageRecord | None:
    """Read the record of a page whose host is known; None if there is none or it is torn."""
    return _record(tree.files.read_or_torn(tree.tree_path(LINKS, host, key)))


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
    data = tree.files.read_or_torn(tree.tree_path(LINKS, host, key))
    return _record(data) if data is not None and quoted in data else None  # most need no parsing


_MOST_LINES = 100


# -- logs


class Line(msgspec.Struct, frozen=True):
    """A line that found a URL: in the log of `machine`, or in `seeds.txt` (then `machine` is "").

    found_on    URL of the page with key `referrer`
    source      "log", "seeds"
    """

    machine: str
    depth: int
    referrer: str
    mark: str = ""
    found_on: str | None = None
    source: str = "log"


class Mark(msgspec.Struct, frozen=True):
    """What the log of `machine` says has become of a URL: it is done, or failed at `failed_at`.

    depth     at which it was found
    counts    its links were chosen by rules that cover the present ones; so machines do nothing more for the URL
    """

    machine: str
    depth: int
    failed_at: str = ""
    counts: bool = False


class Mentions:
    """All lines in which logs mention one URL.

    url      its normal form; None if no line has it
    lines    who discovered it; a hundred at most
    marks    who says that it is done, or that it failed; a hundred at most
    requests of a plain URL: lines that have it as part of a request, in its spelling; a hundred at most
    """

    def __init__(self, tree: Tree, own: LinkRules, key: str, url: str | None, shard: int | None) -> None:
        """Read it. `own`: those that the settings ask for. `url`: None if only the key is known; `shard`, too."""
        self.url = url
        self.lines: list[Line] = []
        self.marks: list[Mark] = []
        self.requests: set[str] = set()
        self._begin = f"{url}#" if url is not None and "#" not in url else None
        self._key = key
        all_lines = AllLines(tree, None if shard is None else {shard})
        newest = all_lines.generation
        counts = newest is not None and newest.links is not None and newest.links.covers(own)
        for machine, line in all_lines.lines():
            if isinstance(line, Found):
                self._add(line, machine)
            elif isinstance(line, Told) and line.key == key and len(self.marks) < _MOST_LINES:
                is_valid = counts or bool(line.failed_at)
                self.marks.append(Mark(machine, line.depth, line.failed_at, counts=is_valid))

    def _add(self, found: Found, machine: str) -> None:
        if self.url is None and urls.key(found.url) == self._key:
            self.url = found.url
        if found.url == self.url and len(self.lines) < _MOST_LINES:
            self.lines.append(Line(machine, found.depth, found.referrer, format_flags(found.flags)))
        if self._begin is not None and found.url.startswith(self._begin) and len(self.requests) < _MOST_LINES:
            self.requests.add(found.url)


class ReadLinks:
    """Of which of some pages the links stand in the logs, and by which rules they were chosen (None: by none yet)."""

    def __init__(self, tree: Tree, keys: Iterable[str]) -> None:
        wanted = set(keys)
        all_lines = AllLines(tree)
        self.rules = None if all_lines.generation is None else all_lines.generation.links
        lines = (line for _, line in all_lines.lines())
        self.keys = {line.key for line in lines if isinstance(line, Told) and not line.failed_at and line.key in wanted}


def rule_against(rules: LinkRules, url: str, depth: int) -> str | None:
    """Give the setting by which link rules leave a link out, with its value; None if they do not."""
    if rules.max_depth is not None and depth > rules.max_depth:
        return f"max_depth = {rules.max_depth}"
    return rules.scope().explain(url)
