"""What a recorded crawl published, and when somebody could know of it: the promises that a power loss must not break.

Vocabulary:
  publication   a whole file that came under its final name, at a point
  told          the first point from which on it must be stored, since something had happened that waits for it
  point         a number of operations done: 0 is before the first

Five things wait, whatever threads there are:

  - a record is written after its body is published
  - a page is fetched after the page where its URL was found (`referrer`) is stored
  - a feed line is written after the page that it names as referrer is stored
  - a heartbeat says how many pages its machine has stored
  - a crawl ends after all of it

So, too, a tree is made before a machine begins its log in it.
"""

from __future__ import annotations

import bisect
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fscrawl.storage.records import PageRecord
from tests.support.power.disk import Disk
from tests.support.power.operations import Operation

PAGE_FILE = re.compile(r"(?P<tree>.+/|)(?P<room>links|htmls|errs)/(?P<host>[^/]+)/(?P<key>[0-9a-f]{24})\.(html|json)\Z")
_FEED = re.compile(r"(.+/|)\.fscrawl/feed/[^/]+\.log\Z")
_LOG = re.compile(r"(.+/|)\.fscrawl/machines/(?P<machine>[^/]+)\.log\Z")
_TEMPORARY = re.compile(r"(?P<tree>.+/|)links/(?P<host>[^/]+)/\.(?P<key>[0-9a-f]{24})\.json\.[^/]+\.tmp\Z")


@dataclass(slots=True)
class Publication:
    """`data` came under its final name by operation number `at`; it is told from point `told` on."""

    at: int
    data: bytes
    told: int

    def tell(self, number: int) -> None:
        """Operation `number` would not have been begun without it."""
        self.told = min(self.told, number + 1)


class History:
    """The publications of a recording, by path, in their order; what was there before is told from the beginning."""

    def __init__(self, operations: Sequence[Operation], there: Mapping[str, bytes | None] | None = None) -> None:
        self.end = len(operations)
        self.tree_told = self.end  # the point from which on there is a tree: a machine has begun its log
        self.of: dict[str, list[Publication]] = defaultdict(list)
        self._counts: list[tuple[int, str, int]] = []  # (point, machine, pages)
        self._records: dict[str, list[Publication]] = defaultdict(list)  # key → those of its record
        for path, data in (there or {}).items():
            if data is not None:
                self._publish(path, Publication(-1, data, 0))
        self._read(operations, there)

    def _read(self, operations: Sequence[Operation], there: Mapping[str, bytes | None] | None) -> None:
        disk = Disk("strict", there)
        for number, operation in enumerate(operations):
            disk.do(operation)
            match operation.name:
                case "rename" | "link":
                    self._publish(operation.path2, Publication(number, disk.content(operation.path2), self.end))
                case "create" if _LOG.match(operation.path):
                    self.tree_told = min(self.tree_told, number + 1)
                case "create":
                    self._tell_body(operation.path, number)
                case "write" if match := _LOG.match(operation.path):
                    self._count(match["machine"], operation.data, number)
                case "write" if _FEED.match(operation.path):
                    self._tell_links(operation.data, number)
        for publications in list(self._records.values()):
            for publication in publications:
                self._tell_referrer(publication)

    def _publish(self, path: str, publication: Publication) -> None:
        self.of[path].append(publication)
        match = PAGE_FILE.match(path)
        if match is not None and match["room"] == "links":
            self._records[match["key"]].append(publication)

    def _tell_body(self, path: str, number: int) -> None:
        """A record's temporary is begun: its body has been published, if it has one."""
        match = _TEMPORARY.match(path)
        if match is not None:
            for body in self.of.get(f"{match['tree']}htmls/{match['host']}/{match['key']}.html", ()):
                body.tell(number)

    def _tell_links(self, lines: bytes, number: int) -> None:
        """Lines are fed: of each one's referrer a version that has the link is stored; which one, the first says."""
        for line in lines.decode().splitlines():
            _, _, referrer, url, *_ = line.split(" ")
            for publication in self._records.get(referrer, ()):
                record = PageRecord.from_json(publication.data)
                if url in record.links or url == record.redirect:
                    publication.tell(number)
                    break

    def _count(self, machine: str, lines: bytes, number: int) -> None:
        """A machine says how many pages it has stored."""
        for line in lines.splitlines():
            pages = json.loads(line).get("pages")
            if pages is not None:
                self._counts.append((number + 1, machine, int(pages)))

    def _tell_referrer(self, publication: Publication) -> None:
        """A page is fetched, and so published, after its referrer is stored: after one version of it, the first."""
        referrer = PageRecord.from_json(publication.data).referrer
        for first in self._records.get(referrer, ())[:1]:
            if first.at < publication.at:
                first.tell(publication.at)

    def version(self, path: str, data: bytes | None) -> int | None:
        """Tell which publication of a path this is, the newest if several were alike; None if it is none of them."""
        numbers = [number for number, publication in enumerate(self.of.get(path, ())) if publication.data == data]
        return numbers[-1] if numbers else None

    def told(self, path: str, point: int) -> int:
        """Give the number of the newest publication of a path that was told before a point; -1 if there is none."""
        return max((n for n, publication in enumerate(self.of[path]) if publication.told <= point), default=-1)

    def counted(self, point: int) -> dict[str, int]:
        """Give the pages that each machine had said to have stored before a point."""
        return {machine: pages for told, machine, pages in self._counts if told <= point}

    def begun(self, path: str, point: int) -> int:
        """Give the number of the newest publication of a path that was made before a point; -1 if there is none."""
        return bisect.bisect_left([publication.at for publication in self.of[path]], point) - 1

    def paths(self, room: str) -> Iterable[str]:
        """Give the paths in a room of page files."""
        return [path for path in self.of if (match := PAGE_FILE.match(path)) and match["room"] == room]

    def stored(self, point: int) -> dict[str, str]:
        """Give the URLs whose records were published before a point, with the machine that did it last."""
        found = {}
        for path in self.paths("links"):
            number = self.begun(path, point)
            if number >= 0:
                record = PageRecord.from_json(self.of[path][number].data)
                found[record.url] = record.machine
        return found
