"""What a class of a site file says of a site: the methods that `fscrawl.site` documents and their defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from fscrawl.request import Request
from fscrawl.sites.page import Page

Send = Callable[[Request | str], Page]


class Unexpected(Exception):  # noqa: N818 - what a page is, as its author says it
    """What `check` raises if the page is not what was asked for: a captcha, a log-in, an error with status 200.

    Nothing of it is stored. It is tried again, as after any failure that may pass; then it becomes an error record of
    class `unexpected` with the message `why`. `renew`: its session is at fault, so it is opened anew before the next
    request.
    """

    def __init__(self, why: str, *, renew: bool = False) -> None:
        super().__init__(why)
        self.renew = renew


class NoAnswer(Exception):  # noqa: N818 - what has happened; it need not be caught
    """What `send` raises if no answer comes, or if it may not ask. It need not be caught.

    `failure`: what the crawler knows of it, for the crawler.
    """

    def __init__(self, why: str, failure: object = None) -> None:
        super().__init__(why)
        self.failure = failure


class Seed(NamedTuple):
    """A request or a URL to begin with, and its label: the name of the task that it and all it leads to belong to.

    `label`: 1 to 100 printable characters; "" for none. Only `seeds` gives these.
    """

    request: Request | str
    label: str = ""


class Site:
    """A site. Write a subclass; FILE may have several, for different hosts.

    hosts          the hosts that it is for: "a.example", "a.example:8080", or "*.a.example" for all below
    renew_after    how many requests a session serves before it is opened anew; None: as long as it works
    columns        of the dataset, which `fields` fills: names and types, "string", "integer", "float", "boolean",
                   "timestamp", or a list of one of these: "string[]". Names of columns that the dataset already has,
                   such as `title`, are not allowed
    item_columns   of the dataset's table `items`, which `items` fills, in the same way; `url`, `key` and `position` are
                   not allowed
    """

    hosts: Sequence[str] = ()
    renew_after: int | None = None
    columns: Mapping[str, str] = {}
    item_columns: Mapping[str, str] = {}

    def seeds(self) -> Iterable[Request | str | Seed]:
        """Give the requests to begin with, in addition to seeds.txt. They may be many: they are taken one by one.

        Called once by each machine when it starts.
        """
        return ()

    def open_session(self, session: str, send: Send) -> None:
        """Open a session: `send` makes requests whose cookies it keeps, and gives the pages, whatever their status.

        Called before the first request that names the session, and again when it must be renewed. `send` follows
        redirects, waits for the delay of the host before each request but the first, and obeys robots.txt and scope. It
        asks the host only for which the session is needed, and sends at most 20 requests. It raises `NoAnswer` if no
        answer comes, which need not be caught: then the requests of the session are tried again later. So they are if
        this method raises `Unexpected`, after the pause that the last answer asks for by Retry-After. Requests that
        name no session never see its cookies.
        """

    def check(self, page: Page) -> None:
        """Raise `Unexpected` if the page is not what was asked for.

        Called for each answer of status 2xx, and for each redirect. A redirect has a status of 301 to 308, no body, and
        its target in `page.headers["location"]`. If the request names a session, it is called for 401 and 403, too,
        without the body: there, only `Unexpected` with `renew` counts. Without it, the page is a failure `http-4xx`.
        An answer of a type that `fetch.accept` does not have comes without the body, too, and only if the request is no
        plain GET: links lead to all kinds of files. There, only `Unexpected` counts.
        """

    def requests(self, page: Page) -> Iterable[Request | str] | None:  # noqa: ARG002 - for who overrides it
        """Give what is to be fetched because of this page; None means its links. URLs may be relative to the page.

        Called for each page that passed `check`.
        """
        return None

    def fields(self, page: Page) -> Mapping[str, Any]:  # noqa: ARG002 - the same
        """Give values for the dataset, by the names in `columns`.

        Called by `merge` and `try`, for each page. A text is read as its column's type, as a value of rules is. None
        and what is left out mean that the page has no such value.
        """
        return {}

    def items(self, page: Page) -> Iterable[Mapping[str, Any]]:  # noqa: ARG002 - the same
        """Give the rows that the page has for the table `items`: of each its values, by the names in `item_columns`.

        Called by `merge` and `try`, for each page.
        """
        return ()


def dates(first: str | date, last: str | date, step: int = 1) -> Iterator[str]:
    """Give days as "2024-01-31", each `step` days after the one before, up to `last` at most. Backwards if step < 0.

    >>> list(dates("2024-02-27", "2024-03-01"))
    ['2024-02-27', '2024-02-28', '2024-02-29', '2024-03-01']
    >>> list(dates("2024-01-08", "2024-01-01", -7))
    ['2024-01-08', '2024-01-01']
    """
    day = date.fromisoformat(first) if isinstance(first, str) else first
    end = date.fromisoformat(last) if isinstance(last, str) else last
    if not step:
        raise ValueError("the step of dates must not be 0")
    while (day <= end) if step > 0 else (day >= end):
        yield day.isoformat()
        day += timedelta(step)
