"""Totals over the records of a tree. Every link record and every failure is read once, several at a time.

Vocabulary:
  fact       the part of a record that is counted: no links, no headers
  example    a URL that is shown beside a count
  fingerprint  the first 64 bits of a body's SHA-256: bodies are duplicates if they agree

Promise: memory grows with the number of hosts and by 24 bytes a page, not with links or headers. Names that come from
the web (content types, reasons) are counted up to a number of different names, and all others together.
"""

from __future__ import annotations

import heapq
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError, about
from fscrawl.fleet.label_figures import LabelFigure
from fscrawl.labels import sound
from fscrawl.parse.headers import media_type
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import ErrorRecord, Kind, PageRecord
from fscrawl.store import Tree
from fscrawl.util.installed import command
from fscrawl.util.parallel import READERS, in_turn
from fscrawl.util.progress import SILENT, ProgressLine

OTHER = "(other)"
TOP = 10  # pages of a kind that are named
EXAMPLES = 3
_DIFFERENT = 10_000  # names from the web that are counted separately
_BATCH = 16  # records that one reader reads at a time
_NAME_CHARS = 100
_KEY_BYTES = 12
_PARTS = 16  # of the fingerprints; one part is counted at a time
_MOST = 1 << 62  # a higher number in a record was not written by fscrawl
_SHA = re.compile(r"[0-9a-f]{64}\Z")
TORN, GONE = "torn", "gone"

T = TypeVar("T")


class Fact(NamedTuple):
    """A page: `kind`: that of its record; `fingerprint` 0: it has no body."""

    key: str
    url: str
    title: str
    kind: Kind
    depth: int
    status: int
    type: str
    why: str
    bytes: int
    fingerprint: int
    elapsed_s: float
    links: int
    target: str
    fetched_at: str
    label: str


class Failure(NamedTuple):
    class_: str
    url: str
    message: str
    label: str = ""


@dataclass(slots=True)
class Host:
    """The totals of a host. `elapsed_s`: of all its `records`, redirects and other types included."""

    pages: int = 0
    bytes: int = 0
    errors: int = 0
    records: int = 0
    elapsed_s: float = 0.0
    slowest_s: float = 0.0


class Duplicate(NamedTuple):
    """A body that `pages` pages have; `host` and `key` are of one of them."""

    pages: int
    host: str
    key: str


class Best:
    """The `TOP` items of the highest rank."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Any]] = []
        self._turn = itertools.count()

    def add(self, rank: float, item: Any) -> None:
        if len(self._heap) < TOP:
            heapq.heappush(self._heap, (rank, next(self._turn), item))
        elif rank > self._heap[0][0]:
            heapq.heapreplace(self._heap, (rank, next(self._turn), item))

    def items(self) -> list[tuple[float, Any]]:
        """Give (rank, item), the highest first."""
        return [(rank, item) for rank, _, item in sorted(self._heap, key=lambda entry: (-entry[0], entry[1]))]


class Bodies:
    """Finds bodies that are the same, with 24 bytes a page."""

    def __init__(self) -> None:
        self._prints = array("Q")
        self._hosts = array("I")
        self._keys = bytearray()

    def add(self, fingerprint: int, host: int, key: str) -> None:
        self._prints.append(fingerprint)
        self._hosts.append(host)
        self._keys += bytes.fromhex(key)

    def duplicates(self, hosts: list[str]) -> tuple[int, int, list[Duplicate]]:
        """Give the number of pages that share a body, the number of such bodies, and those with the most pages."""
        pages = bodies = 0
        best = Best()
        for part in range(_PARTS):
            counted = Counter(each for each in self._prints if each % _PARTS == part)
            for fingerprint, number in counted.items():
                if number > 1:
                    pages += number
                    bodies += 1
                    best.add(number, fingerprint)
        return pages, bodies, [self._shown(int(number), each, hosts) for number, each in best.items()]

    def _shown(self, number: int, fingerprint: int, hosts: list[str]) -> Duplicate:
        place = self._prints.index(fingerprint)
        key = self._keys[place * _KEY_BYTES : (place + 1) * _KEY_BYTES].hex()
        return Duplicate(number, hosts[self._hosts[place]], key)


@dataclass
class Totals:
    """The sums. `sizes`: bodies by the number of bits of their size; `links`: outlinks of all records.

    `unreadable`: records that are torn; `names`: hosts with records, in the order of counting; `elsewhere`: redirects
    to another host.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    links: int = 0
    unreadable: int = 0
    names: list[str] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)
    depths: Counter[int] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    redirects: Counter[int] = field(default_factory=Counter)
    elsewhere: int = 0
    targets: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Failure]] = field(default_factory=dict)
    largest: Best = field(default_factory=Best)
    slowest: Best = field(default_factory=Best)
    bodies: Bodies = field(default_factory=Bodies)
    labels: dict[str, LabelFigure] = field(default_factory=dict)
    first: str = ""
    last: str = ""

    def count(self, host: str, number: int, fact: Fact) -> None:
        """Count a page; `number`: the index of its host in `names`."""
        there = self.hosts.setdefault(host, Host())
        there.records += 1
        there.elapsed_s += fact.elapsed_s
        there.slowest_s = max(there.slowest_s, fact.elapsed_s)
        self.kinds[fact.kind] += 1
        self.depths[fact.depth] += 1
        self.statuses[fact.status] += 1
        self.links += fact.links
        _count(self.types, fact.type)
        self.slowest.add(fact.elapsed_s, fact)
        self.first = min(self.first or fact.fetched_at, fact.fetched_at)
        self.last = max(self.last, fact.fetched_at)
        self._count_label(fact.label, LabelFigure(stored=fact.kind == "page", other=fact.kind != "page"))
        if fact.kind == "page":
            self._count_body(there, number, fact)
        elif fact.kind == "redirect":
            self._count_redirect(host, fact)
        else:
            _count(self.reasons, fact.why)

    def _count_body(self, there: Host, number: int, fact: Fact) -> None:
        there.pages += 1
        there.bytes += fact.bytes
        self.bytes += fact.bytes
        self.sizes[fact.bytes.bit_length()] += 1
        self.largest.add(fact.bytes, fact)
        if fact.fingerprint:
            self.bodies.add(fact.fingerprint, number, fact.key)

    def _count_redirect(self, host: str, fact: Fact) -> None:
        self.redirects[fact.status] += 1
        target = urls.host(fact.target)
        if target != host:
            self.elsewhere += 1
            _count(self.targets, target)

    def count_failure(self, host: str, failure: Failure) -> None:
        self.hosts.setdefault(host, Host()).errors += 1
        self._count_label(failure.label, LabelFigure(failed=1))
        _count(self.errors, failure.class_)
        shown = self.examples.setdefault(failure.class_, []) if failure.class_ in self.errors else []
        if len(shown) < EXAMPLES:
            shown.append(failure)

    def _count_label(self, label: str, figure: LabelFigure) -> None:
        if label:
            name = label if label in self.labels or len(self.labels) < _DIFFERENT else OTHER
            self.labels[name] = self.labels.get(name, LabelFigure()).plus(figure)


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _DIFFERENT else OTHER] += 1


# -- reading


def totals_of(tree: Tree, warn: Callable[[str], None], line: ProgressLine = SILENT, about: int = 0) -> Totals:
    """Read all records of a tree. `line`: shows how many, of `about` so many. TreeError if the tree cannot be read."""
    line.begin("reading records", about, about=True)
    totals = Totals(names=sorted(tree.hosts(LINKS)))
    with ThreadPoolExecutor(READERS, thread_name_prefix="report") as pool:

        def read(room: str, host: str, get: Callable[[str, str], T]) -> Iterator[T]:
            one = partial(_one, tree, room, get, warn)
            keys = sorted(tree.keys(room, host))
            batches = (keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH))
            for found in in_turn(pool, (partial(_several, one, host, batch) for batch in batches)):
                line.advance(len(found))
                totals.unreadable += found.count(TORN)
                yield from (each for each in found if not isinstance(each, str))

        for number, host in enumerate(totals.names):
            for fact in read(LINKS, host, lambda host, key: fact_of(tree.page(host, key), key)):
                totals.count(host, number, fact)
        for host in sorted(tree.hosts(ERRS)):
            for failure in read(ERRS, host, lambda host, key: failure_of(tree.error(host, key))):
                totals.count_failure(host, failure)
    return totals


def _several(one: Callable[[str, str], T], host: str, keys: list[str]) -> list[T]:
    return [one(host, key) for key in keys]


def _one(
    tree: Tree, room: str, get: Callable[[str, str], T], warn: Callable[[str], None], host: str, key: str
) -> T | str:
    """Read the fact of a record; TORN if it is torn, GONE if it was removed: a failure whose page was stored since."""
    for tries_left in (2, 1, 0):
        try:
            return get(host, key)
        except RecordError as error:
            repair = f"{command('audit', tree.root)} --repair"
            warn(f"{about(tree.path_of(room, host, key), error)}; to fetch it again:  {repair}")
            return TORN
        except TreeError as error:
            if error.is_missing:
                return GONE
            if not (error.retry and tries_left):
                raise
    raise AssertionError("not reached")  # pragma: no cover


def fact_of(record: PageRecord, key: str) -> Fact:
    """Give the fact of a record; `key`: of its file."""
    return Fact(
        key=key,
        url=record.url,
        title=record.title or "",
        kind=record.kind,
        depth=record.depth,
        status=record.status,
        type=media_type(record.headers)[:_NAME_CHARS] or "(none)",
        why=(record.skipped or "")[:_NAME_CHARS],
        bytes=min(max(0, record.bytes), _MOST),
        fingerprint=_fingerprint(record.sha256),
        elapsed_s=min(max(0.0, record.elapsed), _MOST),
        links=len(record.links),
        target=record.redirect or "",
        fetched_at=record.fetched_at,
        label=sound(record.label),
    )


def failure_of(record: ErrorRecord) -> Failure:
    """Give the part of an error record that is counted."""
    return Failure(record.class_[:_NAME_CHARS], record.url, record.message, sound(record.label))


def _fingerprint(sha256: str) -> int:
    return int(sha256[:16], 16) if _SHA.match(sha256) else 0
