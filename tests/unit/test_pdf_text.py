"""The text of PDFs, read in a process that can be ended."""

import os
import signal
import threading
import time

import pytest

from fscrawl.dataset import pdf_text
from fscrawl.dataset.pdf_text import PdfText
from fscrawl.parse import pdf
from tests.support import pdfs


@pytest.fixture
def reader():
    found = PdfText()
    yield found
    found.close()


def test_text(reader):
    """One process reads all PDFs."""
    assert reader.of(pdfs.pdf("One")) == ("One", "")
    first = reader._process.pid
    assert reader.of(pdfs.pdf("Two")) == ("Two", "")
    assert reader._process.pid == first


def test_no_text(reader):
    """A PDF without text has none; of a broken one the reason is told, and the process goes on."""
    assert reader.of(pdfs.pdf("")) == (None, "")
    text, why = reader.of(pdfs.truncated())
    assert text is None
    assert "Error" in why
    assert reader.of(pdfs.pdf("Two")) == ("Two", "")


@pytest.mark.gate
def test_too_long():
    """A PDF that takes too long ends the process, and the next one gets another."""
    reader = PdfText(limit_s=3.0)
    try:
        assert reader.of(pdfs.pdf("One")) == ("One", "")
        before = time.monotonic()
        reader._limit_s = 0.1  # in half a second pypdf gives up by itself
        text, why = reader.of(pdfs.deep_pages())
        assert (text, why.partition(";")[0]) == (None, "it takes too long")
        assert time.monotonic() - before < 5
        reader._limit_s = 20.0
        assert reader.of(pdfs.pdf("Two")) == ("Two", "")
    finally:
        reader.close()


@pytest.mark.gate
def test_killed(reader):
    """A process that dies while it reads, for example of too little memory, costs the text of one PDF."""
    assert reader.of(pdfs.pdf("One")) == ("One", "")
    os.kill(reader._process.pid, signal.SIGSTOP)
    killer = threading.Timer(0.2, os.kill, (reader._process.pid, signal.SIGKILL))
    killer.start()
    assert reader.of(pdfs.pdf("Two")) == (None, "it takes too much memory, or its reader crashes")
    killer.join()
    assert reader.of(pdfs.pdf("Three")) == ("Three", "")


@pytest.mark.gate
def test_killed_before(reader):
    """A process that dies between two PDFs costs nothing."""
    assert reader.of(pdfs.pdf("One")) == ("One", "")
    os.kill(reader._process.pid, signal.SIGKILL)
    reader._process.wait()
    assert reader.of(pdfs.pdf("Two")) == ("Two", "")


@pytest.mark.gate
def test_large(reader):
    """A PDF that no pipe takes at once is read."""
    text, why = reader.of(pdfs.pdf("word " * 200_000))
    assert (len(text), why) == (999_999, "")


def test_without_pypdf(reader, monkeypatch):
    """Without the extra no process is started, and the reason says so."""
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    text, why = reader.of(pdfs.pdf("One"))
    assert text is None
    assert "pypdf is missing" in why
    assert reader._process is None


@pytest.mark.gate
def test_nothing_is_left(reader):
    """The process ends with the one that uses it: its input ends then."""
    reader.of(pdfs.pdf("One"))
    process = reader._process
    process.stdin.close()
    assert process.wait(timeout=20) == 0
    process.stdin = None


def test_bounds_of_the_process():
    """The process has a limit of memory, which is below that of a machine."""
    assert pdf_text._MEMORY_BYTES <= 2 << 30
