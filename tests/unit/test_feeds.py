"""The links of feeds."""

import pytest

from fscrawl.parse import documents
from fscrawl.parse.feeds import read
from fscrawl.urls import Joiner

URL = "http://a.example/feeds/news.xml"


def page_of(body, header=None, robots_tag=None):
    return documents.page_of(read(body, header), URL, Joiner(), robots_tag=robots_tag)


def links(body):
    return [url.removeprefix("http://a.example") for url in page_of(body).links]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"<rss><channel><link>/</link><item><link>a</link></item></channel></rss>", ["/", "/feeds/a"]),
        (b"<rss><channel><item><guid>http://a.example/g</guid></item></channel></rss>", ["/g"]),
        (b"<rss><channel><item><guid isPermaLink='true'>http://a.example/g</guid></item></channel></rss>", ["/g"]),
        (b"<rss><channel><item><guid isPermaLink='false'>http://a.example/g</guid></item></channel></rss>", []),
        (b"<rss><channel><item><guid>tag:1</guid></item></channel></rss>", []),
        (b"<rss><channel><item><enclosure url='/e.mp3'/></item></channel></rss>", []),
        (b"<rdf:RDF xmlns:rdf='r'><item><link>/a</link></item></rdf:RDF>", ["/a"]),
        (b"<feed><link href='/self' rel='self'/><link href='/next' rel='NEXT'/></feed>", ["/next"]),
        (b"<feed><entry><link href='/a'/><link rel='enclosure' href='/e'/></entry></feed>", ["/a"]),
        (b"<feed xml:base='/x/'><entry xml:base='y/'><link href='z'/></entry></feed>", ["/x/y/z"]),
        (b"<feed xml:base='http://[x/'><entry><link href='z'/></entry></feed>", ["/feeds/z"]),
        (b"<feed><entry><content><link>/a</link></content></entry></feed>", []),
        (b"<html><body><a href='/a'/><link>/b</link></body></html>", []),
        (b"<rss><channel><item><link>/a</link></item><item><link>/b", ["/a"]),
        (b"<rss><channel><item><link> </link><link>mailto:x</link></item></channel></rss>", []),
        (b"{}", []),
        (b"", []),
    ],
)
def test_links(body, found):
    """Links of the feed, of its items and entries, and its next page, are found; files and other XML have none."""
    assert links(body) == found


def test_title():
    """The title is that of the feed, not of an item."""
    body = b"<rss><channel><item><title>no</title></item><title> The \n news </title><title>x</title></channel></rss>"
    assert page_of(body).title == "The news"


@pytest.mark.parametrize(
    ("head", "header", "title"),
    [
        (b"", "text/xml; charset=iso-8859-1", "\u00a4\u00a2"),
        (b"<?xml version='1.0' encoding='iso-8859-1'?>", "application/rss+xml; charset=euc-jp", "あ"),
        (b"<?xml version='1.0' encoding='euc-jp'?>", "application/rss+xml", "あ"),
        (b"<?xml version='1.0' encoding='euc-jp'?>", None, "あ"),
        (b"", None, "\ufffd\ufffd"),
    ],
)
def test_encoding(head, header, title):
    """The charset of HTTP counts before the XML declaration (RFC 7303, 3)."""
    body = head + b"<rss><channel><title>\xa4\xa2</title></channel></rss>"
    assert page_of(body, header).title == title


def test_robots():
    """X-Robots-Tag holds for a feed: its links are not to be followed."""
    page = page_of(b"<rss><channel><link>/a</link></channel></rss>", robots_tag="nofollow")
    assert (page.links, page.nofollow, page.robots) == ((), ("http://a.example/a",), ("nofollow",))


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE rss [<!ENTITY a 'aaaa'>]><rss><channel><link>/&a;</link></channel></rss>",
        b"<!DOCTYPE rss [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><rss><channel><link>/&a;</link></channel></rss>",
        b"<a>" * 10_000,
    ],
)
def test_dangerous(body):
    """Declarations of entities and deep nesting end the reading."""
    page = page_of(body)
    assert (page.links, page.truncated) == ((), True)


def test_many_links(monkeypatch):
    """No more links are kept than of a page, and the record says that there were more."""
    monkeypatch.setattr(documents, "MAX_LINKS", 3)
    body = b"<rss>" + b"".join(b"<item><link>/%d</link></item>" % n for n in range(5))
    page = page_of(body + b"</rss>")
    assert (len(page.links), page.truncated) == (3, True)


def test_long_references():
    """A reference that is too long is counted, and a text without end is not kept."""
    body = (
        b"<rss><channel><link>/"
        + b"a" * 3000
        + b"</link><item><link>"
        + b"b" * 10**6
        + b"</link></item></channel></rss>"
    )
    page = page_of(body)
    assert (page.links, page.too_long) == ((), 2)


def test_links_of_many_characters():
    """All references together have no more characters than the links of a page."""
    body = b"<rss>" + b"".join(b"<item><link>/%d%s</link></item>" % (n, b"x" * 1900) for n in range(5000)) + b"</rss>"
    page = page_of(body)
    assert page.truncated
    assert sum(map(len, page.links)) <= 8_000_000


def test_a_base_that_is_too_long():
    """A base that would make long URLs of short references is left out."""
    body = b"<feed xml:base='/" + b"x" * 10_000 + b"/'><entry><link href='a'/></entry></feed>"
    assert links(body) == ["/feeds/a"]
