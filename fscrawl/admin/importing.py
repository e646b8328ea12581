"""`fscrawl import`: answers in archives of other programs (WARC, WACZ) become pages, redirects and failures of a tree.

What an answer is, the crawler's own worker decides, by the settings of the tree; nothing is fetched. A record keeps
when its host was asked (WARC-Date), and the address that answered.

Vocabulary:
  answer    what a host said to a GET: a `response` over HTTP, a `resource` of HTML, or a `revisit`, whose body is that
            of another answer, in the archives or in the tree
  moment    WARC-Date, as a record of the tree has it

Promise: of several answers of a URL, in the archives and in the tree, the one with the latest moment stays; a failure
never takes the place of a page. So the order of the archives does not count, and who is interrupted begins again.
An archive may say anything: no name in it becomes the path of a file, a body and its codings have the limits of the
crawl, and a page that costs too much is read as in a crawl. What is read and not stored, is counted.
"""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from fastwarc.warc import ArchiveIterator, WarcRecord
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.dataset.page_files import read_whole
from fscrawl.errors import PlantedError, RecordError, TreeError, UsageError, reason
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import FailedForGood, Outcome, Stored
from fscrawl.handlers.reading import Reader
from fscrawl.handlers.records import stored_record
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.framing import HEAD_BYTES
from fscrawl.parse.headers import media_type
from fscrawl.parse.media_types import HTML
from fscrawl.sites.rules import near_to
from fscrawl.storage.records import KINDS, ErrorRecord, PageRecord, timestamp
from fscrawl.storage.warc import base32_sha1
from fscrawl.store import Beside, Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.progress import SILENT, ProgressLine
from fscrawl.worker import Worker

_NAMES = (".warc", ".warc.gz", ".wacz")  # of the archives in a directory
_OF_WACZ = re.compile(r"archive/[^/]+\.warc(\.gz)?")
_GZIP, _PLAIN = b"\x1f\x8b\x08", b"\r\n\r\nWARC/1."  # where a record may begin; of the latter, its last bytes
_UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile)
_PIECE_BYTES = 65_536
_METHOD = re.compile(rb"([A-Za-z]{1,20}) ")
_NOT_WHOLE = ("WARC-Truncated", "WARC-Segment-Number")
_ANSWERS = ("response", "resource", "revisit")

# What becomes of a record that is not stored, as it is counted and said.
SAME, OLDER, FAILED_SINCE = "stored already", "older than what is stored", "failures of stored pages"
NO_BODY, CUT = "without the body of an earlier answer", "cut off by their crawler"
NO_GET, NO_ANSWER, DAMAGED = "of other methods than GET", "no answers over HTTP", "damaged"
FAILED = "failed"  # and is stored: of others, their kind is counted


class Archive(NamedTuple):
    """`inside`: of a WACZ, the file in it; "" if it is none. `size`: of it, in bytes."""

    path: Path
    inside: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.path}{':' * bool(self.inside)}{self.inside}"

    def open(self) -> IO[bytes]:
        with _readable(self.path):
            if not self.inside:
                return self.path.open("rb")
            with zipfile.ZipFile(self.path) as wacz:
                return wacz.open(self.inside)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from error
    except (zipfile.BadZipFile, RuntimeError, KeyError) as error:  # RuntimeError: encrypted, or of an unknown method
        raise UsageError(f"{path}: it is no WACZ that can be read: {error}") from error


def archives_of(paths: Iterable[Path]) -> list[Archive]:
    """Give the archives that are named, and those in directories, by their names; UsageError if one has none."""
    return [archive for path in paths for archive in _archives_at(path)]


def _archives_at(path: Path) -> list[Archive]:
    with _readable(path):
        if path.is_dir():
            there = [each for each in sorted(path.iterdir()) if each.name.endswith(_NAMES) and each.is_file()]
            found, lacks = archives_of(there), f"archive; their names end in {', '.join(_NAMES)}"
        elif path.suffix == ".wacz":
            with zipfile.ZipFile(path) as wacz:
                files = [each for each in wacz.infolist() if _OF_WACZ.fullmatch(each.filename)]
            found, lacks = [Archive(path, each.filename, each.compress_size) for each in files], "archive/*.warc.gz"
        else:
            found, lacks = [Archive(path, "", path.stat().st_size)], ""
    if not found:
        raise UsageError(f"{path}: there is no {lacks}")
    for archive in found:
        archive.open().close()
    return found


# -- the records of an archive


class _Record(NamedTuple):
    """A record that is whole. `block`: its first bytes, as many as anybody needs."""

    kind: str
    headers: dict[str, str]
    concurrent: tuple[str, ...]
    block: bytes

    def said(self, name: str) -> str:
        return self.headers.get(name.lower(), "")


def _records(
    file: IO[bytes], most: int, damaged: Callable[[int, str], None], reach: Callable[[int], None]
) -> Iterator[_Record]:
    """Give the records that can be read. Behind what is damaged, look for the next one that begins.

    `most`: bytes of a block. `damaged`: gets where it is and what is wrong, once for each damaged place. `reach`: gets
    how far the file is read.
    """
    begin: int | None = 0
    is_sound, begins = True, _PLAIN  # is_sound: since the last damaged place
    while begin is not None:
        at, begin = begin, None
        try:
            file.seek(at)
            begins = _GZIP if at == 0 and file.read(len(_GZIP)) == _GZIP else begins
            file.seek(at)
            for found in ArchiveIterator(file, parse_http=False):
                at = found.stream_pos
                record = _whole(found, most)
                reach(at)
                is_sound = True
                yield record
            if begins == _GZIP and _is_cut(file, at):
                raise OSError("it ends in the middle of a record, or with what is none")
        except _UNREADABLE as error:
            if is_sound:
                damaged(at, str(error))
            is_sound = False
            with contextlib.suppress(*_UNREADABLE):
                begin = _next(file, begins, at + 1)


def _whole(record: WarcRecord, most: int) -> _Record:
    headers = {name.lower(): value for name, value in record.headers.items()}
    kind = headers.get("warc-type", "").lower()
    most = most if kind in _ANSWERS else _PIECE_BYTES
    block, size = bytearray(), 0
    while piece := record.reader.read(_PIECE_BYTES):
        size += len(piece)
        block += piece[: most - len(block)]
    if size < record.content_length or "content-length" not in headers:
        raise OSError("a record ends before it is whole")
    return _Record(kind, headers, record.headers.get_multiple("WARC-Concurrent-To"), bytes(block))


def _is_cut(file: IO[bytes], at: int) -> bool:
    """Tell whether a gzip member is not whole, the last record's or one behind: no record would show it.

    If all records are in one member, the last one would.
    """
    file.seek(at)
    member = None
    if file.read(len(_GZIP)) != _GZIP:
        return False
    file.seek(at)
    while data := file.read(_PIECE_BYTES):
        while data:
            member = member or zlib.decompressobj(31)
            member.decompress(data, _PIECE_BYTES)
            data = member.unused_data if member.eof else member.unconsumed_tail
            member = None if member.eof else member
    return member is not None


def _next(file: IO[bytes], begins: bytes, at: int) -> int | None:
    """Give where the next record may begin; None if none does."""
    file.seek(at)
    seen = b""
    while data := file.read(_PIECE_BYTES):
        seen += data
        if (found := seen.find(begins)) >= 0:
            return at + found + begins.rfind(b"\n") + 1
        at += max(len(seen) - len(begins), 0)
        seen = seen[-len(begins) :]
    return None


def _answers(records: Iterable[_Record]) -> Iterator[tuple[_Record, str]]:
    """Give each record, a request behind its answer, and the method of its request: that stands before it or behind."""
    near: deque[_Record] = deque(maxlen=2)
    for record in chain(records, [None]):
        if near and near[-1].kind in _ANSWERS:
            answer = near[-1]
            yield answer, _method(answer, [*near, record] if record else [*near])
        if record is not None and record.kind not in _ANSWERS:
            yield record, ""
        if record is not None:
            near.append(record)


def _method(answer: _Record, near: Iterable[_Record]) -> str:
    """Give the method by which an answer was asked for: GET, if nothing says otherwise."""
    id_ = answer.said("WARC-Record-ID")
    for request in near:
        is_its_own = id_ in request.concurrent or request.said("WARC-Record-ID") in answer.concurrent
        if request.kind == "request" and is_its_own and (found := _METHOD.match(request.block)):
            return found[1].decode().upper()
    return "GET"


# -- into the tree


class _AsOf(Tree):
    """The tree as the worker sees it: what it stores is of another time than now.

    moment   when the host was asked
    old      the record that the page has; it is replaced
    kept     why a failure was not written; "": it was, or there was none
    """

    def __init__(self, tree: Tree) -> None:
        super().__init__(
            tree.root, tree.machine, fsync=tree.files.fsync, retrying=tree.files.retrying, record=tree.record
        )
        self.files.umask = tree.files.umask
        self.moment = ""
        self.old: PageRecord | None = None
        self.kept = ""

    def put_page(self, host: str, record: PageRecord, body: bytes | None, beside: Beside = None) -> None:
        self.check_there()  # a command that changes the layout may have begun
        record = replace(record, fetched_at=self.moment, elapsed=0.0)
        super().put_page(host, record, body, beside)
        if self.old is not None:
            self.drop_bodies(host, self.old, record)

    def put_error(self, host: str, record: ErrorRecord) -> None:
        before = self.failure(host, record.key)
        if self.old is not None:
            self.kept = FAILED_SINCE
        elif before is not None and before.failed_at >= self.moment:
            self.kept = SAME if before.failed_at == self.moment else OLDER
        else:
            self.check_there()
            super().put_error(host, replace(record, failed_at=self.moment, attempts=1))


class Importer:
    """Puts archives into a tree. `counts`: what became of their records.

    Two archives may not be imported into one tree at the same time, nor while machines crawl: the later moment would
    not always stay.
    """

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: Collection[str],
        read: Reader,
        warn: Callable[[str], None],
        allow_env: Collection[str] = (),
        line: ProgressLine = SILENT,
    ) -> None:
        """`settings`, `seeds`: of the tree. `read`, `allow_env`: as for `Worker`. `warn`: gets what is damaged."""
        self.counts: Counter[str] = Counter()
        self._tree = _AsOf(tree)
        self._settings = settings
        self._seeds = near_to(frozenset(seeds), settings.rules)
        self._worker = Worker(self._tree, CrawlConfig(settings, self._seeds), 1, allow_env=allow_env, read=read)
        self._most = HEAD_BYTES + settings.fetch.max_bytes * 5 // 4 + (1 << 20)  # chunks have lines of their own
        self._warn = warn
        self._line = line

    def run(self, archives: Sequence[Archive]) -> None:
        """Import all records; those whose bodies are elsewhere when all others are there. TreeError as for `Tree`."""
        with contextlib.closing(self._tree):
            if self._pass(archives):
                self._pass(archives, again=True)
        self._let_links_be_read()

    def _pass(self, archives: Sequence[Archive], *, again: bool = False) -> bool:
        """Import all records but revisits; `again`: these alone. Tell whether any are left."""
        before, is_left = 0, False
        total = sum(archive.size for archive in archives)
        self._line.begin("looking for the bodies of revisits" if again else "importing", total, "bytes")
        for archive in archives:

            def damaged(at: int, what: str, name: str = archive.name) -> None:
                if not again:
                    self.counts[DAMAGED] += 1
                    place = f"in or behind the record at byte {at:,}"
                    self._warn(f"{name}: damaged {place}: {what}; what is whole is imported")

            def reach(at: int, before: int = before) -> None:
                self._line.reach(before + at)

            with archive.open() as file:
                for record, method in _answers(_records(file, self._most, damaged, reach)):
                    if (record.kind == "revisit") == again:
                        self._take(record, method)
                    else:
                        is_left = not again
            before += archive.size
        return is_left

    def _take(self, record: _Record, method: str) -> None:
        url, moment = self._url_of(record), _moment(record.said("WARC-Date"))
        if url is None:
            self.counts[NO_ANSWER] += 1
        elif method != "GET":
            self.counts[NO_GET] += 1
        elif moment is None:
            self.counts[DAMAGED] += 1
            self._warn(f"{url}: a record of it has the WARC-Date {record.said('WARC-Date')[:40]!r}, which is no time")
        elif self._is_new(url, moment):
            answer = self._answer(record)
            if isinstance(answer, Fetched) and answer.body is None and answer.status != 304:
                self._store(url, answer, moment)
            elif record.kind == "revisit":
                self._take_revisit(record, url, answer, moment)
            elif isinstance(answer, Fetched) and answer.status == 304:
                self.counts[NO_BODY] += 1
            elif any(record.said(name) for name in _NOT_WHOLE):
                self.counts[CUT] += 1
            else:
                self._store(url, answer, moment)

    def _take_revisit(self, record: _Record, url: str, answer: Fetched | Failed, moment: str) -> None:
        """Import an answer that has the body of another one, which is stored by now. `answer`: without it."""
        found = self._original(record, url)
        head = answer if isinstance(answer, Fetched) and answer.status != 304 else None
        if found is None:
            self.counts[NO_BODY] += 1
            return
        original, body = found
        status = head.status if head else original.status
        if original.url == url:  # as when a refresh finds it unchanged
            self._tree.put_record(urls.host(url), replace(original, checked_at=moment, checked_status=status))
            self.counts[SAME] += 1
        else:
            headers = {**(head.headers if head else original.headers)}
            headers.pop("content-encoding", None)  # it is undone
            self._store(url, Fetched(status, headers, body, 0.0, 0.0, _address(record)), moment)

    def _url_of(self, record: _Record) -> str | None:
        """Give the normal form of the URL that a record answers for; None if it is no answer over HTTP."""
        type_ = record.said("Content-Type").lower()
        is_html = media_type({"content-type": type_}) in HTML
        if record.kind not in _ANSWERS or (record.kind == "resource" and not is_html):
            return None
        if record.kind == "response" and type_ and not type_.startswith("application/http"):
            return None
        return self._normalised(record.said("WARC-Target-URI"))

    def _normalised(self, target: str) -> str | None:
        """Give a normal form. GNU Wget 1.19 has written URLs in angle brackets."""
        found = urls.normalise(target.strip("<>"), spelling=self._settings.spelling)
        return None if found == urls.TOO_LONG else found

    def _answer(self, record: _Record) -> Fetched | Failed:
        address = _address(record)
        if record.kind == "resource":
            return Fetched(200, {"content-type": record.said("Content-Type")}, record.block, 0.0, 0.0, address)
        return self._worker.archived(record.block, address)

    def _is_new(self, url: str, moment: str) -> bool:
        """Tell whether an answer is newer than what the tree has of its URL, which is replaced then."""
        self._tree.moment, self._tree.old = moment, self._record_of(url)
        old = self._tree.old
        if old is None or old.looked_at < moment:
            return True
        self.counts[SAME if moment in (old.fetched_at, old.checked_at) else OLDER] += 1
        return False

    def _record_of(self, url: str) -> PageRecord | None:
        """Read the record of a page, if it has one. To ask for its name is quicker, where most are missing."""
        task = self._task(url)
        return stored_record(self._tree, task) if self._tree.is_done(task.host, task.key) else None

    def _original(self, record: _Record, url: str) -> tuple[PageRecord, bytes] | None:
        """Give the page that has the body of a revisit, and this; None if the tree has it not, or another one."""
        of = self._normalised(record.said("WARC-Refers-To-Target-URI")) or url
        found = self._record_of(of)
        if found is None or not found.sha256:
            return None
        try:
            path = self._tree.body_path(urls.host(of), found.key, found.file)
            body = read_whole(self._tree, path, found.bytes, found.sha256, "body")
        except RecordError:
            return None
        is_its_own = _moment(record.said("WARC-Refers-To-Date")) == found.fetched_at
        is_the_same = record.said("WARC-Payload-Digest").upper() == f"SHA1:{base32_sha1(body)}"
        return (found, body) if is_its_own or is_the_same else None

    def _store(self, url: str, answer: Fetched | Failed, moment: str) -> None:
        most = self._settings.fetch.max_bytes
        if isinstance(answer, Fetched) and len(answer.body or b"") > most:  # of a resource
            answer = Failed("too-large", f"the body is larger than the limit of {most} bytes (fetch.max_bytes)", False)
        self._tree.moment, self._tree.kept = moment, ""
        outcome = self._outcome(self._task(url), answer)
        self.counts[outcome.kind if isinstance(outcome, Stored) else self._tree.kept or FAILED] += 1

    def _outcome(self, task: PageTask, answer: Fetched | Failed) -> Outcome:
        try:
            return self._worker.store(task, answer)
        except TreeError as error:
            if not isinstance(error, PlantedError):
                raise
            failure = Failed("planted", str(error), retry=False)
        except Exception as error:  # noqa: BLE001 - a defect must cost one page, as in a crawl
            failure = Failed("internal", f"{type(error).__name__}: {error}", retry=False)
        self._warn(f"{task.url}: {failure.message}")
        return FailedForGood(task, None, failure.class_, failure.message)

    def _task(self, url: str) -> PageTask:
        """Give the task of the last attempt, so that a failure is written down at once."""
        return PageTask(url, urls.host(url), urls.key(url), 0, "", self._settings.fetch.retries + 1)

    def _let_links_be_read(self) -> None:
        """Let the machines of a crawl that has begun read all records again, for the links of what is new.

        It may be new since an import that was interrupted.
        """
        generations = Generations(self._tree.files)
        newest = generations.newest()
        if newest is not None and self.counts.keys() & {*KINDS, SAME}:
            links = newest.links or LinkRules.of(self._settings, self._seeds)
            generations.begin_next(links, newest.refresh_before, "import")

    def report(self) -> str:
        """Say in a line what became of the records."""
        counts = self.counts
        stored = [number_of(counts["page"], "page"), number_of(counts["redirect"], "redirect")]
        stored += [f"{counts['other']:,} of other types", number_of(counts[FAILED], "failure")]
        kinds = (SAME, OLDER, FAILED_SINCE, NO_BODY, CUT, NO_GET, NO_ANSWER, DAMAGED)
        rest = [f"{counts[kind]:,} {kind}" for kind in kinds if counts[kind]]
        return f"imported: {', '.join(stored)}" + ("; not: " + ", ".join(rest) if rest else "")


def _moment(text: str) -> str | None:
    """Give a WARC-Date as a record has it; None if it is none, or before the web.

    >>> _moment("2026-01-02T03:04:05Z"), _moment("today")
    ('2026-01-02T03:04:05.000Z', None)
    """
    try:
        found = datetime.fromisoformat(text)
        return timestamp(found.timestamp()) if found.tzinfo is not None and found.timestamp() > 0 else None
    except (ValueError, OverflowError):
        return None


def _address(record: _Record) -> str:
    try:
        return str(ip_address(record.said("WARC-IP-Address").strip("[]").partition("%")[0]))
    except ValueError:
        return ""
