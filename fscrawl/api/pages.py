"""The iterator of the wanted pages: filters, the records of these pages in order, and what was left out.

Records are in the order of hosts and keys, and are read ahead where the file system is slow.

Promise: what is read ahead is bounded: some hundred records, and as many small bodies if pages are asked for theirs. On
a fast file system nothing is: there, threads would cost more than they bring.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import chain, islice, repeat
from typing import Any, NamedTuple, Self

from fscrawl import hostnames
from fscrawl.api.page import Page, Source
from fscrawl.dataset.page_files import record_of
from fscrawl.errors import RecordError, UsageError
from fscrawl.request import url_of
from fscrawl.storage.kinds import most_bytes
from fscrawl.storage.layout import HTMLS, LINKS
from fscrawl.storage.records import Kind, timestamp
from fscrawl.store import Tree
from fscrawl.util.humanize import moment_of
from fscrawl.util.parallel import READERS, in_turn_if_slow

THREADS = 3 * READERS  # as for a merge
_FILES = 16  # that one job reads
_FIRST_FILES = 2  # and the first ones, which show how slow the file system is
_FIRST_JOBS = 4
_AHEAD_BYTES = 1 << 18  # a larger body is read when it is asked for
_WASTED = 64  # bodies in a row that were read ahead for nothing

_MOST_PROBLEMS = 100

Since = str | datetime | date | timedelta


@dataclass(frozen=True, slots=True)
class Filters:
    """What is asked of pages and failures.

    hosts    `hostnames.Host`, one of which must mean the host; none: any host
    since    RFC 3339: fetched then or later; "": at any time
    has      tells whether a key is wanted; None: any
    """

    hosts: tuple[Any, ...] = ()
    since: str = ""
    has: Callable[[str], bool] | None = None

    def may_include_host(self, directory: str) -> bool:
        return not self.hosts or any(host.may_name(directory) for host in self.hosts)

    def includes(self, url: str, moment: str) -> bool:
        """Tell whether a record is wanted. `moment`: when it was fetched, or failed."""
        if moment < self.since:
            return False
        if not self.hosts:
            return True
        return any(host.has(url_of(url)) for host in self.hosts)


def hosts_of(host: str | Iterable[str] | None) -> tuple[Any, ...]:
    """Read `host`: one or several, in any form, also patterns. UsageError if one is no host, or if there is none."""
    if host is None:
        return ()
    try:
        given = [host] if isinstance(host, str) else list(host)
        if not given:  # it would mean all hosts, and whoever has filtered a list means none
            raise ValueError("the list is empty; leave host out for all hosts")
        return tuple(hostnames.read(each, globs=True) for each in given)
    except (TypeError, AttributeError, ValueError) as error:
        why = error if isinstance(error, ValueError) else "must be a host, or a list of hosts"
        raise UsageError(f"host={host!r}: {why}") from None


def since_of(since: Since | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> str:
    """Read `since`: a time, a date, an age, or a text as `merge --since` takes it; "" for None.

    What names no time zone is in UTC, as all times of a tree are. UsageError if it is none of these.

    >>> since_of(datetime(2026, 11, 1, 12)), since_of(date(2026, 11, 1)), since_of("2026-11-01T12:00+02:00")
    ('2026-11-01T12:00:00.000Z', '2026-11-01T00:00:00.000Z', '2026-11-01T10:00:00.000Z')
    """
    if since is None:
        return ""
    try:
        if isinstance(since, timedelta):
            return timestamp((now() - since).timestamp())
        if isinstance(since, datetime):
            return timestamp((since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp())
        if isinstance(since, date):
            return timestamp(datetime(since.year, since.month, since.day, tzinfo=UTC).timestamp())
        if isinstance(since, str):
            return timestamp(moment_of(since, now()))
    except (ValueError, OverflowError, OSError):
        pass
    raise UsageError(f"since={since!r}: must be a datetime, a date, or a text like '2026-11-01' or '7d'")


def part_of(shard: Any) -> Callable[[str], bool] | None:
    """Read `shard`: the function that tells whether a key is in this part; None if all are. UsageError if it is none.

    A page is always in the same part, whatever else is stored, and the parts are about equal, whatever its hosts are.

    >>> part_of((0, 1)), [part_of((number, 4))("0" * 23 + "6") for number in range(4)]
    (None, [True, False, False, False])
    """
    try:
        number, of = shard
    except (TypeError, ValueError):
        number, of = None, None
    if type(number) is not int or type(of) is not int or not 0 <= number < of:
        raise UsageError(f"shard={shard!r}: must be (number, how many), like (0, 4)")
    return None if of == 1 else lambda key: int(key[:15], 16) % of == number


Stretch = tuple[str, list[str]]  # host, keys


class Unread(NamedTuple):
    """A page whose record cannot be read, and why; "": it is gone."""

    host: str
    key: str
    why: str


def names(tree: Tree, directory: str, filters: Filters) -> Iterator[tuple[str, str]]:
    """Give the names of all files of pages in a directory that the filters may want: (host, key)."""
    return ((host, key) for host, keys in _stretches(tree, directory, filters) for key in keys)


def _stretches(tree: Tree, directory: str, filters: Filters) -> Iterator[Stretch]:
    hosts = [host for host in sorted(tree.hosts(directory)) if filters.may_include_host(host)]
    sizes = chain(repeat(_FIRST_FILES, _FIRST_JOBS), repeat(_FILES))
    for host, keys in in_turn_if_slow(partial(_list, tree, directory), hosts, READERS):
        wanted = iter(keys) if filters.has is None else filter(filters.has, keys)
        while some := list(islice(wanted, next(sizes))):
            yield host, some


def _list(tree: Tree, directory: str, host: str) -> tuple[str, Iterable[str]]:
    return host, tree.sorted_keys(directory, host)


def _read(source: Source, stretch: Stretch) -> list[Page | Unread]:
    host, keys = stretch
    directory = f"{LINKS}/{host}"
    read = source.tree.read_beside(directory, [f"{key}.json" for key in keys], most_bytes(directory))
    found = [_page(source, host, key, data) for key, data in zip(keys, read, strict=True)]
    if source.unused > _WASTED:
        source.bodies, source.unused = False, 0
    if source.bodies:
        _read_bodies(source, host, [page for page in found if isinstance(page, Page)])
    return found


def _page(source: Source, host: str, key: str, data: bytes | None) -> Page | Unread:
    try:
        record = source.record(host, key) if data is None else record_of(data, host, key)
    except RecordError as error:
        return Unread(host, key, str(error))
    return Unread(host, key, "") if record is None else Page(source, host, record)


def _read_bodies(source: Source, host: str, pages: list[Page]) -> None:
    """Read the small bodies of pages. One that is not as its record says is left to whoever asks for it."""
    wanted = [page for page in pages if page._may_be_read_ahead(_AHEAD_BYTES)]
    bodies = source.tree.read_beside(f"{HTMLS}/{host}", [f"{page.key}.html" for page in wanted], _AHEAD_BYTES)
    for page, body in zip(wanted, bodies, strict=True):
        page._keep_ahead(body)


class Pages(Iterator[Page]):
    """Pages, or records, one after the other, sorted by the directory of their host and by key.

    skipped     how many were left out because they cannot be read: cut, damaged, or permission is denied
    problems    the first hundred of them: path and reason

    A page that was removed since its directory was listed is not there, and does not count as left out. At the end, a
    a UserWarning names those that were left out.
    """

    def __init__(
        self,
        source: Source,
        filters: Filters,
        where: Callable[[Page], object] | None = None,
        *,
        bodies: bool = False,
        kind: Kind | None = "page",
    ) -> None:
        """`bodies`: leave out pages without a whole body, too. `kind`: of the records; None: all."""
        self.skipped = 0
        self.problems: list[tuple[str, str]] = []
        self._source = source
        self._filters = filters
        self._where = where
        self._bodies = bodies
        self._kind = kind
        source.bodies = bodies
        self._pages = self._each()

    def __iter__(self) -> Iterator[Page]:  # noqa: PYI034
        return self._pages  # a generator is faster than `__next__`

    def __next__(self) -> Page:
        return next(self._pages)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading ahead. An iterator that is not used any more does so by itself."""
        self._pages.close()

    def _each(self) -> Generator[Page]:
        source = self._source
        began_in = os.getpid()
        stretches = _stretches(source.tree, LINKS, self._filters)
        for found in in_turn_if_slow(partial(_read, source), stretches, THREADS, lambda stretch: len(stretch[1])):
            if os.getpid() != began_in:
                raise UsageError("this iterator belongs to another process; call pages() again in this one")
            for page in found:
                if isinstance(page, Unread):
                    self._leave_out(page.host, page.key, page.why)
                elif self._is_wanted(page):
                    if source.bodies:
                        source.unused += page._was_read_ahead
                    yield page
        source.tree.check_directories((LINKS,))  # without it, there seem to be no pages
        self._warn()

    def _is_wanted(self, page: Page) -> bool:
        """Tell whether a page is given. One of which something is asked for that cannot be read is left out."""
        record = page._record
        if self._kind not in (None, record.kind) or not self._filters.includes(record.url, record.fetched_at):
            return False
        try:
            if self._bodies:
                page._check()
            return self._where is None or bool(self._where(page))
        except RecordError as error:
            self._leave_out(page._host, page.key, str(error))
            return False

    def _leave_out(self, host: str, key: str, why: str) -> None:
        if not why:  # it is gone, or the whole share is
            self._source.tree.check_there()
            return
        self.skipped += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append((self._source.tree.path_of(LINKS, host, key), why))

    def _warn(self) -> None:
        if self.skipped:
            (path, why), *_ = self.problems
            many = "1 page was" if self.skipped == 1 else f"{self.skipped:,} pages were"
            warnings.warn(f"{many} left out; the first: {path}: {why}", stacklevel=3)
