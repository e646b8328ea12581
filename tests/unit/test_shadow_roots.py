"""Shadow roots in a page, as a server or a browser writes them down."""

from __future__ import annotations

import pytest

from fscrawl.parse.links import extract, readable
from fscrawl.parse.shadow_roots import opened
from fscrawl.parse.text import visible
from fscrawl.urls import Joiner

OPEN = '<template shadowrootmode="open">'
END, BEGIN_ROOT, END_ROOT = "</template>", "<shadow-root>", "</shadow-root>"


@pytest.mark.parametrize(
    "page",
    [
        "<x-a>T:a</T></x-a>",
        "<body>T:a</T>b",
        "<p>light<br>T:a</T>",
        "<div>T:a<p>T:b</T></p></T>c</div>",
        "<div>T:a<x-a>T:<template>b</template></T></x-a></T><section>T:c</T></section></div>",
        "<div>T:<b>a</T></div>b",
        "<div><template>a</template>T:b</T></div>",
        "<svg><foreignObject><x-a>T:a</T></x-a></foreignObject></svg>",
        "<div><script>'</template>'</script><!--</template>-->T:<style></template></style>b</T></div>",
        "<div title='</template>'>T:a<i title='</template>'>b</i></T></div>",
        "<title></template></title><h1>T:a",
        "</template><div>T:a</T></template>",
    ],
)
@pytest.mark.parametrize(
    "template",
    [
        OPEN,
        "<TEMPLATE ShadowRootMode=CLOSED>",
        "<template class='>'shadowrootmode = 'open' shadowrootmode=x>",
        "<template\nshadowrootdelegatesfocus shadowrootmode=open\t>",
    ],
)
def test_roots(page: str, template: str) -> None:
    """The first template of an element that can have one is its root, nested ones too, however they are written."""
    written = page.replace("T:", template).replace("</T>", "</Template >")
    assert opened(written.encode()).decode() == page.replace("T:", BEGIN_ROOT).replace("</T>", END_ROOT)


@pytest.mark.parametrize(
    "page",
    [
        "<p style='text-shadow:none'>a<template>b</template>",
        *(f"<{tag}>T:a</T></{tag}>" for tag in ("a", "ul", "li", "button", "form", "template", "svg", "html", "head")),
        "<div><table>T:a</T><tr>T:a</T></table></div>",
        "<div><select>T:a</T></select></div>",
        "<template><div>T:a</T></div></template>",
        "<svg><x-a>T:a</T></x-a></svg>",
        "<div><template shadowrootmode=opened>a</T><template shadowrootmode>a</T><template a-shadowrootmode=open>a</T>",
        "<div><template shadowrootmode=open/>a</T></div>",
        "<script>'<div>T:'</script><textarea><div>T:</textarea><!-- <div>T: --><div title='T:'><iframe>T:</iframe>",
        "<div><plaintext>T:",
        "T:a</T><div></div>",
    ],
)
def test_what_is_no_root(page: str) -> None:
    """A template in an element that can have no root, one of another kind, and text stay as they are."""
    written = page.replace("T:", OPEN).replace("</T>", END).encode()
    assert opened(written) == written


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<div>T:a</T>T:b<p>c</p></T></div>T:d</T>", "<div>R:a</R>T:b<p>c</p></T></div>R:d</R>"),
        ("<div><p>a</p>T:a</T><p>T:b</T></p>T:c</T></div>", "<div><p>a</p>R:a</R><p>R:b</R></p>T:c</T></div>"),
        ("<x-a>T:T:a</T></T></x-a>", "<x-a>R:T:a</T></R></x-a>"),
    ],
)
def test_one_root(page: str, seen: str) -> None:
    """Only the first template of an element is a root, and a root itself has none."""
    seen = seen.replace("R:", BEGIN_ROOT).replace("</R>", END_ROOT)
    page, seen = (each.replace("T:", OPEN).replace("</T>", END) for each in (page, seen))
    assert opened(page.encode()) == seen.encode()


@pytest.mark.parametrize("parser", ["lexbor", "html5lib"])
@pytest.mark.parametrize("follow", [None, frozenset({"a", "img"})])
def test_they_are_parts_of_the_page(parser: str, follow: frozenset[str] | None) -> None:
    """Links and texts of a shadow root are those of the page; what stands beside it in its host stays."""
    page = b"<title>t</title><p>T:<a href=1>1</a><template href=x><a href=x>x</a></template></template><a href=2>2</a>"
    page = page.replace(b"T:", OPEN.encode())
    found = extract(page, "http://a.example/", Joiner(), parser=parser, follow=follow)
    assert (found.title, found.links) == ("t", ("http://a.example/1", "http://a.example/2"))
    assert visible(readable(page, "utf-8", "text/html")) == "12"


def test_what_is_no_page() -> None:
    """In JSON and in XML no template is a root."""
    page = f"<div>{OPEN}a{END}</div>".encode()
    for text, content_type in ((b'"%s"' % page, "application/json"), (page, "text/plain"), (page, "application/xml")):
        assert readable(text, "utf-8", content_type) == text
    xhtml = b'<html xmlns="http://www.w3.org/1999/xhtml">%s</html>' % page
    assert visible(readable(xhtml, "utf-8", "application/xhtml+xml")) == ""


@pytest.mark.parametrize(
    "text", ["<!--", "<script", "<template", "<template>", "<plaintext><!--", "</template>", "<a ='", '<a b="']
)
def test_endless_beginnings(text: str) -> None:
    """A megabyte of what looks like the beginning of something takes no time that anybody would notice."""
    page = f"<p>{OPEN}a</template>".encode() + text.encode() * (1_000_000 // len(text))
    found = opened(page)
    is_deep = (
        text == "<template>"
    )  # on a busy computer, the guard of `trees` stops so deep a tree: then no root is found
    assert found.startswith(b"<p><shadow-root>a</shadow-root>") or (is_deep and found == page)
