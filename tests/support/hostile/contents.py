"""Pages that mean harm, and pages in every encoding."""

from __future__ import annotations

import contextlib
import itertools

import webencodings

from tests.support.hostile.cases import HTML, PAGES_PER_HOST, Serve, add, answer, case, made, page

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
    "http://user:password@127.1.4.2:2/",
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


case("/page/far-base", "127.1.4.3", linked=False)(made(lambda: page(_far_base())))
case("/page/million-links", "127.1.4.3")(made(lambda: page(_million_links())))
add(
    "127.1.4.2",
    {
        "/page/leaf": answer(page("<title>leaf</title>")),
        "/page/nul": answer(page(b"\0<title>N\0L</title>\0<a href='/page/leaf\0'>x</a>\0" + _LEAF.encode())),
        "/page/nested": made(lambda: page(_nested())),
        "/page/attributes": made(lambda: page(_attributes())),
        "/page/title": answer(
            page(b"<title>\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08=cmd|' /C calc'!A0\0&#27;[31m&#x202e;</title>")
        ),
        "/page/formula": answer(page("<title>=1+1</title><h1>@SUM(A1)</h1>" + _LEAF)),
        "/page/links": made(lambda: page("".join(f'<a href="{each}">x</a>' for each in ODD_LINKS))),
        "/page/headers": answer(
            page(
                "x", HTML, "X-Escapes: \x1b[31m\x07\x9b", "ETag: \x00\x01", "X-Formula: =1+1", "Set-Cookie: a=\x1b[31m"
            )
        ),
        "/page/empty": answer(page("")),
        "/page/half-a-tag": answer(page("<a href='/page/leaf")),
        "/page/refresh": answer(page("<meta http-equiv=refresh content='0;url=/page/refresh'>")),
        "/page/broken-utf-8": answer(page(b"<title>\xff\xfe\xed\xa0\x80</title><a href='/\xff'>x</a>")),
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
    return answer(page(body, f"Content-Type: text/html{charset}"))


LABELS = tuple(sorted(webencodings.LABELS))
for _n, _label in enumerate(LABELS):
    _address = f"127.1.5.{1 + _n // (PAGES_PER_HOST // 2)}"
    case(f"/header/{_label}", _address)(_encoded(_label, by_meta=False))
    case(f"/meta/{_label}", _address)(_encoded(_label, by_meta=True))
