"""An audit looks for linked URLs that nothing is known of, and its repair puts them back."""

import json

import pytest

from fscrawl.admin.audit import scanner
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet import outside
from tests.support.audits import BAD, MOVED, ONE, SEED, TWO


@pytest.mark.parametrize(
    ("links", "crawl", "found"),
    [
        (["http://a.example/new"], {}, 1),
        (["http://a.example/new", "http://a.example/new"], {}, 1),
        (["http://c.example/new"], {"scope": "domain"}, 0),
        (["http://a.example/new"], {"deny": ("new",)}, 0),
        (["http://a.example/new"], {"max_depth": 1}, 0),
        (["http://a.example/new"], {"max_depth": 2}, 1),
        (["HTTP://A.example/new"], {}, 0),
        (["http://a.example/\ud800"], {}, 0),
        ([ONE, BAD, SEED, MOVED], {}, 0),
    ],
)
def test_lost_urls(made, links, crawl, found):
    """A URL is lost if it is linked within the scope and the depth, and neither stored, failed nor waiting."""
    record = made.page(TWO, ())
    data = json.loads(record.to_json())
    made.file("links", TWO).write_text(json.dumps({**data, "links": links}))
    settings = Settings(crawl=CrawlSettings(**{"scope": "any", **crawl}))
    made.begin(settings)
    made.tell()
    report = made.audit(settings=settings)
    assert report.found["lost_urls"] == found


def test_waiting_urls(made):
    """A linked URL that is in a log or among the seeds waits, and is not lost."""
    made.page(TWO, ("http://a.example/said", "http://a.example/seed"))
    made.say("http://a.example/said", ONE)
    report = made.audit(seeds=[SEED, "http://a.example/seed"])
    assert (report.found, report.pending) == ({}, 2)


def test_navigation_is_looked_up_once(made, monkeypatch):
    """A link that many pages share is looked up once, and again when the memory of that was full."""
    asked = []
    real = scanner.Scanner._is_accounted_for
    monkeypatch.setattr(scanner.Scanner, "_is_accounted_for", lambda self, url: asked.append(url) or real(self, url))
    for number in range(9):
        made.page(f"http://a.example/{number}", (ONE, TWO))
    made.audit()
    assert asked.count(ONE) == asked.count(TWO) == 1
    asked.clear()
    monkeypatch.setattr(scanner, "_CHECKED_MEMORY", 1)
    made.audit()
    assert asked.count(ONE) > 1


def test_many_urls_are_written_in_pieces(made, monkeypatch):
    """However many URLs are put back, the log is written now and then."""
    monkeypatch.setattr(outside, "_FLUSH_EVERY_BYTES", 100)
    new = [f"http://a.example/new{number}" for number in range(10)]
    made.page(TWO, new)
    assert made.audit(repair=True).put_back == 10
    assert set(made.put_back()) == set(new)
