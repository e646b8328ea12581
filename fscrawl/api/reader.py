"""A tree, to be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fscrawl import urls
from fscrawl.api.failures import Failure, failures
from fscrawl.api.filters import Filters, Since, hosts_of, since_of
from fscrawl.api.page import Page
from fscrawl.api.pages import Pages
from fscrawl.api.paths import lasting, path_of
from fscrawl.api.shards import Shards, among_workers, chooser, parts
from fscrawl.api.source import Fields, Source
from fscrawl.api.status import Status, status
from fscrawl.api.tables import arrow, columns_of, need_bodies, of_each, rows
from fscrawl.errors import RecordError, UsageError, about
from fscrawl.storage.layout import LINKS, is_key
from fscrawl.store import Tree

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Hosts = str | Iterable[str]
Where = Callable[[Page], object]
_WHOLE: tuple[int, int] = (0, 1)


class Link(NamedTuple):
    """A link of a stored page, or a redirect.

    source      URL of the page
    target      where it leads, in its normal form
    nofollow    it is marked as not to be followed
    redirect    it is no link, but where a redirect leads
    """

    source: str
    target: str
    nofollow: bool = False
    redirect: bool = False


class Crawl:
    """A tree that is read. It can be pickled and be used in several threads and processes, also after a fork.

    Nothing of it is kept open, and nothing is written. Machines may work on the tree meanwhile: an iteration finds what
    was there when it came to a host, and nothing twice.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """See `fscrawl.open`."""
        self._root = lasting(path_of("root", root, "directory"))
        self._tree = Tree(Path(self._root), "reader")
        self._fields = Fields(self._tree)

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
        shard: Shards = _WHOLE,
        bodies: bool = False,
    ) -> Pages:
        """Give the stored pages one after the other: all records, so also redirects, and other types without a body.

        host     a host, or several: `example.org` (with any port), `example.org:8080`, `*.example.org`, a URL, an IDN;
                 None means all
        since    fetched then or later: a datetime or date (UTC if it names no zone), an age (a timedelta, "7d"), or a
                 text such as "2026-11-01"
        where    a function of a page: only pages for which it gives something true
        shard    (number, how many): one of so many parts, each about as large, that together are all pages
        bodies   read and check the body of each page before it is given, and leave out those without a whole one

        FscrawlError if an argument is wrong, or the tree cannot be read any more. See `Pages` for what is left out.
        """
        return self._pages(host, since, where, parts(shard), bodies=bodies)

    def _pages(
        self, host: Hosts | None, since: Since | None, where: Where | None, shards: Any, *, bodies: bool = False
    ) -> Pages:
        if where is not None and not callable(where):
            raise UsageError(f"where={where!r}: must be a function that is given a page")
        filters = Filters(hosts_of(host), since_of(since), chooser(shards))
        return Pages(Source(self._tree, self._fields), filters, where, bodies=bodies)

    def page(self, url: str) -> Page | None:
        """Give a page by its URL in any spelling, or by its key; None if it is not stored.

        A key is looked for at all hosts. FscrawlError if the record cannot be read, or the argument is no URL.
        """
        if not isinstance(url, str):
            raise UsageError(f"page({url!r}): must be a URL, or a key of 24 hexadecimal digits")
        source = Source(self._tree, self._fields)
        for host, key in self._places(url):
            try:
                values = source.values(host, key)
            except RecordError as error:
                raise RecordError(about(self._tree.path_of(LINKS, host, key), error)) from error
            if values is not None:
                return Page(source, host, values)
        self._tree.check_there()
        return None

    def _places(self, url: str) -> Iterator[tuple[str, str]]:
        if is_key(url):
            return ((host, url) for host in self._tree.hosts(LINKS))
        from fscrawl.hostnames import candidates  # noqa: PLC0415 - who iterates need not load it

        found = candidates(url)
        if not found:
            raise UsageError(f"page({url!r}): must be a URL, like https://example.org/, or a key")
        return ((urls.host(each), urls.key(each)) for each in found)

    def __len__(self) -> int:
        """Count the stored pages by listing all directories, which takes a while for millions of pages."""
        number = sum(len(self._tree.keys(LINKS, host)) for host in self._tree.hosts(LINKS))
        self._tree.check_rooms((LINKS,))
        return number

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages())

    def __contains__(self, page: str | Page) -> bool:
        """Tell whether a page is stored: a URL in any spelling, a key, or a `Page`. Errors are those of `page`."""
        return self.page(page.url if isinstance(page, Page) else page) is not None

    def errors(self, host: Hosts | None = None, since: Since | None = None) -> Iterator[Failure]:
        """Give the URLs that could not be fetched, one after the other. Arguments are those of `pages`."""
        return failures(self._tree, Filters(hosts_of(host), since_of(since)))

    def links(self, host: Hosts | None = None, since: Since | None = None) -> Iterator[Link]:
        """Give the links of all stored pages, and where redirects lead. Arguments are those of `pages`."""
        return _links(self._pages(host, since, None, [_WHOLE]))

    def status(self) -> Status:
        """Tell how the crawl is, as `fscrawl status` does: from heartbeats, without reading a page.

        FscrawlError if the tree cannot be read any more.
        """
        return status(self._tree)

    def rows(
        self,
        columns: Iterable[str] | None = None,
        *,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        shard: Shards = _WHOLE,
    ) -> Iterator[dict[str, Any]]:
        """Give pages as dictionaries: name of an attribute → value.

        columns   attributes of `Page`; default: all that are in its record, but its links and headers

        In a worker of a torch DataLoader, it gives the worker's part only. It may be the generator of
        `datasets.IterableDataset.from_generator`: a list of shards in `gen_kwargs` divides it among workers. If a
        column needs the body, pages without a whole one are left out.
        """
        names = columns_of(columns)
        pages = self._pages(host, since, where, among_workers(parts(shard)), bodies=need_bodies(names))
        return rows(pages, names)

    def dataset(self, columns: Iterable[str] | None = None, **arguments: Any) -> Any:
        """Give a `torch.utils.data.IterableDataset` of `rows`, with its arguments. FscrawlError without torch.

        Each iteration is a new pass over the tree. The workers of a DataLoader divide it among themselves.
        """
        try:
            import torch.utils.data  # noqa: F401, PLC0415 - it takes seconds to load
        except ImportError:
            raise UsageError("torch is missing; pip install torch, or use rows()") from None
        from fscrawl.api.torch_rows import TorchRows  # noqa: PLC0415 - it loads torch

        names = columns_of(columns)
        self.rows(names, **arguments).close()  # type: ignore[attr-defined]  # its arguments are checked now
        return TorchRows(self, names, arguments)

    def to_arrow(
        self,
        columns: Iterable[str] | None = None,
        *,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        shard: Shards = _WHOLE,
    ) -> pa.Table:
        """Make a table of `rows`, with its arguments (needs the extra `merge`). All of it is held in memory.

        `fields` is a column of JSON. For large trees, `fscrawl merge` makes Parquet files.
        """
        names = columns_of(columns)
        pages = self._pages(host, since, where, parts(shard), bodies=need_bodies(names))
        return arrow(pages, names)

    def to_pandas(
        self,
        columns: Iterable[str] | None = None,
        *,
        host: Hosts | None = None,
        since: Since | None = None,
        where: Where | None = None,
        shard: Shards = _WHOLE,
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

    root      the directory that `fscrawl crawl --root` names; also of an older version, also one that is being crawled.
              The working directory may change afterwards

    >>> open("/nowhere")
    Traceback (most recent call last):
    fscrawl.errors.NotATreeError: /nowhere: there is no crawl here (no .fscrawl/tree.json); is the share mounted?
    """
    return Crawl(root)


def _links(pages: Pages) -> Iterator[Link]:
    for source, redirect, links, nofollow in of_each(pages, attrgetter("url", "redirect", "links", "nofollow")):
        if redirect is not None:
            yield Link(source, redirect, redirect=True)
        for target in links:
            yield Link(source, target)
        for target in nofollow:
            yield Link(source, target, nofollow=True)
