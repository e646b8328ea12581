"""A tree whose pages are in packs, as if each page had its files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path

import msgspec

from fscrawl.errors import RecordError, TreeError, tree_error
from fscrawl.request import parts_of, url_of
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import (
    DOM,
    ERRS,
    FILES,
    HTMLS,
    LINKS,
    PAGE_DIRECTORIES,
    PICTURE,
    is_pack,
    of_page,
    page_file_of,
)
from fscrawl.storage.mounts import caches_live_s
from fscrawl.storage.pack_writer import Page, Writer
from fscrawl.storage.packs import (
    At,
    Found,
    Packs,
    Where,
    head_of,
    is_member_of,
    moves,
    names_of_packs,
    start_of,
)
from fscrawl.storage.records import ErrorRecord, PageRecord, TreeRecord, Version
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.safe_open import too_large
from fscrawl.storage.warc import Capture, Original, date_of, gzip_member

_GROUP_BYTES, _GROUP_LINES = 8 << 20, 500  # of copies that are written together


class PackedFiles(TreeFiles):
    """Shows the pages of packs as if each had its files, so who reads a tree needs to know nothing of packs.

    The files of pages are written by `put_page`, `put_record` and `put_error` alone. To remove one says that it
    is gone.
    """

    def __init__(
        self, root: Path, machine: str, record: TreeRecord, *, fsync: bool = False, retrying: Retrying = BRIEF
    ) -> None:
        # What this object holds does not hold it: in a circle, files would stay open until Python looks for circles.
        self._plain = TreeFiles(root, machine, fsync=fsync, retrying=retrying)
        super().__init__(root, machine, fsync=fsync, retrying=retrying)
        is_local = caches_live_s(root) == 0
        self._crawl = record.crawl
        self.packs = Packs(self._plain, is_local=is_local)
        self.writer = Writer(self._plain, self.packs, record.crawl, is_local=is_local)
        self._copies: list[Page] = []
        self._copies_bytes = 0

    @property
    def retrying(self) -> Retrying:
        return self._plain.retrying

    @retrying.setter
    def retrying(self, retrying: Retrying) -> None:
        self._plain.retrying = retrying

    def pack_directories(self) -> list[str]:
        """List the directories of writers, with those above them."""
        return [f"{above}/{pack}" for above in PAGE_DIRECTORIES for pack in names_of_packs(self._plain, above)]

    # -- reading

    def _found(self, path: str) -> tuple[str, str, str, Found] | None:
        """Find the line of a page's file: what the file is, its host, its key, and the line; None if there is none."""
        page = of_page(path)
        named = page_file_of(page[0], page[2]) if page else None
        if page is None or named is None:
            return None
        directory, host, name = page
        found = self._counting(ERRS if directory == ERRS else LINKS, host, named[0])
        if found is None or name not in found[1].names(directory):
            return None
        what = "line" if directory in (LINKS, ERRS) else _WHAT.get(named[1], "body")
        if what == "picture" and found[1].is_of_other_type:  # the page is a picture itself
            what = "body"
        return what, host, named[0], found

    def read(self, path: str, most: int | None = None) -> bytes | None:
        if of_page(path) is None:
            return super().read(path, most)
        place = self.absolute(path)
        found = self._found(path)
        if found is None:
            return None
        what, *_, line = found
        data = self.packs.line(line) or None if what == "line" else self._body(line, what, most)
        if data is not None and most is not None and len(data) > most:
            raise tree_error(too_large(place, len(data), most), place)
        return data

    def _body(self, line: Found, what: str, most: int | None) -> bytes | None:
        at = self.packs.at(line)
        return None if at is None else self.packs.block(at, what, most)

    def read_beside(self, directory: str, names: Sequence[str], most: int) -> list[bytes | None]:
        """Do what `many_files.read_beside` does."""
        found = []
        for name in names:
            try:
                found.append(self.read(f"{directory}/{name}", most))
            except TreeError:
                found.append(None)
        return found

    def exists(self, path: str) -> bool:
        return super().exists(path) if of_page(path) is None else self._found(path) is not None

    def is_file(self, path: str) -> bool:
        return super().is_file(path) if of_page(path) is None else self._found(path) is not None

    def size_if_there(self, path: str) -> int | None:
        """Give the size of a file. That of a body is what its record says, if the pack is long enough for it."""
        if of_page(path) is None:
            return super().size_if_there(path)
        found = self._found(path)
        if found is None:
            return None
        what, *_, line = found
        if what == "line":
            return line[1].length
        head = self.packs.head(line)
        if head is None or head.at is None or not self.packs.is_whole(head.at, what):
            return None
        return head.bytes_of(what)

    def modified_at(self, path: str) -> float | None:
        if of_page(path) is None:
            return super().modified_at(path)
        found = self._found(path)
        return None if found is None else super().modified_at(found[3][0].path)

    def planted(self, path: str) -> str:
        return super().planted(path) if of_page(path) is None else ""

    def names(self, path: str = "") -> list[str]:
        if path in PAGE_DIRECTORIES:
            return self.packs.hosts(path)
        directory, _, host = path.partition("/")
        if directory not in PAGE_DIRECTORIES or "+" in host:
            return super().names(path)
        lines = self.packs.all_of(ERRS if directory == ERRS else LINKS, host)
        return [name for _, entry in lines.values() for name in entry.names(directory)]

    def entries(self, path: str) -> list[tuple[str, str]]:
        directory, _, host = path.partition("/")
        if directory not in PAGE_DIRECTORIES or "+" in host:
            return super().entries(path)
        if host:
            return [(name, "file") for name in self.names(path)]
        others = [(name, kind) for name, kind in super().entries(path) if not (kind == "directory" and is_pack(name))]
        return [*((name, "directory") for name in self.names(path)), *others]

    def sorted_keys(self, directory: str, host: str) -> list[str]:
        """Do what `many_files.list_keys` does."""
        return sorted(key.hex() for key in self.packs.all_of(directory, host))

    def members(self, host: str, record: PageRecord, bodies: Mapping[str, bytes]) -> dict[str, bytes]:
        """Give bodies as they stand in a pack: gzip members, each of the one record that `Capture` makes of it.

        `bodies`: "body", "dom" and "picture" → what was read of them.
        """
        found = self._counting(LINKS, host, record.key)
        at = None if found is None else self.packs.at(found)
        if at is None:
            return {}
        capture, made = self._capture(record), {}
        for what, data in bodies.items():
            member = self.packs.member(at, what, len(data))
            if member and is_member_of(member, capture.made(what, record.status, record.headers, data)):
                made[what] = member
        return made

    # -- writing

    def put_page(self, host: str, record: PageRecord, body: bytes | None, beside: Mapping[str, bytes]) -> None:
        """Store a page. `beside`: path → bytes of its DOM and its picture."""
        page = self._page(LINKS, host, record)
        capture = self._capture(record)
        if body is not None and not beside and page.version > 1:
            page.at = self._same_body(host, record)
        if body is None or page.at is not None:
            page.members |= self._answer(record, b"" if page.at is None else self.packs.start(page.at))
        else:
            page.members["body"] = gzip_member(capture.made("body", record.status, record.headers, body))
        for path, data in beside.items():
            what = "dom" if path.endswith(f".{DOM}") else "picture"
            page.members[what] = gzip_member(capture.made(what, record.status, record.headers, data))
        self.writer.put(page)

    def put_record(self, host: str, record: PageRecord) -> None:
        """Bring the record of a page up to date; its bodies stay."""
        before = self.packs.find(LINKS, host, record.key)
        page = self._page(LINKS, host, record)
        if before is not None:
            head = self.packs.head(before)
            if head is None:  # its bodies would be lost
                raise TreeError(f"{self.absolute(before[0].path)}: a line of it cannot be read now; run this again")
            page.at = head.at
        self.writer.put(page)

    def put_error(self, host: str, record: ErrorRecord) -> None:
        """Store the failure of a URL."""
        self.writer.put(self._page(ERRS, host, record))

    def remove(self, path: str) -> None:
        page = of_page(path)
        if page is None:
            super().remove(path)
            return
        found = self._found(path)
        if found is not None and found[0] == "line":  # a body is never there without its line
            _, host, key, _ = found
            version = self.packs.next_version(host, key)
            said = msgspec.json.encode({"key": key, "gone": True}) + b"\n"
            self.writer.put(Page(page[0], host, key, version, said))

    def set_aside(self, path: str) -> None:
        if of_page(path) is None:
            super().set_aside(path)
        else:
            self.remove(path)

    def copy(
        self, directory: str, host: str, found: Found, moved: dict[Where, Where], answered: set[str], *, shares: bool
    ) -> list[str]:
        """Write a line once more, with its bodies, at once or together with others (`write_copies`).

        `moved`: where bodies of the same page are now; `answered`: when it was fetched, for each answer in the copies.
        `shares`: its next version may have the same bodies. Return which bodies are missing; TreeError if one is there,
        and cannot be read.
        """
        missing: list[str] = []
        line = self.packs.line(found)
        head = head_of(line)
        if head is None:
            raise RecordError(f"{found[0].path}, from byte {found[1].offset}: the line is not what it was")
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        for name in ("host", "version", "at"):
            fields.pop(name, None)
        page = Page(directory, host, head.key, head.version, msgspec.json.encode(fields) + b"\n")
        places = {} if head.at is None else head.at.places()
        there = {what: moved[place] for what, place in places.items() if place in moved}
        if there and there.keys() == places.keys() and len({pack for pack, *_ in there.values()}) == 1:
            ranges = {what: (offset, length) for what, (_, offset, length) in there.items()}
            page.at = At(there.popitem()[1][0], **ranges)
        elif head.at is not None:
            page.members = {what: self._whole_member(head.at, what) for what in places}
            missing = [what for what, data in page.members.items() if not data]
            for what in missing:
                del page.members[what]
        if directory == LINKS:
            with contextlib.suppress(RecordError):
                self._add_answer(page, PageRecord.from_json(line), answered)
        self._copies.append(page)
        self._copies_bytes += sum(map(len, page.members.values()))
        if shares or len(self._copies) >= _GROUP_LINES or self._copies_bytes >= _GROUP_BYTES:
            self.write_copies()
        if shares:
            moved |= moves(head.at, page.at)
        return missing

    def _add_answer(self, page: Page, record: PageRecord, answered: set[str]) -> None:
        """Let a copy have the record of its answer, too, if no body has it, and no other line of the same answer."""
        if record.fetched_at not in answered:
            answered.add(record.fetched_at)
            start = self.packs.start(page.at) if page.at is not None else start_of(page.members.get("body", b""))
            page.members |= self._answer(record, start)

    def _whole_member(self, at: At, what: str) -> bytes:
        """Read a body as it stands in its pack; b"" if it is not there."""
        data = self.packs.member(at, what)
        if not data and self.packs.is_whole(at, what) and not (data := self.packs.member(at, what)):
            raise TreeError(f"{self.absolute(at.pack)}: a body in it cannot be read now; run this again")
        return data

    def write_copies(self) -> None:
        """Write the copies that wait."""
        pages, self._copies, self._copies_bytes = self._copies, [], 0
        if pages:
            self.writer.put_all(pages)

    def _page(self, directory: str, host: str, record: PageRecord | ErrorRecord) -> Page:
        version = self.packs.next_version(host, record.key)
        return Page(directory, host, record.key, version, record.to_json())

    def _same_body(self, host: str, record: PageRecord) -> At | None:
        """Give where the body of a page is if the page has been fetched again, and has the same."""
        before = self.packs.find(LINKS, host, record.key) if self.packs.is_loaded else None
        head = None if before is None else self.packs.head(before)
        if head is None or head.sha256 != record.sha256 or head.at is None or head.at.body is None:
            return None
        if head.file != record.file or not self.packs.is_whole(head.at, "body"):
            return None
        return At(head.at.pack, head.at.body)

    def _capture(self, record: PageRecord) -> Capture:
        page, _, _ = parts_of(record.url)
        return Capture(self._crawl, record.key, url_of(record.url), page, date_of(record.fetched_at), record.ip)

    def _answer(self, record: PageRecord, start: bytes) -> dict[str, bytes]:
        """Make the record of an answer that led elsewhere, or had the body of an older one, which begins with `start`.

        For whoever replays the pack: the tree itself does not need it.
        """
        capture = self._capture(record)
        if not start and record.redirect is not None:
            return {"answer": gzip_member(capture.response(record.status, record.headers, None))}
        old = Original.read(start)
        if old is None or old.date == capture.date:
            return {}
        return {"answer": gzip_member(capture.revisit(record.status, record.headers, record.bytes, old))}

    # -- versions

    shown: tuple[str, str, int] | None = None  # host, key, number: this version counts for the key, not the last one

    def showing(self, host: str, key: str, number: int) -> PackedFiles:
        """Give a view in which a page has the files that it had in one of its versions."""
        view = copy(self)
        view.shown = host, key, number
        return view

    def _counting(self, directory: str, host: str, key: str) -> Found | None:
        if self.shown is None or self.shown[:2] != (host, key):
            return self.packs.find(directory, host, key)
        found = [each for each in self.packs.versions(directory, host, key) if each[1].version == self.shown[2]]
        return found[-1] if found and not found[-1][1].is_gone else None

    def versions(self, host: str, key: str) -> list[Version]:
        """Give all versions of a key, the oldest first. Lines that cannot be read are left out, as in `Packs`."""
        versions: dict[int, Version] = {}
        for directory in (ERRS, LINKS):  # of a failure and a page of one version, the page counts
            kind = PageRecord if directory == LINKS else ErrorRecord
            for found in self.packs.versions(directory, host, key):
                lines, entry = found
                if entry.is_gone and directory == ERRS:
                    continue  # that a failure was forgotten says nothing of the page
                with contextlib.suppress(RecordError):
                    record = None if entry.is_gone else kind.from_json(self.packs.line(found))
                    machine = lines.path.split("/")[1].partition("+")[0]
                    versions[entry.version] = Version(entry.version, record, machine)
        return [versions[number] for number in sorted(versions)]

    def page_before(self, host: str, key: str, number: int) -> PageRecord | None:
        """Read the record of the version before one; None if there is none, or it was removed, or cannot be read."""
        before = [each for each in self.packs.versions(LINKS, host, key) if each[1].version < number]
        if before and not before[-1][1].is_gone:
            with contextlib.suppress(RecordError):
                return PageRecord.from_json(self.packs.line(before[-1]))
        return None

    def numbers(self, host: str) -> Iterator[tuple[str, int, bool]]:
        """Give the key and the number of all versions of a host's pages, in no order; and whether it says "gone"."""
        for entry in self.packs.entries(LINKS, host):
            yield entry.key.hex(), entry.version, entry.is_gone

    def number(self, host: str, key: str) -> int | None:
        """Give the number of the version that counts; None if the page is not stored."""
        found = self._counting(LINKS, host, key)
        return None if found is None else found[1].version

    def bodies(self, host: str, key: str) -> list[str]:
        """Give the paths of the bodies of a page."""
        found = self._counting(LINKS, host, key)
        entry = None if found is None else found[1]
        return [f"{where}/{host}/{name}" for where in (HTMLS, FILES) for name in (entry.names(where) if entry else ())]


_WHAT = {DOM: "dom", PICTURE: "picture"}
