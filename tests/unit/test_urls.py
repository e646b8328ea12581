"""What a URL is called."""

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.urls import MAX_URL_CHARS, Joiner, Spelling, normalise
from tests.support.effort import tries

BASE = "http://a.example/dir/page.html?q"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example", "http://a.example/"),
        ("http://a.example:80/", "http://a.example/"),
        ("https://a.example:443/", "https://a.example/"),
        ("https://a.example:80/", "https://a.example:80/"),
        ("http://a.example:/", "http://a.example/"),
        ("http://a.example:08080/", "http://a.example:8080/"),
        ("HTTP://A.Example/Path", "http://a.example/Path"),
        ("http://a.example/a/./b/../c", "http://a.example/a/c"),
        ("http://a.example/../../c", "http://a.example/c"),
        ("http://a.example/%2e%2E/c", "http://a.example/c"),
        ("http://a.example/a//b/", "http://a.example/a//b/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://例え.jp/", "http://xn--r8jz45g.jp/"),
        ("http://XN--R8JZ45G.jp/", "http://xn--r8jz45g.jp/"),
        ("http://ⓔxample。com/", "http://example.com/"),
        ("http://me:pw@a.example/", "http://a.example/"),
        ("http://me@a.example:81/@x", "http://a.example:81/@x"),
        ("http://a.example/@x", "http://a.example/@x"),
        ("http://a@b@a.example/", "http://a.example/"),
        ("http://a.example/#top", "http://a.example/"),
        ("http://a.example/#a?b", "http://a.example/"),
        ("http://a.example/?", "http://a.example/"),
        ("http://a.example/?#x", "http://a.example/"),
        ("http://a.example/??", "http://a.example/??"),
        ("http:\\\\a.example\\b", "http://a.example/b"),
        ("http:a.example/b", "http://a.example/b"),
        ("http:////a.example/b", "http://a.example/b"),
        (" \t\nhttp://a.ex\tample/b\r\nc ", "http://a.example/bc"),
        ("http://a.example/%7e%2F%zz", "http://a.example/%7e%2F%zz"),
        ("http://a.example/é b?é '", "http://a.example/%C3%A9%20b?%C3%A9%20%27"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://[0:0::0:1]:80/", "http://[::1]/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    ],
)
def test_normal_form(url, expected):
    """A URL has the one spelling that WHATWG gives it, without fragment, credentials and empty query."""
    assert normalise(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/path",
        "a.example/path",
        "mailto:me@a.example",
        "javascript:void(0)",
        "ftp://a.example/",
        "file:///etc/passwd",
        "data:text/html,x",
        "https:",
        "http://",
        "http://a b/",
        "http://a%00b/",
        "http://[::1/",
        "http://256.1.1.1/",
        "http://a.example:65536/",
        "http://\ud800/",
        "http://a.example/" + "x" * MAX_URL_CHARS,
    ],
)
def test_no_page(url):
    """What is no http(s) URL that could be fetched has no normal form."""
    assert normalise(url) is None


def test_longest_url():
    """A URL of exactly the greatest length is a page."""
    url = "http://a.example/".ljust(MAX_URL_CHARS, "x")
    assert normalise(url) == url


def test_base_that_is_none():
    """Nothing resolves against a base that is no URL."""
    assert normalise("x", "not a base") is None


def test_drop_query():
    """With drop_query, pages that differ in their query are one page."""
    assert normalise("http://a.example/x?a=1#f", None, Spelling(True)) == "http://a.example/x"
    assert normalise("?a=1", BASE, Spelling(True)) == "http://a.example/dir/page.html"
    assert Joiner(Spelling(True)).join(BASE, "x?a") == "http://a.example/dir/x"


def test_joiner_remembers(monkeypatch):
    """Pages of one directory resolve a common reference once."""
    asked = []
    monkeypatch.setattr(urls, "normalised", lambda url, base, spelling: asked.append((base, url)) or "")
    joiner = Joiner()
    for page in ("1.html", "2.html?q", "3.html?a/b"):
        joiner.join(f"http://a.example/dir/{page}", "n%65xt.html")
    assert asked == [("http://a.example/dir/", "n%65xt.html")]


def test_what_a_joiner_knows():
    """References in ASCII are known to all pages of a directory; not those that depend on the page or its encoding."""
    joiner = Joiner()
    for reference in ("b#c", "mailto:a", "?r", "", "#d", "é"):
        joiner.join("http://a.example/dir/", reference)
    found = {"b#c": "http://a.example/dir/b", "mailto:a": ""}
    assert joiner.known("http://a.example/dir/") == joiner.known(BASE) == found
    assert joiner.known("http://a.example/") == {}


def test_joiner_renews():
    """What is asked for again and again is not forgotten, however much is asked for meanwhile."""
    joiner = Joiner(memory_bytes=3000)
    for n in range(100):
        joiner.join(BASE, f"{n}")
        assert joiner.join(BASE, "a") == "http://a.example/dir/a"
    assert joiner.known(BASE).keys() >= {"a", "99"}


_BASES = [
    "http://a.example/",
    "https://a.example:8/a/",
    "http://[::1]/a//b.c/..d/",
    "http://a.example//",
    "http://a/x|y/",
]
_PIECES = [*"a.-_~/?&=+%#:@\\;| \té", "..", "../", "./", "b.html", "q=1", "%2e", "http:", "http://a.example/", "//a/b"]


@given(st.sampled_from(_BASES), st.lists(st.sampled_from(_PIECES), max_size=7), st.booleans())
@settings(deadline=None, max_examples=tries(500))
def test_joiner_and_the_parser(base, pieces, drop_query):
    """A reference that seems plain is joined as the parser of URLs would do it."""
    reference = "".join(pieces)
    expected = normalise(reference, base, Spelling(drop_query))
    assert Joiner(Spelling(drop_query)).join(base, reference) == expected


@given(st.sampled_from(_BASES), st.lists(st.lists(st.sampled_from(_PIECES), max_size=7), max_size=9), st.booleans())
@settings(deadline=None, max_examples=tries(200))
def test_what_is_appended(base, references, drop_query):
    """References that are appended together become what each becomes alone, and are known from then on."""
    joiner = Joiner(Spelling(drop_query))
    found = joiner.append(base, ["".join(pieces) for pieces in references])
    assert found == {each: normalise(each, base, Spelling(drop_query)) for each in found}
    assert joiner.known(base) == found


def test_most_references_are_appended():
    """Those with a path and without odd characters are; those that depend on the page or need a parser are not."""
    plain = ["a", "/a", "../a/b.html?q=1", "a/", "http://a.example/x"]
    others = ["", "?q", " a", "http:a", "//b.example/", "é", "a/./b", "a" * (MAX_URL_CHARS + 1), "mailto:a"]
    assert list(Joiner().append("http://a.example/x/y", [*plain, *others])) == plain


def test_joined_to_a_long_base():
    """A plain reference does not make a URL that is too long."""
    base = f"http://a.example/{'b' * (MAX_URL_CHARS - 19)}/"
    assert len(Joiner().join(base, "c") or "") == MAX_URL_CHARS
    assert Joiner().join(base, "cd") is None
    assert list(Joiner().append(base, ["c", "cd"])) == ["c"]


def test_why_there_is_no_normal_form():
    """A short reference that means a URL which is too long is told from one that means none, also when it is known."""
    base = f"http://a.example/{'b' * (MAX_URL_CHARS - 19)}/"
    joiner = Joiner()
    for _ in range(2):
        assert joiner.joined(base, "cd") == joiner.joined(base, "ä") == joiner.joined(base, "c" * 9999) == urls.TOO_LONG
        assert joiner.joined(base, "mailto:cd") == ""
        assert joiner.join(base, "cd") is joiner.join(base, "mailto:cd") is None
    assert joiner.known(base) == {"cd": urls.TOO_LONG, "mailto:cd": ""}


def test_joiner_forgets():
    """The memory is bounded, and a reference that was forgotten resolves as before."""
    joiner = Joiner(memory_bytes=1)
    answers = [joiner.join(BASE, reference) for reference in ("a", "b", "a")]
    assert answers == ["http://a.example/dir/a", "http://a.example/dir/b", "http://a.example/dir/a"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a.example/", "a.example"),
        ("https://a.example/", "a.example"),
        ("http://a.example:443/", "a.example_443"),
        ("https://a.example:80/", "a.example_80"),
        ("http://a_b.example/", "a_b.example"),
        ("http://con/", "con"),
        ("http://a.example./", "a.example."),
        ("http://-/", "-"),
    ],
)
def test_host(url, host):
    """A host directory is the host, with the port where it is not the scheme's."""
    assert urls.host(url) == host


@pytest.mark.parametrize("name", ["..", ".", ".a", "a~b", "a;b", "[::1]", "a" * 191, "a." * 120 + "b"])
def test_hashed_host(name):
    """A host that is no safe directory name is hashed; http and https share it, ports do not."""
    hosts = [urls.host(f"{origin}/x") for origin in (f"http://{name}", f"https://{name}", f"http://{name}:81")]
    assert all(re.fullmatch("h-[0-9a-f]{32}", host) for host in hosts)
    assert hosts[0] == hosts[1] != hosts[2]


def test_longest_host():
    """A host of 190 bytes is a directory as it stands."""
    assert urls.host(f"http://{'a' * 190}/") == "a" * 190


def test_shards():
    """Shards lie between 0 and their number, depend on the name alone and are all used."""
    used = {urls.shard(f"host{number}.example", 16) for number in range(500)}
    assert used == set(range(16))
    assert urls.shard("a.example", 1) == 0


def test_names_of_a_url():
    """Key and fingerprint are beginnings of the digest; origin and hostname are parts of the URL."""
    url = "https://a.example:8/b?c"
    assert (urls.key(url), urls.fingerprint(urls.key(url))) == (
        urls.digest(url).hex()[:24],
        int.from_bytes(urls.digest(url)[:8]),
    )
    assert (urls.origin(url), urls.hostname(url)) == ("https://a.example:8", "a.example")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a.example/:80", "a.example"),
        ("http://[::1]/", "[::1]"),
        ("http://[::1]:8080/", "[::1]"),
        ("http://127.0.0.1:8/", "127.0.0.1"),
    ],
)
def test_hostname(url, name):
    """A host name has no port, and an IPv6 address keeps its brackets."""
    assert urls.hostname(url) == name


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("a.b.example.com", "example.com"),
        ("example.com.", "example.com"),
        ("a.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("me.github.io", "me.github.io"),
        ("www.xn--r8jz45g.jp", "xn--r8jz45g.jp"),
        ("10.0.0.1", "10.0.0.1"),
        ("[::1]", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_site(name, site):
    """A site is the registrable domain; an address, a bare suffix or a single label is its own."""
    assert urls.site(name) == site


def test_keys() -> None:
    """A key is the beginning of the SHA-224 of a URL, to the letter: /a and /A are two pages."""
    for url in ("http://a.example/a", "http://a.example/A", "http://a.example/a?"):
        assert urls.key(url) == hashlib.sha224(url.encode()).hexdigest()[:24]
