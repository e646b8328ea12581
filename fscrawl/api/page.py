"""One stored page. Its record is read; all else is read or worked out when it is first asked for."""

from __future__ import annotations

import builtins
import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from fscrawl import urls
from fscrawl.api import values as read
from fscrawl.api.filters import Filters
from fscrawl.api.source import Source
from fscrawl.errors import RecordError, UsageError
from fscrawl.parse.headers import media_type

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

    from fscrawl.sites.page import Answer

_UNREAD: Any = object()


class Page:
    """One stored page of a tree.

    Each attribute that is no more than the record says costs nothing. `body`, and all that needs it (`html`, `text`,
    `tree`, `css`, `xpath`, `json`, `fields`, `answer`), reads one more file when it is first asked for. If a refresh
    has replaced the page meanwhile, the page is the new one from then on, with all its attributes.

    A FscrawlError is raised by an attribute that cannot be read: the body was deleted or cut, or the record has been
    edited by hand.
    """

    __slots__ = ("_answer", "_body", "_host", "_source", "_values")

    def __init__(self, source: Source, host: str, values: dict[str, Any]) -> None:
        """`host`: its directory; `values`: of its record."""
        self._source = source
        self._host = host
        self._values = values
        self._body = _UNREAD
        self._answer: Any = None

    def __repr__(self) -> str:
        return f"<fscrawl.Page {self.url}>"

    # -- what the record says

    @property
    def url(self) -> str:
        """The URL in its normal form. Of another request than a GET, its spelling: `URL#method=POST&body=…`."""
        return self._values["url"]  # type: ignore[no-any-return]  # `values_of` has checked it

    @property
    def key(self) -> str:
        """The name of the page's files: 24 hexadecimal digits."""
        return self._values["key"]  # type: ignore[no-any-return]

    @property
    def host(self) -> str:
        """The name of the host, without a port."""
        return urls.hostname(self.url)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return read.whole(self._values, "status")

    @property
    def kind(self) -> Literal["page", "redirect", "other"]:
        """What it counts as: "page": it has a body; "redirect"; "other": another media type, without a body."""
        if self.redirect is not None:
            return "redirect"
        return "other" if read.take(self._values, "skipped", str) is not None else "page"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer, names in lower case. Repeated ones are lines of one text; those that may hold a
        session are "".
        """
        return read.headers(self._values)

    @property
    def title(self) -> str | None:
        """The text of `<title>`."""
        return read.take(self._values, "title", str)  # type: ignore[no-any-return]

    @property
    def links(self) -> tuple[str, ...]:
        """The links to follow, in page order, each once: URLs in their normal form."""
        return read.texts(self._values, "links")

    @property
    def nofollow(self) -> tuple[str, ...]:
        """The links that are marked as not to be followed."""
        return read.texts(self._values, "nofollow")

    @property
    def redirect(self) -> str | None:
        """Where a redirect leads."""
        return read.take(self._values, "redirect", str)  # type: ignore[no-any-return]

    @property
    def canonical(self) -> str | None:
        """The URL of `<link rel=canonical>`."""
        return read.take(self._values, "canonical", str)  # type: ignore[no-any-return]

    @property
    def robots(self) -> tuple[str, ...]:
        """The directives of meta robots and X-Robots-Tag, in lower case."""
        return read.texts(self._values, "robots")

    @property
    def fetched_at(self) -> datetime:
        """When the answer began, in UTC."""
        return read.moment(self._values, "fetched_at", required=True)  # type: ignore[return-value]

    @property
    def checked_at(self) -> datetime | None:
        """When a refresh last kept the page as it was, in UTC; None if none did."""
        return read.moment(self._values, "checked_at")

    @property
    def ip(self) -> str | None:
        """The address that the answer came from; None behind a proxy, and in older trees."""
        return read.take(self._values, "ip", str)  # type: ignore[no-any-return]

    @property
    def machine(self) -> str:
        """The id of the machine that stored it."""
        return read.take(self._values, "machine", str, required=True)  # type: ignore[no-any-return]

    @property
    def depth(self) -> int:
        """How many links it is away from a seed, by the way that was found first; a shorter one may exist."""
        return read.whole(self._values, "depth")

    @property
    def referrer(self) -> str | None:
        """The key of the page where its URL was found; None for a seed."""
        return read.take(self._values, "referrer", str) or None

    @property
    def label(self) -> str | None:
        """The name of its task: the label of the seed that led to it."""
        return read.take(self._values, "label", str)  # type: ignore[no-any-return]

    @property
    def elapsed(self) -> float:
        """Seconds from sending the request to the body's end."""
        return read.seconds(self._values, "elapsed")

    @property
    def encoding(self) -> str | None:
        """The WHATWG name of the body's encoding; None if it is no HTML."""
        return read.take(self._values, "encoding", str)  # type: ignore[no-any-return]

    @property
    def encoding_source(self) -> str | None:
        """Where `encoding` comes from: "declared" by the server, a byte order mark or the page itself, or "guessed"."""
        return read.take(self._values, "encoding_source", str)  # type: ignore[no-any-return]

    @property
    def bytes(self) -> int:
        """The size of the body."""
        return read.body_of(self._values)[0]

    @property
    def sha256(self) -> str | None:
        """The digest of the body, in hexadecimal; None without one."""
        return read.body_of(self._values)[1] or None

    @property
    def mime(self) -> str | None:
        """The media type, of Content-Type."""
        return media_type(self.headers) or None

    @property
    def file(self) -> str | None:
        """The path of the body's file from the root; None without a body."""
        _, sha256, file = read.body_of(self._values)
        return self._source.tree.body_path(self._host, self.key, file) if sha256 else None

    # -- what the body says

    @property
    def body(self) -> builtins.bytes | None:
        """The body as it was received, decompressed. None without one: a redirect, another media type."""
        self._source.bodies = True
        self._source.unused = 0
        return self._body_now()

    @property
    def html(self) -> str | None:
        """The page as text, markup and all; of a page whose scripts were run, what they have made.

        None without a body, and for documents that are no text, such as PDF.
        """
        values = self._values
        encoding = values.get("encoding")
        if encoding == "utf-8" and "rendered" not in values and "file" not in values:  # nearly always: do it quickly
            body = self.body
            return None if body is None else body.decode("utf-8", "replace").removeprefix("\ufeff")
        return self.answer.text if self._is_text() else None

    @property
    def text(self) -> str | None:
        """The visible text, as a dataset has it; also of a PDF (needs the extra `pdf`). None for what has no text.

        A PDF is read each time, in a process beside this one, which may take a minute. One that takes longer, or too
        much memory, has no text.
        """
        if not self._is_text():
            return self._text_of_pdf()
        from fscrawl.parse import text  # noqa: PLC0415 - the parser is loaded when it is needed

        answer = self.answer
        if read.body_of(self._values)[2] is not None:
            return answer.text
        return text.visible(answer.document.html)

    @property
    def tree(self) -> LexborHTMLParser:
        """The page as a tree of selectolax, for CSS selectors that give elements: `page.tree.css("a")`.

        A page without a body is an empty tree.
        """
        return self.answer.document.lexbor

    def css(self, selector: str) -> list[str]:
        """Give the texts that a CSS selector finds; it may end in `::text` or `::attr(name)`.

        FscrawlError if the selector is wrong.
        """
        return self._found("css", selector)  # type: ignore[no-any-return]

    def xpath(self, expression: str) -> list[str]:
        """Give the texts that an XPath 1.0 expression finds (needs the extra `merge`).

        FscrawlError if the expression is wrong.
        """
        return self._found("xpath", expression)  # type: ignore[no-any-return]

    def json(self, path: str | None = None) -> Any:
        """Give the body as JSON; with a `path` (RFC 9535, `$.items[*].name`), the list of values that it finds.

        If each line of the body is JSON (NDJSON), a path looks into each line: `json("$")` gives a list of all lines.

        FscrawlError if the body is no JSON, or the path is wrong; without a path also if there are several lines.
        """
        return self._found("json", path)

    @property
    def fields(self) -> dict[str, Any]:
        """The values of the fields that [[site]] tables in crawl.toml name.

        A field that is missing on the page, or has no value of its type, is left out.
        """
        site = self._source.fields.sites.of(self.url)
        return {} if site is None or not self._is_text() else site.values_of(self.answer).values

    def _found(self, method: str, asked: str | None) -> Any:
        shown = "" if asked is None and method == "json" else repr(asked)
        if shown and not isinstance(asked, str):
            raise UsageError(f"{self.url}: {method}({shown}): must be a text")
        try:
            return getattr(self.answer, method)(asked)
        except ValueError as error:
            raise UsageError(f"{self.url}: {method}({shown}): {error}") from None

    @property
    def answer(self) -> Answer:
        """The page as the methods of a site file are given it: `MySite().fields(page.answer)`."""
        if self._answer is None:
            from fscrawl.sites.page import Answer  # noqa: PLC0415

            seen, headers, encoding = self._as_seen()
            try:
                self._answer = Answer(self.url, seen, status=self.status, headers=headers, encoding=encoding)
            except ValueError as error:
                raise RecordError(f"{self.url}: its record is wrong: {error}") from error
        return self._answer  # type: ignore[no-any-return]

    def _as_seen(self) -> tuple[builtins.bytes, dict[str, str], str | None]:
        """Give what the page looks like, and the headers and the encoding that fit."""
        body = self.body
        dom = self._source.dom(self._host, self._values)
        if dom is None:
            return body or b"", self.headers, self.encoding
        from fscrawl.storage.render_record import DOM_TYPE  # noqa: PLC0415

        return dom, {**self.headers, "content-type": DOM_TYPE}, "utf-8"

    def _is_text(self) -> bool:
        _, sha256, file = read.body_of(self._values)
        if not sha256:
            return False
        if file is None:
            return True
        from fscrawl.parse.extensions import TEXTS  # noqa: PLC0415

        return file in TEXTS

    def _text_of_pdf(self) -> str | None:
        body = self.body if read.body_of(self._values)[2] == "pdf" else None
        if not body:
            return None
        from fscrawl.api import pdfs  # noqa: PLC0415 - most trees have none

        return pdfs.text_of(body)

    # -- for those who read many pages

    def _check(self) -> None:
        """Check record and body as a merge does; RecordError if one is wrong."""
        read.check(self._values, self._host)
        body = self._body_now()
        if body is not None and hashlib.sha256(body).hexdigest() != self._values["sha256"]:
            raise RecordError("its body differs from its record")
        self._source.dom(self._host, self._values)

    def _is_taken(self, filters: Filters) -> bool:
        return filters.takes(self.url, self._values.get("fetched_at"))

    def _may_be_read_ahead(self, most: int) -> bool:
        """Tell whether the body is HTML, and has at most so many bytes."""
        values = self._values
        size = values.get("bytes")
        return "file" not in values and bool(values.get("sha256")) and type(size) is int and size <= most

    def _take_ahead(self, body: builtins.bytes | None) -> None:
        """Take a body that was read ahead. One that is not as the record says is read again when it is asked for."""
        if body is not None and len(body) == self._values["bytes"]:
            self._body = body

    @property
    def _was_read_ahead(self) -> bool:
        return self._body is not _UNREAD

    def _body_now(self) -> builtins.bytes | None:
        if self._body is _UNREAD:
            self._body, self._values = self._source.body(self._host, self._values)
        return self._body  # type: ignore[no-any-return]
