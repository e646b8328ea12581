"""The text of PDFs, read in a process that can be ended, for a dataset and for `page.text`."""

import subprocess
import threading
import time

import pytest

import fscrawl
from fscrawl.dataset import pdf_text
from fscrawl.dataset.pdf_text import text_of
from fscrawl.parse import pdf
from tests.support import pdfs
from tests.support.trees import Grown

HOME = "http://a.example/"


@pytest.fixture
def no_process(monkeypatch):
    def run(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", run)


@pytest.fixture
def crawl(tmp_path):
    grown = Grown(tmp_path / "tree")
    for name, body in (("one", pdfs.pdf("One")), ("two", pdfs.pdf("Two")), ("cut", pdfs.truncated())):
        kind = {"content-type": "application/pdf"}
        grown.page(HOME + name, body, headers=kind, file="pdf", encoding=None, title=None, links=())
    return fscrawl.open(grown.root)


def test_text():
    """A PDF has its text; one without a text has none, and of a broken one the reason is told."""
    assert text_of(pdfs.pdf("One")) == ("One", "")
    assert text_of(pdfs.pdf("")) == (None, "")
    text, why = text_of(pdfs.truncated())
    assert text is None
    assert "Error" in why


@pytest.mark.gate
def test_too_long(monkeypatch):
    """A PDF that takes too long has no text."""
    monkeypatch.setattr(pdf_text, "_LIMIT_S", 0.5)
    before = time.monotonic()
    assert text_of(pdfs.deep_pages(16))[1].partition(";")[0] == "it takes too long"
    assert time.monotonic() - before < 20


@pytest.mark.gate
@pytest.mark.parametrize("ends", ["import os; os.abort()", "import sys; print(sys.stdin.buffer.read(1)); 1 / 0"])
def test_dies(monkeypatch, ends):
    """A process that dies while it reads, for example of too little memory, costs the text of one PDF."""
    with monkeypatch.context() as changed:
        changed.setattr(pdf_text, "_PROGRAM", ends)
        assert text_of(pdfs.pdf("Two" * 100_000)) == (None, "it takes too much memory, or its reader crashes")
    assert text_of(pdfs.pdf("Three")) == ("Three", "")


@pytest.mark.gate
def test_memory(monkeypatch):
    """The process has a limit of memory, which is below that of a machine."""
    assert pdf_text._MEMORY_BYTES <= 2 << 30
    eats = "; from fscrawl.dataset import pdf_text; pdf_text.pdf.text_of = lambda *_: 'a' * (3 << 30); answer(limit_s)"
    monkeypatch.setattr(pdf_text, "_PROGRAM", pdf_text._PROGRAM.replace("; answer(limit_s)", eats))
    assert text_of(pdfs.pdf("One")) == (None, "it takes too much memory, or its reader crashes")


@pytest.mark.gate
def test_large():
    """A PDF that no pipe takes at once is read."""
    text, why = text_of(pdfs.pdf("word " * 200_000))
    assert (len(text), why) == (999_999, "")


def test_without_pypdf(crawl, no_process, monkeypatch):
    """Without the extra no process is started, and the reason says so."""
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    text, why = text_of(pdfs.pdf("One"))
    assert text is None
    assert "pypdf is missing" in why
    assert crawl.page(HOME + "one").text is None


def test_text_of_pages(crawl):
    """`page.text` is the text as a merge reads it; a PDF that cannot be read has none."""
    assert {page.url: page.text for page in crawl} == {HOME + "one": "One", HOME + "two": "Two", HOME + "cut": None}
    assert [page.markup for page in crawl] == [None] * 3
    assert sorted(row["text"] or "" for row in crawl.rows(["text"])) == ["", "One", "Two"]


@pytest.mark.gate
def test_threads(crawl):
    """Each thread gets the text of its own page."""
    wrong = []

    def read(name, text):
        wrong.extend(found for found in (crawl.page(HOME + name).text for _ in range(3)) if found != text)

    threads = [threading.Thread(target=read, args=each) for each in (("one", "One"), ("two", "Two")) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
