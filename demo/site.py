"""The demo's web as a function from Request to Response: six hosts, with the oddities that crawlers meet.

| host       | what is there                                                                                        |
|------------|------------------------------------------------------------------------------------------------------|
| 127.0.0.11 | the front page; an index in pages linked by rel=next; canonical                                      |
| 127.0.0.12 | lighthouses: gzip; a robots.txt with a Crawl-delay and a part that is off limits                     |
| 127.0.0.13 | bridges: base href; the same page under several queries, with a canonical                            |
| 127.0.0.14 | Japanese teas in Shift_JIS; one page whose header names the wrong charset                            |
| 127.0.0.15 | Chinese teas in GBK, named by the page only                                                          |
| 127.0.0.16 | oddities: redirects, a loop, 404, a 503 that heals, a slow page, a PDF, 2,000 anchors, meta refresh  |
"""

from __future__ import annotations

import gzip
import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from demo.almanac import BRIDGES, CHINESE_TEAS, LIGHTHOUSES, TEAS, Entry
from demo.server import Request, Response

FRONT, LIGHTS, SPANS, JAPAN, CHINA, ODD = HOSTS = tuple(f"127.0.0.{n}" for n in range(11, 17))
PER_INDEX_PAGE = 5
ANCHORS = 2000

_Site = dict[tuple[str, str], Response]
_MISSING = Response(404, {"Content-Type": "text/html; charset=utf-8"}, b"<title>Not here</title><p>No such page.\n")
_UNWELL = Response(503, {"Content-Type": "text/plain", "Retry-After": "1"}, b"Back in a second.\n")
_ROBOTS = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 0.1\n"


class Site:
    """The pages. It remembers which temporary failures it has already shown."""

    def __init__(self) -> None:
        self._healed: set[str] = set()

    def __call__(self, request: Request) -> Response:
        if (request.host, request.path) == (ODD, "/unwell") and request.path not in self._healed:
            self._healed.add(request.path)
            return _UNWELL
        port = request.headers.get("host", "").partition(":")[2] or "80"
        return _site(port).get((request.host, request.path), _MISSING)


def seeds(port: int) -> list[str]:
    """Return the seeds: every page can be reached from them."""
    return [f"http://{FRONT}:{port}/"]


@cache
def _site(port: str) -> _Site:
    root = {host: f"http://{host}:{port}" for host in HOSTS}
    return _front(root) | _lighthouses(root) | _bridges(root) | _teas(root) | _oddities(root)


def _front(root: Mapping[str, str]) -> _Site:
    parts = ((LIGHTS, "Lighthouses"), (SPANS, "Bridges"), (JAPAN, "日本のお茶"), (CHINA, "中国茶"), (ODD, "Oddities"))
    site = {
        (FRONT, "/"): _page(
            "A small almanac",
            "Lights, bridges and leaves, from places far apart.",
            [*((f"{root[host]}/", title) for host, title in parts), ("/index/1", "Index")],
        )
    }
    entries = [
        *((f"{root[LIGHTS]}/{e.name}", e.title) for e in LIGHTHOUSES),
        *((f"{root[SPANS]}/spans/{e.name}", e.title) for e in BRIDGES),
    ]
    pages = range(0, len(entries), PER_INDEX_PAGE)
    for number, first in enumerate(pages, 1):
        after = f'<link rel="next" href="/index/{number + 1}">' if number < len(pages) else ""
        links = [*entries[first : first + PER_INDEX_PAGE]]
        if after:
            links.append((f"/index/{number + 1}", "Next page"))
        site[FRONT, f"/index/{number}"] = _page(f"Index, page {number}", "By kind.", links, head=after)
    return site


def _lighthouses(root: Mapping[str, str]) -> _Site:
    site = {
        (LIGHTS, "/"): _page(
            "Lighthouses",
            "Twenty lights. The lamp room is private, and robots.txt says so.",
            [*((f"/{e.name}", e.title) for e in LIGHTHOUSES), ("/private/lamp-room", "The lamp room")],
        ),
        (LIGHTS, "/private/lamp-room"): _page("The lamp room", "A polite crawler never reads this.", []),
        **_entries(LIGHTS, "/", LIGHTHOUSES, root),
    }
    site = {where: _zipped(page) for where, page in site.items()}
    return {**site, (LIGHTS, "/robots.txt"): Response(200, {"Content-Type": "text/plain"}, _ROBOTS)}


def _bridges(root: Mapping[str, str]) -> _Site:
    contents = [(e.name, e.title) for e in BRIDGES]  # relative to the base, not to the page
    base = '<base href="/spans/">'
    site = {(SPANS, "/"): _page("Bridges", "Twenty ways across.", [*contents, ("/?order=age", "By age")], head=base)}
    canonical = f'{base}<link rel="canonical" href="{root[SPANS]}/">'
    site[SPANS, "/?order=age"] = _page("Bridges", "Twenty ways across.", contents, head=canonical)
    return site | _entries(SPANS, "/spans/", BRIDGES, root)


def _teas(root: Mapping[str, str]) -> _Site:
    """Pages in Shift_JIS, also with a wrong charset in the header; and in GBK, which only the page itself names."""
    meta = '<meta charset="gbk">'
    japanese = [(f"/{e.name}", e.title) for e in TEAS] + [("/lying", "うそつき")]
    chinese = [(f"/{e.name}", e.title) for e in CHINESE_TEAS]
    lying = _page("うそつき", "見出しは UTF-8 ですが、本文は Shift_JIS です。", [("/", "戻る")], charset="shift_jis")
    return {
        (JAPAN, "/"): _page("日本のお茶", "十の茶。", japanese, charset="shift_jis"),
        **_entries(JAPAN, "/", TEAS, root, charset="shift_jis"),
        (JAPAN, "/lying"): Response(200, {"Content-Type": "text/html; charset=utf-8"}, lying.body),
        (CHINA, "/"): _page("中国茶", "十种茶。", chinese, charset="gbk", head=meta, named=False),
        **_entries(CHINA, "/", CHINESE_TEAS, root, charset="gbk", head=meta, named=False),
    }


def _oddities(root: Mapping[str, str]) -> _Site:
    anchors = "".join(f'<a href="#n{n}">{n}</a>\n' for n in range(ANCHORS))
    slow = _page("Slow", "It took a second.", [])
    refresh = '<meta http-equiv="refresh" content="0; url=/refreshed">'
    shown = {
        "/slow": Response(200, slow.headers, slow.body, delay_s=1.0),
        "/anchors": _page("Two thousand anchors", "All of them lead here.", [], body=anchors),
        "/refresh": _page("Moving on", "This page sends its reader to another.", [], head=refresh),
        "/moved": _redirect(301, "/here"),
        "/found": _redirect(302, f"{root[FRONT]}/"),
        "/chain": _redirect(301, "/chain/2"),
        "/loop": _redirect(302, "/loop/2"),
        "/unwell": _page("Well again", "The second visitor is let in.", []),
        "/leaflet.pdf": Response(200, {"Content-Type": "application/pdf"}, _pdf("A small almanac")),
    }
    hidden = {
        "/here": _page("Here", "The end of every redirect that ends.", []),
        "/chain/2": _redirect(302, "/chain/3"),
        "/chain/3": _redirect(301, "/here"),
        "/loop/2": _redirect(302, "/loop"),
        "/refreshed": _page("Refreshed", "Reached by meta refresh.", []),
        "/unendorsed": _page("Unendorsed", "Linked with rel=nofollow only.", []),
    }
    listed = [(path, path) for path in shown] + [("/missing", "A page that is not there")]
    unendorsed = '<a rel="nofollow" href="/unendorsed">unendorsed</a>'
    front = _page("Oddities", "What the wild web does.", listed, body=unendorsed)
    return {(ODD, path): page for path, page in ({"/": front} | shown | hidden).items()}


def _entries(
    host: str,
    below: str,
    entries: Sequence[Entry],
    root: Mapping[str, str],
    *,
    charset: str = "utf-8",
    head: str = "",
    named: bool = True,
) -> _Site:
    """Make a page for each entry, with links to the next one, to the host's front page and to the almanac's."""
    site = {}
    for entry, after in itertools.pairwise([*entries, entries[0]]):
        links = [(f"{below}{after.name}", after.title), ("/", "Contents"), (f"{root[FRONT]}/", "Almanac")]
        page = _page(entry.title, entry.text, links, charset=charset, head=head, named=named)
        site[host, f"{below}{entry.name}"] = page
    return site


def _page(
    title: str,
    text: str,
    links: Iterable[tuple[str, str]],
    *,
    charset: str = "utf-8",
    head: str = "",
    body: str = "",
    named: bool = True,
) -> Response:
    """Make an HTML page. `named`: whether the Content-Type header names the charset."""
    items = "".join(f'<li><a href="{html.escape(href)}">{html.escape(label)}</a>\n' for href, label in links)
    document = (
        f"<!DOCTYPE html>\n<html><head>{head}<title>{html.escape(title)}</title></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n<p>{html.escape(text)}</p>\n<ul>\n{items}</ul>\n{body}</body></html>\n"
    )
    kind = f"text/html; charset={charset}" if named else "text/html"
    return Response(200, {"Content-Type": kind}, document.encode(charset, "xmlcharrefreplace"))


def _zipped(page: Response) -> Response:
    return Response(page.status, {**page.headers, "Content-Encoding": "gzip"}, gzip.compress(page.body, mtime=0))


def _redirect(status: int, target: str) -> Response:
    return Response(status, {"Location": target})


def _pdf(text: str) -> bytes:
    """Make a PDF of one small page with this text and a correct cross-reference table."""
    stream = f"BT /F1 18 Tf 20 50 Td ({text}) Tj ET".encode()
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 240 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return data + start + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
