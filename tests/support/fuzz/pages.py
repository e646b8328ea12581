"""Targets that read what web servers send as a body: pages, sitemaps, robots.txt, content codings."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Iterator
from unittest.mock import patch

import brotli
import webencodings
from selectolax.lexbor import LexborHTMLParser

from fscrawl import urls
from fscrawl.http import bodies
from fscrawl.http.answers import ExchangeError, Limits
from fscrawl.http.framing import content_length
from fscrawl.parse import (
    bounded_xml,
    encoding,
    feeds,
    follow,
    html_limits,
    language,
    links,
    media_types,
    sitemaps,
    text,
)
from fscrawl.parse.documents import page_of
from fscrawl.politeness import robots
from tests.support.field_rules import found_by, rules
from tests.support.fuzz.target import Target, words

URL = "http://a.example/dir/page.html"
_JOINER = urls.Joiner(memory_bytes=100_000)
_CONTENT_TYPES = (
    "text/html; charset=utf-8", None, "text/html", "text/html; charset=shift_jis", "text/html;charset=utf-16",
    "text/html; charset=iso-2022-jp", "text/html; charset=gb18030", 'text/html; charset="x-user-defined',
    "text/html; charset=replacement", "text/html; charset=windows-1251",
)  # fmt: skip

TAGS = words(r"""
<div>
</div>
<p>
<a href=x%d>
<a href="//b.example/%d?q#f" rel="nofollow x">
</a>
<b>
</b>
<b x%d>
<i>
<font size=%d>
<nobr>
<table>
<tr>
<td>
<tbody>
<caption>
</table>
<select>
<option>
<svg>
<math>
<mi>
<foreignObject>
<title>
</title>
<template>
</template>
<script>
</script>
<style>
<textarea>
<plaintext>
<frameset>
<ruby><rt>
<button>
<form>
<h1>
<li>
<dd>
<pre>
<object>
<applet>
<marquee>
<base href=/%d/>
<link rel=canonical href=c%d>
<meta name=robots content="noindex,nofollow %d">
<meta http-equiv=refresh content="0;url=%d">
<meta charset=shift_jis>
<meta charset=utf-16>
<meta http-equiv=content-type content="text/html; charset=big5">
<area href=%d>
<img src="
<p a%d=1\x20
<p\x20
 a%d
 a%d='>'
<!--
-->
<!-->
<![CDATA[
]]>
<!doctype html>
<?xml version="1.0" encoding="euc-jp"?>
<
>
</
"
'
 x="
 y='
=
/
&amp;
&#x%d;
&notin
&#55296;
<html lang=en>
<body hidden>
<br>
<div style="display:none">
<noscript>
<b></i>
<a><p>
<p><b>
</p>
<iframe>
<xmp>
<dialog>
\x1b$B
\xe4
a\x20
""")  # fmt: skip
_PAGES = (
    b"<!doctype html><html lang=en><head><title>A</title><base href=/b/><link rel=canonical href=/c></head><body>"
    b"<p>one <a href=x>y</a><table><tr><td>1<td>2</table><pre> a\n b</pre><ul><li>z</ul></body></html>",
    b"<meta charset=windows-1251><a href='?q=\xe4'>\xd2</a><area href=//b.example/><svg><title>n</title></svg>",
)
_LETTERS = words("""
word word
\\xc3\\xa9t\\xc3\\xa9
\\xe6\\x97\\xa5\\xe6\\x9c\\xac
\\xd8\\xb9\\xd8\\xb1
\\0
\\n
\\xe2\\x80\\xa8
__label__en
</s>
""")
_HTML = (
    "html5lib-tests/tree-construction/*.dat",
    "html5lib-tests/encoding/*.dat",
    "/usr/share/doc/python3*-doc/html/*.html",
)


def _links(data: bytes, parser: str) -> None:
    page = links.extract(
        data[1:], URL, _JOINER, content_type=_CONTENT_TYPES[data[:1][0] % 10] if data else None, parser=parser
    )
    for url in (*page.links[:20], *page.nofollow[:20]):
        assert urls.normalise(url) == url, url
    assert page.canonical is None or urls.normalise(page.canonical) == page.canonical
    assert not set(page.links) & set(page.nofollow)
    assert page.title is None or len(page.title) <= links.MAX_TITLE_CHARS
    assert webencodings.lookup(page.encoding) is not None or page.encoding == "replacement"


def _limit_html(data: bytes) -> None:
    limited = html_limits.limit_html(data)
    assert len(limited) <= len(data)
    if limited is not data:
        LexborHTMLParser(limited)


def _text(data: bytes, how: str = "visible") -> None:
    found = text.read(links.readable(data, "utf-8", None), how)
    found.text.encode()
    assert not any(c < " " and c not in "\n\t" for c in found.text)


def _language(data: bytes) -> None:
    found = language.language(data.decode("utf-8", "replace"))
    assert found is None or (found.code.isalpha() and language.MIN_SCORE <= found.score <= 1)


def _encoding(data: bytes) -> None:
    name = encoding.sniff_encoding(data[1:], _CONTENT_TYPES[data[:1][0] % 10] if data else None)
    assert isinstance(encoding.decode(data[1:], name), str)
    sent = data[:300].decode("latin-1")
    assert encoding.decode(data[:300], encoding.sniff_encoding(b"", f"text/html; charset={sent}")) is not None


def _robots(data: bytes) -> None:
    body = data.decode("utf-8", "replace")[: robots.MAX_BYTES]
    for agent in ("fscrawl/1.0 (+http://a.example/)", "*", ""):
        rules = robots.Rules(body, agent)
        assert math.isfinite(rules.delay_s)
        assert rules.delay_s >= 0
        assert all(isinstance(each, str) for each in rules.sitemaps)
    for path in ("/", "/" + "a" * 2000, body[-2000:], body[:1000], "/" + "a/" * 900 + "?" + "b" * 99, "/%2f%41*$"):
        url = urls.normalise("http://a.example/" + path.removeprefix("/"))
        if url is not None:
            line = rules.forbidding_line(url)
            assert rules.allows(url) is (line is None)
            assert line is None or line in body


def _sitemaps(data: bytes) -> None:
    body = zlib.compress(data[1:], 1, 31) if data[:1] == b"\1" else data[1:]
    with patch.object(bounded_xml, "MAX_BYTES", 1 << 20):
        found = sitemaps.read(body, "http://a.example/sitemap.xml")
    for url in (*found.links[:20], *found.sitemaps[:20]):
        assert urls.normalise(url) == url, url
    assert len(found.links) + len(found.sitemaps) <= sitemaps.MAX_URLS


def _feeds(data: bytes) -> None:
    found = page_of(feeds.read(data), "http://a.example/feed.xml", _JOINER, robots_tag=None)
    for url in found.links[:20]:
        assert urls.normalise(url) == url, url


def _srcset(data: bytes) -> None:
    text = data.decode("latin-1")
    assert follow.largest(text) in text


def _sniff(data: bytes) -> None:
    for media_type in ("", "text/html", "application/octet-stream"):
        assert "/" in media_types.type_of(data, media_type)


class _Reply:
    """A reply, as far as `bodies` looks at it."""

    length = None

    def __init__(self, body: bytes, headers: dict[str, str]) -> None:
        self._file = io.BytesIO(body)
        self.headers = headers

    def pieces(self, size: int) -> Iterator[bytes]:
        return iter(lambda: self._file.read(size), b"")

    def whole(self) -> bytes:
        return self._file.read()

    def release(self) -> None:
        pass

    close = release


_CODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "zstd,gzip", "deflate, deflate, deflate", "gzip,identity,gzip")
_MAX_BYTES = 1 << 20


def _bodies(data: bytes) -> None:
    coding = _CODINGS[data[0] % len(_CODINGS)] if data else "gzip"
    for headers in ({"content-encoding": coding}, {"content-encoding": data[:100].decode("latin-1")}, {}):
        try:
            body = bodies.read_body(_Reply(data[1:], headers), Limits(1.0, _MAX_BYTES))
        except ExchangeError:
            continue
        assert len(body) <= _MAX_BYTES
    content_length({"content-length": data[:6000].decode("latin-1")})


_RULES = rules(
    'own = { css = "p ::text", type = "string[]" }',
    'whole = { css = "div, td, li", type = "string[]" }',
    'href = { css = "a::attr(href)", type = "string[]", regex = "x([0-9]+)" }',
    'count = { css = "b", type = "integer" }',
    'when = { css = "time, i", type = "timestamp[]" }',
    'ratio = { css = "td", type = "float[]" }',
    'path = { xpath = "//a/@href", type = "string[]" }',
    'text = { xpath = "//div//text()", type = "string[]" }',
    'sum = { xpath = "count(//p)", type = "float" }',
)


def _fields(data: bytes) -> None:
    found = found_by(_RULES, links.readable(data, "utf-8", None))
    assert set(found.missing) | set(found.values) == {each.column.name for each in _RULES}
    assert all(len(bad) <= 80 for bad in found.bad.values())


_XML = words(r"""
<?xml version="1.0" encoding="utf-8"?>
<?xml version="1.0" encoding="utf-16"?>
<urlset>
</urlset>
<url><loc>
</loc></url>
<loc>http://a.example/%d</loc>
http://a.example/%d\n
<url>
<sitemapindex><sitemap><loc>
<rss><channel><item><link>
<entry><link href="/%d"/>
<x:url xmlns:x="u%d">
 a%d="1"
<!DOCTYPE a [
<!ENTITY a%d "&a;&a;">
]>
&a%d;
&amp;
&#%d;
<![CDATA[
]]>
<!--
-->
<a%d>
</a>
 xml:base="http://b.example/%d/"
\x1f\x8b\x08\0\0\0\0\0\0\3
\xff\xfe
\r
""")
_ROBOTS = words(r"""
User-agent: *\n
User-agent: fscrawl\n
Disallow: /\n
Disallow: /a*b*c$\n
Disallow: /%d\n
Allow: /*a\n
*a
$
%2f
%d
Crawl-delay: 9e999\n
Crawl-delay: -1\n
Request-rate: 1/10s\n
Request-rate: 0/0 0900-1700\n
Sitemap: http://a.example/%d\n
Visit-time: 99-99\n
#
:
\r
\x0c
?a/b%%3F/
\n
""")
_CODED = tuple(
    made
    for plain in (b"", b"abc" * 100, bytes(100_000))
    for made in (
        zlib.compress(plain, 9, 31), zlib.compress(plain, 9), zlib.compress(plain, 9, -15),
        brotli.compress(plain, quality=5), bodies.zstd.compress(plain),
        zlib.compress(zlib.compress(plain, 9, 31), 9, 31),
    )
)  # fmt: skip

TARGETS = (
    Target("links", lambda data: _links(data, "lexbor"), TAGS, _PAGES, options=10, corpus=_HTML),
    Target(
        "links-html5lib", lambda data: _links(data, "html5lib"), TAGS, _PAGES,
        options=10, reach=60_000, bytes_per_s=30_000, corpus=_HTML[:2],
    ),
    Target("html-limits", _limit_html, TAGS, _PAGES, corpus=_HTML),
    Target("text", _text, TAGS, _PAGES, corpus=_HTML),
    Target("language", _language, _LETTERS),
    Target("fields", _fields, TAGS, _PAGES, corpus=_HTML),
    Target("encoding", _encoding, TAGS, _PAGES, options=10, corpus=_HTML),
    Target("sniff", _sniff, (*TAGS, *(beginning for beginning, _ in media_types._BINARY), b"RIFF", b"ftyp")),
    Target("robots", _robots, _ROBOTS, corpus=("robots-real/*",)),
    Target("sitemaps", _sitemaps, _XML, options=2),
    Target("rss", _feeds, (*_XML, b"<guid>", b"isPermaLink=", b"rel='next'")),
    Target("srcset", _srcset, (b" ", b",", b"1x", b"2.5x", b"100w", b"a.png", b"data:,")),
    Target("bodies", _bodies, (*_CODED, b"\0\0\xff\xff", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08"), _CODED, options=8),
)  # fmt: skip
