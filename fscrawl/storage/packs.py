"""Packs: the pages of a tree in few files. Each writer has its own; nobody else appends to them.

    htmls/<machine>+<n>/<segment>.warc.gz   bodies: WARC, a gzip member a record, which any tool of the format reads
    links/<machine>+<n>/<segment>.jsonl     records of pages, one a line, with the place of the body
    errs/<machine>+<n>/<segment>.jsonl      failures, in the same way
    links|errs/…/<segment>.index            where the lines are, by host and key: a cache that anybody may make again

Vocabulary:
  writer     a process of a machine, from its first page to its end; another process is another writer
  segment    the files of one number; when its bodies or lines have 256 MB, the writer begins the next one
  group      pages that are committed together: first all bodies, then all lines
  version    the number of a line among those of its key. The line with the highest one counts; the older ones stay
  gone       a line which says that what its key had counts no more
  covered    the bytes of a file of lines that its index knows; what stands behind is read line by line

Promise: a page that was reported as stored has its whole line behind its whole body. A line that is torn, or that has
no end yet, counts as none; and since nobody appends behind it, it harms none. Each index may be deleted at any time.
What was written by a process that was killed is read as all else is. With `fsync` a power loss takes nothing that was
reported as stored.

Memory of a process: 330 bytes for each line that is in no index (at most `_MANY_LINES` of a file), 230 for each host of
each index, and 6.5 MB for the hosts that were listed last. A look-up costs a read in each segment that has the host,
but for the hosts that were listed last, and for the pages that were found last.
"""

from __future__ import annotations

import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from math import isqrt
from typing import Annotated, NamedTuple

import msgspec

from fscrawl.errors import FscrawlError, PlantedError
from fscrawl.storage.atomic import close_read, read_at
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.kinds import MOST_BYTES
from fscrawl.storage.layout import (
    DOM,
    ERRS,
    EXTENSION,
    FILES,
    HTMLS,
    INDEX,
    LINES,
    LINKS,
    PICTURE,
    is_bodies,
    is_host,
    is_key,
    is_pack,
    segment_of,
    segment_path,
)
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import RenderRecord
from fscrawl.storage.safe_open import Place, open_to_read
from fscrawl.util.lru import Lru, Recent

_READ_BYTES = 4 << 20
_LISTED_LINES = 50_000  # of the hosts that were listed last: who lists a host asks for its pages then
_RECENT_LINES = 1000  # that were found last: who reads a page asks for its record, its body and more
_HANDLES = 256  # files that a process keeps open for reading
_GZIP = 16 + zlib.MAX_WBITS
_MOST_BYTES = 2 << 30  # of a body
_LINE_BYTES = MOST_BYTES[LINKS] + (1 << 20)
_INDEX_BYTES = 256 << 20  # four times what the lines of a segment need
_HEAD_BYTES = 64 << 20  # of an index
_MOST_VERSION = (1 << 32) - 1
_HEADS_BYTES = 128 << 10  # of a WARC record and of its answer, at most
_START_BYTES = 16 << 10  # of a member: the head of its record is in them, unless its URL is very long
_LOOK_S = 1.0  # between two looks at what others have written, where a look asks a file server
_MANY_LINES = 20_000  # behind an index: then whoever has read them writes a new index

_ROW = struct.Struct(">12sQIIB8s")  # key, offset, length, version, flags, extension
_START = struct.Struct(">QI")  # of an index: the size of its head, and the CRC of that
_HTML, _FILE, _DOM, _PICTURE, _GONE = 1, 2, 4, 8, 16


_Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 53))]
_Range = tuple[_Number, _Number]
Where = tuple[str, int, int]
"""A pack, and the offset and the length of a body there."""


class At(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the bodies of a page are. `pack`: the path of the file; of each its offset and length there, in bytes."""

    pack: str
    body: _Range | None = None
    dom: _Range | None = None
    picture: _Range | None = None

    def of(self, what: str) -> tuple[int, int] | None:
        return {"body": self.body, "dom": self.dom}.get(what, self.picture)

    def places(self) -> dict[str, Where]:
        """Give where each body is that there is."""
        return {what: (self.pack, *where) for what in ("body", "dom", "picture") if (where := self.of(what))}


def moves(before: At | None, now: At | None) -> dict[Where, Where]:
    """Give where the bodies of a page were, and where the same ones are now."""
    if before is None or now is None:
        return {}
    there = now.places()
    return {place: there[what] for what, place in before.places().items() if what in there}


class Head(msgspec.Struct):
    """What a line says beside its record."""

    host: str
    key: str
    version: Annotated[int, msgspec.Meta(ge=1, le=_MOST_VERSION)] = 1
    gone: bool = False
    at: At | None = None
    file: Annotated[str, msgspec.Meta(pattern=EXTENSION)] | None = None
    bytes: _Number = 0
    sha256: str = ""
    rendered: RenderRecord | None = None

    @property
    def flags(self) -> int:
        if self.gone:
            return _GONE
        if self.at is None:
            return 0
        body = 0 if self.at.body is None else _FILE if self.file else _HTML
        return body | (_DOM if self.at.dom else 0) | (_PICTURE if self.at.picture else 0)

    def bytes_of(self, what: str) -> int:
        """Give the size that a body has by the record."""
        if what == "body" or self.rendered is None:
            return self.bytes
        return self.rendered.bytes if what == "dom" else self.rendered.screenshot


decoder = msgspec.json.Decoder(Head)


def head_of(line: bytes) -> Head | None:
    """Read what a line says beside its record; None for a line that no writer has written so."""
    try:
        head = decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return head if is_host(head.host) and is_key(head.key) else None


class Entry(NamedTuple):
    """A line: where it is, and what it has."""

    key: bytes
    offset: int
    length: int
    version: int
    flags: int
    extension: str

    @classmethod
    def of(cls, head: Head, offset: int, length: int) -> Entry:
        return cls(bytes.fromhex(head.key), offset, length, head.version, head.flags, head.file or "")

    @property
    def is_gone(self) -> bool:
        return bool(self.flags & _GONE)

    @property
    def is_of_other_type(self) -> bool:
        """Tell whether its page has a body that is no HTML."""
        return bool(self.flags & _FILE)

    def packed(self) -> bytes:
        return _ROW.pack(*self[:5], self.extension.encode())

    @classmethod
    def unpacked(cls, row: bytes) -> Entry:
        key, offset, length, version, flags, extension = _ROW.unpack(row)
        return cls(key, offset, length, version, flags, extension.rstrip(b"\0").decode("ascii", "replace"))

    def names(self, directory: str) -> list[str]:
        """Give the names that the files of its page would have in `directory`, if each had one."""
        key = self.key.hex()
        if directory in (LINKS, ERRS):
            return [f"{key}.json"]
        if directory == HTMLS:
            return [f"{key}.html"] * bool(self.flags & _HTML) + [f"{key}.{DOM}"] * bool(self.flags & _DOM)
        return [f"{key}.{self.extension}"] * bool(self.flags & _FILE) + [f"{key}.{PICTURE}"] * bool(
            self.flags & _PICTURE
        )


class _Open:
    """A file that is open for reading; closed when nobody reads it any more."""

    def __init__(self, place: Place) -> None:
        self.descriptor, self._size = open_to_read(place)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            close_read(self.descriptor)

    def read(self, offset: int, length: int) -> bytes:
        if offset + length > self._size:  # more may have been appended, or the range may be a made-up one
            self._size = os.fstat(self.descriptor).st_size
        return read_at(self.descriptor, offset, min(length, self._size - offset))


class _Reader:
    """Reads ranges of files, some of which it keeps open."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files
        self._open: Lru[str, _Open] = Lru(_HANDLES)

    def read(self, path: str, offset: int, length: int, start: bytes = b"") -> bytes:
        """Read a range; less if the file ends before, or is missing, or is none; b"" if no file has such a range.

        `start`: what the file must begin with; else another one has its name by now, and nothing is read.
        """
        if not (0 <= offset < 1 << 62 and 0 < length <= _MOST_BYTES):
            return b""
        place = Place(str(self._files.root), path)

        def read_once() -> bytes:
            file = self._open.get_or_make(path, lambda: _Open(place))
            try:
                data = file.read(offset, length)
            except OSError:  # the handle is stale
                data = b""
            if len(data) < length:  # a handle that was kept open may not show what was appended since
                self._open.pop(path)
                file = _Open(place)
                data = file.read(offset, length)
            return data if file.read(0, len(start)) == start else b""

        try:
            return self._files.retrying.find(place, read_once, b"")
        except PlantedError:
            return b""

    def size(self, path: str) -> int:
        """Give the size of a file as who opens it sees it: file servers show an older one by name. 0: it is none."""
        try:
            found = self._files.stamp(path)
        except PlantedError:
            return 0
        return found[0] if found else 0

    def close(self) -> None:
        """Keep no file open. One that is removed takes its room as long as somebody has it open."""
        self._open = Lru(_HANDLES)

    def forget(self, path: str) -> None:
        """Open a file anew when it is read next: another one has its name now."""
        self._open.pop(path)


class Lines:
    """One file of lines, as far as it was read."""

    def __init__(self, path: str, index_path: str) -> None:
        self.path = path
        self.index_path = index_path
        self.forget()

    def forget(self) -> None:
        self.covered = 0
        self.is_closed = False
        self.indexed: dict[str, tuple[int, int, int, int]] = {}  # host → first row, number, all flags, CRC
        self.rows_at = 0  # in the file of the index
        self.start = b""  # of that file
        self.index_at = _MANY_LINES  # behind so many fresh lines it is written
        self.fresh: dict[str, dict[bytes, list[Entry]]] = {}  # behind the index
        self.number_fresh = 0

    def add(self, host: str, entry: Entry) -> None:
        self.fresh.setdefault(host, {}).setdefault(entry.key, []).append(entry)
        self.covered = entry.offset + entry.length
        self.number_fresh += 1

    def hosts(self, directory: str) -> Iterator[str]:
        """Give the hosts that have something in `directory` by their lines."""
        wanted = {HTMLS: _HTML | _DOM, FILES: _FILE | _PICTURE}.get(directory)
        yield from (host for host, (_, _, flags, _) in self.indexed.items() if wanted is None or flags & wanted)
        for host, keys in self.fresh.items():
            if wanted is None or any(entry.flags & wanted for entries in keys.values() for entry in entries):
                yield host


class _IndexHead(msgspec.Struct):
    covered: _Number
    closed: bool
    hosts: list[tuple[str, _Number, _Number, _Number]]  # name, number of rows, all their flags, their CRC


class _IndexIsOther(Exception):  # noqa: N818 - no error: another index has the name by now, or this one is damaged
    """The rows of an index are not those that its head has told of."""


Found = tuple[Lines, Entry]


class Packs:
    """The packs of a tree, as one process sees them; safe to share between threads."""

    def __init__(self, files: TreeFiles, *, is_local: bool) -> None:
        self.is_loaded = False
        self._files = files
        self._reader = _Reader(files)
        self._lines: dict[str, dict[str, Lines]] = {LINKS: {}, ERRS: {}}  # by path
        self._lock = threading.RLock()
        self._is_local = is_local
        self._look_s = 0.0 if is_local else _LOOK_S
        self._looked_at = float("-inf")
        self._changes = 0
        self._remembered_at = 0
        self._forget_lines()

    def _forget_lines(self) -> None:
        """Find out anew which lines count."""
        self._listed: Lru[tuple[str, str], dict[bytes, Found]] = Lru(_LISTED_LINES)  # by directory and host
        self._recent: Recent[tuple[str, str, str], Found] = Recent(_RECENT_LINES)  # by directory, host and key

    # -- what others have written

    def look(self, older_s: float = _LOOK_S) -> None:
        """Take in what was written since the last look, if that was at least so long ago."""
        with self._lock:
            if time.monotonic() < self._looked_at + older_s:
                return
            for directory, known in self._lines.items():
                there = {}
                for pack in names_of_packs(self._files, directory):
                    for name in self._files.names(f"{directory}/{pack}"):
                        if (segment := segment_of(name)) is not None:
                            path = segment_path(directory, pack, segment, LINES)
                            there[path] = known.get(path) or self._open(directory, pack, segment)
                self._changes += there.keys() != known.keys()
                self._lines[directory] = there
                for lines in there.values():
                    if not lines.is_closed:
                        self._advance(lines)
            self.is_loaded = True
            self._looked_at = time.monotonic()

    def _open(self, directory: str, pack: str, segment: int) -> Lines:
        lines = Lines(*(segment_path(directory, pack, segment, suffix) for suffix in (LINES, INDEX)))
        self._read_index(lines)
        return lines

    def _read_index(self, lines: Lines) -> None:
        """Take in what an index says, if it is whole and its lines are there."""
        start = self._reader.read(lines.index_path, 0, _START.size)
        if len(start) < _START.size:
            return
        size, crc = _START.unpack(start)
        data = self._reader.read(lines.index_path, len(start), size, start) if size <= _HEAD_BYTES else b""
        if len(data) < size or zlib.crc32(data) != crc:
            return
        try:
            head = msgspec.json.decode(data, type=_IndexHead)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        rows_at = len(start) + size
        whole = rows_at + _ROW.size * sum(number for _, number, _, _ in head.hosts)
        if self._reader.size(lines.index_path) != whole or whole > _INDEX_BYTES:
            return
        there = self._reader.size(lines.path)
        if there < head.covered or not all(is_host(host) for host, *_ in head.hosts):
            return
        lines.covered, lines.rows_at, lines.start = head.covered, rows_at, start
        lines.is_closed = head.closed and there == head.covered
        first = 0
        for host, number, flags, crc in head.hosts:
            lines.indexed[host] = first, number, flags, crc
            first += number

    def _renew(self, lines: Lines, *, with_index: bool) -> None:
        """Find out anew what is in a file of lines: not all is there that was known."""
        self._reader.forget(lines.index_path)
        lines.forget()
        if with_index:
            self._read_index(lines)
        self._advance(lines)
        self._changes += 1

    def _advance(self, lines: Lines) -> None:
        size = self._reader.size(lines.path)
        if size < lines.covered:  # somebody has cut it: what its lines say is found out anew
            lines.forget()
            self._changes += 1
        most = _READ_BYTES
        while lines.covered < size:
            data = self._files.tail(lines.path, lines.covered, most)
            if b"\0" in data and self._may_be_under_way(lines.path):  # NFS shows zeros where bytes are still under way
                data = data[: data.rfind(b"\n", 0, data.index(b"\0")) + 1]
                if not data:
                    return
            if data:
                self._take_in(lines, data)
                most = _READ_BYTES
            elif most >= size - lines.covered:
                return
            elif most < _LINE_BYTES:
                most = _LINE_BYTES
            else:  # no writer writes such a line
                lines.covered += most
        self._write_index_of_many(lines)

    def _may_be_under_way(self, path: str) -> bool:
        changed_at = None if self._is_local else self._files.modified_at(path)
        return changed_at is not None and time.time() - changed_at < CACHES_LIVE_S

    def _take_in(self, lines: Lines, data: bytes) -> None:
        self._changes += 1
        offset = lines.covered
        for line in data.split(b"\n")[:-1]:
            length = len(line) + 1
            head = head_of(line)
            if head is not None:  # else a power loss has torn it, or it was edited: an audit finds its page missing
                lines.add(head.host, Entry.of(head, offset, length))
            offset += length
        lines.covered = offset

    def close(self) -> None:
        """Keep no file open."""
        self._reader.close()

    def own(self, directory: str, pack: str, segment: int) -> Lines:
        """Give what this process knows of a file that it has begun itself."""
        with self._lock:
            path = segment_path(directory, pack, segment, LINES)
            lines = self._lines[directory].get(path)
            if lines is None:
                lines = self._lines[directory][path] = self._open(directory, pack, segment)
            return lines

    def add(self, lines: Lines, host: str, entry: Entry) -> None:
        """Take in a line that this process has written."""
        with self._lock:
            if entry.offset == lines.covered:  # else the look at the files has taken it in
                lines.add(host, entry)
                self._changes += 1
        self._write_index_of_many(lines)

    def _write_index_of_many(self, lines: Lines) -> None:
        if lines.number_fresh >= lines.index_at:
            lines.index_at = lines.number_fresh + _MANY_LINES  # where there can be none, it is not tried at each line
            self.write_index(lines, closed=False)

    def write_index(self, lines: Lines, *, closed: bool) -> None:
        """Write the index of a file of lines. It is a cache: where that is not possible, there is none."""
        found: dict[str, bytes] = {}
        with self._lock:
            for host in {*lines.indexed, *lines.fresh}:
                found[host] = b"".join(sorted(entry.packed() for entry in self._entries(lines, host)))
            hosts = sorted(found.items())
            told = [(host, len(rows) // _ROW.size, _all_flags(rows), zlib.crc32(rows)) for host, rows in hosts]
            head = _IndexHead(lines.covered, closed, told)
        encoded = msgspec.json.encode(head)
        start = _START.pack(len(encoded), zlib.crc32(encoded))
        chunks = [start, encoded, *(rows for _, rows in hosts)]
        try:
            self._files.publish_chunks(lines.index_path, lambda: chunks, fsync=False)  # its sums tell if it is torn
        except FscrawlError:
            return
        with self._lock:
            if lines.covered == head.covered:  # else another thread has taken more in
                lines.forget()
                self._reader.forget(lines.index_path)
                self._read_index(lines)

    # -- questions

    def _entries(self, lines: Lines, host: str, key: bytes | None = None) -> list[Entry]:
        """Give all entries of a host, or of one of its keys, in a file of lines; those of the index first."""
        for with_index in (True, False):
            try:
                return [*self._indexed(lines, host, key), *_fresh(lines, host, key)]
            except _IndexIsOther:
                self._renew(lines, with_index=with_index)
        found = list(_fresh(lines, host, key))
        self.write_index(lines, closed=False)  # in place of the wrong one
        return found

    def _indexed(self, lines: Lines, host: str, key: bytes | None) -> Iterator[Entry]:
        """Read entries from an index, in the order of their keys."""
        _, number, _, crc = lines.indexed.get(host, (0, 0, 0, 0))
        if key is None:
            rows = self._rows(lines, host, 0, number)
            if zlib.crc32(rows) != crc:
                raise _IndexIsOther
            yield from (Entry.unpacked(rows[at : at + _ROW.size]) for at in range(0, len(rows), _ROW.size))
            return
        rows = self._rows_around(lines, host, key, number)
        at = rows.find(key)
        while at >= 0:
            if at % _ROW.size == 0:
                yield Entry.unpacked(rows[at : at + _ROW.size])
            at = rows.find(key, at + 1)

    def _rows_around(self, lines: Lines, host: str, key: bytes, number: int) -> bytes:
        """Read the rows of a key and some beside them. Keys are hashes, so one knows about where they are."""
        middle, width = number * int.from_bytes(key) >> 8 * len(key), 2 * isqrt(number) + 8
        while True:
            begin, end = max(0, middle - width), min(number, middle + width)
            rows = self._rows(lines, host, begin, end - begin)
            if (begin == 0 or rows[: len(key)] < key) and (end == number or rows[-_ROW.size :][: len(key)] > key):
                return rows
            width *= 4

    def _rows(self, lines: Lines, host: str, begin: int, number: int) -> bytes:
        """Read rows of a host; _IndexIsOther if they are not there, or not those of the head that was read."""
        if number == 0:
            return b""
        offset = lines.rows_at + (lines.indexed[host][0] + begin) * _ROW.size
        rows = self._reader.read(lines.index_path, offset, number * _ROW.size, lines.start)
        if len(rows) < number * _ROW.size:
            raise _IndexIsOther
        return rows

    def versions(self, directory: str, host: str, key: str) -> list[Found]:
        """Give all lines of a key, the oldest first."""
        wanted = bytes.fromhex(key)
        with self._lock:
            self.look()
            found = list(self._lines_of(directory, host, wanted))
            if not found and self._looked_at + self._look_s <= time.monotonic():
                self.look(self._look_s)
                found = list(self._lines_of(directory, host, wanted))
        return sorted(found, key=_order)

    def _lines_of(self, directory: str, host: str, key: bytes | None = None) -> Iterator[Found]:
        """Give all lines of a host, or of one of its keys, in no order."""
        for lines in self._lines[directory].values():
            if host in lines.indexed or host in lines.fresh:
                for entry in self._entries(lines, host, key):
                    yield lines, entry

    def find(self, directory: str, host: str, key: str) -> Found | None:
        """Give the line that counts for a key in LINKS or ERRS; None if there is none."""
        with self._lock:
            self._look_for_changes()
            recent = self._recent
            known = recent.get((directory, host, key))
            if known is None and (listed := self._listed.get((directory, host))) is not None:
                known = listed.get(bytes.fromhex(key))
        if known is not None:
            return known
        found = self.versions(directory, host, key)
        if not found or found[-1][1].is_gone:
            return None
        if directory == ERRS:
            page = self.versions(LINKS, host, key)
            if page and page[-1][1].version >= found[-1][1].version:  # it was stored, or removed, since
                return None
        recent.put((directory, host, key), found[-1])
        return found[-1]

    def all_of(self, directory: str, host: str) -> dict[bytes, Found]:
        """Give the lines of a host that count, by key, in the order in which they are stored."""
        with self._lock:
            self._look_for_changes()
            listed = self._listed.get((directory, host))
            if listed is None:
                listed = _that_count(self._newest(directory, host))
                if len(listed) <= _LISTED_LINES:
                    self._listed.put((directory, host), listed, 3 + len(listed))
            return listed

    def _look_for_changes(self) -> None:
        self.look()
        if self._remembered_at != self._changes:
            self._remembered_at = self._changes
            self._forget_lines()

    def _newest(self, directory: str, host: str) -> dict[bytes, Found]:
        """Give the newest line of each key of a host; of failures, of those that are newer than all of their page."""
        newest: dict[bytes, Found] = {}
        for found in self._lines_of(directory, host):
            before = newest.get(found[1].key)
            if before is None or _order(before) <= _order(found):
                newest[found[1].key] = found
        if directory == ERRS:
            pages = self._newest(LINKS, host)
            newest = {
                key: found
                for key, found in newest.items()
                if key not in pages or pages[key][1].version < found[1].version
            }
        return newest

    def by_key(self, directory: str, host: str) -> list[list[Found]]:
        """Give all lines of a host, those of each key together, the oldest first."""
        by_key: dict[bytes, list[Found]] = {}
        with self._lock:
            self.look()
            for found in self._lines_of(directory, host):
                by_key.setdefault(found[1].key, []).append(found)
        return [sorted(each, key=_order) for each in by_key.values()]

    def hosts(self, directory: str) -> list[str]:
        """List the hosts of which something is stored that would stand in `directory`."""
        with self._lock:
            self.look(0.0)
            lines = self._lines[ERRS if directory == ERRS else LINKS].values()
            return sorted({host for each in lines for host in each.hosts(directory)})

    def next_version(self, host: str, key: str) -> int:
        """Give the version of the next line of a key, by what this process knows of its lines.

        A worker that fetches a page which may be stored has looked for it before. For new pages, one look in the
        beginning suffices, and one after a repair may have removed pages (`Tree.look_anew`).
        """
        wanted = bytes.fromhex(key)
        with self._lock:
            if not self.is_loaded:
                self.look(0.0)
            found = [each for directory in self._lines for each in self._lines_of(directory, host, wanted)]
        return min(1 + max((entry.version for _, entry in found), default=0), _MOST_VERSION)

    def line(self, found: Found) -> bytes:
        """Read a line; b"" if it is not there any more, or another one is in its place."""
        return self._line(found)[0]

    def head(self, found: Found) -> Head | None:
        """Read what a line says beside its record; None if it is not there any more, or was edited."""
        return self._line(found)[1]

    def _line(self, found: Found) -> tuple[bytes, Head | None]:
        lines, entry = found
        data = self._reader.read(lines.path, entry.offset, entry.length)
        head = head_of(data) if data.endswith(b"\n") else None
        if head is not None and (bytes.fromhex(head.key), head.version) == (entry.key, entry.version):
            return data, head
        with self._lock:
            self._renew(lines, with_index=False)
        return b"", None

    def at(self, found: Found) -> At | None:
        """Read where the bodies of a page are."""
        head = self.head(found)
        return None if head is None else head.at

    def block(self, at: At, what: str, most: int | None) -> bytes | None:
        """Read a body; None if it is not there. `most`: bytes; if it has more, only the first of them are given."""
        member = self.member(at, what, most)
        if not member:
            return None
        unpacker = zlib.decompressobj(_GZIP)
        try:
            data = unpacker.decompress(member, (_MOST_BYTES if most is None else most) + _HEADS_BYTES)
        except zlib.error:
            return b""
        block = data.partition(b"\r\n\r\n")[2]
        if what == "body":
            block = block.partition(b"\r\n\r\n")[2]
        return block.removesuffix(b"\r\n\r\n") if unpacker.eof else block

    def member(self, at: At, what: str, most: int | None = None) -> bytes:
        """Read a body as it stands in its pack; b"" if it is not all there. `most`: bytes that it may have unpacked."""
        where = at.of(what)
        if where is None or not is_bodies(at.pack):
            return b""
        if most is not None and where[1] > most + (most >> 8) + _HEADS_BYTES:
            return b""  # what cannot be packed grows by less
        data = self._reader.read(at.pack, *where)
        return data if len(data) == where[1] else b""

    def start(self, at: At) -> bytes:
        """Read what the record of a body begins with; b"" if it is not there, or damaged."""
        if at.body is None or not is_bodies(at.pack):
            return b""
        offset, length = at.body
        return start_of(self._reader.read(at.pack, offset, min(length, _START_BYTES)))

    def holds(self, path: str, offset: int, data: bytes) -> bool:
        """Read back what was written."""
        return self._reader.read(path, offset, len(data)) == data

    def is_whole(self, at: At, what: str) -> bool:
        """Tell whether the file is long enough for a body."""
        where = at.of(what)
        return where is not None and is_bodies(at.pack) and self._reader.size(at.pack) >= sum(where)

    def entries(self, directory: str, host: str) -> Iterator[Entry]:
        """Give all lines of a host, in no order; those of one file are in memory at a time."""
        with self._lock:
            self.look()
            files = list(self._lines[directory].values())
        for lines in files:
            with self._lock:
                found = self._entries(lines, host)
            yield from found


def _fresh(lines: Lines, host: str, key: bytes | None) -> Iterator[Entry]:
    keys = lines.fresh.get(host, {})
    for entries in keys.values() if key is None else [keys.get(key, [])]:
        yield from entries


def names_of_packs(files: TreeFiles, directory: str) -> list[str]:
    """List the directories of writers."""
    return [name for name in files.names(directory) if is_pack(name)]


def _order(found: Found) -> tuple[int, str, int]:
    """Of two lines of one version, which two machines have written, the same one counts for everybody."""
    lines, entry = found
    return entry.version, lines.path, entry.offset


def _that_count(newest: Mapping[bytes, Found]) -> dict[bytes, Found]:
    """Leave out what is gone, and bring the others into the order in which they are stored."""
    there = ((key, found) for key, found in newest.items() if not found[1].is_gone)
    return dict(sorted(there, key=lambda item: (item[1][0].path, item[1][1].offset)))


def _all_flags(rows: bytes) -> int:
    found = 0
    for _, _, _, _, flags, _ in _ROW.iter_unpack(rows):
        found |= flags
    return found


def is_member_of(member: bytes, record: bytes) -> bool:
    """Tell whether a gzip member is one, and holds this record."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        return unpacker.decompress(member, len(record) + 1) == record and unpacker.eof and not unpacker.unused_data
    except zlib.error:
        return False


def start_of(member: bytes) -> bytes:
    """Unpack what a WARC record begins with; b"" if it is damaged."""
    try:
        return zlib.decompressobj(_GZIP).decompress(member, 4 * _START_BYTES)
    except zlib.error:
        return b""
