"""Which links a worker reports: each once, and with max_depth once more when the way to it is shorter."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet.rules import LinkRules
from fscrawl.handlers.fresh_links import FreshLinks
from fscrawl.storage.records import SITEMAP, PageRecord
from fscrawl.util.lru import RecentDepths
from tests.support.effort import tries
from tests.support.frontiers import A


def record(*links, skipped=None):
    return PageRecord(A, "0" * 24, 7, "", "t", "m", 200, {}, 0, "", 0.1, links, skipped=skipped)


def fresh_links(**crawl):
    rules = LinkRules.of(Settings(CrawlSettings(**crawl)), [A])
    return FreshLinks(rules, rules.scope())


def test_once():
    """A link is reported once, however deep the pages are; one outside the scope is counted once."""
    links = fresh_links()
    page = record(A + "x", "http://b.example/")
    found = [links.of(page, depth) for depth in (3, 1)]
    assert found == [((A + "x",), {"scope": [urls.fingerprint(urls.key("http://b.example/"))]}), ((), None)]


def test_once_for_each_task():
    """One of the tasks that lead to a page may be stopped, so each of them reports its links."""
    links = fresh_links()
    pages = [msgspec.structs.replace(record(A + "x"), label=label) for label in ("a", "a", "b", None)]
    assert [len(links.of(page, 1)[0]) for page in pages] == [1, 0, 1, 1]


def test_a_shorter_way():
    """With max_depth a link is reported again from a page that is less deep, and from no other."""
    links = fresh_links(max_depth=5)
    page = record(A + "x")
    assert [bool(links.of(page, depth)[0]) for depth in (3, 3, 4, 2, 2)] == [True, False, False, True, False]


@pytest.mark.parametrize("label", [None, "x"])
def test_many(label):
    """More than a thousand links that were not reported lately are many; it takes nothing from what is reported."""
    links = fresh_links()
    page = msgspec.structs.replace(record(*(f"{A}{n}" for n in range(1001))), label=label)
    few = msgspec.structs.replace(page, links=page.links[1:])
    assert (links.many(page), links.many(few)) == (1001, 0)
    assert links.of(msgspec.structs.replace(page, links=page.links[:1]), 1)[0] == page.links[:1]
    assert links.many(page) == 0
    assert len(links.of(page, 1)[0]) == 1000


def test_links_of_a_sitemap():
    """The links of a sitemap are as deep as the sitemap itself."""
    links = fresh_links(max_depth=5)
    assert links.of(record(A + "x"), 2) == ((A + "x",), None)
    assert links.of(record(A + "x", skipped=SITEMAP), 3) == ((), None)
    assert links.of(record(A + "x", skipped=SITEMAP), 2) == ((A + "x",), None)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=40))
@settings(deadline=None, max_examples=tries(200))
def test_recent_depths(added):
    """What is new or less deep is told as such; with room for all, nothing is forgotten."""
    recent, model = RecentDepths(100), {}
    for item, depth in added:
        assert recent.add(item, depth) == (depth < model.get(item, 9))
        model[item] = min(depth, model.get(item, 9))


def test_recent_depths_forgets():
    """Only the latest items are remembered, at least as many as were asked for."""
    recent = RecentDepths(3)
    assert all(recent.add(item, 1) for item in range(7))
    assert [recent.add(item, 1) for item in (6, 5, 4, 3)] == [False] * 4
    assert recent.add(0, 1)
    assert not recent.add(6, 2)
    assert recent.add(6, 0)
