"""The files of the tree as values: JSON bytes ↔ frozen structs of msgspec. Pure: no disk, no socket.

Vocabulary:
  PageRecord    links/<host>/<key>.json: what was fetched and where it links to; its existence means "done"
  ErrorRecord   errs/<host>/<key>.json: the last failure of a URL that has not been stored
  TreeRecord    .fscrawl/tree.json: what was fixed when the tree was created
  RobotsRecord  .fscrawl/robots/<host>.json: a robots.txt as fetched
  RenderRecord  the object `rendered` in a PageRecord: how the page was rendered

  withheld      headers that may hold a session or a login. A record has their names, with "" in place of the values

Promise: what `to_json` writes, `from_json` reads back equal; anything else is a RecordError that says why, never
another exception. Unknown fields are ignored, so that an older program reads a newer tree of the same format; only
those of `tree.json` are refused, since they may say where pages are.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, Self

import msgspec
from msgspec.structs import force_setattr, replace

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.storage.layout import EXTENSION
from fscrawl.util.humanize import number_of, size

SITEMAP = "sitemap"  # the value of `skipped` for a sitemap
Kind = Literal["page", "redirect", "other"]  # of a record; "other": another media type, or a sitemap
KINDS: tuple[Kind, ...] = ("page", "redirect", "other")
FORMAT = 3  # of the tree; increased when an older program would misread a newer tree
WITHHELD = frozenset(
    {
        *("authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info"),
        *("www-authenticate", "proxy-authenticate", "cookie", "set-cookie", "set-cookie2"),
    }
)
DOM_TYPE = "text/html; charset=utf-8"  # the media type of every stored DOM
_MOST_QUOTES = 2_000_000  # of a file: a record has two for each of its strings, 100,000 links among them


def rfc3339(moment: datetime) -> str:
    """Give a time of UTC as all records, datasets and archives have it: to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp(seconds: float) -> str:
    """Give a UNIX time as RFC 3339 in UTC, to the millisecond.

    >>> timestamp(0.5)
    '1970-01-01T00:00:00.500Z'
    """
    return rfc3339(datetime.fromtimestamp(seconds, UTC))


def new_machinery() -> str:
    """Give the name of a new `.fscrawl`: 128 random bits, as 32 hex digits."""
    return os.urandom(16).hex()


_CLOCKS_DIFFER_S = 60.0  # those of machines whose clocks are right
_NO_LINKS = frozenset({"nofollow", "none"})  # directives


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JSON object of named fields; an optional field that has its default is left out of the file."""

    def to_json(self) -> bytes:
        """Give the file's bytes: one JSON object in UTF-8, ended by a newline."""
        return encoded(self) + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read what `to_json` wrote; RecordError if it is torn, is not JSON, or lacks or mistypes a field."""
        if data.count(b'"') > _MOST_QUOTES:  # short strings would take twenty times their size in memory
            raise RecordError("it has more values than a record can have")
        try:
            found: Self = _DECODERS[cls].decode(data)
        except msgspec.ValidationError as error:
            raise RecordError(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not JSON: {error}") from error
        return found


def encoded(struct: msgspec.Struct) -> bytes:
    """Give a struct as JSON in UTF-8; half of a surrogate pair becomes a question mark."""
    try:
        return msgspec.json.encode(struct)
    except UnicodeEncodeError:
        return msgspec.json.encode(_writable(msgspec.to_builtins(struct)))


def _writable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_writable(name): _writable(each) for name, each in value.items()}
    return [_writable(each) for each in value] if isinstance(value, list | tuple) else value


_Count = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]  # as tables hold it
_Word = Annotated[str, msgspec.Meta(pattern=r"^(?!-\Z)[!-~]+\Z")]  # as a line of a log holds it; a dash stands for none
_WordOrNone = Annotated[str, msgspec.Meta(pattern=r"^(?!-\Z)[!-~]*\Z")]


class RenderRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a page was rendered.

    why          "host": `render.hosts` names its host; "always" or "empty": `render.when`
    ended        "done"; "timeout": it was still busy, and was taken as it was; "failed": there is no DOM
    seconds      that it took
    bytes        of the DOM as stored, 0 if there is none
    sha256       of the DOM, "" if there is none
    loaded       bytes that its requests have loaded
    requests     how many requests it made beside its own, by host
    blocked      how many requests brought nothing, by why: a rule, such as "robots", or a failure, such as "http-5xx"
    errors       what its scripts complained of
    screenshot   bytes of the picture, 0 if there is none
    """

    why: str
    ended: str
    seconds: Annotated[float, msgspec.Meta(ge=0, lt=1e15)] = 0.0
    bytes: _Count = 0
    sha256: str = ""
    loaded: _Count = 0
    requests: dict[str, _Count] | None = None
    blocked: dict[str, _Count] | None = None
    errors: tuple[str, ...] | None = None
    screenshot: _Count = 0

    def shown(self) -> str:
        """Say it to a person, in a line."""
        loaded = sum((self.requests or {}).values())
        parts = [f"{self.ended}, in {self.seconds:g} s"]
        parts += [f"{number_of(loaded, 'request')} and {size(self.loaded)} beside the page"] if loaded else []
        lacking = ", ".join(f"{why} {number}" for why, number in (self.blocked or {}).items())
        parts += [f"requests that failed or were not allowed: {lacking}"] if lacking else []
        return "; ".join([*parts, *(self.errors or ())])


class PageRecord(Record, frozen=True, omit_defaults=True):
    """A page that is done. A redirect has `redirect` and no body; an unwanted type has `skipped` and no body.

    url, key          the page's normal form, or the spelling of its request; its key
    depth             number of links on the way from a seed by which it was found first; a seed has 0. A shorter
                      way may have been found since: `max_depth` goes by that one
    referrer          key of the page where the URL was found; "" for a seed
    fetched_at        when the response began
    machine           id of the machine that stored it
    status            HTTP status
    headers           response headers, names in lower case; repeated ones are lines of one text, with "\\n" between
                      them. Bytes that are no UTF-8 are read as Latin-1, in a `Location` each is percent-encoded. Of
                      `Set-Cookie` and headers for logins only the names, with ""
    file              the extension of the body's file in `files/`; absent if the body is in `htmls/`, or there is none
    bytes, sha256     of the stored body; 0 and "" without a body
    elapsed           seconds from sending the request to the end of the body
    links             outlinks to follow: absolute, in normal form, each once, in the order of the page; none to itself
    encoding          WHATWG name of the encoding with which the page was read
    encoding_source   where that comes from: "declared" by the server, a byte order mark or the page itself, or
                      "guessed" from its bytes. XML without a declaration, XHTML included, declares UTF-8. Absent where
                      `encoding` is absent
    title             text of <title>, each run of white space replaced by one space
    redirect          normal form of a redirect's target, or the spelling of the request that follows; what the server
                      sent, if that is no URL. Such a page has no body
    led_back          it is a redirect still, although it was asked for once more after a log-in led back to it
    skipped           why there is no body, e.g. `type application/pdf`
    like_html         it has no body because of its type, and what was sent begins like HTML
    nofollow          outlinks marked rel=nofollow (or all, on a page whose meta robots says so): kept, and not followed
    canonical         normal form of link rel=canonical
    robots            directives of meta robots and X-Robots-Tag, in lower case
    truncated         the page, or the sitemap, has more links than are kept; or a document could not be searched for
                      links to its end
    too_long          how many references and headers were left out because they, or their URLs, are too long
    sitemaps          only of a sitemap (`skipped` is `sitemap`): the sitemaps that it names. Its `links` are its URLs.
                      With `redirect`: the other host's sitemap to which it has moved
    requests          what the rules of the page's site say to follow in place of `links`
    rules             digest of these rules: the first 16 hexadecimal digits of a SHA-224. If the present rules have
                      another one, or there are none, `requests` does not count
    label             of the seed that led here: 1 to 100 printable characters without blanks around them. Anything else
                      is no label
    rendered          how its scripts were run; absent if they were not
    ip                the IP address that the stored answer came from; absent if it came through a proxy. A refresh that
                      keeps the page does not change it
    checked_at        when a refresh last asked for it and kept it, because it had not changed or could not be fetched
    checked_status    the status at that time: 304, or for example 404; 0 if there was no answer
    """

    url: str
    key: str
    depth: _Number
    referrer: _WordOrNone
    fetched_at: str
    machine: str
    status: _Number
    headers: dict[str, str]
    bytes: _Count
    sha256: str
    elapsed: Annotated[float, msgspec.Meta(ge=0, lt=1 << 31)]
    links: tuple[str, ...]
    encoding: str | None = None
    encoding_source: str | None = None
    title: str | None = None
    redirect: str | None = None
    skipped: str | None = None
    like_html: bool | None = None
    nofollow: tuple[str, ...] | None = None
    canonical: str | None = None
    robots: tuple[str, ...] | None = None
    truncated: bool | None = None
    sitemaps: tuple[str, ...] | None = None
    checked_at: str | None = None
    checked_status: _Number | None = None
    too_long: int | None = None
    requests: tuple[str, ...] | None = None
    rules: str | None = None
    file: Annotated[str, msgspec.Meta(pattern=EXTENSION)] | None = None  # it becomes part of a path
    label: str | None = None
    rendered: RenderRecord | None = None
    ip: str | None = None
    led_back: bool | None = None

    def __post_init__(self) -> None:
        _withhold(self)

    @property
    def kind(self) -> Kind:
        """What the record counts as. Only a page has a body."""
        return "redirect" if self.redirect is not None else "other" if self.skipped is not None else "page"

    def links_to(self, *, nofollow: bool) -> tuple[str, ...]:
        """Give the outlinks to follow; with `nofollow` also those that are marked as not to be followed.

        What the rules of its site found takes the place of all of them, if the page lets robots follow anything.
        """
        if self.requests is not None:
            return self.requests if nofollow or not _NO_LINKS.intersection(self.robots or ()) else ()
        return (*self.links, *self.nofollow) if nofollow and self.nofollow else self.links

    def names(self, url: str) -> Literal["redirect", "sitemap", "link", "nofollow", "unfollowed"] | None:
        """Tell how the page names a URL; None if it does not, or only as its canonical.

        "unfollowed": it is a link, and the rules of the page's site follow others.
        """
        if self.redirect == url:
            return "redirect"
        if self.requests is not None:
            return "link" if url in self.requests else "unfollowed" if url in self.links else None
        if url in self.links or url in (self.sitemaps or ()):
            return "sitemap" if self.skipped == SITEMAP else "link"
        return "nofollow" if url in (self.nofollow or ()) else None

    @property
    def content(self) -> tuple[object, ...]:
        """What makes a page another one than before: its answer, but for headers; not when it was fetched or checked.

        A sitemap has no body, so its links count.
        """
        dom = self.rendered.sha256 if self.rendered is not None else ""
        return self.status, self.sha256, dom, self.file, self.redirect, self.skipped, () if self.sha256 else self.links

    @property
    def is_rendered(self) -> bool:
        """The tree has a DOM of the page."""
        return self.rendered is not None and bool(self.rendered.sha256)

    @property
    def as_seen(self) -> Self:
        """The record that fits what the page looks like (`Tree.seen`): a DOM is in UTF-8, whatever the body was."""
        if not self.is_rendered:
            return self
        headers = {**self.headers, "content-type": DOM_TYPE}
        return replace(self, encoding="utf-8", encoding_source="declared", headers=headers)

    @property
    def looked_at(self) -> str:
        """When the page was last fetched or checked (RFC 3339)."""
        return self.checked_at or self.fetched_at

    def is_older_than(self, moment: str) -> bool:
        """Tell whether the page was last fetched or checked before a time (RFC 3339).

        If that was in the future, a clock was wrong: then nobody knows how old it is, and it counts as older.
        """
        return self.looked_at < moment or self.looked_at > timestamp(time.time() + _CLOCKS_DIFFER_S)

    @property
    def depth_of_links(self) -> int:
        """The depth of its links. Links of a sitemap have the depth of the sitemap itself."""
        return self.depth + (self.skipped != SITEMAP)


class ErrorRecord(Record, frozen=True, omit_defaults=True):
    """The last failure of a URL that has not been stored. `class_` is "class" in the file.

    url, key          as of a page
    depth, referrer   as of a page
    failed_at         when it failed
    machine           id of the machine that tried
    class             one of the classes of failures, e.g. `http-4xx`, `robots`
    message           what happened: at most 500 characters
    attempts          how often it was tried
    status            HTTP status, if there was an answer
    headers           of this answer, as of a page
    too_long          how many headers were left out because they are too long
    label             as of a page
    sitemap           it must be read as a sitemap: `sitemap`, or `sitemap-part` if another sitemap named it
    again             true: a user asks for another try since
    """

    url: str
    key: str
    depth: _Number
    referrer: _WordOrNone
    failed_at: _Word
    machine: str
    class_: str = msgspec.field(name="class")
    message: str
    attempts: _Number
    status: _Number | None = None
    headers: dict[str, str] | None = None
    sitemap: str | None = None
    too_long: int | None = None
    label: str | None = None
    again: bool | None = None

    def __post_init__(self) -> None:
        _withhold(self)


class Version(NamedTuple):
    """One of the lines of a URL, in a tree that keeps all of them.

    `record`: of the page, or of a failure; None: somebody has removed what was stored. `machine`: which wrote it.
    """

    number: int
    record: PageRecord | ErrorRecord | None
    machine: str


def _withhold(record: PageRecord | ErrorRecord) -> None:
    if record.headers and not WITHHELD.isdisjoint(record.headers):
        kept = {name: "" if name in WITHHELD else value for name, value in record.headers.items()}
        force_setattr(record, "headers", kept)


class FormatRecord(Record, frozen=True):
    """What every tree.json says, of any format: which format it is."""

    format: int


class Change(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A command that brings the pages into another layout has begun, and is not done.

    command   "pack", "unpack" or "compact"
    by        the id of the process that does it
    name      with which the names of the packs begin that it makes
    copied    all pages are where they shall be; what is left to do is to remove the others
    """

    command: Annotated[str, msgspec.Meta(pattern="^(pack|unpack|compact)$")]
    by: str
    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,99}\Z")]
    copied: bool = False

    @property
    def is_usable(self) -> bool:
        """The tree can be used meanwhile. While packs are removed that others replace, nobody may read them."""
        return self.copied and self.command != "compact"


class TreeRecord(Record, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is fixed when a tree is created. Unknown fields are refused: they may say where the pages are.

    format              3; a program must refuse a tree of another format
    crawl, created_at   an id of the crawl, and when it was made
    shards              how many parts the URLs are divided into, as in the settings
    partition           "host", "site" or "url": what decides about the shard of a URL, as in the settings
    machinery           128 random bits as 32 hexadecimal digits, new whenever a `.fscrawl` is made
    layout              "files": each page has files of its own; "packs": see `storage.packs`
    change              a command that changes the layout, and is not done; absent otherwise
    changes             how many such commands have begun
    """

    format: int
    crawl: str
    created_at: str
    shards: Annotated[int, msgspec.Meta(ge=1)]
    partition: Annotated[str, msgspec.Meta(pattern="^(host|site|url)$")]
    machinery: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
    layout: Annotated[str, msgspec.Meta(pattern="^(files|packs)$")] = "files"
    change: Change | None = None
    changes: _Count = 0

    def shard_of(self, host: str, key: str = "") -> int:
        """Give the shard of a URL. `key`: only looked at with the partition "url"."""
        return urls.shard_of(host, key, self.shards, self.partition)


class RobotsRecord(Record, frozen=True, omit_defaults=True):
    """A robots.txt as fetched.

    url          where it is
    fetched_at   when the answer began
    status       HTTP status; 0: the host could not be reached
    text         at most 500 KiB
    """

    url: str
    fetched_at: str
    status: int
    text: str


# Made once, by the thread that imports this: msgspec 0.22 crashes if two threads are the first to decode a type.
_DECODERS: dict[type[Record], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in Record.__subclasses__()
}
