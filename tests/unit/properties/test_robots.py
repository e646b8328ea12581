"""Whatever a robots.txt holds, it has an answer; and the answer is that of the plainest reading of RFC 9309."""

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from fscrawl.politeness.robots import Rules
from fscrawl.urls import normalise
from tests.support.effort import tries

AGENT = "fscrawl/1.0"
SITE = "http://a.example"

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
        *("*", "/", "fscrawl", "/a", "/*a$", "$", "", "nan", "1/10s", "1/0", "9/" + "9" * 320, "#", ":", "0900-1700"),
        *("é", "/é", "%zz", "/index.html", "/a?b/c"),
    ]
) | st.text(max_size=8)
blanks = st.sampled_from(["", " ", "\t", ":", ": ", " : ", ":\xa0", "\xa0"])
ends = st.sampled_from(["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\x1c", " # c\n"])
lines = st.builds("{}{}{}{}{}".format, st.sampled_from(["", " ", "\ufeff", "\xa0"]), names, blanks, values, ends)
texts = st.lists(lines, max_size=12).map("".join).map("User-agent: *\n".__add__) | st.text(max_size=60)
pages = st.sampled_from(["/", "/a", "/b/a", "/robots.txt", "/%C3%A9", "/?a=[", "/$"]) | st.text(max_size=8).map(
    "/".__add__
)

# A small alphabet, so that patterns and paths meet.
patterns = st.text("/ab*$", max_size=7).map("/".__add__) | st.text("/ab*", max_size=7).map("*".__add__)
paths = st.text("/ab", max_size=9).map("/".__add__)
rules = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), patterns), max_size=6)


def file(rules):
    return "\n".join(["User-agent: *", *(f"{field}: {pattern}" for field, pattern in rules)])


def matches(pattern, path):
    """The plainest matcher there is; too slow for hostile patterns."""
    body, anchor = (pattern[:-1], r"\Z") if pattern.endswith("$") else (pattern, "")
    return re.match(".*".join(map(re.escape, body.split("*"))) + anchor, path) is not None


@given(texts, pages, st.sampled_from([AGENT, "x", ""]) | st.text(max_size=6))
@settings(deadline=None, max_examples=tries(300))
def test_always_an_answer(text, path, agent):
    """Every text gives an answer for every page, and its line where that is no; a finite delay; and its sitemaps."""
    url = normalise(SITE + path)
    rules = Rules(text, agent)
    line = rules.forbidding_line(url)
    assert rules.allows(url) is (line is None)
    assert line is None or line in text
    assert math.isfinite(rules.delay_s)
    assert rules.delay_s >= 0
    assert all(isinstance(sitemap, str) for sitemap in rules.sitemaps)


@given(rules, paths)
@settings(deadline=None, max_examples=tries(700))
def test_longest_match(rules, path):
    """The longest pattern that matches decides, Allow in a tie, and nothing is forbidden where none matches."""
    # A "$" within a pattern is a literal one, which is written as its escape and matches no path here.
    met = [(len(p), field == "Allow") for field, p in rules if "$" not in p[:-1] and matches(p, path)]
    assert Rules(file(rules), AGENT).allows(SITE + path) == max(met, default=(0, True))[1]


@given(rules, paths)
@settings(deadline=None, max_examples=tries(300))
def test_as_protego(rules, path):
    """Where a file is one group of plain rules, Protego gives the same answer."""
    plain = [(field, pattern) for field, pattern in rules if "$" not in pattern]
    assert Rules(file(plain), AGENT).allows(SITE + path) == Protego.parse(file(plain)).can_fetch(SITE + path, AGENT)


@given(rules, paths, st.data())
@settings(deadline=None, max_examples=tries(300))
def test_other_lines(rules, path, data):
    """Lines of other kinds change no answer wherever they stand (RFC 9309 2.2.4)."""
    text = file([("User-agent", "fscrawl"), *rules])
    others = st.sampled_from(["", "# c", "Sitemap: /s", "Host: x", "Noindex: /", "Crawl-delay: 9", "nonsense"])
    mixed = "\n".join(f"{data.draw(others)}\n{line}" for line in text.split("\n"))
    assert Rules(mixed, AGENT).forbidding_line(SITE + path) == Rules(text, AGENT).forbidding_line(SITE + path)


@given(st.text("abz09-._~é:@!&'(),;=[]|", max_size=6), st.text("ab~é=", max_size=3), st.data())
@settings(deadline=None, max_examples=tries(300))
def test_escapes(text, more, data):
    """A character and its escape are one, in rules and in URLs, but for those that divide URLs."""

    def written(text):
        hexes = ("".join(f"%{byte:02{data.draw(st.sampled_from('xX'))}}" for byte in char.encode()) for char in text)
        return "".join(data.draw(st.sampled_from([char, escape])) for char, escape in zip(text, hexes, strict=True))

    url = normalise(f"{SITE}/x{written(text)}{written(more)}")
    assert not Rules(f"User-agent: *\nDisallow: /x{written(text)}", AGENT).allows(url)
    assert Rules(f"User-agent: *\nDisallow: /x{written(text)}c", AGENT).allows(url)
