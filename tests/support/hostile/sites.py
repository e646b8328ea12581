"""Sites that mean harm: traps without end, strange statuses, robots.txt and sitemaps."""

from __future__ import annotations

import gzip
import zlib

from tests.support.hostile.answers import send_bomb
from tests.support.hostile.cases import (
    HTML,
    OK,
    PREFIXES,
    ROBOTS,
    WILD_ADDRESSES,
    Call,
    Serve,
    add,
    answer,
    case,
    drip,
    flood,
    made,
    moved,
    once,
    page,
    xml,
)
from tests.support.raw import ok

# -- traps: sites without end


def _calendar(call: Call) -> bool:
    year, month = map(int, call.path.split("/")[2:])
    after = f"{year + month // 12}/{month % 12 + 1}"
    return answer(page(f"<title>{year}-{month}</title><a href=/calendar/{after}>next month</a>"))(call)


def _session(call: Call) -> bool:
    number = int(call.path.rpartition("=")[2])
    links = "".join(f"<a href='/session?sid={2 * number + n}'>x</a>" for n in (1, 2))
    return answer(page(f"<title>welcome</title>{links}"))(call)


def _deeper(segments: str) -> Serve:
    names = segments.split("/")

    def serve(call: Call) -> bool:
        depth = call.path.count("/") - 2
        name = names[depth % len(names)] if segments != "1" else str(depth + 1)
        return answer(page(f"<title>deeper</title><a href='{name}/'>x</a>"))(call)

    return serve


def _wild_name(call: Call) -> bool:
    number = int(call.path.rpartition("/")[2])
    links = "".join(f"<a href='http://{n}.wild.test:{call.port}/wild-name/{n}'>x</a>" for n in (number + 1, number + 2))
    return answer(page(f"<title>host {number}</title>{links}"))(call)


def _wild_address(call: Call) -> bool:
    number = int(call.path.rpartition("/")[2])
    to = f"http://127.1.7.{number % WILD_ADDRESSES + 1}:{call.port}/wild-address/{number + 1}"
    return answer(page(f"<title>address {number}</title><a href='{to}'>x</a>"))(call)


_TRAPS: dict[str, tuple[str, str, Serve]] = {
    "/calendar/": ("2026/11", "127.1.6.1", _calendar),
    "/session": ("?sid=0", "127.1.6.2", _session),
    "/deep-a/": ("", "127.1.6.3", _deeper("a")),
    "/deep-xy/": ("", "127.1.6.4", _deeper("x/y")),
    "/deep-1/": ("", "127.1.6.5", _deeper("1")),
    "/wild-name/": ("0", "127.1.6.8", _wild_name),
    "/wild-address/": ("0", "127.1.7.1", _wild_address),
}
for _prefix, (_rest, _address, _serve) in _TRAPS.items():
    case(_prefix + _rest, _address)(_serve)
    PREFIXES[_prefix] = _serve


# -- statuses and Retry-After


def _status(line: str, *lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {line}", *lines, "", ""]).encode() + body


add(
    "127.1.8.1",
    {
        "/status/204": answer(_status("204 None", HTML, "Content-Length: 500")),
        "/status/204-body": once(_status("204 None", HTML, body=b"<p>surprise")),
        "/status/205": answer(_status("205 Reset", HTML, "Content-Length: 0")),
        "/status/206": answer(
            _status("206 Partial", HTML, "Content-Range: bytes 0-2/9", "Content-Length: 3", body=b"<p>")
        ),
        "/status/304": answer(_status("304 Same", HTML)),
        "/status/300": answer(_status("300 Many", HTML, "Location: /status/204", "Content-Length: 0")),
        "/status/100": answer(_status("100 Continue") + page("<title>after 100</title>")),
        "/status/103": answer(_status("103 Hints", "Link: </x>") + page("<title>after 103</title>")),
        "/status/101": once(_status("101 Switching", "Upgrade: h2c")),
        "/status/999": answer(_status("999 No", HTML, "Content-Length: 0")),
        "/status/600": answer(_status("600 No", HTML, "Content-Length: 0")),
        "/status/000": once(_status("000 No", HTML, "Content-Length: 0")),
        "/status/minus": once(_status("-200 No", HTML, "Content-Length: 0")),
        "/status/20000": once(_status("20000 No", HTML, "Content-Length: 0")),
        "/status/407": answer(_status("407 Proxy", "Proxy-Authenticate: Basic", "Content-Length: 0")),
        "/status/418": answer(_status("418 Teapot", HTML, "Content-Length: 0")),
    },
)

RETRY_AFTER = {
    "year": "31536000",
    "negative": "-1",
    "garbage": "soon \x1b[31m",
    "digits": "9" * 400,
    "date": "Fri, 31 Dec 9999 23:59:59 GMT",
    "past": "Thu, 01 Jan 1970 00:00:00 GMT",
    "infinite": "inf",
    "float": "1e308",
}
for _n, (_name, _value) in enumerate(RETRY_AFTER.items(), 1):
    case(f"/retry-after/{_name}", f"127.1.9.{_n}")(
        answer(_status("429 Slow down" if _n % 2 else "503 Down", f"Retry-After: {_value}", "Content-Length: 0"))
    )


# -- robots.txt and sitemaps


_ALLOWED_PAGE = answer(page("<title>behind a robots.txt</title>"))


def _robots(name: str, number: int, serve: Serve) -> None:
    address = f"127.1.10.{number}"
    ROBOTS[address] = serve
    case(f"/behind-robots/{name}", address)(_ALLOWED_PAGE)


def _robots_loop(call: Call) -> bool:
    return answer(moved(b"/robots.txt?again"))(call)


_TEXT = "Content-Type: text/plain"
_BIG_RULES = b"User-agent: *\nDisallow: /behind-robots/\n"
for _number, (_name, _serve) in enumerate(
    {
        "10-mb": answer(ok(_BIG_RULES + b"# padding\n" * 1_000_000, _TEXT)),
        "endless": flood(OK + b"\r\n" + _BIG_RULES, b"Disallow: /x\n" * 1000),
        "600-kb": answer(ok(_BIG_RULES + b"Allow: /x/*/*/*$\n" * 36_000, _TEXT)),
        "loop": _robots_loop,
        "html": answer(page("<!DOCTYPE html><p>User-agent: *<p>Disallow: /")),
        "bomb": send_bomb("br"),
        "nul": answer(ok(b"\0\xff\xfe\x1b[31m" * 1000 + b"\n" + _BIG_RULES, _TEXT)),
        "stars": answer(ok(b"User-agent: *\nDisallow: " + b"/*a" * 2000 + b"$\n", _TEXT)),
        "drip": drip(OK + b"\r\n", b"U"),
        "refused": lambda call: answer(moved(b"http://127.0.0.2:%d/target/robots" % call.port))(call),
        "delay": answer(ok(b"User-agent: *\nCrawl-delay: 1e99\nDisallow:\n", _TEXT)),
        "500": answer(_status("500 Broken", "Content-Length: 0")),
    }.items(),
    1,
):
    _robots(_name, _number, _serve)

_SITEMAPS = "127.1.11.1"
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap_bomb() -> bytes:
    """Give a sitemap, gzipped as a file, that inflates to a gigabyte of white space."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    beginning = packer.compress(b"<urlset><url><loc>/page/in-a-bomb</loc></url>") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return beginning + 1000 * block


def _out_of_scope() -> bytes:
    urls = "".join(f"<url><loc>/denied/{n}</loc></url>" for n in range(60_000))
    return gzip.compress(f"<urlset xmlns='{_NAMESPACE}'>{urls}</urlset>".encode(), mtime=0)


def _index_of_indexes(call: Call) -> bool:
    number = int(call.path.rpartition("/")[2])
    entries = "".join(f"<sitemap><loc>/sitemap/index/{2 * number + n}</loc></sitemap>" for n in (1, 2))
    return answer(xml(f"<sitemapindex xmlns='{_NAMESPACE}'>{entries}</sitemapindex>"))(call)


PREFIXES["/sitemap/index/"] = _index_of_indexes
_SITEMAP_CASES: dict[str, Serve] = {
    "/sitemap/bomb.xml.gz": made(lambda: ok(sitemap_bomb(), "Content-Type: application/gzip")),
    "/sitemap/coded-bomb.xml": send_bomb("zstd"),
    "/sitemap/index/0": _index_of_indexes,
    "/sitemap/out-of-scope.xml.gz": made(lambda: ok(_out_of_scope(), "Content-Type: text/xml")),
    "/sitemap/entities.xml": answer(
        xml("<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>/&b;</loc></url></urlset>")
    ),
    "/sitemap/page.html": answer(page("<p>no sitemap")),
    "/sitemap/loop": answer(moved(b"/sitemap/loop")),
    "/sitemap/deep.xml": answer(xml("<a>" * 100_000)),
}
for _path, _serve in _SITEMAP_CASES.items():
    case(_path, _SITEMAPS, linked=False)(_serve)
case("/behind-robots/sitemaps", _SITEMAPS)(_ALLOWED_PAGE)


def _robots_with_sitemaps(call: Call) -> bool:
    named = [*_SITEMAP_CASES, f"http://127.0.0.2:{call.port}/target/sitemap", "javascript:x", "file:///etc/passwd"]
    return answer(ok("".join(f"Sitemap: {each}\n" for each in named).encode(), _TEXT))(call)


ROBOTS[_SITEMAPS] = _robots_with_sitemaps

# What `refused_targets`, robots.txt and sitemaps lead to, besides: no case serves it, for nobody may connect there.
TARGETS = ("/target/robots", "/target/sitemap")
