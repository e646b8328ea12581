"""Cases against the bounds of `docs/security.md`: heads, long answers, secrets, busy pages, bad ports."""

from __future__ import annotations

import gzip

from tests.support.hostile.cases import HTML, OK, ROBOTS, Serve, add, answer, case, made, moved, once, page
from tests.support.raw import ok

# -- heads that leave open where they end, or what follows them

_BODY = b"<p>x"
_CHUNKED = b"4\r\n<p>x\r\n0\r\n\r\n"


def _head(*lines: str, body: bytes = _BODY) -> bytes:
    return OK + "\r\n".join([HTML, *lines, "", ""]).encode("latin-1") + body


add(
    "127.1.12.1",
    {
        "/head/bare-cr": once(_head("X: y\rTransfer-Encoding: chunked", "Content-Length: 4")),
        "/head/bare-cr-in-a-name": once(_head("X\rContent-Length: 0", "Content-Length: 4")),
        "/head/bare-cr-at-the-end": once(_head("X: y\r", "Content-Length: 4")),
        "/head/both-lengths": once(_head("Content-Length: 4", "Transfer-Encoding: chunked", body=_CHUNKED)),
        "/head/both-lengths-turned": once(_head("Transfer-Encoding: chunked", "Content-Length: 4", body=_CHUNKED)),
        "/head/same-length-twice": answer(_head("Content-Length: 4", "Content-Length: 4")),
        "/head/lengths-in-one-line": once(_head("Content-Length: 4, 5")),
        "/head/plus": once(_head("Content-Length: +4")),
        "/head/underscore": once(_head("Content-Length: 4_0", body=_BODY * 10)),
        "/head/hexadecimal": once(_head("Content-Length: 0x4")),
        "/head/behind-junk": once(_head("this is no header", "Content-Length: 4")),
        "/head/junk-first": once(OK + b"no header\r\nContent-Length: 4\r\n\r\n" + _BODY),
        "/head/chunked-twice": once(_head("Transfer-Encoding: chunked, chunked", body=_CHUNKED)),
        "/head/chunk-of-minus": once(_head("Transfer-Encoding: chunked", body=b"-4\r\n<p>x\r\n0\r\n\r\n")),
    },
)


# -- what would be kept whole

_LEAF = "<a href=/page/leaf>leaf</a>"
LONG_REFERENCES = 61


def _long_references() -> bytes:
    return page("".join(f"<a href='/{n}{'x' * 10_000}'>x</a>" for n in range(LONG_REFERENCES)) + _LEAF)


add(
    "127.1.12.2",
    {
        "/keep/references": made(_long_references),
        "/keep/base": made(lambda: page(f"<base href='/{'x' * 900_000}/'>" + "<a href=y>y</a>" * 10 + _LEAF)),
        "/keep/location": answer(moved(b"/" + b"x" * 60_000)),
        "/keep/header": answer(page(_LEAF, HTML, "X-Long: " + "y" * 200_000)),
        "/keep/headers": answer(page(_LEAF, HTML, *(f"X-{n}: {'y' * 1000}" for n in range(90)))),
        "/keep/content-type": answer(page(_LEAF, "Content-Type: text/" + "x" * 5000)),
        "/keep/title": made(lambda: page(f"<title>{'long ' * 100_000}</title>" + _LEAF)),
        "/keep/directives": made(
            lambda: page("".join(f"<meta name=robots content='max-{n}{'x' * 300}'>" for n in range(2000)) + _LEAF)
        ),
        "/keep/canonical": made(lambda: page(f"<link rel=canonical href='/{'x' * 500_000}'>" + _LEAF)),
        "/keep/status-text": answer(b"HTTP/1.1 404 " + b"x" * 50_000 + b"\r\nContent-Length: 0\r\n\r\n"),
        "/keep/cookies": answer(page(_LEAF, HTML, *(f"Set-Cookie: s{n}=secret-{n}; Path=/" for n in range(80)))),
        "/keep/login": answer(page(_LEAF, HTML, "WWW-Authenticate: secret-401", "Authentication-Info: secret-200")),
    },
)


def _long_rule() -> bytes:
    return b"User-agent: *\nDisallow: /behind-robots/" + b"*" * 400_000 + b"\n"


ROBOTS["127.1.12.3"] = made(lambda: ok(_long_rule(), "Content-Type: text/plain"))
case("/behind-robots/long-rule", "127.1.12.3")(answer(page(_LEAF)))


# -- pages that keep a parser busy: 300 KB of each, and the body is packed to 1 KB

_BUSY_BYTES = 300_000
_UNITS = {
    "svg-end-tags": ("<svg>", "<g></q>"),
    "end-tags-of-cells": ("", "<div></td>"),
    "svg-links": ("<svg>", "<g><link>"),
    "links-in-a-table": ("<table>", "<a><div></p>"),
    "upper-case": ("<SVG>", "<G></Q>"),
    "tables": ("", "<TABLE>"),
    "formatting": ("<p>", "<b><i><u><p>"),
    "options": ("<select>", "<option>"),
    "brackets": ("", "<p title='>' a='<'"),
    "attributes-of-the-root": ("", "<html a{}=b>"),
    "templates": ("", "<template>"),
    "math": ("<math>", "<mi></mo>"),
    "headings": ("", "<h1></h2>"),
    "frames": ("<frameset>", "<frameset>"),
    "forms": ("", "<form></div>"),
    "rubies": ("<ruby>", "<rt><rp>"),
}


def _busy(head: str, unit: str) -> bytes:
    count = _BUSY_BYTES // len(unit)
    units = "".join(unit.format(n) for n in range(count)) if "{}" in unit else unit * count
    packed = gzip.compress((_LEAF + head + units + _LEAF).encode(), mtime=0)
    return page(packed, HTML, "Content-Encoding: gzip")


def _made_busy(head: str, unit: str) -> Serve:
    return made(lambda: _busy(head, unit))


def busy_pages() -> list[str]:
    return [f"/busy/{name}" for name in _UNITS]


add("127.1.12.4", dict(zip(busy_pages(), (_made_busy(*each) for each in _UNITS.values()), strict=True)))


# -- ports of other protocols

BAD_PORTS = (1, 7, 22, 23, 25, 110, 143, 465, 587, 2049, 3659, 6000, 6667, 10080)
add(
    "127.1.12.5",
    {
        "/port/links": answer(page("".join(f"<a href='http://127.1.12.5:{port}/'>x</a>" for port in BAD_PORTS))),
        "/port/location": answer(moved(b"http://127.1.12.5:25/")),
        "/port/sitemap": answer(page(_LEAF)),
    },
)
ROBOTS["127.1.12.5"] = answer(ok(b"Sitemap: http://127.1.12.5:25/s.xml\n", "Content-Type: text/plain"))
