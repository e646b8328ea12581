"""Any bytes are a sitemap that lists something or nothing, and what is written as one is read as it was meant."""

import gzip
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.parse import bounded_xml, sitemaps
from fscrawl.parse.sitemaps import Sitemap, read
from fscrawl.urls import normalise
from tests.support.effort import tries

BASE = "http://a.example/sitemap.xml"

fragments = st.sampled_from(
    [
        *(b"<urlset>", b"<url>", b"<loc>", b"</loc>", b"</url>", b"<sitemap>", b"</sitemap>", b"<entry>", b"</entry>"),
        *(b"<item>", b"<link>", b"</link>", b"<link href='x' rel='", b"' xml:base='", b"'/>", b"<![CDATA[", b"]]>"),
        *(b"http://b.example/", b"&amp;", b"&#", b";", b"<!DOCTYPE x [", b"<!ENTITY a 'b'>", b"]>", b"<!--", b"-->"),
        *(b"<?xml version='1.0' encoding='", b"utf-16", b"'?>", b"\n", b"\xff\xfe", b"\x1f\x8b\x08", b"\0"),
    ]
)
soup = st.lists(fragments | st.binary(max_size=6), max_size=25).map(b"".join)
chars = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
references = st.lists(
    st.text(chars, max_size=12).map("/".__add__) | st.sampled_from(["http://b.example/x", "mailto:x"])
)


@given(soup, st.sampled_from([bytes, gzip.compress]), st.integers(0, 3), st.integers(0, 200))
@settings(deadline=None, max_examples=tries(600))
def test_any_bytes(body, pack, max_urls, max_bytes):
    """Any bytes give normal forms, each once, at most as many as wanted; and less read is a beginning of more read."""
    every = read(pack(body), BASE)
    for urls in (every.links, every.sitemaps):
        assert len(set(urls)) == len(urls)
        assert all(normalise(url) == url for url in urls)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sitemaps, "MAX_URLS", max_urls)
        few = read(pack(body), BASE)
    assert len(few.links) + len(few.sitemaps) <= max_urls
    assert few.links == every.links[: len(few.links)]
    assert few.truncated or few == every
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_xml, "MAX_BYTES", max_bytes)
        cut = read(pack(body), BASE)
    assert cut.truncated or cut == every


@given(soup.map(gzip.compress), st.integers(0, 200), st.binary(max_size=3))
@settings(deadline=None, max_examples=tries(300))
def test_damaged_gzip(body, position, damage):
    """Damage to gzip raises nothing."""
    assert isinstance(read(body[:position] + damage + body[position + len(damage) :], BASE), Sitemap)


@given(references, st.sampled_from(["utf-8", "utf-16", "gb18030"]), st.sampled_from([bytes, gzip.compress]))
@settings(deadline=None, max_examples=tries(300))
def test_as_written(references, encoding, pack):
    """What is written as a urlset, in any encoding, gzipped or not, is read as it was."""
    locs = "".join(f"<url><loc>{escape(reference)}</loc></url>" for reference in references)
    body = f"<?xml version='1.0' encoding='{encoding}'?><urlset>{locs}</urlset>".encode(encoding)
    expected = [normalise(reference.strip(), BASE) for reference in references]
    assert read(pack(body), BASE) == Sitemap(links=tuple(dict.fromkeys(filter(None, expected))))


@given(st.lists(st.integers(0, 99)), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(deadline=None, max_examples=tries(100))
def test_text_and_xml(numbers, end):
    """A list of URLs is the same as text and as XML."""
    urls = [f"http://a.example/{number}" for number in numbers]
    xml = "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"
    assert read(end.join(urls).encode(), BASE) == read(xml.encode(), BASE)
