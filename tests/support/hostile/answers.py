"""Answers that mean harm: bombs, floods, lies about lengths, drips, redirects, and types that lie."""

from __future__ import annotations

import gzip
import re
import zlib
from functools import cache

import brotli

from fscrawl.http.bodies import zstd
from tests.support.hostile.cases import (
    CHAIN,
    HTML,
    OK,
    PREFIXES,
    Call,
    Serve,
    add,
    answer,
    case,
    drip,
    flood,
    moved,
    once,
    page,
)
from tests.support.raw import ok

# -- bombs: each inflates to a gigabyte or more


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


def send_bomb(coding: str) -> Serve:
    """Send a bomb without its length, so that not this but what it inflates to is what is over the limit."""

    def serve(call: Call) -> bool:
        call.send(OK + f"{HTML}\r\nContent-Encoding: {coding}\r\n\r\n".encode() + bomb(coding))
        return False

    return serve


add(
    "127.1.1.1",
    {
        f"/bomb/{coding.replace(', ', '-')}": send_bomb(coding)
        for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip")
    },
)


# -- floods, lies about lengths, drips


add(
    "127.1.1.2",
    {
        "/flood/chunked": flood(
            OK + f"{HTML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), b"2710\r\n" + b"x" * 10_000 + b"\r\n"
        ),
        "/flood/small-chunks": flood(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", (b"40\r\n" + b"x" * 64 + b"\r\n") * 100
        ),
        "/flood/no-length": flood(OK + f"{HTML}\r\n\r\n".encode(), b"<p>x</p>" * 1000),
        "/flood/head-of-10-mb": once(
            OK + b"".join(b"X-%d: " % n + b"y" * 60_000 + b"\r\n" for n in range(170)) + b"\r\n"
        ),
        "/flood/header-line": flood(OK + b"X: ", b"y" * 10_000),
        "/flood/10000-header-lines": once(OK + b"X: y\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n"),
        "/flood/status-line": flood(b"HTTP/1.1 200 ", b"x" * 10_000),
        "/flood/informational": flood(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100),
    },
)

add(
    "127.1.1.3",
    {
        "/length/too-long": once(OK + f"{HTML}\r\nContent-Length: 500\r\n\r\n<p>..".encode()),
        "/length/too-short": answer(OK + f"{HTML}\r\nContent-Length: 5\r\n\r\n<p>..".encode() + b"HTTP/1.1 200 OK\r\n"),
        "/length/negative": once(OK + f"{HTML}\r\nContent-Length: -5\r\n\r\n<p>..".encode()),
        "/length/two": once(OK + f"{HTML}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n<p>..".encode()),
        "/length/huge": once(OK + f"{HTML}\r\nContent-Length: {'9' * 5000}\r\n\r\n<p>..".encode()),
    },
)

_SLOW = {
    "/slow/body": drip(OK + f"{HTML}\r\nContent-Length: 100000\r\n\r\n".encode(), b"x"),
    "/slow/chunks": drip(OK + f"{HTML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), b"1\r\nx\r\n"),
    "/slow/head": drip(OK + b"X: ", b"y"),
    "/slow/status-line": drip(b"", b"H"),
    "/slow/nothing": drip(b"", b""),
}
for _n, (_path, _serve) in enumerate(_SLOW.items(), 1):
    case(_path, f"127.1.2.{_n}")(_serve)


# -- redirects


_CHAIN = re.compile(r"/redirect/(chain|endless)/(\d+)")


def _next_hop(call: Call) -> bool:
    kind, number = _CHAIN.fullmatch(call.path).groups()
    last = kind == "chain" and int(number) == CHAIN
    return answer(page("the end") if last else moved(b"/redirect/%s/%d" % (kind.encode(), int(number) + 1)))(call)


add(
    "127.1.3.1",
    {
        "/redirect/self": answer(moved(b"/redirect/self")),
        "/redirect/loop-a": answer(moved(b"/redirect/loop-b")),
        "/redirect/loop-b": answer(moved(b"/redirect/loop-a")),
        "/redirect/nowhere": answer(moved(b"javascript:alert(1)")),
        "/redirect/escapes": answer(moved(b"/\x1b[31m\x07\x00red")),
        "/redirect/body-bomb": send_bomb("gzip"),
        "/redirect/two-targets": answer(moved(b"/a\r\nLocation: /b")),
    },
)
case("/redirect/chain/0", "127.1.3.2")(_next_hop)
case("/redirect/endless/0", "127.1.3.3")(_next_hop)
PREFIXES["/redirect/chain/"] = PREFIXES["/redirect/endless/"] = _next_hop


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
    return answer(moved(refused_targets(call.port)[call.path].encode()))(call)


add("127.1.3.4", dict.fromkeys(refused_targets(0), _to_refused))


# -- types that lie


_PAGE = b"<!DOCTYPE html><title>a page</title><a href=/type/html>x</a>"
add(
    "127.1.4.1",
    {
        "/type/html": answer(page(_PAGE)),
        "/type/png-as-html": answer(page(b"\x89PNG\r\n\x1a\n" + bytes(100))),
        "/type/pdf-as-html": answer(page(b"%PDF-1.7\n<a href=/x>")),
        "/type/zip-as-html": answer(page(b"PK\3\4<html>")),
        "/type/gzip-as-html": answer(page(gzip.compress(_PAGE, mtime=0))),
        "/type/html-as-octets": answer(page(_PAGE, "Content-Type: application/octet-stream")),
        "/type/octets": answer(page(b"\1\2\3", "Content-Type: application/octet-stream")),
        "/type/html-without": answer(ok(_PAGE)),
        "/type/text-without": answer(ok(b"a,b,c")),
        "/type/html-as-text": answer(page(_PAGE, "Content-Type: text/plain")),
        "/type/html-as-pdf": answer(page(_PAGE, "Content-Type: application/pdf")),
        "/type/garbage": answer(page(_PAGE, "Content-Type: \x1b[31m;;;=\x07")),
        "/type/two": answer(page(_PAGE, "Content-Type: text/html", "Content-Type: image/png")),
    },
)
