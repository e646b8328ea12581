"""A tree, to be read: its pages, failures, links and status."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from fscrawl import urls
from fscrawl.api.page import Page, Source
from fscrawl.api.pages import THREADS, Filters, Pages, Since, hosts_of, names, part_of, since_of
from fscrawl.api.paths import lasting, path_of
from fscrawl.api.tables import arrow, columns_of, need_bodies, rows
from fscrawl.dataset.page_files import failure, failure_row
from fscrawl.errors import RecordError, UsageError, about
from fscrawl.hostnames import candidates
from fscrawl.request import parts_of
from fscrawl.storage.layout import ERRS, LINKS, SETTINGS, is_key
from fscrawl.storage.records import ErrorRecord, Kind
from fscrawl.store import Tree
from fscrawl.util.parallel import in_turn_if_slow

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from fscrawl.sites.rules import Sites

Hosts = str | Iterable[str]
Where = Callable[[Page], object]
Shard = tuple[int, int]  # number, from 0, and how many there are
_WHOLE: Shard = (0, 1)


class Link(NamedTuple):
    """A link of a stored page, or a redirect. Names are those of the dataset's table `links`.

    source      URL of the page
    target      where it leads, in its normal form; of a request its URL
    nofollow    marked rel=nofollow, or the page asks for it
    redirect    it is no link, but where a redirect leads
    """

    source: str
    target: str
    nofollow: bool = False
    redirect: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a URL that is not stored. Names and types are those of the dataset's table `errors`.

    url, key        as of a page, and so are url_host_name, url_host_registered_domain, method and request_body
    depth           links followed from a seed, by the way that was found first
    referrer        key of the page where the URL was found; None for a seed
    fetch_time      of the last attempt, in UTC
    machine         id of the machine that tried
    class_          the class of the failure: "timeout", "http-4xx", "robots", … (docs/reference/counts.md); the column
                    is called class
    message         what happened, in a line
    label           of the seed that led here; None without one
    attempts        how often it was tried
    fetch_status    the HTTP status, where there was an answer
    headers         of the answer, where there was one; those that may hold a session are "". Not in the table
    """

    url: str
    url_host_name: str
    url_host_registered_domain: str
    key: str
    method: str
    request_body: str | None
    depth: int
    referrer: str | None
    fetch_time: datetime
    machine: str
    class_: str
    message: str
    label: str | None
    attempts: int
    fetch_status: int | None
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Status:
    """A crawl at one moment, as its machines say it in their heartbeats; no page is read for it.

    state         "new", "running", "pausing", "paused", "stopping", "finished" or "stopped"
    exact         False: the tree has more, since machines were killed, or somebody deleted their heartbeat logs
    pages, bytes  stored, and the size of their bodies
    errors        failures, by class
    other_types   answers of types that are not accepted, by type; nothing else of them is stored
    left_out      links that belong to no page of the crawl, by the setting against them: how many different URLs. A
                  number above 2,000 is right to about 2 %
    pending       URLs that are neither done nor a failure; None while machines take hosts over, and nobody knows all
    pages_per_s   stored in the last minute
    machines      how many are at work
    free_bytes    on the file system
    """

    state: Literal["new", "running", "pausing", "paused", "stopping", "finished", "stopped"]
    exact: bool
    pages: int
    bytes: int
    errors: dict[str, int]
    other_types: dict[str, int]
    left_out: dict[str, int]
    pending: int | None
    pages_per_s: float
    machines: int
    free_bytes: int


class Crawl:
    """A tree that is read. It can be pickled and be used in several threads and processes, also after a fork.

    Nothing of it is kept open, and nothing is written. Machines may work on the tree meanwhile: an iteration finds what
    was there when it came to a host, and nothing twice.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """See `fscrawl.open`."""
        self._root = lasting(path_of("root", root, "directory"))
        self._tree = Tree(Path(self._root), "reader")
        self._sites = cache(partial(_sites, self._tree))  # read when the first page asks for its fields

    def __repr__(self) -> str:
        return f"fscrawl.open({self._root!r})"

    def __reduce__(self) -> tuple[type[Crawl], tuple[str]]:
        return Crawl, (self._root,)

    @property
    def root(self) -> Path:
        """Where the tree is: an absolute path."""
        return self._tree.root

    def pages(
        self,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        *,
        shard: Shard = _WHOLE,
        bodies: bool = False,
    ) -> Pages:
        """Give the stored pages one after the other: records with a body, as `status` counts them.

        host     a host, or several: `example.org` (with any port), `example.org:8080`, `*.example.org`, a URL, an IDN;
                 None means all
        since    fetched then or later: a datetime or date (UTC if it names no zone), an age (a timedelta, "7d"), or a
                 text such as "2026-11-01"
        where    a function of a page: only pages for which it gives something true
        shard    (number, how many): one of so many parts, each about as large, that together are all pages
        bodies   read and check the body of each page before it is given, and leave out those without a whole one

        FscrawlError if an argument is wrong, or the tree cannot be read any more. See `Pages` for what is left out.
        """
        return self._pages(host, since, where, shard, bodies=bodies)

    def records(
        self,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        *,
        shard: Shard = _WHOLE,
    ) -> Pages:
        """Give all records one after the other: pages, redirects, and other types without a body (see `Page.kind`).

        Arguments are those of `pages`.
        """
        return self._pages(host, since, where, shard, kind=None)

    def _pages(
        self,
        host: Hosts | None,
        since: Since | None,
        where: Where | None,
        shard: Any,
        *,
        bodies: bool = False,
        kind: Kind | None = "page",
    ) -> Pages:
        if where is not None and not callable(where):
            raise UsageError(f"where={where!r}: must be a function that is given a page")
        filters = Filters(hosts_of(host), since_of(since), part_of(shard))
        return Pages(Source(self._tree, self._sites), filters, where, bodies=bodies, kind=kind)

    def page(self, url: str) -> Page | None:
        """Give a page by its URL in any spelling, or by its key; None if there is no page: no record with a body.

        A key is looked for at all hosts. FscrawlError if the record cannot be read, or the argument is no URL.
        """
        found = self.record(url)
        return found if found is not None and found.kind == "page" else None

    def record(self, url: str) -> Page | None:
        """Give a record, so also a redirect or another type, as `page` does; None if there is none."""
        if not isinstance(url, str):
            raise UsageError(f"page({url!r}): must be a URL, or a key of 24 hexadecimal digits")
        source = Source(self._tree, self._sites)
        for host, key in self._places(url):
            try:
                record = source.record(host, key)
            except RecordError as error:
                raise RecordError(about(self._tree.path_of(LINKS, host, key), error)) from error
            if record is not None:
                return Page(source, host, record)
        self._tree.check_there()
        return None

    def _places(self, url: str) -> Iterator[tuple[str, str]]:
        if is_key(url):
            return ((host, url) for host in self._tree.hosts(LINKS))
        found = candidates(url)
        if not found:
            raise UsageError(f"page({url!r}): must be a URL, like https://example.org/, or a key")
        return ((urls.host(each), urls.key(each)) for each in found)

    def __len__(self) -> int:
        """Count the pages by reading all records, which takes a while for millions; `status().pages` is quick."""
        return sum(1 for _ in self.pages())

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages())

    def __contains__(self, page: str | Page) -> bool:
        """Tell whether a page is stored: a URL in any spelling, a key, or a `Page`. Errors are those of `page`."""
        return self.page(page._record.url if isinstance(page, Page) else page) is not None

    def failures(self, host: Hosts | None = None, since: Since | None = None) -> Iterator[Failure]:
        """Give the URLs that could not be fetched, one after the other. Arguments are those of `pages`."""
        return _failures(self._tree, Filters(hosts_of(host), since_of(since)))

    def links(self, host: Hosts | None = None, since: Since | None = None) -> Iterator[Link]:
        """Give the links of all stored pages, and where redirects lead. Arguments are those of `pages`."""
        return _links(self._pages(host, since, None, _WHOLE, kind=None))

    def status(self) -> Status:
        """Give how the crawl is, as `fscrawl status` does: from heartbeats, without reading a page.

        FscrawlError if the tree cannot be read any more.
        """
        return _status(self._tree)

    def rows(
        self,
        columns: Iterable[str] | None = None,
        *,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        shard: Shard = _WHOLE,
    ) -> Iterator[dict[str, Any]]:
        """Give pages as dictionaries: name of a column → value.

        columns   columns of the dataset's table `pages` that are attributes of `Page`; default: all that need no body

        If a column needs the body, pages without a whole one are left out.
        """
        names = columns_of(columns)
        return rows(self._pages(host, since, where, shard, bodies=need_bodies(names)), names)

    def to_arrow(
        self,
        columns: Iterable[str] | None = None,
        *,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        shard: Shard = _WHOLE,
    ) -> pa.Table:
        """Make a table of `rows`, with its arguments (needs the extra `merge`). All of it is held in memory.

        Columns have the types of the dataset's table `pages`. For large trees, `fscrawl merge` makes Parquet files.
        """
        names = columns_of(columns)
        return arrow(self._pages(host, since, where, shard, bodies=need_bodies(names)), names)

    def to_pandas(
        self,
        columns: Iterable[str] | None = None,
        *,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        shard: Shard = _WHOLE,
    ) -> pd.DataFrame:
        """Make a DataFrame of `rows`, with its arguments (needs pandas, and the extra `merge`)."""
        try:
            import pandas  # noqa: F401, ICN001, PLC0415 - Arrow needs it for this
        except ImportError:
            raise UsageError("pandas is missing; pip install pandas, or use to_arrow()") from None
        table = self.to_arrow(columns, host=host, since=since, where=where, shard=shard).to_pandas()
        return cast("pd.DataFrame", table)


def open(root: str | os.PathLike[str]) -> Crawl:  # noqa: A001
    """Open a tree, to read it. FscrawlError if there is none.

    root      the directory that `fscrawl crawl --root` names, also one that is being crawled. The working directory may
              change afterwards

    >>> open("/nowhere")
    Traceback (most recent call last):
    fscrawl.errors.NotATreeError: /nowhere: there is no crawl here (no .fscrawl/tree.json); is the share mounted?
    """
    return Crawl(root)


def _sites(tree: Tree) -> Sites:
    """Read the [[site]] tables of crawl.toml. SettingsError if they are wrong."""
    from fscrawl.sites.read import TABLE, read_sites  # noqa: PLC0415 - most readers need no rules
    from fscrawl.sites.rules import Sites  # noqa: PLC0415
    from fscrawl.util.user_text import read_toml  # noqa: PLC0415

    where = str(tree.files.absolute(SETTINGS))
    tables = read_toml(tree.controls.settings_if_there() or "", where)
    return Sites(read_sites(tables.get(TABLE, []), where))


def _links(pages: Pages) -> Iterator[Link]:
    for page in pages:
        for targets, nofollow in ((page.links, False), (page.nofollow, True)):
            for target in targets:
                address = parts_of(target)[0] if "#" in target else target
                yield Link(page.url, address, nofollow, page.fetch_redirect is not None)


def _failures(tree: Tree, filters: Filters) -> Iterator[Failure]:
    """Give the failures that the filters take. One whose URL has been stored since, or that is torn, is left out."""
    for record in in_turn_if_slow(partial(_read_failure, tree), names(tree, ERRS, filters), THREADS):
        if record is not None and filters.includes(record.url, record.failed_at):
            row = failure_row(record)
            yield Failure(class_=row.pop("class"), headers=record.headers or {}, **row)
    # Without one of them, there seem to be no failures, or those of stored pages come back.
    tree.check_directories((LINKS, ERRS))


def _read_failure(tree: Tree, name: tuple[str, str]) -> ErrorRecord | None:
    record = failure(tree, *name)
    return None if record is None or tree.is_done(*name) else record


def _status(tree: Tree) -> Status:
    """Look at all machines; TreeError if the tree cannot be read."""
    from fscrawl.monitor.advice import not_stored_as_json  # noqa: PLC0415
    from fscrawl.monitor.snapshot import (  # noqa: PLC0415 - readers of pages need none of it
        WINDOWS_S,
        Observer,
        state_of,
    )

    seen = Observer(tree).look()
    found = not_stored_as_json(seen.not_stored)
    return Status(
        state=state_of(seen).value,
        exact=seen.is_exact,
        pages=int(seen.total("pages")),
        bytes=int(seen.total("bytes")),
        errors=dict(seen.errors().most_common()),
        other_types=found["other_types"],
        left_out=found["left_out"],
        pending=seen.pending() if seen.is_pending_known else None,
        pages_per_s=seen.rate(WINDOWS_S["1 min"]),
        machines=len(seen.alive()),
        free_bytes=seen.free_bytes,
    )
