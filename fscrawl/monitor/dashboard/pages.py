"""Stored pages, as the dashboard shows them: a record, a failure, a body as text; those of a host; some failures.

Vocabulary:
  query   what the user typed: a URL in any spelling, with or without its scheme

Promise: a page that is not there is None. A tree that is gone is a TreeError, and never looks like a missing page.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import fields

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError
from fscrawl.hostnames import candidates
from fscrawl.monitor.dashboard.hosts import cut, place
from fscrawl.parse import links, text
from fscrawl.parse.encoding import decode, sniff_encoding
from fscrawl.parse.extensions import TEXTS
from fscrawl.request import shown
from fscrawl.storage.layout import ERRS, LINKS, is_key
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn_if_slow

WAYS = ("page", "text", "source", "answer")
HOST = re.compile(r"(?!\.)[a-z0-9._-]{1,200}\Z")
# `attributeName` in SVG can make any attribute a `href`.
_HREF = re.compile(r"(hr|attributen)(ef|ame)(?=[\t\n\f\r ]*=)", re.IGNORECASE)
_FRAMES = re.compile(r"<(/?)(i?frame|fencedframe|portal|object|embed|applet)(?=[\s/>])", re.IGNORECASE)
_LIKE_LINKS = "<style>:where(a[hr\\200b ef]){color:#0645ad;text-decoration:underline}</style>"

_EXAMPLES = 5
_SAMPLE_HOSTS = 100
_SAMPLE_FILES = 500

T = TypeVar("T")


def brief(record: PageRecord | ErrorRecord) -> dict[str, Any]:
    """Give the fields of a record that a list of pages shows."""
    common = {"url": record.url, "host": urls.host(record.url), "key": record.key, "status": record.status}
    common |= _as_people_read_it(record.url)
    if isinstance(record, ErrorRecord):
        failure = {"class": record.class_, "message": record.message, "attempts": record.attempts}
        return {**common, **failure, "at": record.failed_at}
    return {**common, "title": record.title, "kind": record.kind, "bytes": record.bytes, "at": record.fetched_at}


def whole(record: PageRecord | ErrorRecord | None) -> dict[str, Any] | None:
    """Give all fields of a record that have a value, by their names in the file."""
    if record is None:
        return None
    found = {field.encode_name: getattr(record, field.name) for field in fields(record)}
    if isinstance(record, PageRecord) and record.rendered is not None:
        found["rendered"] = record.rendered.shown()
    return {name: value for name, value in found.items() if value is not None}


def find(tree: Tree, query: str) -> dict[str, Any] | None:
    """Find the page of a query; None if there is none for any spelling."""
    for url in candidates(query):
        found = detail(tree, urls.host(url), urls.key(url))
        if found is not None:
            return found
    return None


def detail(tree: Tree, host: str, key: str) -> dict[str, Any] | None:
    """Give all that is known about a page: record, failure, damaged files, and where its URL was found."""
    damages: list[str] = []
    record = _read(lambda: tree.page(host, key), damages)
    error = _read(lambda: tree.error(host, key), damages)
    if record is None and error is None and not damages:
        return None
    known = record or error
    return {
        "host": host,
        "key": key,
        "url": known.url if known else None,
        **(_as_people_read_it(known.url) if known else {}),
        "record": whole(record),
        "error": whole(error),
        "damages": damages,
        "has_dom": record is not None and record.is_rendered,
        "has_body": record is not None and bool(record.sha256) and (record.file is None or record.file in TEXTS),
        "file": tree.body_path(host, key, record.file) if record is not None and record.sha256 else None,
        "referrer": _referrer(tree, host, known.referrer) if known and is_key(known.referrer) else None,
    }


def _as_people_read_it(url: str) -> dict[str, str]:
    """Give what is shown in place of the spelling of a request; nothing for a plain GET."""
    return {"shown": shown(url)} if "#" in url else {}


def _referrer(tree: Tree, host: str, key: str) -> dict[str, Any]:
    """Give the page where a URL was found if it is on the same host; else only its key is known."""
    record = _read(lambda: tree.page(host, key), [])
    return brief(record) if record is not None else {"key": key}


def _read(read: Callable[[], T], damages: list[str]) -> T | None:
    try:
        return read()
    except RecordError as error:
        damages.append(str(error))
    except TreeError as error:
        if not error.is_missing:
            raise
    return None


def body(tree: Tree, host: str, key: str, way: str) -> tuple[str, bytes] | None:
    """Give a page's body as (media type, UTF-8) in one of WAYS: as it is, its visible text, or its source as text.

    If its scripts were run, that is what they have made; the last of WAYS is the source as the server sent it. None if
    there is none, or if it is neither HTML nor text. TreeError if the tree cannot be read.
    """
    record = _read(lambda: tree.page(host, key), [])
    if record is None or (record.file is not None and record.file not in TEXTS):
        return None
    size, file = max(record.bytes, 0), record.file
    rendered = record if record.is_rendered and way != "answer" else None
    data = _read(lambda: tree.seen(host, rendered) if rendered else tree.body(host, key, size, file), [])
    if data is None:
        return None
    if file is not None:  # shown as text in every way: nothing in it may run
        encoding = sniff_encoding(data, record.headers.get("content-type"), record.url)
        return "text/plain", decode(data, encoding).encode("utf-8", "replace")
    seen = rendered.as_seen if rendered else record
    encoding = seen.encoding or sniff_encoding(data)
    if way == "text":
        content_type = seen.headers.get("content-type")
        return "text/plain", text.visible(links.readable(data, encoding, content_type)).encode("utf-8", "replace")
    source = decode(data, encoding)
    if way == "page":
        return "text/html", inert(source).encode("utf-8", "replace")
    return "text/plain", source.encode("utf-8", "replace")


def inert(html: str) -> str:
    """Make sure that a page which is shown cannot connect to any server.

    Chromium connects before it checks a policy: for `<link rel=preconnect>`, for frames, for a link that is clicked. So
    every `href=` gets a zero-width space, and what can make one (`<set attributeName=href>`), too; frames get another
    name. The text is changed without parsing it. What is shown looks the same, and links still look like links.

    >>> inert("<a HREF =b>")[:12].encode("ascii", "namereplace").decode()
    '<a HR\\\\N{ZERO WIDTH SPACE}EF =b>'
    >>> inert("<set attributeName=href>").partition("<style>")[0].replace("\\u200b", "_")
    '<set attributeN_ame=href>'
    >>> inert("<IFRAME src=b></iframe>").partition("<style>")[0]
    '<x-IFRAME src=b></x-iframe>'
    """
    return _FRAMES.sub(r"<\1x-\2", _HREF.sub("\\1\u200b\\2", html)) + _LIKE_LINKS


# -- several pages


def page_of(tree: Tree, host: str, directory: str, page: int) -> dict[str, Any]:
    """Give fifty records of a host, or failures (`directory` "links", "errs"), in the order of their keys."""
    keys = sorted(tree.keys(directory, host))
    chosen = cut(keys, page)
    records = list(_records(tree, directory, host, chosen))
    return {
        **place(len(keys), page),
        "unreadable": len(chosen) - len(records),
        "rows": sorted(map(brief, records), key=lambda row: str(row["url"])),
    }


def _records(tree: Tree, directory: str, host: str, keys: Iterable[str]) -> Iterator[PageRecord | ErrorRecord]:
    """Read records or failures, several at a time; those that cannot be read are left out."""
    read: Callable[[str, str], PageRecord | ErrorRecord] = tree.page if directory == LINKS else tree.error
    found = in_turn_if_slow(lambda key: _read(lambda: read(host, key), []), keys, READERS)
    return (record for record in found if record is not None)


def examples(tree: Tree, chance: random.Random | None = None) -> dict[str, Any]:
    """Give some failures of each class, from a few hundred files of randomly chosen hosts."""
    chance = chance or random.Random()
    hosts = tree.hosts(ERRS)
    hosts = chance.sample(hosts, min(len(hosts), _SAMPLE_HOSTS))
    share = max(20, _SAMPLE_FILES // max(1, len(hosts)))
    found: dict[str, list[dict[str, Any]]] = {}
    looked = 0
    for host in hosts:
        keys = tree.keys(ERRS, host)
        chosen = chance.sample(keys, min(len(keys), share, _SAMPLE_FILES - looked))
        looked += len(chosen)
        for record in _records(tree, ERRS, host, chosen):
            if isinstance(record, ErrorRecord) and len(found.setdefault(record.class_, [])) < _EXAMPLES:
                found[record.class_].append(brief(record))
    return {"looked": looked, "classes": found}
