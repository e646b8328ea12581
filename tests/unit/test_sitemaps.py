"""Which URLs a sitemap lists, whatever it is written in."""

import gzip
import time
import tracemalloc

import pytest

from fscrawl.parse import bounded_xml, sitemaps
from fscrawl.parse.sitemaps import Sitemap, read
from fscrawl.urls import MAX_URL_CHARS

BASE = "http://a.example/dir/sitemap.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def url(name):
    return f"http://a.example/{name}"


def urlset(*names):
    return "<urlset>" + "".join(f"<url><loc>{url(name)}</loc></url>" for name in names) + "</urlset>"


def pages(*names, truncated=False, too_long=0):
    return Sitemap(links=tuple(url(name) for name in names), truncated=truncated, too_long=too_long)


def given(text):
    return read(text if isinstance(text, bytes) else text.encode(), BASE)


# XML


@pytest.mark.parametrize(
    "start",
    [
        "<urlset>",
        f"<urlset {NAMESPACE}>",
        f"<?xml version='1.0' encoding='UTF-8'?>\n<!-- made by hand --><urlset {NAMESPACE}>",
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>",
        "<!DOCTYPE urlset SYSTEM 'http://b.example/urlset.dtd'><urlset>",
        "<?xml version='1.1' standalone='yes'?><urlset>",
        " \r\n\ufeff<?xml version='1.0'?><urlset>",
        "\0" * 70_000 + "<?xml version='1.0'?><urlset>",
    ],
)
def test_urlset(start):
    """A urlset lists pages, in its order, in any namespace or none, and whatever stands before it."""
    body = start + "<url>\n<lastmod>2024-01-01</lastmod><loc> http://a.example/2\n</loc></url>" + urlset("1")[8:]
    assert given(body) == pages("2", "1")


def test_prefixes():
    """A namespace's prefix is no part of a name, declared or not."""
    assert given("<s:urlset><s:url><s:loc>http://a.example/1</s:loc></s:url></s:urlset>") == pages("1")


def test_extensions():
    """Images, videos and translations of a page are no pages of the sitemap."""
    more = "<image:image><image:loc>http://a.example/i</image:loc></image:image><xhtml:link href='http://a.example/x'/>"
    assert given(f"<urlset><url><loc>http://a.example/1</loc>{more}</url></urlset>") == pages("1")


def test_sitemapindex():
    """A sitemapindex lists sitemaps."""
    body = "<sitemapindex><sitemap><loc>http://a.example/1.xml.gz</loc></sitemap></sitemapindex>"
    assert given(body) == Sitemap(sitemaps=(url("1.xml.gz"),))


def test_both():
    """Who mixes pages and sitemaps is understood."""
    body = "<x><sitemap><loc>http://a.example/s</loc></sitemap><url><loc>http://a.example/p</loc></url></x>"
    assert given(body) == Sitemap(links=(url("p"),), sitemaps=(url("s"),))


def test_normal_forms():
    """URLs are normal forms, each once, relative ones by the sitemap's URL; those that are not of the web are none."""
    locs = ["HTTP://A.example:80/x/../1#top", "http://a.example/1", "2", "//b.example", "", " ", "mailto:a@b.example"]
    locs += ["ftp://a.example/", "http://[", "http://a.example/" + "x" * MAX_URL_CHARS, "x" * 20_000, "/é"]
    body = "<urlset>" + "".join(f"<url><loc>{loc}</loc></url>" for loc in locs) + "</urlset>"
    assert given(body).links == (url("1"), url("dir/2"), "http://b.example/", url("%C3%A9"))


@pytest.mark.parametrize(
    "loc",
    [
        "http://a.example/?a=1&amp;b=2",
        "http://a.example/?a=1&#38;b=2",
        "http://a.example/?a=1&#x26;b=2",
        "<![CDATA[http://a.example/?a=1&b=2]]>",
        "\n<![CDATA[ http://a.example/]]>?a=1&amp;<!-- c --><![CDATA[b=2]]>",
    ],
)
def test_references(loc):
    """Character references and CDATA are read as XML has them."""
    assert given(f"<urlset><url><loc>{loc}</loc></url></urlset>") == pages("?a=1&b=2")


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ("<?xml version='1.0'?>", "utf-16le"),
        ("<?xml version='1.0' encoding='UTF-16'?>", "utf-16be"),
        ("<?xml version='1.0' encoding='utf-8'?>", "utf-16"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?>", "cp1252"),
        ("<?xml version='1.0' encoding='Shift_JIS'?>", "cp932"),
        ("<?xml version='1.0' encoding='gb2312'?>", "gb18030"),
        ("<?xml version='1.0' encoding='x-nonsense'?>", "utf-8"),
        ("\n<?xml version='1.0' encoding='gbk'?>", "gb18030"),
    ],
)
def test_encodings(declared, codec):
    """A sitemap is read in its encoding, by its byte order mark or its declaration, multi-byte ones too."""
    text = "ツ" if codec != "cp1252" else "é"
    assert given((declared + urlset(text)).encode(codec)) == given(urlset(text)) != pages(truncated=True)


def test_encoding_of_http():
    """The charset of HTTP counts before the XML declaration (RFC 7303, 3), for a text sitemap, too."""
    of_japan = bytes.fromhex("8363 8740")
    for body in (b"<?xml version='1.0' encoding='utf-8'?><urlset><url><loc>%b</loc></url></urlset>", b"%b"):
        given_in = body % (b"http://a.example/" + of_japan)
        assert read(given_in, BASE, content_type="text/plain; charset=Shift_JIS") == pages("%E3%83%84%E2%91%A0")


def test_undecodable():
    """A byte that cannot be decoded breaks nothing but its URL."""
    assert given(b"<urlset><url><loc>http://a.example/\xff</loc></url>" + urlset("1").encode()[8:]) == pages(
        "%EF%BF%BD", "1"
    )


@pytest.mark.parametrize(
    "rest", ["", "<url", "<url><loc>http://a.example/3", "<url><loc>http://a.example/?a&b</loc></url>", "</x>", "\x01"]
)
def test_broken(rest):
    """XML that breaks gives what stood before the break."""
    assert given(urlset("1", "2").removesuffix("</urlset>") + rest) == pages("1", "2", truncated=True)


def test_junk_after():
    """What follows the sitemap takes nothing from it."""
    assert given(urlset("1") + "</body>") == pages("1", truncated=True)


@pytest.mark.parametrize("text", ["<!DOCTYPE html><html><p>Not found<br></html>", "<", "<html><a href=/1>x</a></html>"])
def test_no_sitemap(text):
    """A page that is no sitemap lists nothing."""
    assert (given(text).links, given(text).sitemaps) == ((), ())


# What XML can do to its reader


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://b.example/x.dtd"> %a;',
        '<!ATTLIST url xml:base CDATA "http://b.example/">',
    ],
)
def test_declarations(subset):
    """A document that declares entities or attributes of its own is refused."""
    body = f"<!DOCTYPE urlset [{subset}]>{urlset('&a;', '1')}"
    assert given(body) == pages(truncated=True)


def test_undeclared_entities():
    """An entity of HTML breaks nothing, and stays in a URL as it was written."""
    item = "<title>a&nbsp;b</title><link>http://a.example/?a=1&copy;=2</link>"
    assert given(f"<rss><channel><item>{item}</item></channel></rss>") == pages("?a=1&copy;=2")


@pytest.mark.parametrize(
    "more",
    [
        "<a>" * 1_000_000,
        "<a b='" + "x" * 4_000_000,
        "<!--" + "x" * 4_000_000,
        "".join(f"<n{n}/>" for n in range(300_000)),
    ],
    ids=lambda more: more[:5],
)
def test_hostile_xml(more):
    """What would make the parser remember or repeat without bound ends the reading."""
    began = time.process_time()
    body = urlset("1").removesuffix("</urlset>") + more
    assert given(body) == pages("1", truncated=True)
    assert time.process_time() - began < 3


def test_short_references_to_long_urls():
    """A reference whose URL is too long is counted like one that is too long itself."""
    assert given(urlset("ä" * 400, "1")) == pages("1", too_long=1)


def test_long_text():
    """A text longer than any URL is none, and the next is read."""
    body = urlset("x" * 200_000, "1").replace("<loc>", "<loc><![CDATA[").replace("</loc>", "]]></loc>")
    assert given(body) == pages("1", too_long=1)


# Feeds


def test_rss():
    """An RSS feed lists its items' links, not its site's."""
    items = "<item><title>x</title><link>http://a.example/1</link><guid>http://a.example/g</guid></item>"
    body = f"<rss version='2.0'><channel><link>http://a.example/</link>{items}</channel></rss>"
    assert given(body) == pages("1")


def test_rss_1():
    """The items of RSS 1.0 stand beside the channel."""
    body = "<rdf:RDF><channel><link>http://a.example/</link></channel><item><link>http://a.example/1</link></item>"
    assert given(body + "</rdf:RDF>") == pages("1")


def test_atom():
    """An Atom feed lists what its entries link to as themselves, not what belongs to them."""
    links = "<link href='/1'/><link rel='Alternate' href='2'/><link rel='self' href='3'/><link/>"
    body = f"<feed xmlns='http://www.w3.org/2005/Atom'><link href='/'/><entry>{links}</entry></feed>"
    assert given(body) == pages("1", "dir/2")


def test_xml_base():
    """Relative links are relative to the nearest xml:base that is a URL."""
    entries = "<entry xml:base='b/'><link href='1'/></entry><entry xml:base='mailto:x'><link href='2'/></entry>"
    assert given(f"<feed xml:base='/a/'>{entries}</feed>") == pages("a/b/1", "a/2")


# Text


def test_text():
    """A text sitemap has one URL a line, however lines end; a line that is no absolute URL is none."""
    body = (
        "\ufeff\nhttp://a.example/1\r\n HTTP://A.example/2 \rhttp://a.example/1\n\n# x\nsorry\n/3\nhttp://a.example/4"
    )
    assert given(body) == pages("1", "2", "4")


def test_text_in_utf_16():
    """A byte order mark tells the encoding of text, too."""
    assert given("http://a.example/ツ\n".encode("utf-16")) == pages("%E3%83%84")


def test_text_lines():
    """Lines of any length, across any pieces, are read as lines."""
    long = "http://a.example/" + "x" * 200_000
    names = [str(n) for n in range(20_000)]
    assert given("\n".join([long, *map(url, names), long])) == pages(*names, too_long=2)


@pytest.mark.parametrize("body", [b"", b" \n", b"\xef\xbb\xbf", b"\0", gzip.compress(b"", mtime=0)])
def test_empty(body):
    """Nothing lists nothing, and is whole."""
    assert given(body) == pages()


# Limits


def test_max_urls(monkeypatch):
    """Reading ends where one URL more than the limit would be found, of pages and sitemaps together."""
    monkeypatch.setattr(sitemaps, "MAX_URLS", 2)
    assert given(urlset("1", "2", "1")) == pages("1", "2")
    assert given(urlset("1", "2", "3")) == pages("1", "2", truncated=True)
    monkeypatch.setattr(sitemaps, "MAX_URLS", 1)
    body = f"<x><sitemap><loc>http://a.example/s</loc></sitemap>{urlset('1')}</x>"
    assert given(body) == Sitemap(sitemaps=(url("s"),), truncated=True)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_max_bytes(pack, monkeypatch):
    """What lies beyond the limit is not read, and a URL that it cuts is none."""
    xml, text = urlset("1", "234").encode(), f"{url('1')}\n{url('234')}\n".encode()
    for body, max_bytes, found in (
        (xml, len(xml), pages("1", "234")),
        (xml, xml.index(b"34"), pages("1", truncated=True)),
        (text, len(text) - 2, pages("1", truncated=True)),
    ):
        monkeypatch.setattr(bounded_xml, "MAX_BYTES", max_bytes)
        assert given(pack(body)) == found


# gzip


def test_gzip():
    """A gzipped sitemap is inflated, members that are joined are one, and padding after them is none."""
    body = urlset("1", "2").encode()
    packed = gzip.compress(body[:30]) + gzip.compress(b"", mtime=0) + gzip.compress(body[30:])
    assert given(gzip.compress(body)) == given(packed) == given(packed + b"\0\0") == pages("1", "2")


def test_gzip_cut():
    """A gzip file that ends early gives what there is."""
    packed = gzip.compress(urlset(*map(str, range(1000))).encode())
    found = given(packed[: len(packed) // 2])
    assert found == pages(*map(str, range(len(found.links))), truncated=True)
    assert 100 < len(found.links) < 1000
    assert given(packed[:5]) == pages(truncated=True)


def test_gzip_damaged():
    """A gzip file with an error in it gives what stands before the error."""
    packed = gzip.compress(urlset(*map(str, range(1000))).encode())
    assert given(packed[:-8] + bytes(8)) == pages(*map(str, range(1000)), truncated=True)
    found = given(packed[: len(packed) // 2] + b"\xff" * 100)
    assert found.truncated
    assert len(found.links) > 100


@pytest.mark.gate
def test_bomb():
    """A bomb is inflated up to the limit, a piece at a time: what is in memory is far less than the limit."""
    bomb = gzip.compress(urlset("1").removesuffix("</urlset>").encode() + b" " * 60_000_000, compresslevel=1)
    tracemalloc.start()
    try:
        assert given(bomb) == pages("1", truncated=True)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_empty_members():
    """A gzip file of very many empty members is given up."""
    began = time.process_time()
    assert given(gzip.compress(b"", mtime=0) * 500_000 + gzip.compress(urlset("1").encode())) == pages(truncated=True)
    assert time.process_time() - began < 3
