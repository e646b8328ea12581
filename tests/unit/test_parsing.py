"""Which pages a worker process reads itself, and which go to the process beside it."""

from __future__ import annotations

import gzip

import pytest

from fscrawl.engine.parsing import Parsing
from fscrawl.engine.side_process import Started
from fscrawl.handlers.reading import FEED, PDF, SITEMAP, Reading, read_here
from fscrawl.urls import Joiner

URL = "http://a.example/dir/"
LINKS = b'<p>A paragraph with <a href="/a">a link</a>, <a href="#b">another</a> and <em>other</em> words.'
URLS = b"<urlset><url><loc>/a</loc></url>" + b"<url><loc>/b</loc></url>" * 9
PARAGRAPH = LINKS + b"<p>Words. " * 9


class ElsewhereError(Exception):
    """A page goes to another process."""


def elsewhere() -> Started:
    raise ElsewhereError


@pytest.fixture
def here() -> Parsing:
    return Parsing(elsewhere)


def page(size: int, unit: bytes = PARAGRAPH, **more: object) -> Reading:
    body = (unit * (size // len(unit) + 1))[:size]
    return Reading(body, URL, "text/html", None, "lexbor")._replace(**more)


@pytest.mark.parametrize(
    "reading",
    [
        *map(page, [0, 1000, 16_384, 16_385, 1_500_000]),
        page(70_000, is_plain=False),
        page(60_000, with_routes=True),
        page(60_000, follow=frozenset({"img"})),
        page(60_000, parser=FEED),
        page(60_000, URLS, parser=SITEMAP),
        page(16_000, b"<div>"),
        page(0, body=b"<p " + b"b " * 8000),
    ],
)
def test_usual_pages_are_read_here(here: Parsing, reading: Reading) -> None:
    """As they are read anywhere."""
    assert here.read(reading, Joiner()) == read_here(reading, Joiner())


@pytest.mark.parametrize(
    "reading",
    [
        page(650_000, b"<p>"),  # more nodes than the memory of a worker is for
        page(200_000, b"<div>"),  # takes long
        page(0, body=b"".join(b"<p><a href=%d>" % number for number in range(5000))),  # many references
        page(70_000, parser="html5lib"),
        page(1000, parser="html5lib"),
        page(70_000, parser=FEED),
        page(0, body=gzip.compress(LINKS), parser=FEED),
        page(70_000, with_routes=True),
        page(40_000, content_type="text/html; charset=windows-1252"),
        page(0, body=b"<p " + b"b " * 9000),
        page(70_000, follow=frozenset({"img"})),
        page(1000, parser=PDF),
        page(70_000, URLS, parser=SITEMAP),
        page(0, body=gzip.compress(URLS), parser=SITEMAP),  # nobody knows how far it inflates
    ],
)
def test_others_are_read_elsewhere(here: Parsing, reading: Reading) -> None:
    """As soon as it shows that they may take long."""
    with pytest.raises(ElsewhereError):
        here.read(reading, Joiner())
