"""Which link rules cover which: whether a page must be told again."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from fscrawl.config.settings import CrawlSettings, PolitenessSettings, Settings
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.scope import Scope
from tests.support.effort import tries

SEEDS = ("http://www.a.example/", "http://b.example:8000/x")


def rules(seeds=SEEDS, **crawl):
    return LinkRules.of(Settings(CrawlSettings(**crawl)), seeds)


# -- covers


@pytest.mark.parametrize(
    ("old", "new", "covers"),
    [
        ({}, {}, True),
        ({"scope": "any"}, {"scope": "domain"}, True),
        ({"scope": "domain"}, {"scope": "host"}, True),
        ({"scope": "host"}, {"scope": "domain"}, False),
        ({"scope": "domain"}, {"scope": "any"}, False),
        ({"seeds": SEEDS}, {"seeds": SEEDS[:1]}, True),
        ({"seeds": SEEDS[:1]}, {"seeds": SEEDS}, False),
        ({"seeds": SEEDS[:1], "scope": "any"}, {"seeds": SEEDS, "scope": "any"}, True),
        ({"seeds": ("http://x.a.example/",)}, {"seeds": ("http://y.a.example/",)}, True),
        ({"seeds": ("http://x.a.example/",)}, {"seeds": ("http://y.a.example/",), "scope": "host"}, True),
        ({}, {"deny": ("x",)}, True),
        ({"deny": ("x",)}, {}, False),
        ({"deny": ("x",)}, {"deny": ("y", "x")}, True),
        ({}, {"allow": ("x",)}, True),
        ({"allow": ("x",)}, {}, False),
        ({"allow": ("x", "y")}, {"allow": ("y",)}, True),
        ({"allow": ("y",)}, {"allow": ("x", "y")}, False),
        ({"max_depth": 5}, {"max_depth": 5}, True),
        ({"max_depth": 5}, {"max_depth": 4}, True),
        ({"max_depth": 4}, {"max_depth": 5}, False),
        ({"max_depth": 5}, {}, False),
        ({}, {"max_depth": 5}, False),
        ({"follow_nofollow": True}, {"follow_nofollow": False}, False),
        ({"follow_nofollow": False}, {"follow_nofollow": True}, False),
        ({"sitemaps": True}, {"sitemaps": False}, True),
        ({"sitemaps": False}, {"sitemaps": True}, False),
        ({"max_pages": 7, "order": "random", "drop_query": True}, {}, True),
    ],
)
def test_covers(old, new, covers):
    """Link rules cover others if they chose at least the same links, followed at least as deep; else it does not."""
    assert rules(**old).covers(rules(**new)) == covers


HOSTS = ["a.example", "www.a.example", "b.example", "10.0.0.1", "c.co.uk", "x.c.co.uk", "co.uk"]
crawls = st.builds(
    CrawlSettings,
    scope=st.sampled_from(["host", "domain", "any"]),
    allow=st.lists(st.sampled_from(["/a", "b", "[?]", "^http:"]), max_size=2).map(tuple),
    deny=st.lists(st.sampled_from(["/a", "b", "[?]", "^https:"]), max_size=2).map(tuple),
    max_depth=st.none() | st.integers(0, 3),
    follow_nofollow=st.booleans(),
)
seeds = st.lists(st.sampled_from(HOSTS).map("http://{}/".format), max_size=4)
links = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(HOSTS),
    st.lists(st.sampled_from(["a", "b", "c?d"]), max_size=7).map("/".join),
)


@given(crawls, seeds, crawls, seeds, links)
@settings(deadline=None, max_examples=tries(300))
@example(
    CrawlSettings(scope="domain"), ["http://a.example/"], CrawlSettings(scope="host"), ["http://www.a.example/"], ""
)
def test_covered_scopes_are_inside(old, old_seeds, new, new_seeds, link):
    """If link rules cover others, each URL in the scope of these is in their own, however they were read back."""
    one, other = rules(old_seeds, **_values(old)), rules(new_seeds, **_values(new))
    inner, outer = Scope(new, frozenset(new_seeds)), Scope(old, frozenset(old_seeds))
    if link:
        assert (one.scope().refuses(link), other.scope().refuses(link)) == (outer.refuses(link), inner.refuses(link))
    if one.covers(other) and link and inner.refuses(link) in (None, "allow"):  # sitemaps need not be allowed
        assert outer.refuses(link) in (None, inner.refuses(link))


@given(st.tuples(crawls, seeds), st.tuples(crawls, seeds), st.tuples(crawls, seeds))
@settings(deadline=None, max_examples=tries(150))
def test_covers_is_transitive(one, two, three):
    """What was told by rules that cover others was told by what those cover."""
    a, b, c = (rules(names, **_values(crawl)) for crawl, names in (one, two, three))
    assert a.covers(a)
    if a.covers(b) and b.covers(c):
        assert a.covers(c)


def _values(crawl):
    return asdict(crawl)


# -- the digest and the file


@given(crawls, seeds)
@settings(deadline=None, max_examples=tries(200))
def test_json(crawl, names):
    """Link rules are read back equal, with the same digest."""
    written = rules(names, **_values(crawl))
    read = msgspec.json.decode(msgspec.json.encode(written), type=LinkRules)
    assert (read, read.digest) == (written, written.digest)


def test_digest():
    """It is the same for the same settings in another order, and another one if one of them differs."""
    assert rules(allow=("x", "y"), deny=("z", "z")).digest == rules(SEEDS[::-1], allow=("y", "x"), deny=("z",)).digest
    others = [{}, {"max_depth": 1}, {"allow": ("x",)}, {"deny": ("x",)}, {"scope": "any"}, {"follow_nofollow": True}]
    assert len({rules(**each).digest for each in others}) == len(others)


def test_rules_of_sites_and_sitemaps():
    """Other rules of sites cover nothing. Sitemaps are found through robots.txt."""
    plain, ruled, other = (msgspec.structs.replace(rules(), sites=sites) for sites in ("", "a", "b"))
    assert [ruled.covers(each) for each in (plain, ruled, other)] == [False, True, False]
    without = Settings(politeness=PolitenessSettings(robots=False))
    assert LinkRules.of(without, SEEDS) == rules(sitemaps=False)
