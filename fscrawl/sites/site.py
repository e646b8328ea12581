"""What a site file is written with, as `fscrawl.site` documents it: a site's class, and an answer as a site sees it.

Promise: an Answer is a function of what it is given, and each part is worked out when it is first asked for. So a
stored page can be understood again, at any time and anywhere. There is no disk here, and no socket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fscrawl import urls
from fscrawl.parse import links
from fscrawl.parse.encoding import decode, sniff_encoding
from fscrawl.parse.headers import first, media_type
from fscrawl.parse.resolving import LinkBudget, base_of, resolve_all
from fscrawl.request import Request, route_of, url_of
from fscrawl.request import read as read_request
from fscrawl.urls import Joiner

if TYPE_CHECKING:  # loaded when rules ask for it: a crawl without rules has pages, too
    from fscrawl.parse import selectors


_BASE = re.compile(rb"<base\b", re.IGNORECASE)


class Answer:
    """One answer, for rules and notebooks.

    request   the whole request; `url` is its URL
    status    of the answer
    headers   of the answer: names in lower case; several lines of a name are lines of one text
    body      as bytes

    >>> page = Answer("http://a.example/", b'<title>A</title><a href="b?n=1">next</a>')
    >>> page.css("a::attr(href)"), page.links
    (['b?n=1'], ('http://a.example/b?n=1',))
    >>> Answer("http://a.example/", b'{"id": [1, 2]}').json("$.id[*]")
    [1, 2]
    """

    def __init__(
        self,
        request: Request | str,
        body: bytes = b"",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        encoding: str | None = None,
        joiner: Joiner | None = None,
        with_routes: bool = False,
        agent: str = "fscrawl",
        query_encoding: str = "",
    ) -> None:
        """Make a page of what a server has sent, or of what a test makes up.

        request       or its spelling, such as a URL
        headers       names in lower case
        encoding      WHATWG name; None: it is found out
        joiner        makes absolute URLs; None: without options
        query_encoding    of the queries of links, if it is not `encoding`: a DOM is in UTF-8, whatever the page was
        with_routes   links to pages behind `#/` of its host are links of their own, as in a page whose scripts have run
        agent         what this robot is called, in lower case: a page may ask it not to follow its links
        """
        self.request = read_request(request) if isinstance(request, str) else request
        self.body = body
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self._encoding = encoding
        self._joiner = joiner or Joiner()
        self._with_routes = with_routes
        self._agent = agent
        self._query_encoding = query_encoding

    @property
    def url(self) -> str:
        return self.request.url

    @cached_property
    def encoding(self) -> str:
        """The WHATWG name of the body's encoding."""
        return self._encoding or sniff_encoding(self.body, self.headers.get("content-type"), self.url)

    @cached_property
    def text(self) -> str:
        """The body as text, as it was sent: markup and all."""
        return decode(self.body, self.encoding).removeprefix("\ufeff")

    @cached_property
    def document(self) -> selectors.Document:
        """For the crawler: the body as selectors read it."""
        from fscrawl.parse import selectors  # noqa: PLC0415 - as above

        html = links.readable(self.body, self.encoding, self.headers.get("content-type"))
        return selectors.Document(html, lambda: self.text, escapes="html" in (media_type(self.headers) or "html"))

    def css(self, selector: str) -> list[str]:
        """Give what a CSS selector finds: a list of texts; it may end with `::text` or `::attr(name)`.

        ValueError if the selector is wrong.
        """
        from fscrawl.parse import selectors  # noqa: PLC0415 - as above

        return list(selectors.css(selector).texts(self.document))

    def xpath(self, expression: str) -> list[str]:
        """Give the texts that an XPath 1.0 expression finds. ValueError if the expression is wrong."""
        from fscrawl.parse import selectors  # noqa: PLC0415 - as above

        return list(selectors.xpath(expression).texts(self.document))

    def json(self, path: str | None = None) -> Any:
        """Give the body as JSON; with `path` (RFC 9535) the list of values that it finds.

        If each line of the body is JSON (NDJSON), a path looks into each line: `json("$")` gives a list of all lines.

        ValueError if the body is no JSON, or the path is wrong; without a path also if there are several lines.
        """
        from fscrawl.parse import selectors  # noqa: PLC0415 - as above

        try:
            values = self.document.json
        except RecursionError:
            raise ValueError("the body is nested too deeply for JSON") from None
        except ValueError as error:
            raise ValueError(f"the body is no JSON: {error}") from None
        if path is not None:
            return selectors.json_path(path).values(*values)
        if len(values) > 1:
            raise ValueError('the body has several lines of JSON; json("$") gives a list of them')
        return values[0]

    @cached_property
    def links(self) -> tuple[str, ...]:
        """The links to follow, as a crawl without rules finds them: normal forms, each once.

        In a page whose scripts have run, a link to a page behind `#/` has its fragment.
        """
        header = self.headers.get
        found = links.extract(
            self.body,
            self.url,
            self._joiner,
            content_type=header("content-type"),
            robots_tag=header("x-robots-tag"),
            with_routes=self._with_routes,
            agent=self._agent,
            refresh=first(self.headers, "refresh"),
            query_encoding=self._query_encoding,
        ).links
        return tuple(read_request(each).address for each in self._without_foreign_routes(found))

    def join(self, references: list[str]) -> tuple[str, ...]:
        """For the crawler: make references of the page absolute: normal forms, each once, at most `links.MAX_LINKS`.

        What is no http or https URL is left out, and so is the page itself.
        """
        return tuple(self._resolved(references, with_routes=False)[0])

    def join_all(self, references: list[str]) -> tuple[tuple[str, ...], bool]:
        """For the crawler: do what `join` does, and find routes, too. Tell whether there were more than are kept."""
        found, is_cut = self._resolved(references, with_routes=self._with_routes)
        return self._without_foreign_routes(tuple(found)), is_cut

    def _resolved(self, references: list[str], *, with_routes: bool) -> tuple[dict[str, None], bool]:
        budget = LinkBudget()
        return resolve_all(
            references,
            self._joiner,
            base_of(self._base, self._joiner, self.url, budget),
            budget,
            url=self.url,
            encoding=self._query_encoding or self.encoding,
            limit=links.MAX_LINKS,
            with_routes=with_routes,
        )

    def route(self, reference: str, url: str) -> str:
        """For the crawler: give the route in a reference that leads to `url`; "" if it has none that is a page."""
        return route_of(reference) if self._with_routes and urls.host(url) == urls.host(self.url) else ""

    def _without_foreign_routes(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """Leave out routes of other hosts: nobody knows here whether their scripts are run."""
        host = urls.host(self.url)
        return tuple(each for each in found if "#" not in each or urls.host(url_of(each)) == host)

    @cached_property
    def _base(self) -> str | None:
        return next(iter(self.css("base::attr(href)")), None) if _BASE.search(self.document.html) else None


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
