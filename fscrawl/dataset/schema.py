"""The columns of the tables, with type, unit and meaning. Names are those of Common Crawl's index where it has one.

https://commoncrawl.org/columnar-index
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fscrawl.dataset import similar

if TYPE_CHECKING:
    from fscrawl.dataset.options import Options

TIME = pa.timestamp("ms", tz="UTC")


def _column(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"comment": meaning})


_VERSION = "number of the page's version; null if the tree keeps no versions"
PAGES = pa.schema(
    [
        _column("url", pa.string(), "normal form (WHATWG), without fragment unless the page is a hash route"),
        _column("url_surtkey", pa.string(), "SURT: host reversed, then the path; sorts a site's pages together"),
        _column("url_host_name", pa.string(), "host without port"),
        _column("url_host_registered_domain", pa.string(), "by the public suffix list; the host where it has none"),
        _column("key", pa.string(), "24 hexadecimal digits: names the page's files in the tree"),
        _column("page_version", pa.int32(), _VERSION),
        _column("method", pa.string(), "of the request: GET, POST, PUT or PATCH"),
        _column("request_body", pa.string(), "of the request, bytes that are no UTF-8 as %FF; null if it had none"),
        _column("depth", pa.int32(), "links followed from a seed, by the way that was found first"),
        _column("referrer", pa.string(), "key of the page where the URL was found; null for a seed"),
        _column("fetch_time", TIME, "UTC, milliseconds, by the clock of the machine that fetched it"),
        _column("fetch_status", pa.int32(), "HTTP status"),
        _column(
            "fetch_redirect",
            pa.string(),
            "normal form of a redirect's target, or what was sent, if it is no URL; such a page has no body",
        ),
        _column("skipped", pa.string(), "why there is no body, e.g. type application/pdf"),
        _column("rendered", pa.string(), "how running its scripts ended: done, timeout, failed; null if none were run"),
        _column("content_mime_type", pa.string(), "of Content-Type, in lower case, without parameters"),
        _column("content_charset", pa.string(), "WHATWG name of the encoding the page was read with"),
        _column("encoding_source", pa.string(), "where that comes from: declared by server or page, or guessed"),
        _column("content_languages", pa.string(), "as the page says: <html lang>, else Content-Language"),
        _column("content_digest", pa.string(), "SHA-1 of the body in base 32, as in WARC files"),
        _column("sha256", pa.string(), "of the body, hexadecimal"),
        _column("bytes", pa.int64(), "of the body after content decoding"),
        _column("elapsed", pa.float64(), "seconds from sending the request to the body's end"),
        _column("machine", pa.string(), "id of the machine that fetched it"),
        _column("ip", pa.string(), "address that the answer came from; null behind a proxy"),
        _column(
            "check_time", TIME, "of the last refresh that kept the page; null if there was none since it was fetched"
        ),
        _column(
            "check_status", pa.int32(), "what that refresh was answered: 304, or e.g. 404 if it is gone; 0: nothing"
        ),
        _column("label", pa.string(), "of the seed that led here; null if it has none"),
        _column("title", pa.string(), "text of <title>, white space folded"),
        _column("canonical", pa.string(), "normal form of link rel=canonical"),
        _column("robots", pa.list_(pa.string()), "directives of meta robots and X-Robots-Tag, in lower case"),
        _column("noindex", pa.bool_(), "the page asks not to be indexed"),
        _column("outlinks", pa.int32(), "links to other pages, each once, nofollow ones among them"),
        _column("duplicate_of", pa.string(), "key of the first page with the same body, and the same rendered_html"),
        _column("near_duplicate_of", pa.string(), "key of the first page with nearly the same text (MinHash)"),
        _column(
            "headers",
            pa.string(),
            "response headers: a JSON object, names in lower case; repeated ones are lines of one text",
        ),
        _column("text", pa.string(), "visible text, one line per block; with --text main, the main content"),
        _column("html", pa.binary(), "the body of HTML, bytes as received after content decoding"),
        _column("rendered_html", pa.binary(), "the page as its scripts have made it, in UTF-8; null if none were run"),
        _column("file", pa.string(), "path of a body that is not HTML, in the tree: files/<host>/<key>.<ext>"),
        _column("body", pa.binary(), "its bytes; only with --files"),
    ]
)
# With --language. Without it these names are free for the user's own columns.
LANGUAGE = pa.schema(
    [
        _column("language", pa.string(), "of the text, as detected: ISO 639-1 or 639-3; null if not sure or too short"),
        _column("language_score", pa.float64(), "how sure it is, from 0.5 to 1"),
    ]
)
LINKS = pa.schema(
    [
        _column("source", pa.string(), "URL of the page that has the link"),
        _column("source_key", pa.string(), "its key"),
        _column("source_version", pa.int32(), _VERSION),
        _column("target", pa.string(), "normal form of where it leads, for a request its URL"),
        _column("target_key", pa.string(), "the target's key, whether it is stored or not"),
        _column("nofollow", pa.bool_(), "marked rel=nofollow, or the page asks for it"),
        _column("redirect", pa.bool_(), "it is no link, but the redirect of a page that was fetched"),
        _column("target_method", pa.string(), "of the request for the target; GET for every link of a page"),
        _column("target_request_body", pa.string(), "of this request; null if it has none"),
    ]
)
ERRORS = pa.schema(
    [
        _column("url", pa.string(), "normal form"),
        _column("url_host_name", pa.string(), "host without port"),
        _column("url_host_registered_domain", pa.string(), "by the public suffix list; the host where it has none"),
        _column("key", pa.string(), "24 hexadecimal digits"),
        _column("method", pa.string(), "of the request: GET, POST, PUT or PATCH"),
        _column("request_body", pa.string(), "of the request, bytes that are no UTF-8 as %FF; null if it had none"),
        _column("depth", pa.int32(), "links followed from a seed, by the way that was found first"),
        _column("referrer", pa.string(), "key of the page where the URL was found; null for a seed"),
        _column("fetch_time", TIME, "of the last attempt: UTC, milliseconds"),
        _column("machine", pa.string(), "id of the machine that tried"),
        _column("class", pa.string(), "dns, connect, tls, timeout, http-4xx, http-5xx, robots, …"),
        _column("message", pa.string(), "what happened, in a line"),
        _column("label", pa.string(), "of the seed that led here; null if it has none"),
        _column("attempts", pa.int32(), "how often it was tried"),
        _column("fetch_status", pa.int32(), "HTTP status, where there was an answer"),
    ]
)
ITEMS = pa.schema(
    [
        _column("url", pa.string(), "normal form of the page's URL"),
        _column("key", pa.string(), "the page's key"),
        _column("page_version", pa.int32(), _VERSION),
        _column("position", pa.int32(), "of the item on its page, from 1"),
    ]
)
CHANGES = pa.schema(
    [
        _column("url", pa.string(), "normal form"),
        _column("key", pa.string(), "24 hexadecimal digits"),
        _column("method", pa.string(), "of the request: GET, POST, PUT or PATCH"),
        _column("request_body", pa.string(), "of the request, bytes that are no UTF-8 as %FF; null if it had none"),
        _column("version", pa.int32(), "the first one after the change"),
        _column("previous_version", pa.int32(), "the first one that was as the page was before the change"),
        _column("fetch_time", TIME, "of this version, or when the page was checked; null if it was removed"),
        _column("previous_fetch_time", TIME, "of the previous one, in the same way"),
        _column("fetch_status", pa.int32(), "what the host answered; 0: nothing; null: the page was removed"),
        _column("previous_fetch_status", pa.int32(), "as of the previous version"),
        _column("sha256", pa.string(), "of the body that is stored since then; null if there is none"),
        _column("previous_sha256", pa.string(), "of the one before"),
        _column("bytes", pa.int64(), "of this body; 0 without one"),
        _column("previous_bytes", pa.int64(), "of the one before"),
        _column("title", pa.string(), "of this version; null if it has none"),
        _column("previous_title", pa.string(), "of the one before"),
        _column("fetch_redirect", pa.string(), "where this version redirects to"),
        _column("previous_fetch_redirect", pa.string(), "where the one before did"),
        _column("links_added", pa.int32(), "how many links this version has and the one before had not"),
        _column("links_removed", pa.int32(), "how many links the one before had and this one has not"),
        _column("added", pa.list_(pa.string()), "these links, in the order of the page, nofollow ones among them"),
        _column("removed", pa.list_(pa.string()), "those that were removed"),
    ]
)
WARC_INDEX = pa.schema(
    [
        _column("url_surtkey", pa.string(), "SURT: host reversed, then the path"),
        _column("url", pa.string(), "normal form"),
        _column("key", pa.string(), "names the page in the tree and in pages/"),
        _column("method", pa.string(), "of the request"),
        _column("request_body", pa.string(), "of the request; null if it had none"),
        _column("fetch_time", TIME, "UTC, milliseconds"),
        _column("fetch_status", pa.int32(), "HTTP status"),
        _column("content_mime_type", pa.string(), "of Content-Type; warc/revisit for a duplicate"),
        _column("content_digest", pa.string(), "SHA-1 of the body in base 32"),
        _column("warc_filename", pa.string(), "path from the dataset's directory"),
        _column("warc_record_offset", pa.int64(), "bytes from the file's beginning"),
        _column("warc_record_length", pa.int64(), "bytes, compressed"),
    ]
)
# What later runs must know about every page of a run that was not broken (`dedupe`).
SEEN = pa.schema(
    [
        ("host", pa.string()),
        ("key", pa.string()),
        ("digest", pa.binary(16)),
        ("signature", pa.binary(similar.SIGNATURE_BYTES)),
        ("url", pa.string()),
        ("fetched_at", TIME),
    ]
)
TABLES = {"pages": PAGES, "links": LINKS, "errors": ERRORS}


def items(columns: list[pa.Field]) -> pa.Schema:
    """Return the schema of a dataset's items: what all have, and the columns of the rules."""
    return pa.schema([*ITEMS, *columns])


def pages(fields: list[pa.Field], options: Options) -> pa.Schema:
    """Return the schema of a dataset's pages: PAGES, without what it leaves out, and what was asked for."""
    html = options.html
    shown = {"text": options.text != "none", "html": html, "rendered_html": html, "body": options.files}
    left_out = {name for name, there in shown.items() if not there}
    left_out |= {field.name for field in fields}  # an older dataset may have a field that has the name of a new column
    detected = LANGUAGE if options.language else []
    return pa.schema([*(each for each in PAGES if each.name not in left_out), *detected, *fields])
