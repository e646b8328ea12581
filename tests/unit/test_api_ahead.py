"""Records and bodies that Python reads ahead of a loop, by threads, where the file system is slow."""

import threading

import pytest

import fscrawl
from fscrawl.api import pages as api_pages
from fscrawl.storage.layout import LINKS
from fscrawl.util import parallel
from tests.support.trees import Grown


@pytest.fixture
def slow(monkeypatch):
    """Every file system counts as slow."""
    monkeypatch.setattr(parallel, "LONG_S", -1.0)


@pytest.fixture
def many(tmp_path):
    tree = Grown(tmp_path / "many")
    tree.many(6, 40)
    return tree


class Watched:
    """Counts what is read of a tree, and in which threads."""

    def __init__(self, crawl, monkeypatch):
        self.read = {"links": 0, "htmls": 0}
        self.threads = set()
        tree = crawl._tree
        real = tree.read_beside

        def read_beside(directory, names, most):
            self.read[directory.partition("/")[0]] += len(names)
            self.threads.add(threading.current_thread().name.partition("_")[0])
            return real(directory, names, most)

        monkeypatch.setattr(tree, "read_beside", read_beside)


def test_a_slow_share_is_read_by_threads(many, slow, monkeypatch):
    """Records are read by threads, and are the same in the same order; bodies are not read if nobody asks for them."""
    expected = sorted(
        (f"h{host}.example", key) for host in range(6) for key in many.tree.keys(LINKS, f"h{host}.example")
    )
    crawl = fscrawl.open(many.root)
    watched = Watched(crawl, monkeypatch)
    assert [(page.url_host_name, page.key) for page in crawl] == expected
    assert watched.read == {"links": 240, "htmls": 0}
    assert "reading" in watched.threads


def test_bodies_are_read_ahead_once_they_are_asked_for(many, slow, monkeypatch):
    """After the first page whose body is asked for, those of the next ones are read ahead."""
    crawl = fscrawl.open(many.root)
    watched = Watched(crawl, monkeypatch)
    for page in crawl:
        assert many.bodies[page.url] == page.html
    assert watched.read["htmls"] > 150


def test_bodies_that_nobody_wants_are_not_read_any_more(many, monkeypatch):
    """Who has asked for one body, and not for those of the next pages, does not have them all read."""
    monkeypatch.setattr(api_pages, "_WASTED", 16)
    crawl = fscrawl.open(many.root)
    watched = Watched(crawl, monkeypatch)
    pages = crawl.pages()
    assert next(pages).html
    assert len(list(pages)) == 239
    assert 16 <= watched.read["htmls"] <= 64


def test_what_is_read_ahead_is_bounded(many, slow, monkeypatch):
    """Who takes one page does not have the whole tree read."""
    monkeypatch.setattr(api_pages, "THREADS", 2)
    crawl = fscrawl.open(many.root)
    watched = Watched(crawl, monkeypatch)
    pages = crawl.pages()
    for _ in range(12):
        next(pages)
    assert watched.read["links"] <= 12 + 16 * 6
    pages.close()
    assert list(pages) == []


def test_a_body_that_is_damaged_is_not_taken_ahead(many, slow):
    """A body that was read ahead, and does not fit its record, is read again when it is asked for."""
    [bad] = [each for each in many.records if each.endswith("h3.example/7")]
    many.file("htmls", bad).write_bytes(b"<p>")
    for page in fscrawl.open(many.root):
        if page.url == bad:
            with pytest.raises(fscrawl.FscrawlError, match="differs from its record"):
                _ = page.html
        else:
            assert page.html == many.bodies[page.url]


def test_large_bodies_are_not_read_ahead(many, slow, monkeypatch):
    """A body that is large, and a document, are read when they are asked for."""
    monkeypatch.setattr(api_pages, "_AHEAD_BYTES", 10)
    crawl = fscrawl.open(many.root)
    watched = Watched(crawl, monkeypatch)
    assert all(page.html for page in crawl)
    assert watched.read["htmls"] == 0
