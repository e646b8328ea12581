"""Writes the packs of a process: pages that are stored at the same time are one group. `packs` has the vocabulary."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

import msgspec

from fscrawl.errors import TreeError
from fscrawl.storage.atomic import close_read, flush, sync, sync_directory_of, write_all
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import (
    BODIES,
    ERRS,
    HTMLS,
    LINES,
    LINKS,
    pack_name,
    segment_path,
)
from fscrawl.storage.packs import At, Entry, Packs, decoder
from fscrawl.storage.records import timestamp
from fscrawl.storage.safe_open import Place, name_of, open_parent, open_to_append
from fscrawl.storage.warc import gzip_member, warcinfo

SEGMENT_BYTES = 256 << 20
_GROUP_S = 0.5  # on a file server, the first page of a group waits so long for others
_ALONE_S = 0.1  # the same, with the time that writing takes, if all threads at work wait


class Page:
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
        self._waiting: list[Page] = []
        self._at_work = 0
        self._took_s = 0.0  # to write the last group
        self._is_writing = False
        self._pack = ""
        self._segment = -1
        self._bodies: _Appended | None = None
        self._lines: dict[str, _Appended] = {}

    def put(self, page: Page) -> None:
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

    def put_all(self, pages: list[Page]) -> None:
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

    def _write(self, group: list[Page]) -> None:
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

    def _write_once(self, group: list[Page]) -> None:
        self._begin_segment()
        if any(page.members for page in group):
            self._write_bodies(group)
        for directory in (LINKS, ERRS):
            if chosen := [page for page in group if page.directory == directory]:
                self._write_lines(directory, chosen)

    def _write_bodies(self, group: list[Page]) -> None:
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

    def _write_lines(self, directory: str, pages: list[Page]) -> None:
        file = self._lines.get(directory)
        if file is None:
            file = self._lines[directory] = self._open_file(directory, LINES)
        written = [(page, page.line()) for page in pages]
        offset = file.size
        file.append(b"".join(line for _, line in written))
        known = self._packs.own(directory, self._pack, self._segment)
        for page, line in written:
            self._packs.add(known, page.host, Entry.of(decoder.decode(line), offset, len(line)))
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
