"""Packs: the pages of a tree in few files. Each writer has its own; nobody else appends to them.

    htmls/<machine>+<n>/<segment>.warc.gz   bodies: WARC, a gzip member a record, which any tool of the format reads
    links/<machine>+<n>/<segment>.jsonl     records of pages, one a line, with the place of the body
    errs/<machine>+<n>/<segment>.jsonl      failures, in the same way
    links|errs/…/<segment>.index            where the lines are, by host and key: a cache that anybody may make again

Vocabulary:
  writer     a process of a machine, from its first page to its end; another process is another writer
  segment    the files of one number; when its bodies or lines have `SEGMENT_BYTES`, the writer begins the next one
  group      pages that are committed together: first all bodies, then all lines
  version    the number of a line among those of its key. The line with the highest one counts; the older ones stay
  gone       a line which says that what its key had counts no more
  covered    the bytes of a file of lines that its index knows; what stands behind is read line by line

Promise: a page that was reported as stored has its whole line behind its whole body. A line that is torn, or that has
no end yet, counts as none; and since nobody appends behind it, it harms none. Each index may be deleted at any time.
What was written by a process that was killed is read as all else is. With `fsync` a power loss takes nothing that was
reported as stored.

Memory of a process: 330 bytes for each line that is in no index (at most `_MANY_LINES` of a file), 230 for each host of
each index, and 130 for each page of the hosts that were listed last. A look-up costs a read in each segment that has
the host, but for the hosts that were listed last, and for the pages that were found last.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from math import isqrt
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from fscrawl.errors import FscrawlError, PlantedError, RecordError, TreeError, tree_error
from fscrawl.request import parts_of, url_of
from fscrawl.storage.atomic import close_read, flush, sync, sync_directory_of, write_all
from fscrawl.storage.caches import CACHES_LIVE_S, caches_live_s
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.kinds import MOST_BYTES
from fscrawl.storage.layout import (
    BODIES,
    DOM,
    ERRS,
    EXTENSION,
    FILES,
    HTMLS,
    INDEX,
    LINES,
    LINKS,
    PAGE_DIRECTORIES,
    PICTURE,
    is_bodies,
    is_host,
    is_key,
    is_pack,
    of_page,
    pack_name,
    page_file_of,
    segment_of,
    segment_path,
)
from fscrawl.storage.records import ErrorRecord, PageRecord, RenderRecord, TreeRecord, Version, timestamp
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.safe_open import Place, name_of, open_parent, open_to_append, open_to_read, too_large
from fscrawl.storage.warc import Capture, Original, date_of, warcinfo
from fscrawl.util.lru import Lru, Recent

SEGMENT_BYTES = 256 << 20
_READ_BYTES = 4 << 20
_LISTED_LINES = 50_000  # of the hosts that were listed last: who lists a host asks for its pages then
_RECENT_LINES = 1000  # that were found last: who reads a page asks for its record, its body and more
_HANDLES = 256  # files that a process keeps open for reading
_GZIP = 16 + zlib.MAX_WBITS
_GZIP_LEVEL = 4
_MOST_BYTES = 2 << 30  # of a body
_LINE_BYTES = MOST_BYTES[LINKS] + (1 << 20)
_INDEX_BYTES = 256 << 20  # four times what the lines of a segment need
_HEAD_BYTES = 64 << 20  # of an index
_MOST_VERSION = (1 << 32) - 1
_HEADS_BYTES = 128 << 10  # of a WARC record and of its answer, at most
_START_BYTES = 16 << 10  # of a member: the head of its record is in them, unless its URL is very long
_GROUP_S = 0.5  # on a file server, the first page of a group waits so long for others
_ALONE_S = 0.1  # the same, with the time that writing takes, if all threads at work wait
_LOOK_S = 1.0  # between two looks at what others have written, where a look asks a file server
_GROUP_BYTES, _GROUP_LINES = 8 << 20, 500  # of copies that are written together
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


class _Head(msgspec.Struct):
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


_decoder = msgspec.json.Decoder(_Head)


def _head_of(line: bytes) -> _Head | None:
    """Read what a line says beside its record; None for a line that no writer has written so."""
    try:
        head = _decoder.decode(line)
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

    @property
    def is_gone(self) -> bool:
        return bool(self.flags & _GONE)

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


# -- reading


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
        length = min(length, self._size - offset)
        data = os.pread(self.descriptor, length, offset) if length > 0 else b""
        while 0 < len(data) < length and (more := os.pread(self.descriptor, length - len(data), offset + len(data))):
            data += more
        return data


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


class _Lines:
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


Found = tuple[_Lines, Entry]


class Packs:
    """The packs of a tree, as one process sees them; safe to share between threads."""

    def __init__(self, files: TreeFiles, *, is_local: bool) -> None:
        self.is_loaded = False
        self._files = files
        self._reader = _Reader(files)
        self._lines: dict[str, dict[str, _Lines]] = {LINKS: {}, ERRS: {}}  # by path
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
                for pack in _names_of_packs(self._files, directory):
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

    def _open(self, directory: str, pack: str, segment: int) -> _Lines:
        lines = _Lines(*(segment_path(directory, pack, segment, suffix) for suffix in (LINES, INDEX)))
        self._read_index(lines)
        return lines

    def _read_index(self, lines: _Lines) -> None:
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

    def _renew(self, lines: _Lines, *, with_index: bool) -> None:
        """Find out anew what is in a file of lines: not all is there that was known."""
        self._reader.forget(lines.index_path)
        lines.forget()
        if with_index:
            self._read_index(lines)
        self._advance(lines)
        self._changes += 1

    def _advance(self, lines: _Lines) -> None:
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

    def _take_in(self, lines: _Lines, data: bytes) -> None:
        self._changes += 1
        offset = lines.covered
        for line in data.split(b"\n")[:-1]:
            length = len(line) + 1
            head = _head_of(line)
            if head is not None:  # else a power loss has torn it, or it was edited: an audit finds its page missing
                key = bytes.fromhex(head.key)
                lines.add(head.host, Entry(key, offset, length, head.version, head.flags, head.file or ""))
            offset += length
        lines.covered = offset

    def close(self) -> None:
        """Keep no file open."""
        self._reader.close()

    def own(self, directory: str, pack: str, segment: int) -> _Lines:
        """Give what this process knows of a file that it has begun itself."""
        with self._lock:
            path = segment_path(directory, pack, segment, LINES)
            lines = self._lines[directory].get(path)
            if lines is None:
                lines = self._lines[directory][path] = self._open(directory, pack, segment)
            return lines

    def add(self, lines: _Lines, host: str, entry: Entry) -> None:
        """Take in a line that this process has written."""
        with self._lock:
            if entry.offset == lines.covered:  # else the look at the files has taken it in
                lines.add(host, entry)
                self._changes += 1
        self._write_index_of_many(lines)

    def _write_index_of_many(self, lines: _Lines) -> None:
        if lines.number_fresh >= lines.index_at:
            lines.index_at = lines.number_fresh + _MANY_LINES  # where there can be none, it is not tried at each line
            self.write_index(lines, closed=False)

    def write_index(self, lines: _Lines, *, closed: bool) -> None:
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

    def _entries(self, lines: _Lines, host: str, key: bytes | None = None) -> list[Entry]:
        """Give all entries of a host, or of one of its keys, in a file of lines; those of the index first."""
        for with_index in (True, False):
            try:
                return [*self._indexed(lines, host, key), *_fresh(lines, host, key)]
            except _IndexIsOther:
                self._renew(lines, with_index=with_index)
        found = list(_fresh(lines, host, key))
        self.write_index(lines, closed=False)  # in place of the wrong one
        return found

    def _indexed(self, lines: _Lines, host: str, key: bytes | None) -> Iterator[Entry]:
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

    def _rows_around(self, lines: _Lines, host: str, key: bytes, number: int) -> bytes:
        """Read the rows of a key and some beside them. Keys are hashes, so one knows about where they are."""
        middle, width = number * int.from_bytes(key) >> 8 * len(key), 2 * isqrt(number) + 8
        while True:
            begin, end = max(0, middle - width), min(number, middle + width)
            rows = self._rows(lines, host, begin, end - begin)
            if (begin == 0 or rows[: len(key)] < key) and (end == number or rows[-_ROW.size :][: len(key)] > key):
                return rows
            width *= 4

    def _rows(self, lines: _Lines, host: str, begin: int, number: int) -> bytes:
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
                    self._listed.put((directory, host), listed, 1 + len(listed))
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

    def head(self, found: Found) -> _Head | None:
        """Read what a line says beside its record; None if it is not there any more, or was edited."""
        return self._line(found)[1]

    def _line(self, found: Found) -> tuple[bytes, _Head | None]:
        lines, entry = found
        data = self._reader.read(lines.path, entry.offset, entry.length)
        head = _head_of(data) if data.endswith(b"\n") else None
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
        return _start_of(self._reader.read(at.pack, offset, min(length, _START_BYTES)))

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


def _fresh(lines: _Lines, host: str, key: bytes | None) -> Iterator[Entry]:
    keys = lines.fresh.get(host, {})
    for entries in keys.values() if key is None else [keys.get(key, [])]:
        yield from entries


def _names_of_packs(files: TreeFiles, directory: str) -> list[str]:
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


# -- writing


class _Page:
    """What a thread wants to be written, and waits for."""

    __slots__ = ("at", "directory", "error", "host", "is_done", "json", "key", "members", "version")

    def __init__(self, directory: str, host: str, key: str, version: int, json: bytes) -> None:
        self.directory, self.host, self.key, self.version, self.json = directory, host, key, version, json
        self.members: dict[str, bytes] = {}
        self.at: At | None = None  # where its bodies are, once they are there
        self.is_done = False
        self.error: BaseException | None = None

    def line(self) -> bytes:
        said = {"host": self.host, "version": self.version, **({"at": self.at} if self.at is not None else {})}
        return msgspec.json.encode(said)[:-1] + b"," + self.json[1:]


class Writer:
    """Writes the packs of this process. Pages that wait at the same time are written together."""

    def __init__(self, files: TreeFiles, packs: Packs, crawl: str, *, is_local: bool) -> None:
        self._files = files
        self._packs = packs
        self._crawl = crawl
        self._is_local = is_local
        self._changed = threading.Condition()
        self._waiting: list[_Page] = []
        self._at_work = 0
        self._took_s = 0.0  # to write the last group
        self._is_writing = False
        self._pack = ""
        self._segment = -1
        self._bodies: _Appended | None = None
        self._lines: dict[str, _Appended] = {}

    def put(self, page: _Page) -> None:
        """Write a page, and return when it is stored; TreeError if that is not possible."""
        with self._changed:
            self._waiting.append(page)
            self._changed.notify_all()
            began = time.monotonic()
            while not page.is_done:
                if self._is_writing:
                    self._changed.wait()
                elif (wait_s := self._longest_wait_s() - (time.monotonic() - began)) > 0:
                    self._changed.wait(wait_s)
                else:
                    self._write_waiting()
        if page.error is not None:
            raise page.error

    def _longest_wait_s(self) -> float:
        """Give how long a page waits for others: hardly, if no thread at work can bring another one before.

        Where writing takes long, others come to wait meanwhile.
        """
        if self._is_local or not self._at_work:
            return 0.0
        return _ALONE_S - self._took_s if len(self._waiting) >= self._at_work else _GROUP_S

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Inside this, a thread is at work on a page that it may store soon."""
        with self._changed:
            self._at_work += 1
        try:
            yield
        finally:
            with self._changed:
                self._at_work -= 1
                self._changed.notify_all()

    def put_all(self, pages: list[_Page]) -> None:
        """Write pages together, and read them back; TreeError if they are not what was written."""
        with self._changed:
            self._write(pages)
            for directory, file in self._lines.items():
                lines = b"".join([page.line() for page in pages if page.directory == directory])
                if lines and not self._packs.holds(file.path, file.size - len(lines), lines):
                    raise TreeError(f"{self._files.absolute(file.path)}: it does not hold what was written")
        for page in pages:
            for what, (pack, offset, _) in page.at.places().items() if page.at else ():
                if what in page.members and not self._packs.holds(pack, offset, page.members[what]):
                    raise TreeError(f"{self._files.absolute(pack)}: it does not hold what was written")

    def _write_waiting(self) -> None:
        """Write all that waits, while others may come to wait. The lock is held when this begins and ends."""
        group, self._waiting, self._is_writing = self._waiting, [], True
        self._changed.release()
        error: BaseException | None = None
        began = time.monotonic()
        try:
            self._write(group)
        except BaseException as found:  # noqa: BLE001 - each of the group raises it
            error = found
        finally:
            self._changed.acquire()
            self._is_writing, self._took_s = False, time.monotonic() - began
            for page in group:
                page.is_done, page.error = True, error
            self._changed.notify_all()

    def _write(self, group: list[_Page]) -> None:
        """Write a group: the bodies, and then the lines. After a call that failed, a new segment begins.

        A file server may be asked twice to make a file, and say that there is one.
        """
        place = Place(str(self._files.root), f"{LINKS}/{self._pack}")

        def write_once() -> None:
            for is_last in (False, True):
                try:
                    self._write_once(group)
                    break
                except BaseException as error:
                    self._end_segment(with_index=False)
                    if is_last or not isinstance(error, FileExistsError):
                        raise

        self._files.retrying(place, write_once)

    def _write_once(self, group: list[_Page]) -> None:
        self._begin_segment()
        if any(page.members for page in group):
            self._write_bodies(group)
        for directory in (LINKS, ERRS):
            if chosen := [page for page in group if page.directory == directory]:
                self._write_lines(directory, chosen)

    def _write_bodies(self, group: list[_Page]) -> None:
        data = bytearray()
        if self._bodies is None:
            self._bodies = self._open_file(HTMLS, BODIES)
            name = self._bodies.path.partition("/")[2]
            data += gzip_member(warcinfo(self._crawl, name, timestamp(time.time())))
        for page in group:
            named: dict[str, tuple[int, int]] = {}
            for what, packed in page.members.items():
                if what != "answer":
                    named[what] = self._bodies.size + len(data), len(packed)
                data += packed
            if named:
                page.at = At(self._bodies.path, **named)
        self._bodies.append(bytes(data))

    def _write_lines(self, directory: str, pages: list[_Page]) -> None:
        file = self._lines.get(directory)
        if file is None:
            file = self._lines[directory] = self._open_file(directory, LINES)
        written = [(page, page.line()) for page in pages]
        offset = file.size
        file.append(b"".join(line for _, line in written))
        known = self._packs.own(directory, self._pack, self._segment)
        for page, line in written:
            head = _decoder.decode(line)
            entry = Entry(bytes.fromhex(page.key), offset, len(line), page.version, head.flags, head.file or "")
            self._packs.add(known, page.host, entry)
            offset += len(line)

    def _begin_segment(self) -> None:
        if (self._lines or self._bodies is not None) and not self._is_full():
            return
        self._end_segment()
        if not self._pack:
            self._pack = pack_name(self._files.machine, os.urandom(4).hex())
        self._segment += 1

    def _is_full(self) -> bool:
        files = [*self._lines.values(), *([self._bodies] if self._bodies is not None else [])]
        return any(file.size >= SEGMENT_BYTES or file.is_closed for file in files)

    def _open_file(self, directory: str, suffix: str) -> _Appended:
        self._files.make_directory(f"{directory}/{self._pack}")
        path = segment_path(directory, self._pack, self._segment, suffix)
        place = Place(str(self._files.root), path)
        file = _Appended(path, place, sync if self._files.fsync else None if self._is_local else flush)
        if self._files.fsync:
            sync_directory_of(place)
        return file

    def _end_segment(self, *, with_index: bool = True) -> None:
        for directory, file in self._lines.items():
            file.close()
            if with_index:
                self._packs.write_index(self._packs.own(directory, self._pack, self._segment), closed=True)
        if self._bodies is not None:
            self._bodies.close()
        self._lines, self._bodies = {}, None

    def close(self) -> None:
        """End the last segment. Without this, others read its lines, since it has no index."""
        with self._changed:
            self._end_segment()


class _Appended:
    """A file of this writer. After a write that failed, it is not written to any more."""

    def __init__(self, path: str, place: Place, end: Callable[[int], None] | None) -> None:
        self.path = path
        self.is_closed = False
        self._place = place
        self._end = end
        self._descriptor, self.size = open_to_append(place, os.O_CREAT | os.O_EXCL)

    def append(self, data: bytes) -> None:
        try:
            write_all(self._descriptor, data)
            if self._end is not None:
                self._end(self._descriptor)
        except BaseException:
            self._drop_if_empty()
            self.close()
            raise
        self.size += len(data)

    def _drop_if_empty(self) -> None:
        """Remove the file if nothing could be written: where a fault lasts, each further try makes another one."""
        with contextlib.suppress(OSError):
            if os.fstat(self._descriptor).st_size == 0:
                with open_parent(self._place) as here:
                    os.unlink(f"{here}/{name_of(self._place)}")

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            close_read(self._descriptor)


def gzip_member(data: bytes) -> bytes:
    """Compress a WARC record: a gzip member, which can be unpacked without those before it."""
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP)
    return packer.compress(data) + packer.flush()


def _is_member_of(member: bytes, record: bytes) -> bool:
    """Tell whether a gzip member is one, and holds this record."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        return unpacker.decompress(member, len(record) + 1) == record and unpacker.eof and not unpacker.unused_data
    except zlib.error:
        return False


def _start_of(member: bytes) -> bytes:
    """Unpack what a WARC record begins with; b"" if it is damaged."""
    try:
        return zlib.decompressobj(_GZIP).decompress(member, 4 * _START_BYTES)
    except zlib.error:
        return b""


# -- the files of a tree whose pages are in packs


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
        self._copies: list[_Page] = []
        self._copies_bytes = 0

    @property
    def retrying(self) -> Retrying:
        return self._plain.retrying

    @retrying.setter
    def retrying(self, retrying: Retrying) -> None:
        self._plain.retrying = retrying

    def pack_directories(self) -> list[str]:
        """List the directories of writers, with those above them."""
        return [f"{above}/{pack}" for above in PAGE_DIRECTORIES for pack in _names_of_packs(self._plain, above)]

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
        if what == "picture" and found[1].flags & _FILE:  # the page is a picture itself
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
            if member and _is_member_of(member, capture.made(what, record.status, record.headers, data)):
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
            self.writer.put(_Page(page[0], host, key, version, said))

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
        head = _head_of(line)
        if head is None:
            raise RecordError(f"{found[0].path}, from byte {found[1].offset}: the line is not what it was")
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        for name in ("host", "version", "at"):
            fields.pop(name, None)
        page = _Page(directory, host, head.key, head.version, msgspec.json.encode(fields) + b"\n")
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

    def _add_answer(self, page: _Page, record: PageRecord, answered: set[str]) -> None:
        """Let a copy have the record of its answer, too, if no body has it, and no other line of the same answer."""
        if record.fetched_at not in answered:
            answered.add(record.fetched_at)
            start = self.packs.start(page.at) if page.at is not None else _start_of(page.members.get("body", b""))
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

    def _page(self, directory: str, host: str, record: PageRecord | ErrorRecord) -> _Page:
        version = self.packs.next_version(host, record.key)
        return _Page(directory, host, record.key, version, record.to_json())

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
