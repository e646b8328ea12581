"""Which pages a worker process reads itself, and which go to a process beside it."""

from __future__ import annotations

import gzip
from typing import cast

import pytest

from fscrawl.engine import parsing
from fscrawl.engine.parse_server import ParseServer
from fscrawl.engine.parsing import Parsing
from fscrawl.handlers.reading import FEED, PDF, SITEMAP, Reading, read_here
from fscrawl.urls import Joiner

URL = "http://a.example/dir/"
LINKS = b'<p>A paragraph with <a href="/a">a link</a>, <a href="#b">another</a> and <em>other</em> words.'
URLS = b"<urlset><url><loc>/a</loc></url>" + b"<url><loc>/b</loc></url>" * 9
PARAGRAPH = LINKS + b"<p>Words. " * 9


class ElsewhereError(Exception):
    """A page goes to another process."""


class Server:
    def start(self, nice: int) -> None:
        raise ElsewhereError(nice)

    def close(self) -> None:
        pass


@pytest.fixture
def here() -> Parsing:
    return Parsing(cast("ParseServer", Server()), lambda: None, lambda: None)


def page(size: int, unit: bytes = PARAGRAPH, **more: object) -> Reading:
    body = (unit * (size // len(unit) + 1))[:size]
    return Reading(body, URL, "text/html", None, "lexbor", drop_query=False)._replace(**more)


@pytest.mark.parametrize(
    "reading",
    [
        *map(page, [0, 1000, 16_384, 16_385, 524_288]),
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
        page(524_289),
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
    ],
)
def test_others_are_read_elsewhere(here: Parsing, reading: Reading) -> None:
    """First by the quick process."""
    with pytest.raises(ElsewhereError) as error:
        here.read(reading, Joiner())
    assert error.value.args == (0,)


@pytest.mark.parametrize(
    "reading",
    [
        page(1000, parser=PDF),
        page(70_000, URLS, parser=SITEMAP),
        page(0, body=gzip.compress(URLS), parser=SITEMAP),  # nobody knows how far it inflates
    ],
)
def test_documents_are_read_by_their_own_process(here: Parsing, reading: Reading) -> None:
    """It stands back a little for those that read pages."""
    with pytest.raises(ElsewhereError) as error:
        here.read(reading, Joiner())
    assert error.value.args == (5,)


def test_attempts_are_charged(here: Parsing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site whose pages are begun here in vain pays for that; when it owes too much, they are not begun."""
    begun = []
    attempt = parsing.read_if_usual
    monkeypatch.setattr(parsing, "slowness", lambda: 0.001)
    monkeypatch.setattr(parsing, "usual_s", lambda size, parser, links=0: 0.0)
    monkeypatch.setattr(parsing, "read_if_usual", lambda *of: begun.append(of) or attempt(*of))
    nices = []
    for _ in range(200):
        with pytest.raises(ElsewhereError) as error:
            here.read(page(200_000, b"<div>"), Joiner())
        nices.append(error.value.args[0])
    assert nices == sorted(nices)
    assert nices[-1] > 0
    assert len(begun) == nices.count(0)
