"""Whatever a robots.txt holds, it has an answer, and knowing that nothing is forbidden changes none."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from fscrawl.robots import Rules
from fscrawl.urls import normalise

names = st.sampled_from(
    [
        *(
            "User-agent",
            "useragent",
            "Disallow",
            "DISALLOW",
            "dissallow",
            "dissalow",
            "disalow",
            "diasllow",
            "disallaw",
        ),
        *("Allow", "Crawl-delay", "Request-rate", "Visit-time", "Sitemap", "Host", "x", ""),
    ]
)
values = st.sampled_from(
    [
        "*",
        "/",
        "fscrawl",
        "/a",
        "/*a$",
        "$",
        "",
        "nan",
        "1/10s",
        "1/0",
        "9/" + "9" * 320,
        "#",
        ":",
        "0900-1700",
        "é",
        "%zz",
    ]
) | st.text(max_size=8)
blanks = st.sampled_from(["", " ", "\t", ":", ": ", " : ", ":\xa0", "\xa0"])
ends = st.sampled_from(["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\x1c", " # c\n"])
lines = st.builds("{}{}{}{}{}".format, st.sampled_from(["", " ", "\ufeff", "\xa0"]), names, blanks, values, ends)
texts = st.lists(lines, max_size=12).map("".join).map("User-agent: *\n".__add__) | st.text(max_size=60)
pages = st.sampled_from(["/", "/a", "/b/a", "/robots.txt", "/%C3%A9", "/?a=[", "/$"]) | st.text(max_size=8).map(
    "/".__add__
)


@given(texts, pages, st.sampled_from(["fscrawl/1.0", "x", ""]) | st.text(max_size=6))
@settings(deadline=None, max_examples=300)
def test_always_an_answer(text, path, agent):
    """Every text gives a yes or no for every page, a finite delay and its sitemaps."""
    url = normalise("http://a.example" + path)
    rules = Rules(text, agent)
    assert rules.allows(url) in {True, False}
    assert math.isfinite(rules.delay_s)
    assert rules.delay_s >= 0
    assert all(isinstance(sitemap, str) for sitemap in rules.sitemaps)


@given(texts, pages)
@settings(deadline=None, max_examples=700)
def test_short_cut(text, path):
    """The short cut for files that forbid nothing never differs from asking the parser."""
    url = normalise("http://a.example" + path)
    assert Rules(text, "fscrawl/1.0").allows(url) == Protego.parse(text.removeprefix("\ufeff")).can_fetch(
        url, "fscrawl"
    )
