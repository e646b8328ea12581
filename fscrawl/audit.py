"""Is every file of the tree what it says, and every linked URL stored, failed or waiting? And the repair.

Vocabulary:
  kind       one of KINDS, the things that may be wrong
  finding    one of them; `place`: its path from the root
  orphan     a body without a record: a machine was killed between the two
  waiting    a URL that has a line in a feed, or is a seed, and is neither stored nor failed: the next crawl fetches it
  lost       a URL inside the scope and the depth that a stored page links to, and that is neither stored, failed nor
             waiting: it would be found by a re-seed only
  put back   written into a feed of the audit's own machine id, so that it is fetched (again)
  doubtful   a machine without a goodbye whose process cannot be seen from here; whether its log grows within
             `dead_after` seconds tells

Promise: `look` changes nothing. `repair` removes a page or a failure only if it is wrong on a second look, too, never in
a shard whose lease a live machine holds, and only after its URL is put back; bodies without a record only while no machine
is live. Killed in the middle, it leaves a tree that the next audit understands. Memory grows with the files of one
directory, and by some nine bytes for each URL that is stored, failed or waiting.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from fscrawl import heartbeat, urls
from fscrawl.errors import RecordError, TreeBusyError
from fscrawl.feed import Found, Reader, Writer
from fscrawl.fleet import Fleet
from fscrawl.known import Known
from fscrawl.machinery import Machinery, Yard
from fscrawl.progress import plain
from fscrawl.records import ErrorRecord, PageRecord, RobotsRecord
from fscrawl.settings import Settings
from fscrawl.store import MACHINERY, Tree, temporary_owner

KINDS = {
    "torn_records": "records that cannot be read",
    "misplaced_records": "records that stand in another URL's place",
    "missing_bodies": "records whose body is missing",
    "damaged_bodies": "bodies that are not what their record says",
    "unexpected_bodies": "bodies of records that say they have none",
    "orphan_bodies": "bodies without a record",
    "errors_beside_pages": "failures of pages that are stored",
    "damaged_errors": "failures that cannot be read, or stand in another URL's place",
    "torn_robots": "robots.txt files that cannot be read",
    "dead_temporaries": "temporaries of machines that are dead",
    "strays": "files that are not the crawl's",
    "lost_urls": "linked URLs that nobody would fetch",
}
EXAMPLES = 5

_PAGES = ("torn_records", "misplaced_records", "missing_bodies", "damaged_bodies")
_FETCHED_AGAIN = (*_PAGES, "damaged_errors")
_ROOMS = ("htmls", "links", "errs")
_LOGS = ("machines", "leases", "feed", "robots")
_READERS = 8
_WINDOW = 8 * _READERS  # answers that may wait for their turn
_CHECKED_MEMORY = 200_000  # links that need not be looked up again: the navigation of a site
_FLUSH_EVERY = 10_000  # lines
_FLEET_FLUSH_S = 2.0  # within this a live machine has written what it found
_BUSY_S = 0.1

_KEY = re.compile(r"[0-9a-f]{24}\Z")
_FAN = re.compile(r"[0-9a-f]{2}\Z")
_BEGINNING = re.compile(
    rb'\{"url":("(?:[^"\\]|\\.)*"),"key":"[0-9a-f]{24}","depth":(\d{1,9}),"referrer":"((?:[0-9a-f]{24})?)"'
)

_T = TypeVar("_T")


class Finding(NamedTuple):
    """Something wrong. `url`, `depth`, `referrer`: of what is to be fetched (again); "" if nothing tells the URL."""

    kind: str
    place: str
    detail: str = ""
    host: str = ""
    key: str = ""
    url: str = ""
    depth: int = 0
    referrer: str = ""


_Checked = tuple[PageRecord | None, Finding | None]


@dataclass
class Report:
    """What an audit has found. `waiting`: URLs that are to be fetched; `mended`: of `found`, by kind."""

    root: str
    repaired: bool = False
    hosts: int = 0
    records: int = 0
    pages: int = 0
    redirects: int = 0
    skipped: int = 0
    bytes: int = 0
    errors: int = 0
    robots: int = 0
    waiting: int = 0
    put_back: int = 0
    found: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Nothing is wrong, or nothing any more."""
        return self.found.total() == self.mended.total()

    def add(self, kind: str, text: str) -> None:
        self.found[kind] += 1
        told = self.examples.setdefault(kind, [])
        if len(told) < EXAMPLES:
            told.append(text)

    def lines(self) -> Iterator[str]:
        """Give the report as a person reads it, safe for a terminal."""
        yield (
            f"records: {self.records} of {self.hosts} hosts: {self.pages} pages ({self.bytes / 1e6:.1f} MB),"
            f" {self.redirects} redirects, {self.skipped} of other types"
        )
        yield f"failures: {self.errors}, robots.txt: {self.robots}, waiting: {self.waiting} URLs"
        for kind, text in KINDS.items():
            if self.found[kind]:
                mended = f", {self.mended[kind]} mended" if self.repaired else ""
                yield f"{text}: {self.found[kind]}{mended}"
                for example in self.examples[kind]:
                    yield f"    {plain(example)}"
        for note in self.notes:
            yield f"note: {plain(note)}"
        yield self._verdict()

    def _verdict(self) -> str:
        found, mended = self.found.total(), self.mended.total()
        if not found:
            return "nothing is wrong"
        if not self.repaired:
            return f"wrong: {found}; to mend what can be mended:  fscrawl audit --root {self.root} --repair"
        left = f"mended: all {found}" if self.ok else f"mended: {mended} of {found}, {found - mended} are left"
        if not self.put_back:
            return left
        return f"{left}; to fetch the {self.put_back} URLs that were put back:  fscrawl crawl --root {self.root}"

    def as_json(self) -> dict[str, Any]:
        """Give the report as values of JSON; all kinds are there."""
        kinds = {
            kind: {"count": self.found[kind], "mended": self.mended[kind], "examples": self.examples.get(kind, [])}
            for kind in KINDS
        }
        plain_ones = {name: value for name, value in vars(self).items() if isinstance(value, str | int | bool)}
        return {**plain_ones, "found": kinds, "notes": self.notes, "ok": self.ok}


class Audit:
    """One audit of an open tree. `seeds`: its seeds; `say`: for what takes a while; `bar`: show one on standard error."""

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: Iterable[str],
        say: Callable[[str], None] = lambda text: None,  # noqa: ARG005
        *,
        bar: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.report = Report(str(tree.root))
        self._tree = tree
        self._machinery = Machinery(tree)
        self._seeds = frozenset(seeds)
        self._max_depth = settings.crawl.max_depth
        self._scope = urls.Scope(settings.crawl.scope, self._seeds, settings.crawl.allow, settings.crawl.deny)
        self._say = say
        self._bar = bar
        self._clock = clock
        self._sleep = sleep
        self._feeds = Reader(self._machinery, tree.machine)
        self._done = Known()  # stored or failed
        self._waiting = Known()
        self._lost = Known()
        self._checked: set[str] = set()
        self._hosts: list[str] = []
        self._findings = _Spool()
        self._maybe_lost = _Spool()
        self._maybe_orphans = _Spool()
        self._temporaries = _Spool()
        self._life = _Life(self._machinery, tree.machine, settings.fleet.dead_after, clock, sleep)
        self._holders: dict[int, str] = {}

    # -- look

    def look(self) -> Report:
        """Read all of the tree; TreeError if it cannot be read."""
        with ThreadPoolExecutor(_READERS, thread_name_prefix="audit") as readers:
            self._hosts = self._list_hosts()
            expected = self._learn_done(readers)
            self._learn_waiting()
            for record, finding in self._with_bar(_in_turn(readers, self._checks()), expected):
                if finding is not None:
                    self._find(finding)
                if record is not None:
                    self._count(record)
                    if finding is None or finding.kind not in _PAGES:
                        self._follow(record)
            self._look_at_machinery(readers)
        self._settle()
        return self.report

    def _find(self, finding: Finding) -> None:
        self.report.add(finding.kind, finding.place + (f": {finding.detail}" if finding.detail else ""))
        self._findings.add(finding)

    def _with_bar(self, checked: Iterator[_Checked], expected: int) -> Iterator[_Checked]:
        if not self._bar:
            return checked
        from tqdm import tqdm  # noqa: PLC0415 - slow to load, and of use to a terminal only

        return iter(tqdm(checked, total=expected, unit=" records", dynamic_ncols=True, file=sys.stderr, leave=False))

    def _list_hosts(self) -> list[str]:
        hosts = {host for room in _ROOMS for host in self._sort(room)[1]}
        self.report.hosts = len(hosts)
        return sorted(hosts)

    def _learn_done(self, readers: ThreadPoolExecutor) -> int:
        jobs = (partial(self._tree.keys, room, host) for room in ("links", "errs") for host in self._hosts)
        files = 0
        for keys in _in_turn(readers, jobs):
            files += len(keys)
            for key in keys:
                self._done.add(urls.fingerprint(key))
        return files

    def _learn_waiting(self) -> None:
        """Read the seeds, and what feeds have grown by."""
        everywhere = range(self._tree.record.shards)
        for url in (*self._seeds, *(found.url for found in self._feeds.read(everywhere))):
            fingerprint = _fingerprint(url)
            if fingerprint not in self._done:
                self.report.waiting += self._waiting.add(fingerprint)

    # -- the files of pages

    def _sort(self, place: str, suffix: str = "", start: str = "") -> tuple[set[str], list[str]]:
        """List a directory: the keys of its files that end with `suffix`, and its directories; note the rest."""
        keys, directories = set(), []
        for name, kind in self._tree.entries(place):
            key = name.removesuffix(suffix) if suffix else ""
            if kind == "directory" and not name.startswith("."):
                directories.append(name)
            elif kind == "file" and key != name and key.startswith(start) and _KEY.match(key):
                keys.add(key)
            else:
                self._note_odd(place, name)
        return keys, directories

    def _note_odd(self, place: str, name: str) -> None:
        owner = temporary_owner(name)
        if owner is not None:
            self._temporaries.add((f"{place}/{name}".lstrip("/"), owner))
        elif not name.startswith((".nfs", ".fuse_hidden")):  # what a network file system keeps for an open handle
            self._find(Finding("strays", f"{place}/{name}"))

    def _checks(self, *, links_only: bool = False) -> Iterator[Callable[[], _Checked]]:
        for host in self._hosts:
            for fan in self._fans(host):
                yield from self._checks_of(host, fan, links_only=links_only)

    def _fans(self, host: str) -> list[str]:
        """Give the directories of a host's files: "" for itself."""
        if not self._tree.record.fanout:
            return [""]
        return sorted(
            {name for room in _ROOMS for name, _ in self._tree.entries(f"{room}/{host}") if _FAN.match(name)}
        )

    def _checks_of(self, host: str, fan: str, *, links_only: bool) -> Iterator[Callable[[], _Checked]]:
        if links_only:
            for name, _ in self._tree.entries(_join("links", host, fan)):
                if _KEY.match(name.removesuffix(".json")):
                    yield partial(self._check_page, host, name.removesuffix(".json"), has_body=False)
            return
        bodies, records, failures = (
            self._keys(room, host, fan) for room in _ROOMS
        )  # in this order: a page that is stored meanwhile has its body first
        for key in sorted(bodies - records):
            self._maybe_orphans.add((host, key))
        for key in sorted(records):
            yield partial(self._check_page, host, key, has_body=key in bodies)
        for key in sorted(failures):
            self.report.errors += 1
            if key in records:
                self._find(Finding("errors_beside_pages", self._place("errs", host, key), "", host, key))
            else:
                yield partial(self._check_error, host, key)

    def _keys(self, room: str, host: str, fan: str) -> set[str]:
        suffix = ".html" if room == "htmls" else ".json"
        if not fan:
            keys, directories = self._sort(f"{room}/{host}", suffix)
            for name in directories:
                self._find(Finding("strays", f"{room}/{host}/{name}/"))
            return keys
        keys, directories = self._sort(f"{room}/{host}/{fan}", suffix, fan)
        for name in directories:
            self._find(Finding("strays", f"{room}/{host}/{fan}/{name}/"))
        return keys

    def _place(self, room: str, host: str, key: str) -> str:
        return self._tree.path_of(room, host, key).removeprefix(f"{self._tree.root}/")

    def _check_page(self, host: str, key: str, *, has_body: bool) -> _Checked:
        """Check a record and its body. What seems wrong is read again: it may just have been replaced."""
        record, finding = self._check_page_once(host, key, has_body=has_body)
        return self._check_page_once(host, key, has_body=has_body) if finding is not None else (record, finding)

    def _check_page_once(self, host: str, key: str, *, has_body: bool) -> _Checked:
        place = self._place("links", host, key)
        data = self._read(place)
        if data is None:
            return None, None  # removed meanwhile
        try:
            record = PageRecord.from_json(data)
        except RecordError as error:
            return None, Finding("torn_records", place, str(error), host, key, *_salvage(data, host, key))
        again = (host, key, *_to_fetch(record))
        if record.key != key or not _belongs(record.url, host, key):
            return record, Finding("misplaced_records", place, f"it is of {record.url}", *again)
        html = self._place("htmls", host, key)
        if not record.sha256:
            return record, Finding("unexpected_bodies", html, "", host, key) if has_body else None
        body = self._read(html)
        if body is None:
            return record, Finding("missing_bodies", place, record.url, *again)
        if len(body) != record.bytes:
            return record, Finding("damaged_bodies", html, f"{len(body)} bytes in place of {record.bytes}", *again)
        if hashlib.sha256(body).hexdigest() != record.sha256:
            return record, Finding("damaged_bodies", html, "its SHA-256 is another", *again)
        return record, None

    def _check_error(self, host: str, key: str) -> _Checked:
        place = self._place("errs", host, key)
        data = self._read(place)
        if data is None:
            return None, None  # stored meanwhile
        try:
            record = ErrorRecord.from_json(data)
        except RecordError as error:
            return None, Finding("damaged_errors", place, str(error), host, key, *_salvage(data, host, key))
        if record.key != key or not _belongs(record.url, host, key):
            again = (host, key, *_to_fetch(record))
            return None, Finding("damaged_errors", place, f"it is of {record.url}", *again)
        return None, None

    def _read(self, place: str) -> bytes | None:
        """Read a file, again if the file system hiccups: on NFS, when it is being replaced."""
        for _ in range(3):
            try:
                return self._tree.read(place)
            except TreeBusyError:
                self._sleep(_BUSY_S)
        return self._tree.read(place)

    def _count(self, record: PageRecord) -> None:
        report = self.report
        report.records += 1
        report.bytes += record.bytes
        name = "pages" if record.sha256 else "redirects" if record.redirect else "skipped"
        setattr(report, name, getattr(report, name) + 1)

    # -- links

    def _follow(self, record: PageRecord) -> None:
        """Look for lost URLs among a page's links."""
        if self._max_depth is not None and record.depth >= self._max_depth:
            return
        for url in record.links:
            if url in self._checked:
                continue
            if len(self._checked) >= _CHECKED_MEMORY:
                self._checked.clear()
            self._checked.add(url)
            if not self._is_accounted_for(url) and self._lost.add(_fingerprint(url)):
                self._maybe_lost.add((url, record.depth + 1, record.key))

    def _is_accounted_for(self, url: str) -> bool:
        """Tell whether a link is stored, failed, waiting or not to be followed."""
        fingerprint = _fingerprint(url)
        if fingerprint in self._done or fingerprint in self._waiting:
            return True
        return urls.normalise(url) != url or self._scope.refuses(url) is not None

    # -- the machinery

    def _look_at_machinery(self, readers: ThreadPoolExecutor) -> None:
        for name, _ in self._tree.entries(""):
            if temporary_owner(name) is not None:
                self._note_odd("", name)
        for name, _ in self._tree.entries(MACHINERY):
            if temporary_owner(name) is not None:
                self._note_odd(MACHINERY, name)
            elif name.startswith(Yard.PREFIX):
                self._temporaries.add((f"{MACHINERY}/{name}", name.removeprefix(Yard.PREFIX)))
        for room in _LOGS:
            for name, kind in self._tree.entries(f"{MACHINERY}/{room}"):
                if kind != "file" or not _MACHINERY_FILE[room].match(name):
                    self._note_odd(f"{MACHINERY}/{room}", name)
        names = [name for name, _ in self._tree.entries(f"{MACHINERY}/robots") if _MACHINERY_FILE["robots"].match(name)]
        self.report.robots = len(names)
        for finding in _in_turn(readers, (partial(self._check_robots, name) for name in names)):
            if finding is not None:
                self._find(finding)

    def _check_robots(self, name: str) -> Finding | None:
        place = f"{MACHINERY}/robots/{name}"
        data = self._read(place)
        try:
            RobotsRecord.from_json(data or b"")
        except RecordError as error:
            return None if data is None else Finding("torn_robots", place, str(error), name.removesuffix(".json"))
        return None

    # -- what only time could tell

    def _settle(self) -> None:
        """Decide about what a live machine may only have been about to write."""
        if self._life.may_be and (self._maybe_lost or self._maybe_orphans):
            self._sleep(_FLEET_FLUSH_S)
        self._learn_waiting()
        self._checked.clear()
        for url, depth, referrer in self._maybe_lost:
            if not self._is_accounted_for(url) and not (self._life.may_be and self._is_there(url)):
                host, key = urls.host(url), urls.key(url)
                self._find(Finding("lost_urls", url, "", host, key, url, depth, referrer))
        for host, key in self._maybe_orphans:
            if not self._tree.is_done(host, key):
                self._find(Finding("orphan_bodies", self._place("htmls", host, key), "", host, key))
        doubtful = 0
        for place, owner in self._temporaries:
            if self._life.is_dead(owner):
                self.report.add("dead_temporaries", f"{place}: of {owner}")
            else:
                doubtful += not self._life.is_known_live(owner)
        self._doubtful = doubtful
        if doubtful:
            self.report.notes.append(f"{doubtful} temporaries are of machines that may be alive; --repair finds out")
        if self._feeds.unreadable:
            self.report.notes.append(f"{self._feeds.unreadable} lines of feeds cannot be read; the link files have them")

    def _is_there(self, url: str) -> bool:
        host, key = urls.host(url), urls.key(url)
        return self._tree.is_done(host, key) or self._read(self._place("errs", host, key)) is not None

    # -- repair

    def repair(self) -> Report:
        """After `look`: mend what can be mended."""
        self.report.repaired = True
        if not self.report.found and not self._doubtful:
            return self.report
        if (set(self.report.found) - {"strays", "lost_urls"}) or self._doubtful:
            self._wait_for_signs_of_life()
        for shard, epoch in sorted(self._machinery.leases()):
            self._holders[shard] = self._machinery.lease(shard, epoch).holder
        unknown = self._put_back()
        self._life.look()  # whoever began meanwhile
        for values in self._findings:
            finding = Finding(*values)
            self.report.mended[finding.kind] += self._mend(finding, unknown)
        self._remove_temporaries()
        if self._life.live and not self.report.ok:
            names = ", ".join(sorted(self._life.live))
            self.report.notes.append(f"what live machines may be writing was left alone; repair once they are over: {names}")
        return self.report

    def _wait_for_signs_of_life(self) -> None:
        owners = {owner for _, owner in self._temporaries}
        if doubtful := self._life.doubtful(owners):
            self._say(
                f"{len(doubtful)} machines may be alive ({', '.join(sorted(doubtful)[:EXAMPLES])}):"
                f" watching their heartbeats for up to {self._life.dead_after_s:g} s"
            )
            self._life.watch(owners)

    def _may_touch(self, finding: Finding) -> bool:
        """Tell whether no live machine may be writing this: only the holder of a shard writes its pages."""
        record = self._tree.record
        name = finding.key if record.partition == "url" else finding.host
        return self._holders.get(urls.shard(name, record.shards), "") not in self._life.live

    def _put_back(self) -> set[int]:
        """Put into a feed what is to be fetched again, and what is lost; give those whose URL nothing tells."""
        writer = Writer(self._machinery)
        unknown = set()
        for values in self._findings:
            finding = Finding(*values)
            if finding.kind == "lost_urls":
                self._feed(writer, finding.url, finding.depth, finding.referrer)
            elif finding.kind in _FETCHED_AGAIN and self._may_touch(finding):
                if finding.url and not self._is_stored_elsewhere(finding):
                    self._feed(writer, finding.url, finding.depth, finding.referrer)
                if not _belongs(finding.url, finding.host, finding.key):
                    unknown.add(urls.fingerprint(finding.key))
        for found in self._search(unknown):
            self._feed(writer, found.url, found.depth, found.referrer)
        writer.flush()
        writer.close()
        if writer.sent:
            self._sign(writer.sent)
        self.report.put_back = self._sent_count
        return unknown

    _sent_count = 0

    def _feed(self, writer: Writer, url: str, depth: int, referrer: str) -> None:
        record = self._tree.record
        name = urls.key(url) if record.partition == "url" else urls.host(url)
        writer.add(Found(urls.shard(name, record.shards), depth, referrer, url))
        self._sent_count += 1
        if self._sent_count % _FLUSH_EVERY == 0:
            writer.flush()

    def _is_stored_elsewhere(self, finding: Finding) -> bool:
        """Tell whether a misplaced record's page stands in its own place, too."""
        host, key = urls.host(finding.url), urls.key(finding.url)
        return (host, key) != (finding.host, finding.key) and self._tree.is_done(host, key)

    def _search(self, wanted: set[int]) -> Iterator[Found]:
        """Look for the URLs of keys: those in feeds and seeds wait already, others are in link files. Takes them out."""
        if wanted:
            wanted.difference_update(map(_fingerprint, self._seeds))
            for found in Reader(self._machinery, "").read(range(self._tree.record.shards)):
                wanted.discard(_fingerprint(found.url))
        if not wanted:
            return
        with ThreadPoolExecutor(_READERS, thread_name_prefix="audit") as readers:
            for record, _ in _in_turn(readers, self._checks(links_only=True)):
                for url in record.links if record is not None else ():
                    fingerprint = _fingerprint(url)
                    if fingerprint in wanted and urls.normalise(url) == url:
                        assert record is not None
                        wanted.discard(fingerprint)
                        yield Found(0, record.depth + 1, record.key, url)

    def _sign(self, sent: int) -> None:
        """Write this machine's log, in one go: nobody must take it for a machine that is there to work."""
        machine = self._tree.machine
        lines = [heartbeat.hello(machine), {"bye": True, "finished": False, "idle": True, "sent": sent, "consumed": 0}]
        log = self._machinery.heartbeat_log()
        log.append("".join(json.dumps(line) + "\n" for line in lines).encode())
        log.close()

    def _mend(self, finding: Finding, unknown: set[int]) -> bool:
        """Mend what was found, if it is still so; tell whether it is right now."""
        kind, host, key = finding.kind, finding.host, finding.key
        if kind in ("strays", "lost_urls"):
            return kind == "lost_urls"  # it has been fed
        if kind in ("orphan_bodies", "torn_robots"):
            return not self._life.live and self._mend_alone(finding)
        if not self._may_touch(finding):
            return False
        if kind in _PAGES:
            return self._remove_page(finding, unknown)
        if kind == "damaged_errors":
            if not finding.url and urls.fingerprint(key) in unknown:
                return False
            if self._check_error(host, key)[1] is not None:
                self._tree.remove(finding.place)
        else:
            self._tree.remove(finding.place)
        return True

    def _mend_alone(self, finding: Finding) -> bool:
        if finding.kind == "torn_robots":
            still = self._check_robots(finding.place.rpartition("/")[2]) is not None
        else:
            still = not self._tree.is_done(finding.host, finding.key)
        if still:
            self._tree.remove(finding.place)
        return True

    def _remove_page(self, finding: Finding, unknown: set[int]) -> bool:
        """The body first: a machine that begins now sees the page as stored until both are gone."""
        host, key = finding.host, finding.key
        if not finding.url and urls.fingerprint(key) in unknown:
            return False
        if self._check_page(host, key, has_body=False)[1] is not None:
            self._tree.remove(self._place("htmls", host, key))
            self._tree.remove(self._place("links", host, key))
        return True

    def _remove_temporaries(self) -> None:
        report, notes = self.report, self.report.notes
        found = left = 0
        for place, owner in self._temporaries:
            if not self._life.is_dead(owner):
                left += 1
                continue
            found += 1
            if found > report.found["dead_temporaries"]:
                report.add("dead_temporaries", f"{place}: of {owner}")
            report.mended["dead_temporaries"] += 1
            if place.startswith(f"{MACHINERY}/{Yard.PREFIX}"):
                yard = Yard(self._tree, owner)
                yard.clear(yard.names())
            else:
                self._tree.remove(place)
        notes[:] = [note for note in notes if not note.endswith("--repair finds out")]
        if left:
            notes.append(f"{left} temporaries are of machines that are at work")


class _Life:
    """Which machines are live: the fleet's rules, for one who comes to look and has no heartbeat."""

    def __init__(
        self,
        machinery: Machinery,
        machine: str,
        dead_after_s: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self.dead_after_s = dead_after_s
        self._fleet = Fleet(machinery, machine, dead_after_s)
        self._clock = clock
        self._sleep = sleep
        self._here = {name: heartbeat.hello(machine)[name] for name in ("boot", "pidns")}
        self._watched = False
        while self._observe():  # long logs are read in pieces
            pass
        self._first = {peer.machine: peer.offset for peer in self._fleet.peers.values()}
        self._since = clock()

    def _observe(self) -> bool:
        before = sum(peer.offset for peer in self._fleet.peers.values())
        self._fleet.observe(self._clock())
        return sum(peer.offset for peer in self._fleet.peers.values()) > before

    def look(self) -> None:
        self._observe()

    @property
    def live(self) -> set[str]:
        """Machines that may be at work, for all that is known."""
        return {name for name in self._fleet.peers if not self.is_dead(name)}

    @property
    def may_be(self) -> bool:
        return bool(self.live)

    def is_dead(self, machine: str) -> bool:
        peer = self._fleet.peers.get(machine)
        if peer is None:
            return self._watched
        return peer.left or (self._watched and not self.is_known_live(machine))

    def is_known_live(self, machine: str) -> bool:
        """Its process runs here, or its log has grown while this looks."""
        peer = self._fleet.peers.get(machine)
        if peer is None or peer.left:
            return False
        is_here = all(peer.greeting.get(name) == value for name, value in self._here.items())
        return is_here or peer.offset > self._first.get(machine, 0)

    def doubtful(self, owners: Iterable[str] = ()) -> set[str]:
        return {name for name in {*self._fleet.peers, *owners} if not (self.is_dead(name) or self.is_known_live(name))}

    def watch(self, owners: Iterable[str]) -> None:
        """Look for signs of life until nobody is doubtful, or for `dead_after` seconds since the first look."""
        while self.doubtful(owners) and (left_s := self._since + self.dead_after_s - self._clock()) >= 0:
            self._sleep(min(left_s + 0.01, 1.0))
            self._observe()
        self._watched = True


class _Spool:
    """Rows in a local scratch file, however many; each is given back as a list."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - it lives as long as this
        self._size = 0

    def add(self, row: tuple[Any, ...]) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._size += 1

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[list[Any]]:
        self._file.seek(0)
        yield from map(json.loads, self._file)


_MACHINERY_FILE = {
    "machines": re.compile(r"[^.].*\.log\Z"),
    "leases": re.compile(r"\d+\.\d+\Z"),
    "feed": re.compile(r"[^.].*\.log\Z"),
    "robots": re.compile(r"[^.].*\.json\Z"),
}


def _join(*names: str) -> str:
    return "/".join(name for name in names if name)


def _fingerprint(url: str) -> int:
    """Give what is remembered of a URL; of what cannot be one, something."""
    return int.from_bytes(hashlib.sha224(url.encode("utf-8", "replace")).digest()[:8])


def _belongs(url: str, host: str, key: str) -> bool:
    try:
        return (urls.host(url), urls.key(url)) == (host, key)
    except UnicodeError:  # a lone surrogate, by somebody's hand
        return False


def _to_fetch(record: PageRecord | ErrorRecord) -> tuple[str, int, str]:
    """Give a record's URL, depth and referrer as a feed takes them; no URL if it is none."""
    if urls.normalise(record.url) != record.url or record.depth < 0:
        return "", 0, ""
    return record.url, record.depth, record.referrer if _KEY.match(record.referrer) else ""


def _salvage(data: bytes, host: str, key: str) -> tuple[str, int, str]:
    """Read what a torn record begins with: URL, depth and referrer, if the URL is the one of its place."""
    match = _BEGINNING.match(data)
    try:
        url = json.loads(match[1]) if match else ""
    except ValueError:
        url = ""
    if match is None or not _belongs(url, host, key) or urls.normalise(url) != url:
        return "", 0, ""
    return url, int(match[2]), match[3].decode()


def _in_turn(readers: ThreadPoolExecutor, jobs: Iterable[Callable[[], _T]]) -> Iterator[_T]:
    """Give the jobs' answers in their order; only so many are begun before their turn."""
    waiting: deque[Future[_T]] = deque()
    for job in jobs:
        waiting.append(readers.submit(job))
        if len(waiting) >= _WINDOW:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
