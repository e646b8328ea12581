"""Both parsers give the same answer for real manuals."""

import functools
import time
from pathlib import Path

import pytest

from fscrawl.handlers.costs import usual_s
from fscrawl.parse.links import extract
from fscrawl.urls import Joiner
from tests.support.parsers import differing

MANUALS = {"python3-doc": "/usr/share/doc/python3*-doc/html", "rust-doc": "/usr/share/doc/rust-doc/html"}
SAMPLE = 30  # pages of each manual
MAX_SAMPLE_BYTES = 60_000  # html5lib reads some 300 KB/s


@pytest.mark.parametrize("package", MANUALS)
def test_real_pages(package):
    """Both parsers give the same page for every page of a sample of a real manual."""
    pages = _pages(package)
    small = [page for page in pages[:: max(1, len(pages) // (4 * SAMPLE))] if page.stat().st_size < MAX_SAMPLE_BYTES]
    bodies = [page.read_bytes() for page in small[:: max(1, len(small) // SAMPLE)][:SAMPLE]]
    assert len(bodies) == SAMPLE
    assert differing(bodies) == set()


@pytest.mark.parametrize("package", MANUALS)
def test_no_page_for_people_takes_more_than_is_usual(package):
    """A site is charged for what goes beyond that, so a manual never owes anything."""
    pages = sorted(_pages(package), key=lambda page: page.stat().st_size)
    for page in (*pages[:: max(1, len(pages) // 300)], *pages[-60:]):
        body = page.read_bytes()
        taken = [_taken(body) for _ in range(2)]  # the first one may meet a cold cache
        assert min(taken) <= 1, page


def _taken(body: bytes) -> float:
    """Give the share of the usual time that a page takes, on this computer."""
    took_s, links = _read(body)
    return took_s / (usual_s(len(body), "lexbor", links) * _slowness())


def _read(body: bytes) -> tuple[float, int]:
    began_s = time.thread_time()
    page = extract(body, "http://a.example/", Joiner())
    return time.thread_time() - began_s, len(page.links)


@functools.cache
def _slowness() -> float:
    """Give how many times longer this computer takes than the one of `usual_s`; at least 1."""
    standard = b"<p>A paragraph with <a href=/a/b>a link</a>, and <em>other</em> words in it.\n" * 800
    return max(1.0, min(_read(standard)[0] for _ in range(3)) / 0.00135)


def _pages(package: str) -> list[Path]:
    where = Path("/").glob(MANUALS[package].lstrip("/"))
    pages = sorted(page for folder in where for page in folder.rglob("*.html"))
    if not pages:
        pytest.skip(f"Debian's {package} is not installed")
    return pages
