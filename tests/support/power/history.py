"""What a recorded crawl published, and when somebody could know of it: the promises that a power loss must not break.

Vocabulary:
  publication   a whole file that came under its final name, at a point
  told          the first point from which on it must be stored, since something had happened that waits for it
  point         a number of operations done: 0 is before the first

Six things wait, whatever threads there are:

  - a record is written after its body is published
  - a page is fetched after the page where its URL was found (`referrer`) is stored
  - a `u` line is written into a log after the page that it names as referrer is stored, and a `t` line after the page,
    or the error, that it names
  - a heartbeat says how many pages its machine has stored, and how far its log goes
  - a crawl ends after all of it

So, too, a tree is made before a machine begins its log in it.
"""

from __future__ import annotations

import bisect
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fscrawl.storage.records import PageRecord
from tests.support.power.disk import Disk
from tests.support.power.operations import Operation
from tests.support.power.packed import LINES, body_of, path_of, shown, whole_lines

PAGE_FILE = re.compile(
    r"(?P<tree>.+/|)(?P<directory>links|htmls|errs)/(?P<host>[^/]+)/(?P<key>[0-9a-f]{24})\.(html|json)\Z"
)
_LOG = re.compile(r"(.+/|)\.fscrawl/generations/\d+/log/[^/]+\.log\Z")
_BEATS = re.compile(r"(?P<tree>.+/|)\.fscrawl/machines/(?P<machine>[^/]+)\.log\Z")
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
        self._places: list[tuple[int, str, int]] = []  # (point, log, bytes)
        self._written: dict[str, bytes] = {}  # log → all that was written there
        self._known: dict[str, int] = {}  # file of lines → how much of it has been read
        self._removed: dict[str, int] = {}  # log → the operation that removed it
        self._records: dict[str, list[Publication]] = defaultdict(list)  # key → those of its record
        self._errors: dict[str, list[Publication]] = defaultdict(list)  # key → those of its error
        for path, data in shown(dict(there or {})).items():
            if data is not None:
                self._publish(path, Publication(-1, data, 0))
        self._read(operations, there)

    def _read(self, operations: Sequence[Operation], there: Mapping[str, bytes | None] | None) -> None:  # noqa: C901 - a case for each call
        disk = Disk("strict", there)
        for number, operation in enumerate(operations):
            disk.do(operation)
            match operation.name:
                case "rename" | "link":
                    self._publish(operation.path2, Publication(number, disk.content(operation.path2), self.end))
                case "create" if _BEATS.match(operation.path):
                    self.tree_told = min(self.tree_told, number + 1)
                case "create":
                    self._tell_body(operation.path, number)
                case "write" if match := _BEATS.match(operation.path):
                    self._count(match["machine"], operation.data, number)
                    self._place(f"{match['tree']}.fscrawl/generations", match["machine"], operation.data, number)
                case "write" if LINES.match(operation.path):
                    self._publish_lines(operation.path, number, disk)
                case "write" if _LOG.match(operation.path):
                    self._written[operation.path] = disk.content(operation.path)
                    self._tell_lines(operation.data, number)
                case "unlink" if _LOG.match(operation.path):
                    self._removed[operation.path] = number
        for publications in list(self._records.values()):
            for publication in publications:
                self._tell_referrer(publication)

    def _publish(self, path: str, publication: Publication) -> None:
        self.of[path].append(publication)
        match = PAGE_FILE.match(path)
        if match is not None and match["directory"] == "links":
            self._records[match["key"]].append(publication)
        elif match is not None and match["directory"] == "errs":
            self._errors[match["key"]].append(publication)

    def _publish_lines(self, path: str, number: int, disk: Disk) -> None:
        """Lines came into a pack: each is a record, and its body is there."""
        data, match = disk.content(path), LINES.match(path)
        tree, directory = (match["tree"], match["directory"]) if match else ("", "")
        for offset, line, said in whole_lines(data, self._known.get(path, 0)):
            self._known[path] = offset + len(line) + 1
            if said.get("gone"):
                continue
            pack = tree + said["at"]["pack"] if "at" in said else ""
            bodies = body_of(tree, said, {pack: disk.content(pack)} if pack else {}) if directory == "links" else {}
            for name, content in (*bodies.items(), (path_of(tree, directory, said), line)):
                self._publish(name, Publication(number, content, self.end))

    def _tell_body(self, path: str, number: int) -> None:
        """A record's temporary is begun: its body has been published, if it has one."""
        match = _TEMPORARY.match(path)
        if match is not None:
            for body in self.of.get(f"{match['tree']}htmls/{match['host']}/{match['key']}.html", ()):
                body.tell(number)

    def _tell_lines(self, lines: bytes, number: int) -> None:
        """A block is put into a log: what its lines name is stored, in a version that has what they say."""
        for line in lines.decode().splitlines():
            match line.split(" "):
                case ["u", _, referrer, url, *_]:
                    self._tell_first(
                        referrer, number, lambda record, url=url: url in record.links or url == record.redirect
                    )
                case ["t", key, _]:
                    self._tell_first(key, number, lambda record: True)
                case ["t", key, _, _]:
                    for publication in self._errors.get(key, ())[:1]:
                        publication.tell(number)

    def _tell_first(self, key: str, number: int, fits: Callable[[PageRecord], bool]) -> None:
        """The first version of a record that `fits` is stored; of the versions after it nobody can say so."""
        for publication in self._records.get(key, ()):
            if fits(PageRecord.from_json(publication.data)):
                publication.tell(number)
                break

    def _count(self, machine: str, lines: bytes, number: int) -> None:
        """A machine says how many pages it has stored."""
        for line in lines.splitlines():
            pages = json.loads(line).get("pages")
            if pages is not None:
                self._counts.append((number + 1, machine, int(pages)))

    def _place(self, generations: str, machine: str, lines: bytes, number: int) -> None:
        """A machine says how far its log goes."""
        for line in map(json.loads, lines.splitlines()):
            if size := line.get("log"):
                self._places.append((number + 1, f"{generations}/{line['generation']}/log/{machine}.log", size))

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

    def logged(self, point: int) -> Iterator[tuple[str, bytes]]:
        """Give the logs that machines had told of before a point, with what must stand in them.

        Those that somebody had begun to remove are left out.
        """
        for path, size in {path: size for told, path, size in self._places if told <= point}.items():
            if self._removed.get(path, self.end) >= point:
                yield path, self._written[path][:size]

    def begun(self, path: str, point: int) -> int:
        """Give the number of the newest publication of a path that was made before a point; -1 if there is none."""
        return bisect.bisect_left([publication.at for publication in self.of[path]], point) - 1

    def paths(self, directory: str) -> Iterable[str]:
        """Give the paths in a directory of page files."""
        return [path for path in self.of if (match := PAGE_FILE.match(path)) and match["directory"] == directory]

    def stored(self, point: int) -> dict[str, str]:
        """Give the URLs whose records were published before a point, with the machine that did it last."""
        found = {}
        for path in self.paths("links"):
            number = self.begun(path, point)
            if number >= 0:
                record = PageRecord.from_json(self.of[path][number].data)
                found[record.url] = record.machine
        return found
