"""What an audit has found: the findings and their numbers by kind, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from fscrawl.util.humanize import number_of, size
from fscrawl.util.installed import command
from fscrawl.util.terminal import plain

KINDS = {
    "torn_records": "records that cannot be read, or have a value that no record can have",
    "misplaced_records": "records in the file of another URL",
    "missing_bodies": "records whose body is missing",
    "damaged_bodies": "bodies that differ from their record",
    "unexpected_bodies": "bodies of pages whose record says that there is none",
    "orphan_bodies": "bodies without a record",
    "errors_beside_pages": "failures of pages that are stored",
    "damaged_errors": "failures that cannot be read, have a wrong value, or are in the file of another URL",
    "set_aside": "records and failures that could not be read, set aside by a repair",
    "torn_robots": "robots.txt files that cannot be read",
    "missing_directories": "directories of .fscrawl that are missing",
    "damaged_logs": "logs that are damaged, or of which a part is missing",
    "damaged_rules": "link rules of generations that cannot be read",
    "torn_leases": "leases that cannot be read",
    "dead_temporaries": "temporary files of dead machines",
    "not_normal": "records and failures whose URL is not in its normal form",
    "planted": "links, FIFOs, directories and the like in place of files",
    "strays": "files that do not belong to the crawl",
    "lost_urls": "linked URLs that would never be fetched",
}
PAGES = ("torn_records", "misplaced_records", "missing_bodies", "damaged_bodies")  # the page is lost
_REMOVED = frozenset(PAGES) - {"missing_bodies"}  # a repair removes what there is of such a page
EXAMPLES = 5


class Finding(NamedTuple):
    """Something wrong. `url`, `depth`, `referrer`: what to fetch (again); "" if the URL is not known.

    `host`, `key`: of the page; a damaged log has the machine in place of the host.
    """

    kind: str
    path: str
    detail: str = ""
    host: str = ""
    key: str = ""
    url: str = ""
    depth: int = 0
    referrer: str = ""


class Report(msgspec.Struct):
    """What an audit has found.

    records            records read: `pages`, `redirects`, `others`; `bytes` of the bodies
    errors, robots     files of failures, of robots.txt
    pending            URLs that the next crawl fetches
    found, mended      problems that were found, and those that were repaired, by kind
    by_crawl           those of `found` that the next crawl puts right by itself: they count as nothing wrong
    put_back           URLs that a repair wrote into its log
    generation         the generation that a repair made, so that all records are read again; 0: none was needed
    """

    root: str
    repaired: bool = False
    hosts: int = 0
    records: int = 0
    pages: int = 0
    redirects: int = 0
    others: int = 0
    bytes: int = 0
    errors: int = 0
    robots: int = 0
    pending: int = 0
    put_back: int = 0
    generation: int = 0
    found: Counter[str] = msgspec.field(default_factory=Counter)
    mended: Counter[str] = msgspec.field(default_factory=Counter)
    by_crawl: Counter[str] = msgspec.field(default_factory=Counter)
    examples: dict[str, list[str]] = msgspec.field(default_factory=dict)
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Nothing is wrong that the next crawl does not put right, or all of it was repaired."""
        return not self._wrong

    @property
    def _wrong(self) -> int:
        left = self.found - self.mended
        # Of a kind that was repaired in part, nobody knows which are left: they count as wrong.
        return sum(number - (0 if self.mended[kind] else self.by_crawl[kind]) for kind, number in left.items())

    def add(self, kind: str, text: str, *, by_crawl: bool = False) -> None:
        self.found[kind] += 1
        self.by_crawl[kind] += by_crawl
        examples = self.examples.setdefault(kind, [])
        if len(examples) < EXAMPLES:
            examples.append(text)

    def lines(self) -> Iterator[str]:
        """Return the report as text for a terminal."""
        yield (
            f"records: {self.records:,} of {number_of(self.hosts, 'host')}: {number_of(self.pages, 'page')}"
            f" ({size(self.bytes)}), {number_of(self.redirects, 'redirect')}, {self.others:,} of other types"
        )
        yield f"failures: {self.errors:,}, robots.txt: {self.robots:,}, pending: {number_of(self.pending, 'URL')}"
        for kind, text in KINDS.items():
            if self.found[kind]:
                yield f"{text}: {self.found[kind]}" + (f", {self.mended[kind]} repaired" if self.repaired else "")
                for example in self.examples[kind]:
                    yield f"    {plain(example)}"
        for note in self.notes:
            yield f"note: {plain(note)}"
        if not self.repaired and (removed := sum(self.found[kind] for kind in _REMOVED)):
            pages = number_of(removed, "page")
            yield f"note: a repair removes {pages}, for the next crawl to fetch; if a site is gone, copy the tree first"
        yield self._verdict()

    def _verdict(self) -> str:
        found, mended = self.found.total(), self.mended.total()
        if not self.repaired or not found:
            return self._verdict_without_repair()
        text = f"repaired: all {found}" if found == mended else f"repaired: {mended} of {found}"
        if self.put_back:
            text += f"; URLs to fetch: {self.put_back}; to fetch them:  {command('crawl', self.root)}"
        return text

    def _verdict_without_repair(self) -> str:
        rest = self.by_crawl.total()
        if self._wrong:
            text = f"problems: {self._wrong}"
            text += f"; {rest} more that the next crawl puts right by itself" if rest else ""
            if self.found["missing_directories"]:
                return f"{text}; a crawl needs all of .fscrawl: see the note"
            return f"{text}; to repair them:  {command('audit', self.root)} --repair"
        if rest:
            return f"nothing is wrong; the next crawl does the rest ({rest}):  {command('crawl', self.root)}"
        return "nothing is wrong"

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values, with all kinds."""
        kinds = {
            kind: {
                "count": self.found[kind],
                "mended": self.mended[kind],
                "by_crawl": self.by_crawl[kind],
                "examples": self.examples.get(kind, []),
            }
            for kind in KINDS
        }
        facts = {name: value for name, value in msgspec.structs.asdict(self).items() if isinstance(value, str | int)}
        return {**facts, "ok": self.ok, "found": kinds, "notes": self.notes}
