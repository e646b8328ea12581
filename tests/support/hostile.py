"""A web that means harm, on loopback: one path for each case, and listeners that nobody should ever reach.

    with Hostile() as web:
        done = crawl(root, seeds=[web.index()], settings={"fetch.allow_addresses": ALLOWED, ...}, env=...)
    assert web.trapped == []

Vocabulary:
  case     a path, the address that serves it, and what is done to whoever asks for it
  fixture  127.1.0.0/16, where the cases are: the network that a crawl of them must permit (ALLOWED)
  refused  other addresses of loopback, on the same port: a connection to one of them is written down in `trapped`
  name     a host name; RESOLVER answers for those of this web and for no other, so that no query leaves the machine

A case closes its connection unless it answers in full.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import re
import selectors
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Self

import brotli
import webencodings

from fscrawl.http.bodies import zstd
from tests.support.raw import Raw, head, ok

ALLOWED = '["127.1.0.0/16"]'
REFUSED = ("127.0.0.1", "127.0.0.2", "::1")
SEED = "127.1.0.1"
WILD_ADDRESSES = 80  # of the trap whose every page leads to a further address
CHAIN = 1000  # redirects in a row
PAGES_PER_HOST = 60  # what the encodings are spread by: a crawl may have a limit of as many
OK = b"HTTP/1.1 200 OK\r\n"
HTML = "Content-Type: text/html; charset=utf-8"

# Put into sitecustomize.py: names of this web, and the end of all others.
RESOLVER = """\
import re, socket
_asked = socket.getaddrinfo
_names = {"rebind.test": "127.0.0.2", "localhost": "127.0.0.1"}
def _answer(host, *args, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if name.endswith(".wild.test"):
        name = "127.1.6.8"
    name = _names.get(name, name)
    if name is not None and not re.fullmatch(r"[0-9.]+|[0-9a-f:.]*:[0-9a-f:.]*", name):
        raise socket.gaierror(socket.EAI_NONAME, "no such name here")
    return _asked(name, *args, **more)
socket.getaddrinfo = _answer
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its connection, which address it reached and by which name, its path with query."""

    connection: socket.socket
    address: str
    name: str
    path: str
    port: int

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)


Serve = Callable[[Call], bool]  # whether the connection may go on


@dataclass(frozen=True, slots=True)
class Case:
    address: str
    serve: Serve
    linked: bool = True  # the index links to it


CASES: dict[str, Case] = {}
_PREFIXES: dict[str, Serve] = {}  # of paths that go on for ever


def _case(path: str, address: str, *, linked: bool = True) -> Callable[[Serve], Serve]:
    def add(serve: Serve) -> Serve:
        assert path not in CASES, path
        CASES[path] = Case(address, serve, linked)
        return serve

    return add


def _answer(answer: bytes) -> Serve:
    """Answer with these bytes, and go on."""

    def serve(call: Call) -> bool:
        call.send(answer)
        return True

    return serve


def _made(make: Callable[[], bytes]) -> Serve:
    """Answer with what is made when somebody asks: it is large."""

    def serve(call: Call) -> bool:
        call.send(make())
        return True

    return serve


def _once(answer: bytes) -> Serve:
    """Answer with these bytes, and close."""

    def serve(call: Call) -> bool:
        call.send(answer)
        return False

    return serve


def _flood(first: bytes, then: bytes) -> Serve:
    """Answer with `first`, then with `then` for ever."""

    def serve(call: Call) -> bool:
        call.send(first)
        while True:
            call.send(then)

    return serve


def _drip(first: bytes, then: bytes) -> Serve:
    """Answer with `first`, then with `then` once a second for ever."""

    def serve(call: Call) -> bool:
        call.send(first)
        while True:
            _never.wait(1.0)
            call.send(then)

    return serve


_never = threading.Event()


def page(html: str | bytes, *lines: str) -> bytes:
    return ok(html if isinstance(html, bytes) else html.encode(), *(lines or (HTML,)))


def _moved(location: bytes, status: int = 302) -> bytes:
    return b"HTTP/1.1 %d Moved\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % (status, location)


def _xml(body: str, *lines: str) -> bytes:
    return ok(body.encode(), "Content-Type: application/xml", *lines)


def _add(address: str, serves: dict[str, Serve]) -> None:
    for path, serve in serves.items():
        _case(path, address)(serve)


MISSING = ok(b"no such page", "Content-Type: text/plain").replace(b"200 OK", b"404 Not Found", 1)


# -- bombs: each inflates to a gigabyte or more

GIGABYTE = 1 << 30
_MEGABYTE = bytes(1 << 20)


@cache
def bomb(coding: str) -> bytes:
    """Give a body of that Content-Encoding; only what nobody reads, its checksum, is wrong."""
    if coding == "br":
        packer = brotli.Compressor(quality=1)
        return b"".join(packer.process(_MEGABYTE) for _ in range(1024)) + packer.finish()
    if coding == "zstd":
        maker = zstd.ZstdCompressor(level=1)
        return b"".join(maker.compress(_MEGABYTE) for _ in range(1024)) + maker.flush()
    if coding == "gzip, gzip":
        return gzip.compress(bomb("gzip"), 9, mtime=0)
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    beginning = deflate.compress(_MEGABYTE) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(_MEGABYTE) + deflate.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it
    return beginning + 1024 * block


def _bomb(coding: str) -> Serve:
    """Send a bomb without its length, so that not this but what it inflates to is what is over the limit."""

    def serve(call: Call) -> bool:
        call.send(OK + f"{HTML}\r\nContent-Encoding: {coding}\r\n\r\n".encode() + bomb(coding))
        return False

    return serve


_add(
    "127.1.1.1",
    {f"/bomb/{coding.replace(', ', '-')}": _bomb(coding) for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip")},
)


# -- floods, lies about lengths, drips

_add(
    "127.1.1.2",
    {
        "/flood/chunked": _flood(
            OK + f"{HTML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), b"2710\r\n" + b"x" * 10_000 + b"\r\n"
        ),
        "/flood/small-chunks": _flood(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", (b"40\r\n" + b"x" * 64 + b"\r\n") * 100
        ),
        "/flood/no-length": _flood(OK + f"{HTML}\r\n\r\n".encode(), b"<p>x</p>" * 1000),
        "/flood/head-of-10-mb": _once(
            OK + b"".join(b"X-%d: " % n + b"y" * 60_000 + b"\r\n" for n in range(170)) + b"\r\n"
        ),
        "/flood/header-line": _flood(OK + b"X: ", b"y" * 10_000),
        "/flood/10000-header-lines": _once(OK + b"X: y\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n"),
        "/flood/status-line": _flood(b"HTTP/1.1 200 ", b"x" * 10_000),
        "/flood/informational": _flood(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100),
    },
)

_add(
    "127.1.1.3",
    {
        "/length/too-long": _once(OK + f"{HTML}\r\nContent-Length: 500\r\n\r\n<p>..".encode()),
        "/length/too-short": _answer(
            OK + f"{HTML}\r\nContent-Length: 5\r\n\r\n<p>..".encode() + b"HTTP/1.1 200 OK\r\n"
        ),
        "/length/negative": _once(OK + f"{HTML}\r\nContent-Length: -5\r\n\r\n<p>..".encode()),
        "/length/two": _once(OK + f"{HTML}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n<p>..".encode()),
        "/length/huge": _once(OK + f"{HTML}\r\nContent-Length: {'9' * 5000}\r\n\r\n<p>..".encode()),
    },
)

_SLOW = {
    "/slow/body": _drip(OK + f"{HTML}\r\nContent-Length: 100000\r\n\r\n".encode(), b"x"),
    "/slow/chunks": _drip(OK + f"{HTML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), b"1\r\nx\r\n"),
    "/slow/head": _drip(OK + b"X: ", b"y"),
    "/slow/status-line": _drip(b"", b"H"),
    "/slow/nothing": _drip(b"", b""),
}
for _n, (_path, _serve) in enumerate(_SLOW.items(), 1):
    _case(_path, f"127.1.2.{_n}")(_serve)


# -- redirects

_CHAIN = re.compile(r"/redirect/(chain|endless)/(\d+)")


def _next_hop(call: Call) -> bool:
    kind, number = _CHAIN.fullmatch(call.path).groups()
    last = kind == "chain" and int(number) == CHAIN
    return _answer(page("the end") if last else _moved(b"/redirect/%s/%d" % (kind.encode(), int(number) + 1)))(call)


_add(
    "127.1.3.1",
    {
        "/redirect/self": _answer(_moved(b"/redirect/self")),
        "/redirect/loop-a": _answer(_moved(b"/redirect/loop-b")),
        "/redirect/loop-b": _answer(_moved(b"/redirect/loop-a")),
        "/redirect/nowhere": _answer(_moved(b"javascript:alert(1)")),
        "/redirect/escapes": _answer(_moved(b"/\x1b[31m\x07\x00red")),
        "/redirect/body-bomb": _bomb("gzip"),
        "/redirect/two-targets": _answer(_moved(b"/a\r\nLocation: /b")),
    },
)
_case("/redirect/chain/0", "127.1.3.2")(_next_hop)
_case("/redirect/endless/0", "127.1.3.3")(_next_hop)
_PREFIXES["/redirect/chain/"] = _PREFIXES["/redirect/endless/"] = _next_hop


def refused_targets(port: int) -> dict[str, str]:
    """Give targets that must not be connected to, as written, by the case that redirects there."""
    hosts = {
        "loopback": f"127.0.0.2:{port}",
        "metadata": "169.254.169.254",
        "mapped": f"[::ffff:127.0.0.1]:{port}",
        "decimal": f"2130706433:{port}",
        "hexadecimal": f"0x7f.1:{port}",
        "octal": f"0177.0.0.02:{port}",
        "localhost": f"localhost:{port}",
        "ipv6": f"[::1]:{port}",
        "zero": f"0:{port}",
        "name": f"rebind.test:{port}",
        "compatible": f"[::127.0.0.1]:{port}",
        "wide": f"\uff11\uff12\uff17.0.0.2:{port}",  # digits of full width
        "port-80": "127.0.0.2",
    }
    return {f"/refused/{name}": f"http://{host}/target/{name}" for name, host in hosts.items()}


def _to_refused(call: Call) -> bool:
    return _answer(_moved(refused_targets(call.port)[call.path].encode()))(call)


_add("127.1.3.4", dict.fromkeys(refused_targets(0), _to_refused))


# -- types that lie

_PAGE = b"<!DOCTYPE html><title>a page</title><a href=/type/html>x</a>"
_add(
    "127.1.4.1",
    {
        "/type/html": _answer(page(_PAGE)),
        "/type/png-as-html": _answer(page(b"\x89PNG\r\n\x1a\n" + bytes(100))),
        "/type/pdf-as-html": _answer(page(b"%PDF-1.7\n<a href=/x>")),
        "/type/zip-as-html": _answer(page(b"PK\3\4<html>")),
        "/type/gzip-as-html": _answer(page(gzip.compress(_PAGE, mtime=0))),
        "/type/html-as-octets": _answer(page(_PAGE, "Content-Type: application/octet-stream")),
        "/type/octets": _answer(page(b"\1\2\3", "Content-Type: application/octet-stream")),
        "/type/html-without": _answer(ok(_PAGE)),
        "/type/text-without": _answer(ok(b"a,b,c")),
        "/type/html-as-text": _answer(page(_PAGE, "Content-Type: text/plain")),
        "/type/html-as-pdf": _answer(page(_PAGE, "Content-Type: application/pdf")),
        "/type/garbage": _answer(page(_PAGE, "Content-Type: \x1b[31m;;;=\x07")),
        "/type/two": _answer(page(_PAGE, "Content-Type: text/html", "Content-Type: image/png")),
    },
)


# -- pages

_LEAF = "<a href=/page/leaf>leaf</a>"
ODD_LINKS = (
    "../../../etc/passwd",
    "..%2f..%2f..%2fetc/passwd",
    "%2e%2e/%2e%2e/etc/shadow",
    "..\\..\\windows\\system.ini",
    "/\x1b[31mred\x07",
    "/a\x00b",
    "/a\tb\r\nc",
    "/\u202egnp.exe",
    "javascript:alert(1)",
    "data:text/html,<a href=/x>",
    "file:///etc/passwd",
    "ftp://127.0.0.2/",
    "mailto:a@b",
    "http://",
    "http://[::1",
    "http://[",
    "http://a b/",
    f"http://{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 63}.test/",
    f"http://{'x.' * 500}test/",
    f"http://{'long' * 200}.test/",
    "http://\u0430pple.test/",  # its first letter is Cyrillic
    "http://xn--pple-43d.test/",
    "http://xn--\x7f.test/",
    "http://..test/",
    "http://.test/",
    "http://-.test/",
    "http://a.test:99999/",
    "http://user:password@127.1.4.2:1/",
    "//\\@127.0.0.2/",
    "/" + "x" * 3000,
    "/con",
    "/nul.html",
    "/.fscrawl/tree.json",
    "/=cmd|' /C calc'!A0",
    "/%",
    "/%zz%00%ff",
    "?" + "&".join(f"{n}=%1b" for n in range(50)),
)


def _nested() -> bytes:
    return b"<div>" * 200_000 + _LEAF.encode()


def _attributes() -> bytes:
    names = ("".join(letters).encode() for letters in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=4))
    return b"<p " + b" ".join(itertools.islice(names, 200_000)) + b">" + _LEAF.encode()


def _far_base() -> bytes:
    """Make a page whose short references each become an address of 2,000 characters."""
    names = itertools.islice(itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=4), 50_000)
    return f"<base href='/denied/{'x' * 1980}/'>".encode() + b"".join(
        b"<a href=" + "".join(letters).encode() + b">" for letters in names
    )


def _million_links() -> bytes:
    return b"".join(b"<a href=/denied/%d>" % n for n in range(1_000_000))


_case("/page/far-base", "127.1.4.3", linked=False)(_made(lambda: page(_far_base())))
_case("/page/million-links", "127.1.4.3")(_made(lambda: page(_million_links())))
_add(
    "127.1.4.2",
    {
        "/page/leaf": _answer(page("<title>leaf</title>")),
        "/page/nul": _answer(page(b"\0<title>N\0L</title>\0<a href='/page/leaf\0'>x</a>\0" + _LEAF.encode())),
        "/page/nested": _made(lambda: page(_nested())),
        "/page/attributes": _made(lambda: page(_attributes())),
        "/page/title": _answer(
            page(b"<title>\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08=cmd|' /C calc'!A0\0&#27;[31m&#x202e;</title>")
        ),
        "/page/formula": _answer(page("<title>=1+1</title><h1>@SUM(A1)</h1>" + _LEAF)),
        "/page/links": _made(lambda: page("".join(f'<a href="{each}">x</a>' for each in ODD_LINKS))),
        "/page/headers": _answer(
            page(
                "x", HTML, "X-Escapes: \x1b[31m\x07\x9b", "ETag: \x00\x01", "X-Formula: =1+1", "Set-Cookie: a=\x1b[31m"
            )
        ),
        "/page/empty": _answer(page("")),
        "/page/half-a-tag": _answer(page("<a href='/page/leaf")),
        "/page/refresh": _answer(page("<meta http-equiv=refresh content='0;url=/page/refresh'>")),
        "/page/broken-utf-8": _answer(page(b"<title>\xff\xfe\xed\xa0\x80</title><a href='/\xff'>x</a>")),
    },
)


# -- encodings: every label of the standard, told by the header and by <meta>

_SAMPLES = "\u00e9\u044f\u03a9\u05e9\u0633\u0e01\u3042\ud55c\u4e2d\u0105\u2019"


def encoded_title(label: str) -> str:
    """Give a title that the encoding of a label can hold: with a letter beyond ASCII, if it has one of the samples."""
    encode = webencodings.lookup(label).codec_info.encode  # of "replacement": there is nothing that it can hold
    for letter in _SAMPLES:
        with contextlib.suppress(UnicodeError):
            encode(letter)
            return f"title {letter}"
    return "title"


def _encoded(label: str, *, by_meta: bool) -> Serve:
    html = f"<meta charset='{label}'>" if by_meta else ""
    html += f"<title>{encoded_title(label)}</title>"
    found = webencodings.lookup(label)
    as_utf8 = found.name == "replacement" or (by_meta and found.name.startswith("utf-16"))  # a page that can say so
    body = html.encode() if as_utf8 else found.codec_info.encode(html)[0]
    charset = "" if by_meta else f"; charset={label}"
    return _answer(page(body, f"Content-Type: text/html{charset}"))


LABELS = tuple(sorted(webencodings.LABELS))
for _n, _label in enumerate(LABELS):
    _address = f"127.1.5.{1 + _n // (PAGES_PER_HOST // 2)}"
    _case(f"/header/{_label}", _address)(_encoded(_label, by_meta=False))
    _case(f"/meta/{_label}", _address)(_encoded(_label, by_meta=True))


# -- traps: sites without end


def _calendar(call: Call) -> bool:
    year, month = map(int, call.path.split("/")[2:])
    after = f"{year + month // 12}/{month % 12 + 1}"
    return _answer(page(f"<title>{year}-{month}</title><a href=/calendar/{after}>next month</a>"))(call)


def _session(call: Call) -> bool:
    number = int(call.path.rpartition("=")[2])
    links = "".join(f"<a href='/session?sid={2 * number + n}'>x</a>" for n in (1, 2))
    return _answer(page(f"<title>welcome</title>{links}"))(call)


def _deeper(segments: str) -> Serve:
    names = segments.split("/")

    def serve(call: Call) -> bool:
        depth = call.path.count("/") - 2
        name = names[depth % len(names)] if segments != "1" else str(depth + 1)
        return _answer(page(f"<title>deeper</title><a href='{name}/'>x</a>"))(call)

    return serve


def _wild_name(call: Call) -> bool:
    number = int(call.path.rpartition("/")[2])
    links = "".join(f"<a href='http://{n}.wild.test:{call.port}/wild-name/{n}'>x</a>" for n in (number + 1, number + 2))
    return _answer(page(f"<title>host {number}</title>{links}"))(call)


def _wild_address(call: Call) -> bool:
    number = int(call.path.rpartition("/")[2])
    to = f"http://127.1.7.{number % WILD_ADDRESSES + 1}:{call.port}/wild-address/{number + 1}"
    return _answer(page(f"<title>address {number}</title><a href='{to}'>x</a>"))(call)


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
    _case(_prefix + _rest, _address)(_serve)
    _PREFIXES[_prefix] = _serve


# -- statuses and Retry-After


def _status(line: str, *lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {line}", *lines, "", ""]).encode() + body


_add(
    "127.1.8.1",
    {
        "/status/204": _answer(_status("204 None", HTML, "Content-Length: 500")),
        "/status/204-body": _once(_status("204 None", HTML, body=b"<p>surprise")),
        "/status/205": _answer(_status("205 Reset", HTML, "Content-Length: 0")),
        "/status/206": _answer(
            _status("206 Partial", HTML, "Content-Range: bytes 0-2/9", "Content-Length: 3", body=b"<p>")
        ),
        "/status/304": _answer(_status("304 Same", HTML)),
        "/status/300": _answer(_status("300 Many", HTML, "Location: /status/204", "Content-Length: 0")),
        "/status/100": _answer(_status("100 Continue") + page("<title>after 100</title>")),
        "/status/103": _answer(_status("103 Hints", "Link: </x>") + page("<title>after 103</title>")),
        "/status/101": _once(_status("101 Switching", "Upgrade: h2c")),
        "/status/999": _answer(_status("999 No", HTML, "Content-Length: 0")),
        "/status/600": _answer(_status("600 No", HTML, "Content-Length: 0")),
        "/status/000": _once(_status("000 No", HTML, "Content-Length: 0")),
        "/status/minus": _once(_status("-200 No", HTML, "Content-Length: 0")),
        "/status/20000": _once(_status("20000 No", HTML, "Content-Length: 0")),
        "/status/407": _answer(_status("407 Proxy", "Proxy-Authenticate: Basic", "Content-Length: 0")),
        "/status/418": _answer(_status("418 Teapot", HTML, "Content-Length: 0")),
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
    _case(f"/retry-after/{_name}", f"127.1.9.{_n}")(
        _answer(_status("429 Slow down" if _n % 2 else "503 Down", f"Retry-After: {_value}", "Content-Length: 0"))
    )


# -- robots.txt and sitemaps

_ROBOTS: dict[str, Serve] = {}  # by address; all others have none
_ALLOWED_PAGE = _answer(page("<title>behind a robots.txt</title>"))


def _robots(name: str, number: int, serve: Serve) -> None:
    address = f"127.1.10.{number}"
    _ROBOTS[address] = serve
    _case(f"/behind-robots/{name}", address)(_ALLOWED_PAGE)


def _robots_loop(call: Call) -> bool:
    return _answer(_moved(b"/robots.txt?again"))(call)


_TEXT = "Content-Type: text/plain"
_BIG_RULES = b"User-agent: *\nDisallow: /behind-robots/\n"
for _number, (_name, _serve) in enumerate(
    {
        "10-mb": _answer(ok(_BIG_RULES + b"# padding\n" * 1_000_000, _TEXT)),
        "endless": _flood(OK + b"\r\n" + _BIG_RULES, b"Disallow: /x\n" * 1000),
        "600-kb": _answer(ok(_BIG_RULES + b"Allow: /x/*/*/*$\n" * 36_000, _TEXT)),
        "loop": _robots_loop,
        "html": _answer(page("<!DOCTYPE html><p>User-agent: *<p>Disallow: /")),
        "bomb": _bomb("br"),
        "nul": _answer(ok(b"\0\xff\xfe\x1b[31m" * 1000 + b"\n" + _BIG_RULES, _TEXT)),
        "stars": _answer(ok(b"User-agent: *\nDisallow: " + b"/*a" * 2000 + b"$\n", _TEXT)),
        "drip": _drip(OK + b"\r\n", b"U"),
        "refused": lambda call: _answer(_moved(b"http://127.0.0.2:%d/target/robots" % call.port))(call),
        "delay": _answer(ok(b"User-agent: *\nCrawl-delay: 1e99\nDisallow:\n", _TEXT)),
        "500": _answer(_status("500 Broken", "Content-Length: 0")),
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
    return _answer(_xml(f"<sitemapindex xmlns='{_NAMESPACE}'>{entries}</sitemapindex>"))(call)


_PREFIXES["/sitemap/index/"] = _index_of_indexes
_SITEMAP_CASES: dict[str, Serve] = {
    "/sitemap/bomb.xml.gz": _made(lambda: ok(sitemap_bomb(), "Content-Type: application/gzip")),
    "/sitemap/coded-bomb.xml": _bomb("zstd"),
    "/sitemap/index/0": _index_of_indexes,
    "/sitemap/out-of-scope.xml.gz": _made(lambda: ok(_out_of_scope(), "Content-Type: text/xml")),
    "/sitemap/entities.xml": _answer(
        _xml(
            "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>/&b;</loc></url></urlset>"
        )
    ),
    "/sitemap/page.html": _answer(page("<p>no sitemap")),
    "/sitemap/loop": _answer(_moved(b"/sitemap/loop")),
    "/sitemap/deep.xml": _answer(_xml("<a>" * 100_000)),
}
for _path, _serve in _SITEMAP_CASES.items():
    _case(_path, _SITEMAPS, linked=False)(_serve)
_case("/behind-robots/sitemaps", _SITEMAPS)(_ALLOWED_PAGE)


def _robots_with_sitemaps(call: Call) -> bool:
    named = [*_SITEMAP_CASES, f"http://127.0.0.2:{call.port}/target/sitemap", "javascript:x", "file:///etc/passwd"]
    return _answer(ok("".join(f"Sitemap: {each}\n" for each in named).encode(), _TEXT))(call)


_ROBOTS[_SITEMAPS] = _robots_with_sitemaps

# What `refused_targets`, robots.txt and sitemaps lead to, besides: no case serves it, for nobody may connect there.
TARGETS = ("/target/robots", "/target/sitemap")


# -- the server


class Hostile(Raw):
    """All cases on one port of all their addresses, and on the same port of REFUSED a count of who comes.

    `asked`: every request's address, and path with query. `trapped`: the address of each connection to a refused one.
    """

    def __init__(self) -> None:
        super().__init__(self._converse)
        self.asked: list[tuple[str, str]] = []
        self.trapped: list[str] = []
        self.addresses = sorted(
            {SEED, *(case.address for case in CASES.values())} | {f"127.1.7.{n + 1}" for n in range(WILD_ADDRESSES)}
        )
        self._listeners: dict[socket.socket, bool] = {}

    def __enter__(self) -> Self:
        self._listeners, self.port = _listen(self.addresses)
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        for listener in self._listeners:
            self._selector.register(listener, selectors.EVENT_READ)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._waker.send(b"x")
        self._threads[0].join(10)
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        for each in (*self._listeners, self._waker, self._woken, self._selector):
            each.close()

    def index(self) -> str:
        """Give the address of the page that links to every case."""
        return f"http://{SEED}:{self.port}/"

    def url(self, path: str = "/", scheme: str = "http") -> str:
        """Give a case's address."""
        return f"{scheme}://{CASES[path].address}:{self.port}{path}"

    def _accept(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                assert isinstance(key.fileobj, socket.socket)
                connection, _ = key.fileobj.accept()
                self.accepted += 1
                if self._listeners[key.fileobj]:
                    self.trapped.append(key.fileobj.getsockname()[0])
                    connection.close()
                    continue
                self._open.append(connection)
                self._start(self._serve, connection)

    def _converse(self, connection: socket.socket) -> None:
        address = connection.getsockname()[0]
        going = True
        while going:
            lines = head(connection).decode("latin-1").split("\r\n")
            name = next((line[6:] for line in lines if line.lower().startswith("host: ")), "")
            call = Call(connection, address, name, lines[0].split(" ")[1], self.port)
            self.asked.append((address, call.path))
            going = self._serve_of(call)(call)

    def _serve_of(self, call: Call) -> Serve:
        if call.path.partition("?")[0] == "/robots.txt":
            return _ROBOTS.get(call.address, _answer(MISSING))
        if (call.address, call.path) == (SEED, "/"):
            return _answer(page(self._index()))
        case = CASES.get(call.path)
        if case is not None and case.address == call.address:
            return case.serve
        endless = (serve for prefix, serve in _PREFIXES.items() if call.path.startswith(prefix))
        return next(endless, _answer(MISSING))

    def _index(self) -> str:
        linked = (self.url(path) for path, case in CASES.items() if case.linked)
        return "<title>index</title>" + "".join(f"<p><a href='{url}'>{url}</a>" for url in linked)


def _listen(addresses: list[str]) -> tuple[dict[socket.socket, bool], int]:
    """Listen on one port of all addresses, and of the refused ones; give whether each listener is of a refused one."""
    for tries_left in reversed(range(50)):
        listeners: dict[socket.socket, bool] = {}
        port = 0
        try:
            for address, refused in _everywhere(addresses):
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                listener = socket.create_server((address, port), family=family, backlog=256)
                listeners[listener] = refused
                port = listener.getsockname()[1]
            return listeners, port
        except OSError:
            for listener in listeners:
                listener.close()
            if not tries_left:
                raise
    raise AssertionError("unreachable: the last try raises")


def _everywhere(addresses: list[str]) -> Iterator[tuple[str, bool]]:
    yield from ((address, False) for address in addresses)
    yield from ((address, True) for address in REFUSED if ":" not in address or socket.has_dualstack_ipv6())
