"""`page.text` of a stored PDF."""

import gc
import multiprocessing
import os
import signal
import threading

import pytest

import fscrawl
from fscrawl.api import pdfs as of_this_process
from fscrawl.dataset import pdf_text
from fscrawl.parse import pdf
from tests.support import pdfs
from tests.support.trees import Grown

HOME = "http://a.example/"


@pytest.fixture
def grown(tmp_path):
    return Grown(tmp_path / "tree")


@pytest.fixture
def crawl(grown):
    for name, body in (("one", pdfs.pdf("One")), ("two", pdfs.pdf("Two")), ("cut", pdfs.truncated())):
        grown.page(
            HOME + name,
            body,
            headers={"content-type": "application/pdf"},
            file="pdf",
            encoding=None,
            title=None,
            links=(),
        )
    yield fscrawl.open(grown.root)
    of_this_process._reader.close()


def test_text(crawl):
    """It is the text as a merge reads it, by one process for all; one that cannot be read has none."""
    assert {page.url: page.text for page in crawl} == {HOME + "one": "One", HOME + "two": "Two", HOME + "cut": None}
    assert [page.markup for page in crawl] == [None] * 3
    assert sorted(row["text"] or "" for row in crawl.rows(["text"])) == ["", "One", "Two"]


@pytest.mark.gate
def test_one_that_takes_too_long(crawl, grown, monkeypatch):
    """A hostile PDF has no text, and the next one has its own."""
    url = HOME + "deep"
    kind = {"content-type": "application/pdf"}
    grown.page(url, pdfs.deep_pages(), headers=kind, file="pdf", encoding=None, title=None, links=())
    assert crawl.page(HOME + "one").text == "One"
    with monkeypatch.context() as hurried:
        hurried.setattr(of_this_process._reader, "_limit_s", 0.5)
        assert crawl.page(url).text is None
    assert crawl.page(HOME + "two").text == "Two"


def test_without_the_package(crawl, monkeypatch):
    """Without the extra there is no text, and no process is started."""
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    assert crawl.page(HOME + "one").text is None
    assert of_this_process._reader._process is None


@pytest.mark.gate
def test_threads(crawl):
    """Each thread gets the text of its own page."""
    wrong = []

    def read(name, text):
        wrong.extend(found for found in (crawl.page(HOME + name).text for _ in range(10)) if found != text)

    threads = [threading.Thread(target=read, args=each) for each in (("one", "One"), ("two", "Two")) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


@pytest.mark.gate
def test_an_interrupt(crawl, monkeypatch):
    """Who is interrupted while a PDF is read gets the right text of the next one; so does who was idle meanwhile."""
    one, two = crawl.page(HOME + "one"), crawl.page(HOME + "two")
    receive = pdf_text._receive

    def interrupted(process, until):
        raise KeyboardInterrupt

    monkeypatch.setattr(pdf_text, "_receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = one.text
    monkeypatch.setattr(pdf_text, "_receive", receive)
    assert two.text == "Two"
    reader = of_this_process._reader._process
    os.kill(reader.pid, signal.SIGINT)
    reader.wait(20)
    assert one.text == "One"


@pytest.mark.gate
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_after_a_fork(crawl):
    """A child has a process of its own; that of its parent is not touched, whatever the child does."""
    assert crawl.page(HOME + "one").text == "One"
    reader = of_this_process._reader._process

    def check():
        gc.collect()
        assert crawl.page(HOME + "two").text == "Two"
        assert of_this_process._reader._process.pid != reader.pid

    with of_this_process._lock:  # another thread reads one at this moment
        child = multiprocessing.get_context("fork").Process(target=check)
        child.start()
    child.join(60)
    assert child.exitcode == 0
    assert crawl.page(HOME + "one").text == "One"
    assert of_this_process._reader._process is reader
