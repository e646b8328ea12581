"""What encoding a page of a crawl was read with, who said so, and how its queries are asked for."""

from __future__ import annotations

import json
from pathlib import Path

import fscrawl as library
from tests.support.crawling import crawl, fscrawl, pages
from tests.support.web import Request, Response, Web

HOST = "127.0.5.21"
BODIES = {
    "/": ("text/html; charset=utf-8", b"".join(b"<a href=%d>" % n for n in range(1, 6))),
    "/1": ("text/html", b"<meta charset=euc-jp><title>\xad\xea\xa1\xc1</title><a href='?q=\xad\xea\xa1\xc1'>"),
    "/2": ("text/html", "<title>Voilà</title><p>Voilà la page.</p>".encode("cp1252")),
    "/3": ("text/html", b" " * 1100 + "<meta charset=iso-2022-jp><title>漢字</title>".encode("iso2022_jp")),
    "/4": ("application/rss+xml; charset=iso-8859-1", b"<rss><channel><title>\xe9</title></channel></rss>"),
    "/5": ("text/html", "<title>天气</title><p>这是一个关于天气的网页。".encode("gbk")),
}


def answer(request: Request) -> Response:
    type_, body = BODIES.get(request.path, ("text/html", b""))
    return Response(200, {"Content-Type": type_}, body)


def test_encodings(root: Path) -> None:
    """Declared encodings, late ones too, and guesses are told apart in the record, by the commands and in Python."""
    with Web(answer, [HOST]) as web:
        settings = {"fetch.accept": ["text/html", "application/rss+xml"]}
        assert crawl(root, seeds=[web.url(HOST)], settings=settings).code == 0
        asked = {each.path for each in web.requests(HOST)}
        tried = fscrawl("try", web.url(HOST, "/2"), "--root", root, "--json")
    assert "/1?q=%AD%EA%A1%C1" in asked
    start = web.url(HOST, "/")
    found = {url.removeprefix(start): each for url, each in pages(root).items() if "?" not in url}
    assert {name: (each.encoding, each.encoding_source, each.title) for name, each in found.items()} == {
        "": ("utf-8", "declared", None),
        "1": ("euc-jp", "declared", "㈱～"),
        "2": ("windows-1252", "guessed", "Voilà"),
        "3": ("iso-2022-jp", "declared", "漢字"),
        "4": (None, None, "é"),
        "5": ("gbk", "guessed", "天气"),
    }
    assert json.loads(tried.out)["encoding_source"] == "guessed"
    assert "encoding  windows-1252, guessed\n" in fscrawl("show", start + "2", "--root", root).out
    page = library.open(root).page(start + "2")
    assert page is not None
    assert page.encoding_source == "guessed"
