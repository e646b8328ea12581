"""One stored page. Its record is read; all else is read or worked out when it is first asked for."""

from __future__ import annotations

import builtins
import hashlib
import time
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fscrawl import urls
from fscrawl.dataset.page_files import is_noindex, is_whole, read_path, record_of
from fscrawl.errors import PlantedError, RecordError, UsageError
from fscrawl.parse.extensions import TEXTS
from fscrawl.parse.headers import media_type
from fscrawl.request import parts_of, url_of
from fscrawl.storage.layout import HTMLS, LINKS, SETTINGS
from fscrawl.storage.records import ErrorRecord, Kind, PageRecord
from fscrawl.storage.warc import base32_sha1
from fscrawl.store import Tree

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

    from fscrawl.sites.rules import Sites
    from fscrawl.sites.site import Answer

_UNREAD: Any = object()
_TRIES = 5  # a refresh puts a new body in place first, and a moment later its record
_MOMENT_S = 0.05
_INSTANT_S = 0.02  # sshfs misses a name for an instant while it is being replaced


class Fields:
    """The sites of a tree, read when the first page asks for its fields."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def sites(self) -> Sites:
        """Those of crawl.toml. SettingsError if they are wrong."""
        from fscrawl.sites.read import TABLE, read_sites  # noqa: PLC0415 - most readers need no rules
        from fscrawl.sites.rules import Sites  # noqa: PLC0415
        from fscrawl.util.user_text import read_toml  # noqa: PLC0415

        where = str(self._tree.files.absolute(SETTINGS))
        tables = read_toml(self._tree.controls.settings_if_there() or "", where)
        return Sites(read_sites(tables.get(TABLE, []), where))


class Source:
    """Reads what the pages of one iteration need.

    bodies    whether its pages are asked for their bodies, so that those of the next pages should be read ahead
    unused    bodies in a row that were read ahead for nothing
    """

    def __init__(self, tree: Tree, fields: Fields) -> None:
        self.tree = tree
        self.fields = fields
        self.bodies = False
        self.unused = 0

    def record(self, host: str, key: str) -> PageRecord | None:
        """Read the record of a page by its path; None if it is not there. RecordError if it cannot be read."""
        path = self.tree.tree_path(LINKS, host, key)
        data = read_path(self.tree, path)
        if data is None:
            time.sleep(_INSTANT_S)
            data = read_path(self.tree, path)
        return None if data is None else record_of(data, host, key)

    def body(self, host: str, record: PageRecord) -> tuple[bytes | None, PageRecord]:
        """Read the body that a record means; give the record, too, since a refresh may have replaced both.

        RecordError if there is none of its size. To compare the digest would take longer than to read.
        """
        for number in range(_TRIES):
            if not record.sha256:
                return None, record
            path = self.tree.body_path(host, record.key, record.file)
            is_missing = False
            try:
                data = read_path(self.tree, path, most=record.bytes)
                if data is not None and len(data) == record.bytes:
                    return data, record
                is_missing = data is None
            except PlantedError as error:  # it is larger than this record says
                if error.denied:
                    raise
            if is_missing and number > 1:  # no refresh takes a body away for long: somebody has removed it
                break
            if number:
                time.sleep(_INSTANT_S if is_missing else _MOMENT_S)
            record = self.record(host, record.key) or record
        self.tree.check_directories((HTMLS,))  # or all bodies would seem to be missing
        how = "differs from its record" if self.tree.files.exists(path) else "the body of this page is missing"
        raise RecordError(f"{self.tree.files.absolute(path)}: {how}")

    def dom(self, host: str, record: PageRecord) -> bytes | None:
        """Read what a page looks like when its scripts have run; None if they were not. RecordError if it is gone."""
        rendered = record.rendered
        if rendered is None or not rendered.sha256:
            return None
        path = self.tree.dom_path(host, record.key)
        data = read_path(self.tree, path, most=rendered.bytes)
        if data is None or not is_whole(data, rendered.bytes, rendered.sha256):
            raise RecordError(f"{self.tree.files.absolute(path)}: it is missing, or differs from its record")
        return data


class Page:
    """One stored page of a tree, or another record: a redirect, another media type.

    Attributes have the names and types of the dataset's columns. Each one that is no more than the record says costs
    nothing. `html`, `body`, and all that needs them (`markup`, `text`, `tree`, `css`, `xpath`, `json`, `fields`,
    `answer`), reads one more file when it is first asked for. If a refresh has replaced the page meanwhile, the page is
    the new one from then on, with all its attributes.

    A FscrawlError is raised by an attribute that cannot be read: the body was deleted or cut.
    """

    __slots__ = ("_answer", "_body", "_host", "_record", "_source")

    def __init__(self, source: Source, host: str, record: PageRecord) -> None:
        """`host`: its directory."""
        self._source = source
        self._host = host
        self._record = record
        self._body = _UNREAD
        self._answer: Any = None

    def __repr__(self) -> str:
        return f"<fscrawl.Page {self._record.url}>"

    # -- what the record says

    @property
    def url(self) -> str:
        """The URL in its normal form."""
        return parts_of(self._record.url)[0] if "#" in self._record.url else self._record.url

    @property
    def url_surtkey(self) -> str:
        """The URL as a SURT: host reversed, then the path."""
        from fscrawl.dataset.surt import surt  # noqa: PLC0415 - few ask for it

        return surt(url_of(self._record.url))

    @property
    def url_host_name(self) -> str:
        """The name of the host, without a port."""
        return urls.hostname(self.url)

    @property
    def url_host_registered_domain(self) -> str:
        """The registrable domain, by the public suffix list; the host where it has none."""
        return urls.site(self.url_host_name)

    @property
    def key(self) -> str:
        """The name of the page's files: 24 hexadecimal digits."""
        return self._record.key

    @property
    def page_version(self) -> int | None:
        """The number of this version; None if the tree keeps the last version of each page only."""
        return self._source.tree.number(self._host, self.key)

    @property
    def versions(self) -> tuple[Page, ...]:
        """All versions of this page that the tree keeps and that differ, the oldest first, each as a page.

        None are there if it keeps the last version of each page only.
        """
        tree, found = self._source.tree, []
        before: PageRecord | None = None
        for number, record, _ in tree.versions(self._host, self.key):
            if isinstance(record, ErrorRecord):
                continue
            if record is not None and (before is None or before.content != record.content):
                source = Source(tree.showing(self._host, self.key, number), self._source.fields)
                found.append(Page(source, self._host, record))
            before = record
        return tuple(found)

    @property
    def method(self) -> str:
        """The method of the request: GET, POST, PUT or PATCH."""
        return parts_of(self._record.url)[1]

    @property
    def request_body(self) -> str | None:
        """The body of the request, bytes that are no UTF-8 as %FF; None if it had none."""
        return parts_of(self._record.url)[2]

    @property
    def kind(self) -> Kind:
        """What it counts as: "page": it has a body; "redirect"; "other": another media type, without a body."""
        return self._record.kind

    @property
    def depth(self) -> int:
        """How many links it is away from a seed, by the way that was found first; a shorter one may exist."""
        return self._record.depth

    @property
    def referrer(self) -> str | None:
        """The key of the page where its URL was found; None for a seed."""
        return self._record.referrer or None

    @property
    def fetch_time(self) -> datetime:
        """When the answer began, in UTC."""
        return moment(self._record.fetched_at)

    @property
    def fetch_status(self) -> int:
        """The HTTP status."""
        return self._record.status

    @property
    def fetch_redirect(self) -> str | None:
        """Where a redirect leads."""
        target = self._record.redirect
        return parts_of(target)[0] if target and "#" in target else target

    @property
    def skipped(self) -> str | None:
        """Why there is no body, e.g. `type application/pdf`."""
        return self._record.skipped

    @property
    def rendered(self) -> str | None:
        """How running its scripts ended: "done", "timeout", "failed"; None if none were run."""
        return None if self._record.rendered is None else self._record.rendered.ended

    @property
    def content_mime_type(self) -> str | None:
        """The media type, of Content-Type."""
        return media_type(self._record.headers) or None

    @property
    def content_charset(self) -> str | None:
        """The WHATWG name of the encoding the page was read with; None if it is no HTML."""
        return self._record.encoding

    @property
    def encoding_source(self) -> str | None:
        """Where `content_charset` comes from: "declared" by server or page, or "guessed"."""
        return self._record.encoding_source

    @property
    def content_digest(self) -> str | None:
        """The SHA-1 of the body in base 32, as in WARC files; None without a body. It reads the body."""
        body = self._body_wanted()
        return None if body is None else base32_sha1(body)

    @property
    def sha256(self) -> str | None:
        """The digest of the body, in hexadecimal; None without one."""
        return self._record.sha256 or None

    @property
    def bytes(self) -> int:
        """The size of the body."""
        return self._record.bytes

    @property
    def elapsed(self) -> float:
        """Seconds from sending the request to the body's end."""
        return self._record.elapsed

    @property
    def machine(self) -> str:
        """The id of the machine that stored it."""
        return self._record.machine

    @property
    def ip(self) -> str | None:
        """The address that the answer came from; None behind a proxy."""
        return self._record.ip

    @property
    def check_time(self) -> datetime | None:
        """When a refresh last kept the page as it was, in UTC; None if none did."""
        return None if self._record.checked_at is None else moment(self._record.checked_at)

    @property
    def check_status(self) -> int | None:
        """What that refresh was answered: 304, or e.g. 404 if it is gone; 0: nothing."""
        return self._record.checked_status

    @property
    def label(self) -> str | None:
        """The label of the seed that led to it."""
        return self._record.label

    @property
    def title(self) -> str | None:
        """The text of `<title>`."""
        return self._record.title

    @property
    def canonical(self) -> str | None:
        """The URL of `<link rel=canonical>`."""
        return self._record.canonical

    @property
    def robots(self) -> tuple[str, ...] | None:
        """The directives of meta robots and X-Robots-Tag, in lower case; None if there are none."""
        return self._record.robots

    @property
    def noindex(self) -> bool:
        """The page asks not to be indexed."""
        return is_noindex(self._record)

    @property
    def outlinks(self) -> int:
        """How many links to other pages it has, each counted once, nofollow ones among them."""
        return len(self.links) + len(self.nofollow)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer, names in lower case. Repeated ones are lines of one text; those that may hold a
        session are "". Rows and tables have them as JSON.
        """
        return self._record.headers

    @property
    def links(self) -> tuple[str, ...]:
        """The links to follow, in page order, each once: URLs in their normal form."""
        record = self._record
        return tuple(dict.fromkeys([*record.links, *record.requests])) if record.requests else record.links

    @property
    def nofollow(self) -> tuple[str, ...]:
        """The links that are marked as not to be followed."""
        return self._record.nofollow or ()

    @property
    def file(self) -> str | None:
        """The path from the root of a body that is not HTML; None for HTML, and without a body."""
        record = self._record
        return None if record.file is None else self._source.tree.body_path(self._host, record.key, record.file)

    # -- what the body says

    @property
    def html(self) -> builtins.bytes | None:
        """The body of HTML as received, decompressed. None without one, and for other documents."""
        return self._body_wanted() if self._record.file is None else None

    @property
    def rendered_html(self) -> builtins.bytes | None:
        """The page as its scripts have made it, in UTF-8; None if none were run."""
        return self._source.dom(self._host, self._record)

    @property
    def body(self) -> builtins.bytes | None:
        """The body of a document that is not HTML, such as PDF or JSON; None for HTML, and without a body."""
        return self._body_wanted() if self._record.file is not None else None

    @property
    def markup(self) -> str | None:
        """The page as text, markup and all; of a page whose scripts were run, what they have made.

        None without a body, and for documents that are no text, such as PDF.
        """
        record = self._record
        if record.encoding == "utf-8" and record.rendered is None and record.file is None:  # nearly always: quickly
            body = self._body_wanted()
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
        return answer.text if self._record.file is not None else text.visible(answer.document.html)

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
            from fscrawl.sites.site import Answer  # noqa: PLC0415

            body = self._body_wanted()
            dom = self.rendered_html
            seen = self._record if dom is None else self._record.as_seen
            self._answer = Answer(
                self._record.url,
                (body or b"") if dom is None else dom,
                status=seen.status,
                headers=seen.headers,
                encoding=seen.encoding,
                query_encoding=self._record.encoding or "",
            )
        return self._answer  # type: ignore[no-any-return]

    def _is_text(self) -> bool:
        record = self._record
        if not record.sha256:
            return False
        if record.file is None:
            return True
        return record.file in TEXTS

    def _text_of_pdf(self) -> str | None:
        body = self.body if self._record.file == "pdf" else None
        if not body:
            return None
        from fscrawl.dataset.pdf_text import text_of  # noqa: PLC0415 - most trees have none

        return text_of(body)[0]

    def _body_wanted(self) -> builtins.bytes | None:
        """Give the body, of any type; those of the next pages will be read ahead."""
        self._source.bodies = True
        self._source.unused = 0
        return self._body_now()

    # -- for those who read many pages

    def _check(self) -> None:
        """Read the body, and compare its digest; RecordError if it is missing or wrong."""
        body = self._body_now()
        if body is not None and hashlib.sha256(body).hexdigest() != self._record.sha256:
            raise RecordError("its body differs from its record")
        self._source.dom(self._host, self._record)

    def _may_be_read_ahead(self, most: int) -> bool:
        """Tell whether the body is HTML, and has at most so many bytes."""
        return self._record.file is None and bool(self._record.sha256) and self._record.bytes <= most

    def _keep_ahead(self, body: builtins.bytes | None) -> None:
        """Keep a body that was read ahead. One that is not as the record says is read again when it is asked for."""
        if body is not None and len(body) == self._record.bytes:
            self._body = body

    @property
    def _was_read_ahead(self) -> bool:
        return self._body is not _UNREAD

    def _body_now(self) -> builtins.bytes | None:
        if self._body is _UNREAD:
            self._body, self._record = self._source.body(self._host, self._record)
        return self._body  # type: ignore[no-any-return]


def moment(text: str) -> datetime:
    """Read a time of a record without a flaw."""
    return datetime.fromisoformat(text).astimezone(UTC)
