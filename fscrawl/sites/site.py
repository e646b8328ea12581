"""What a class of a site file says of a site, as `fscrawl.site` documents it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from fscrawl.request import Request
from fscrawl.sites.page import Answer

Send = Callable[[Request | str], Answer]


class Unexpected(Exception):  # noqa: N818 - what a page is, as its author says it
    """What `expect` raises if the page is not what was asked for: a captcha, a log-in, an error with status 200.

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

    What a key of a `[[site]]` table says is an attribute here, written in the same way:

    hosts          the hosts that it is for: "a.example", "a.example:8080", or "*.a.example" for all below
    headers        request headers for these hosts
    seeds          URLs to begin with, in addition to seeds.txt
    follow         selectors of what is fetched because of a page, in place of its links
    expect         selectors that must find something on a page, or with "!" nothing
    fields         columns of the dataset, and where their values stand
    items          rows of the dataset's table `items`

    Where that does not do, write a method of the same name, but for `hosts` and `headers`. All but `seeds` are given
    the page, an `Answer`:

    seeds          gives requests, URLs or `Seed`s. They may be many: they are read one by one. Called once by each
                   machine when it starts
    follow         gives URLs, which may be relative to the page, and requests; None means the page's links. Called for
                   each page that is as expected
    expect         raises `Unexpected` if the page is not what was asked for
    fields         gives a dict: the values of the page, by the names in `columns`. A text is read as its column's type.
                   None, and what is left out, mean that the page has no such value
    items          gives dicts, one for each row, by the names in `item_columns`

    And there are:

    columns        what a method `fields` gives: names and types, "string", "integer", "float", "boolean", "timestamp",
                   or a list of one of these: "string[]". Names of columns that the dataset already has, such as
                   `title`, are not allowed
    item_columns   what a method `items` gives, in the same way; `url`, `key` and `position` are not allowed
    renew_after    how many requests a session serves before it is opened anew; None: as long as it works
    """

    hosts: Any = ()
    headers: Any = MappingProxyType({})
    seeds: Any = ()
    follow: Any = None
    expect: Any = ()
    fields: Any = MappingProxyType({})
    items: Any = None
    columns: Mapping[str, str] = MappingProxyType({})
    item_columns: Mapping[str, str] = MappingProxyType({})
    renew_after: int | None = None

    def open_session(self, session: str, send: Send) -> None:
        """Open a session: `send` makes requests whose cookies it keeps, and gives the answers, whatever their status.

        Called before the first request that names the session, and again when it must be renewed. `send` follows
        redirects, waits for the delay of the host before each request but the first, and obeys robots.txt and scope. It
        asks the host only for which the session is needed, and sends at most 20 requests. It raises `NoAnswer` if no
        answer comes, which need not be caught: then the requests of the session are tried again later. So they are if
        this method raises `Unexpected`, after the pause that the last answer asks for by Retry-After. Requests that
        name no session never see its cookies.
        """


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
