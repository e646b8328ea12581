"""Targets that read what stands in headers and references: URLs, dates, cookies."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime

from fscrawl import request, urls
from fscrawl.config import seeds, settings
from fscrawl.dataset import formats, options
from fscrawl.dataset.surt import surt
from fscrawl.errors import FscrawlError
from fscrawl.frontier.scope import Scope
from fscrawl.http import cookies
from fscrawl.parse import headers
from tests.support.fuzz.target import Target, string, words

_JOINER = urls.Joiner(memory_bytes=100_000)
_DIRECTORY = re.compile(r"[a-z0-9_-][a-z0-9._-]*\Z")


def _urls(data: bytes) -> None:
    text = string(data)
    base, _, reference = text.partition("\n")
    directory = urls.normalise(base) or "http://a.example/x/y?z"
    joined = _JOINER.join(directory, reference)
    assert joined == (None if len(reference) > urls.MAX_URL_CHARS else urls.normalise(reference, directory))
    for url in (urls.normalise(text), joined, urls.normalise(text, None, urls.Spelling(True))):
        if url is not None:
            _is_normal(url)


def _is_normal(url: str) -> None:
    assert urls.normalise(url) == url, url
    assert len(url) <= urls.MAX_URL_CHARS
    assert "#" not in url
    assert " " not in url
    assert url.isascii()
    host = urls.host(url)
    assert _DIRECTORY.match(host), host
    assert len(host) <= urls.MAX_HOST_BYTES
    assert len(urls.key(url)) == 24
    assert 0 <= urls.shard(host, 7) < 7
    assert urls.site(urls.hostname(url))
    assert surt(url)


_SEEDS = frozenset({"http://www.a.example/", "http://b.co.uk/x", "http://[::1]/"})
_SCOPES = (
    Scope(settings.CrawlSettings(), _SEEDS),
    Scope(settings.CrawlSettings(scope="host", deny=("[?]s=", "z+$")), _SEEDS),
    Scope(settings.CrawlSettings(scope="any", allow=("^http://[^/]*/.*a",)), _SEEDS),
)


def _scope(data: bytes) -> None:
    text = string(data)
    for url in (urls.normalise(text), urls.normalise("/" + text, "http://www.a.example/")):
        for scope in _SCOPES if url is not None else ():
            rule = scope.refuses(url)
            assert rule in {None, "scope", "allow", "deny", "trap"}
            assert (scope.explain(url) is None) is (rule is None)


def _dates(data: bytes) -> None:
    text = data.decode("latin-1")
    date = headers.parse_date(text)
    assert date is None or abs(date) < 1e12
    assert 0 <= headers.retry_after_s(text, 1e9) <= headers.MAX_PAUSE_S


def _cookies(data: bytes) -> None:
    jar = cookies.Jar()
    lines = data.decode("latin-1").split("\n")
    for url in ("https://www.a.co.uk/x/y", "http://127.0.0.1:8/", "http://co.uk/"):
        jar.learn(url, lines, 1e9)
        header = jar.header(url, 1e9 + 1)
        assert header is None or not re.search("[\r\n\0]", header)
        assert header is None or len(header) <= 2 * cookies.MAX_SITE_BYTES
    assert jar.header("http://b.example/", 1e9) is None


def _requests(data: bytes) -> None:
    text = string(data)
    for spell in (text, f"http://a.example/s#{text}"):
        assert request.shown(spell) == spell or request.is_spelling(spell)
        if request.is_spelling(spell):
            asked = request.read(spell)
            assert request.spelling(asked) == spell
            assert not request.flaw(asked)
            assert request.body_text(asked).isprintable()
    with contextlib.suppress(ValueError):
        written = seeds.written_request(text)
        if written is not None:
            assert request.is_normal(written)
            assert seeds.written_request(seeds.line_of(written)) in (written, None)


_NOW = datetime(2026, 11, 21, tzinfo=UTC)


def _dataset(data: bytes) -> None:
    text = string(data)
    of_table = data.decode("utf-8", "replace")  # tables hold UTF-8
    shown = formats.cell(of_table)
    assert not shown or shown[0] not in "=+-@"
    assert not re.search("[\x00-\x08\x0b-\x1f]", shown)
    formats.cell([of_table, 1, None])
    url = urls.normalise(text)
    assert url is None or surt(url)
    for read in (lambda: options.status(text), lambda: options.since(text, _NOW)):
        try:
            read()
        except FscrawlError:
            continue


REFERENCES = words(r"""
http://
HTTPS:
//
/
\\
..
/../
/a/b
?q=%d
#
@
user:pw@
:80
:99999
[::1]
0x7f.1
www.a.example
co.uk
xn--
xn--a
\xc3\xa4
%00
%
%2e
\t
\n
a.
%d.
-
\xe3\x80\x82
\xed\xa0\x80
javascript:
data:,
\xf0\x9f\x92\xa9
\xc2\xad
\xd8\xa7
""")
_DATE = words(r"""
Sun, 06 Nov 1994 08:49:37 GMT
Sunday, 06-Nov-94 08:49:37 GMT
Sun Nov  6 08:49:37 1994
08:49:37
:
%d
\x20
,
-
Nov
0000
9999
1.5
2026-11-21
T00:00:00Z
+25:00
7d
inf
\xb2
\xd9\xa1
""")
_COOKIE = (*words(r"""
a=1
; Path=/x
; Domain=a.co.uk
; Domain=.co.uk
; Domain=
; Max-Age=
; Expires=
; Secure
; HttpOnly
__Host-
__Secure-
=
;
\n
\t
\0
\x20
"
%d
"""), *_DATE)  # fmt: skip
_REQUEST = words(r"""
POST\x20http://a.example/s\x20
DELETE\x20
#method=
POST
GET
&type=application/json
&body=
&header=accept:
&session=
%%20
%%2B
%%ff
{"a":
[
""")
TARGETS = (
    Target("requests", _requests, (*REFERENCES, *_REQUEST), (b"method=POST&body=a", b"POST http://a.example/ a=b c")),
    Target("urls", _urls, REFERENCES, (b"http://a.example/\n../b?c#d", b"http://u:p@\xc3\xa4.example:80/a/../b")),
    Target("scope", _scope, REFERENCES, (b"http://www.a.example/a/b/a/b/a/b/", b"http://x.b.co.uk/?s=1")),
    Target("dates", _dates, _DATE),
    Target("cookies", _cookies, _COOKIE, (b"a=1; Path=/; Domain=a.co.uk; Max-Age=60",)),
    Target(
        "dataset", _dataset, (*REFERENCES, *_DATE, b"=", b"@", b"2xx", b"\xef\xbc\x9d"), (b"2026-11-21T00:00:00+01:00",)
    ),
)
