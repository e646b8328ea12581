"""What servers may make a process remember: caches are bounded by bytes, whatever pages fill them with."""

import tracemalloc

import pytest

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.fleet.rules import LinkRules
from fscrawl.handlers import fresh_links
from fscrawl.handlers.fresh_links import FreshLinks
from fscrawl.http.answers import MAX_MESSAGE_CHARS, Failed
from fscrawl.http.cookies import MAX_PER_SITE, Jar
from fscrawl.parse.links import extract
from fscrawl.parse.resolving import MAX_CHARS, LinkBudget, resolve_all
from fscrawl.storage.records import PageRecord
from fscrawl.urls import MAX_URL_CHARS, Joiner
from fscrawl.util.lru import RecentGroups

BASE = f"http://a.example/{'b' * 1900}/"


class Kept:
    """How many bytes more are allocated than at the beginning."""

    def __enter__(self):
        tracemalloc.start()
        self._before = tracemalloc.get_traced_memory()[0]
        return self

    def __exit__(self, *_):
        self.bytes = tracemalloc.get_traced_memory()[0] - self._before
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name", ["{}.html", "{}" + "x" * 150, "{}" + "é" * 25, "{}\U0001f600" + "a" * 150, "mailto:{}"]
)
@pytest.mark.parametrize("base", [BASE, "http://a.example/"])
def test_joiner(base, name):
    """References take at most twice what the joiner was given, whatever they are like."""
    limit = 50_000
    joiner = Joiner(memory_bytes=limit)
    with Kept() as kept:
        for n in range(500):
            joiner.join(base, name.format(n))
    assert 0 < kept.bytes < 2.5 * limit


@pytest.mark.gate
@pytest.mark.parametrize("base", [BASE, "http://a.example/"])
def test_joiner_that_appends(base):
    """The same holds for references that are joined together, however many a page has."""
    limit = 2_000_000
    joiner = Joiner(memory_bytes=limit)
    with Kept() as kept:
        for n in range(20):
            joiner.append(f"{base}{n}/", [f"{m}.html" for m in range(2000)])
    assert 0 < kept.bytes < 2.5 * limit


def test_joiner_and_long_references():
    """A reference that is too long for a URL is none, and is not remembered."""
    joiner = Joiner()
    with Kept() as kept:
        assert {joiner.join(BASE, f"{n}" + "x" * MAX_URL_CHARS) for n in range(100)} == {None}
        assert joiner.join(BASE, "?" + "\U0001f600" * MAX_URL_CHARS) is None
    assert kept.bytes < 10_000


def test_long_host_names():
    """Host names that are too long for the DNS have directories and sites as others, and no cache keeps them."""
    urls.site("example.com")  # reads the list of suffixes
    with Kept() as kept:
        for n in range(200):
            name = f"{n}{'.a' * 500}.example.com"
            assert urls.host(f"http://{name}/").startswith("h-")
            assert urls.site(name) == "example.com"
    assert kept.bytes < 20_000


@pytest.mark.parametrize("chars", [10, 1900])
def test_reported_links(monkeypatch, chars):
    """What a worker has reported takes at most twice the bytes that it was given."""
    monkeypatch.setattr(fresh_links, "_REPORTED_BYTES", 100_000)
    rules = LinkRules.of(Settings(), [BASE])
    links = FreshLinks(rules, rules.scope())
    with Kept() as kept:
        for n in range(1000):
            page = PageRecord(BASE, "0" * 24, 0, "", "t", "m", 200, {}, 0, "", 0.1, (BASE[:chars] + str(n),))
            links.of(page, 0)
    assert kept.bytes < 250_000


def test_links_of_a_page():
    """Short links below a long base: those to follow and the others come to 8 million characters together."""
    links = "".join(f"<a href={n}></a><a rel=nofollow href=n{n}></a>" for n in range(4500))
    page = extract(f"<base href='{BASE}'>{links}".encode(), "http://a.example/", Joiner(memory_bytes=1))
    assert MAX_CHARS - 2000 < sum(map(len, page.links + page.nofollow)) <= MAX_CHARS
    assert page.truncated


def test_base_of_megabytes():
    """A base that is too long is ignored and counted, like one of another scheme, and not remembered."""
    joiner = Joiner()
    url = "http://a.example/dir/page"
    bodies = [f"<base href='/{n}{'b' * 100_000}/'><a href=c>".encode() for n in range(5)]
    with Kept() as kept:
        found = [extract(body, url, joiner) for body in bodies]
        assert {(each.links, each.too_long) for each in found} == {(("http://a.example/dir/c",), 1)}
        del found
    assert kept.bytes < 50_000


def test_messages():
    """A message is never longer than 500 characters, wherever its text comes from."""
    assert len(Failed("robots", "x" * 10_000, retry=False).message) == MAX_MESSAGE_CHARS
    assert Failed("robots", "x" * MAX_MESSAGE_CHARS, retry=False).message == "x" * MAX_MESSAGE_CHARS


@pytest.mark.gate
@pytest.mark.parametrize(("value", "path"), [(100, 500), (4000, 0), (1, 1), (60, 90)])
def test_cookies(value, path):
    """A jar that hostile sites fill takes at most 30 KB for each, however they cut their cookies."""
    jar = Jar()
    with Kept() as kept:
        for n in range(10):
            lines = [f"{k}={'v' * value}; Path=/{'p' * path}{k}" for k in range(MAX_PER_SITE * 2)]
            jar.learn(f"http://{n}.example/", lines, 0.0)
        del lines
    assert kept.bytes < 10 * 30_000


def test_few_links_beyond_the_budget():
    """Also of few links, those that have no room are cut."""
    assert resolve_all(["a"], Joiner(), BASE, LinkBudget(chars=1), url="", encoding="utf-8", limit=9) == ({}, True)


def test_item_of_a_group_that_is_replaced():
    """An item that is put in twice weighs once."""
    recent: RecentGroups[str, str, int] = RecentGroups(limit=2)
    for value in range(5):
        recent.put("a", "x", value)
    assert recent.group("a") == {"x": 4}


def test_items_that_are_put_in_together():
    """Their weight counts if one of them is new. The one that fills a generation takes the others along."""
    recent: RecentGroups[str, str, int] = RecentGroups(limit=5)
    recent.put_all("a", {"x": 1, "y": 2}, 4)
    recent.put_all("a", {"x": 3, "y": 4}, 4)
    assert recent.group("a") == {"x": 3, "y": 4}
    recent.put_all("a", {"z": 5}, 1)
    assert (recent.group("a"), recent.get("a", "x"), recent.get("a", "z")) == ({}, 3, 5)
