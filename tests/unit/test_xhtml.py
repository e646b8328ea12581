"""Pages that are XML."""

from __future__ import annotations

import pytest

from fscrawl.parse.encoding import sniff_encoding
from fscrawl.parse.links import extract, readable
from fscrawl.parse.text import Text, read
from fscrawl.parse.xhtml import as_html
from fscrawl.sites.site import Answer
from fscrawl.urls import Joiner

TYPE = "application/xhtml+xml"
URL = "http://a.example/"
NAMES = (
    'xmlns="http://www.w3.org/1999/xhtml" xmlns:h="http://www.w3.org/1999/xhtml" '
    'xmlns:svg="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"'
)
DTD = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'


def body(content: str, *, before: str = "") -> bytes:
    return f"{before}<html {NAMES}>{content}</html>".encode()


@pytest.mark.parametrize("parser", ["lexbor", "html5lib"])
@pytest.mark.parametrize(
    ("content", "links"),
    [
        ("<head><title/><script src='a.js'/><style/></head><body><textarea/><a href='1'/><iframe/></body>", ["1"]),
        ("<noscript/><select/><h:a href='1'>x</h:a><h:div/><h:area href='2'/>", ["1", "2"]),
        ("<h:head><h:base href='/b/'/><h:link rel='next' href='1'/></h:head>", ["b/1"]),
        ("<a href='?a=1&amp;b=&eacute;'/><script><![CDATA[<a href='x'>]]></script>", ["?a=1&b=%C3%A9"]),
        ("<svg:svg><svg:a l:href='1'/><svg:a href='2' l:href='x'/><svg:title/></svg:svg><svg:a l:href='3'/>", "123"),
        ("<A href='x'/><a HREF='x'/><x:a xmlns:x='urn:x' href='x'/><a xmlns='urn:x' href='x'/><a href='1'/>", "1"),
        ("<h:title><a href='x'/></h:title><template><a href='x'/></template><a h:href='x'/><a href='1'/>", "1"),
        ("<br>x<a href='1'/></br><p><!-- <a href='x'/> --><?php <a href='x'/> ?></p>", "1"),
    ],
)
def test_links(content: str, links: list[str], parser: str) -> None:
    """Empty elements, prefixes, namespaces and CDATA are those of XML; names are in lower case."""
    found = extract(body(content), URL, Joiner(), content_type=f"{TYPE}; charset=utf-8", parser=parser)
    assert found.links == tuple(URL + each for each in links)


def test_all_see_the_same() -> None:
    """Title, text, language and selectors are of the same tree as the links."""
    content = """<head><title>A&nbsp;<![CDATA[<b>]]></title><script src='a.js'/></head><body><p>a<br/>&copy;b<div/>c</p>
        <h:p class='x'>d&amp;lt;</h:p><svg:svg><svg:title>e</svg:title></svg:svg><plaintext>f</plaintext>g</body>"""
    page = body(content, before=DTD).replace(b"<html ", b"<html lang='x' xml:lang='de' ")
    assert extract(page, URL, Joiner(), content_type=TYPE).title == "A <b>"
    assert read(readable(page, "utf-8", TYPE)) == Text("a\n©b\nc\nd&lt;\nf\ng", "de")
    assert Answer(URL, page, headers={"content-type": TYPE}).css("p.x") == ["d&lt;"]


def test_encodings() -> None:
    """What the page, or its server, says of its encoding holds; the XML is read as it was decoded."""
    page = '<?xml version="1.0" encoding="iso-8859-1"?>\n' + body("<title/><a href='1'>é</a>").decode()
    for written, header in ((page.encode("latin-1"), TYPE), (page.encode("utf-16"), f"{TYPE};charset=utf-16")):
        assert extract(written, URL, Joiner(), content_type=header).links == (URL + "1",)
        assert read(readable(written, sniff_encoding(written, header), header)).text == "é"


def test_a_meta_element_declares_nothing() -> None:
    """XML without a declaration is UTF-8 for all that look into it: a meta element says nothing, nothing is guessed."""
    latin1 = body("<head><meta charset='latin1'/></head><a href='1'>é</a>").replace("é".encode(), b"\xe9")
    for page, seen in ((body("<head><meta charset='koi8-r'/></head>é"), "é"), (latin1, "\ufffd")):
        found = extract(page, URL, Joiner(), content_type=TYPE)
        assert (found.encoding, found.encoding_source) == ("utf-8", "declared")
        asked = Answer(URL, page, headers={"content-type": TYPE})
        assert asked.encoding == "utf-8"
        assert seen in asked.text
        assert read(readable(page, sniff_encoding(page, TYPE), TYPE)).text == seen


@pytest.mark.parametrize(
    "page",
    [
        body("<script src='x'/><style a='b' /><p>a<br><a href=1>b</a>"),
        body("<title/><a href='1'>&unknown;</a>"),
        body("<title/><z:a/><a href='1'/>"),
        f"<html><script/>{DTD}<a href='1'/></html>".encode(),
        b"<script/><a href='1'/>",
        body("<script/>" + "<b>" * 300 + "<a href='1'/>" + "</b>" * 300),
        body("<script/><a href='1'>&a;</a>", before="<!DOCTYPE a [<!ENTITY b 'x'><!ENTITY a '&#38;b;&#38;b;'>]>"),
        body("<script/><a href='1'>&a;</a>", before="<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"),
        body("<script/><a href='1'>&a;</a>", before="<!DOCTYPE a [<!ENTITY % p 'x'>%p;]>"),
        body("<script/><a href='1'/>", before="<!DOCTYPE a [<!ATTLIST b c CDATA 'd'>]>"),
    ],
)
def test_what_is_not_read_as_xml(page: bytes) -> None:
    """A page that is not well-formed, no XHTML or dangerous is read as HTML, and loses no links."""
    assert extract(page, URL, Joiner(), content_type=TYPE).links == (URL + "1",)


def test_entities_of_its_own() -> None:
    """A short text that a page declares is expanded."""
    page = body("<a href='&a;'>&a;</a>", before="<!DOCTYPE html [<!ENTITY a 'b&#233;'><!ELEMENT x ANY>]>")
    assert b'<a href="b\xc3\xa9">b\xc3\xa9</a>' in as_html(page)


@pytest.mark.parametrize("name", ["a", "é", "a.b-c_"])
@pytest.mark.parametrize("content", ["{}", "<p title='{}'/>"])
def test_entities_that_grow(name: str, content: str) -> None:
    """What a page declares at most doubles it; a page that would become longer is read as HTML."""
    before = f"<!DOCTYPE html [<!ENTITY {name} '{'x' * 100}'>]>"
    few, many = (body(content.format(f"&{name};" * number), before=before) for number in (600, 20_000))
    assert as_html(few).count(b"x" * 100) == 600
    assert as_html(many) == many


@pytest.mark.parametrize(
    "content",
    [
        "<p " + " ".join(f"xmlns:a{number}='u'" for number in range(200)) + ">",
        "<a xmlns:x='" + "u" * 500_000 + "' " + " ".join(f"x:a{number}=''" for number in range(30_000)) + "/>",
        "<![CDATA[" * 50_000,
        "<!--" * 50_000,
        "&amp" * 50_000,
        "&" + "a" * 500_000 + "&b c;" * 50_000,
    ],
)
def test_bombs(content: str) -> None:
    """What could take much memory or time does not."""
    assert len(as_html(body(content))) < 2_000_000
