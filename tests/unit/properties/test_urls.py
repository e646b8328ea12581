"""Whatever a page links to: one spelling, and names that stay inside their directory."""

import os
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.config.settings import CrawlSettings
from fscrawl.frontier.scope import Scope
from fscrawl.urls import Joiner, Spelling, normalise
from tests.support.effort import tries

ROOT = "/tree"
NASTY_HOSTS = [
    *("..", ".", "%2e%2e", "%2E", "%2e%2e%2f", "...", ".a", "a..b", "a.", "a..", "CON", "nul", "con.txt", "a_b", "a b"),
    *("a%00b", "a\0b", "%2fetc", "a/../b", "..\\..", "[::1]", "[fe80::1%25eth0]", "[::ffff:1.2.3.4]", "-", "_", "~"),
    *("a" * 300, "a." * 150, "a" * 190, "a" * 191, ".".join(["b" * 63] * 5), "xn--", "xn--a", "xn--" + "z" * 300),
    *(
        "аpple.com",
        "ｅxample.com",
        "．．",
        "。。",
        "a／b",
        "a⁄b",
        "．．／etc",
        "\u200b..",
        "İ",
        "ß",
        "\u00ad",
        "\ufeffa",
    ),
    *("*", "a:b", "a@..", "..@..", "h-" + "0" * 32, "0", "0x", "1.2.3", "999999999999", "a;b", "$HOME", "`a`", "{a}"),
]
hosts = st.sampled_from(NASTY_HOSTS) | st.text(max_size=30) | st.text("abz019.-_:@%[]~/\\ ..", max_size=12)
paths = st.text(max_size=20) | st.text("ab./\\?#%2e \t\n:@", max_size=15)
texts = st.builds("{}://{}{}{}".format, st.sampled_from(["http", "https"]), hosts, st.sampled_from("/?#:\\"), paths)
references = (
    st.sampled_from(
        [
            *(
                "//host/x",
                "\\\\x",
                "/\\x",
                "\\/x",
                "?q",
                "",
                "#f",
                ":80",
                "http:x",
                " ../x",
                "\t?x",
                "javascript:1",
                "//",
            ),
            *(
                "http:",
                "http:?q",
                "HTTP:#f",
                "h\tttp:?q",
                "http: ",
                "https:?q",
                "htt\nps:",
                "http:/x",
                "http:\\x",
                "hs:",
            ),
            *(
                "\x00",
                "\x1f?x",
                "\t",
                "\n#",
                "\r?",
                "\f",
                "\x0b",
                "\xa0?",
                "\ufeff",
                ".",
                "..",
                "./?",
                "..#",
                "/..",
                "///",
            ),
            *(
                "x:y",
                "x?y/z",
                "x#y/z",
                "?a/b",
                "#a/b",
                "a/?b",
                ";",
                "&",
                "h",
                "http",
                "http//x",
                "\ud800",
                "?\ud800",
                "[",
                "//[",
            ),
        ]
    )
    | st.text(max_size=12)
    | st.text("htps:/\\?#. \t\n\rabx%2e@", max_size=10)
    | texts
)
bases = (
    texts.map(normalise).filter(bool)
    | st.builds("http://a.example/{}".format, st.text("ab/?.:@", max_size=12)).map(normalise).filter(bool)
)  # fmt: skip
fast = settings(deadline=None, max_examples=tries(250))


@given(texts | references)
@fast
def test_idempotent(text):
    """The normal form of a normal form is itself, and joining it to anything gives it again."""
    url = normalise(text)
    if url is not None:
        assert normalise(url) == url
        assert normalise(url, "https://other.example/x") == url


@given(texts)
@fast
def test_shape(text):
    """A normal form is printable ASCII without blank, fragment, credentials or empty query."""
    url = normalise(text)
    if url is not None:
        assert re.fullmatch(r"https?://[^/?#@\s]+/[!-~]*", url)
        assert "#" not in url
        assert not url.endswith("?") or url.count("?") > 1


@given(texts)
@fast
@example("http://../")
@example("http://%2e%2e/%2e%2e")
@example("http://" + "a." * 140)
def test_names_stay_inside(text):
    """Host directory and key of any URL name a file exactly one level below its directory."""
    url = normalise(text)
    if url is None:
        return
    host, key = urls.host(url), urls.key(url)
    assert re.fullmatch(r"[a-z0-9_-][a-z0-9._-]{0,199}", host)
    path = os.path.normpath(os.path.join(ROOT, "htmls", host, key + ".html"))  # noqa: PTH118
    assert path == f"{ROOT}/htmls/{host}/{key}.html"
    assert re.fullmatch("[0-9a-f]{24}", key)


def test_nasty_hosts():
    """Every nasty host that is a URL at all gets a safe directory, and different hosts get different ones."""
    normal = {url for name in NASTY_HOSTS if (url := normalise(f"http://{name}/"))}
    assert len(normal) > 20
    assert len({urls.host(url) for url in normal}) == len({urls.hostname(url) for url in normal})


@pytest.mark.gate
@given(bases, references, st.booleans())
@settings(deadline=None, max_examples=tries(1000))
@example("http://a.example/x/y.html?z", "http:?q", False)
@example("http://a.example/x/y.html?z", "h\tttp: ", False)
@example("http://a.example/x?a/b", "", False)
@example("http://a.example/x?a/b", "http://a.example/a b", False)
def test_memory_changes_nothing(base, reference, drop_query):
    """The joiner's memory gives what a plain join of reference and base gives."""
    joiner = Joiner(Spelling(drop_query))
    expected = normalise(reference, base, Spelling(drop_query))
    assert joiner.join(base, reference) == expected
    sibling = base.partition("?")[0] + "sibling?a"
    assert joiner.join(sibling, reference) == normalise(reference, sibling, Spelling(drop_query))
    assert joiner.join(base, reference) == expected


@given(texts)
@fast
def test_site_and_scope(text):
    """Every URL is within the scope of itself as a seed, and its site is the end of its host name."""
    url = normalise(text)
    if url is None or urls.bad_port(url):
        return
    name = urls.hostname(url)
    assert name.rstrip(".").endswith(urls.site(name).rstrip("."))
    for mode in ("host", "domain", "any"):
        limits = CrawlSettings(scope=mode)
        assert Scope(limits, frozenset({url})).refuses(url) in (None, "trap")
