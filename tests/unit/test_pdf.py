"""Links, title and text of PDFs."""

import sys

import pytest

from fscrawl.parse import documents, pdf
from fscrawl.urls import Joiner
from tests.support import pdfs

URL = "http://a.example/d/paper.pdf"


def read(body, robots_tag=None):
    return documents.page_of(pdf.read(body), URL, Joiner(), robots_tag=robots_tag)


def test_links():
    """The URIs of annotations are links, relative to the document; what is no http URL is left out."""
    page = read(pdfs.pdf("x", ["http://b.example/x#y", "next.pdf", "/top", "mailto:a@b", "next.pdf"], "A  title"))
    assert page.links == ("http://b.example/x", "http://a.example/d/next.pdf", "http://a.example/top")
    assert (page.title, page.encoding, page.truncated) == ("A title", "", False)


def test_base():
    """References are relative to the base that the document names."""
    assert read(pdfs.pdf("x", ["y"], base="http://b.example/z/")).links == ("http://b.example/z/y",)


def test_robots():
    """X-Robots-Tag holds for a PDF."""
    page = read(pdfs.pdf("x", ["/y"]), robots_tag="nofollow, noindex")
    assert (page.links, page.nofollow, page.robots) == ((), ("http://a.example/y",), ("nofollow", "noindex"))


@pytest.mark.parametrize("name", sorted(set(pdfs.HOSTILE) - {"deep pages"}))
def test_broken(name):
    """Of a broken PDF nothing is raised; the page says that there may be more."""
    assert read(pdfs.HOSTILE[name]).truncated
    assert pdf.text_of(pdfs.HOSTILE[name])[1]


@pytest.mark.parametrize("position", range(0, 900, 7))
def test_damage(position):
    """A PDF that is damaged anywhere is read as far as possible."""
    whole = pdfs.pdf("text", ["/x"], "title", "http://a.example/")
    for damaged in (whole[:position], whole[:position] + b"<<" + whole[position + 2 :]):
        assert all(url.startswith("http") for url in read(damaged).links)
        assert isinstance(pdf.text_of(damaged)[0], str)


def test_odd_annotations():
    """Annotations that are not what they should be have no link."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /URI 7 >>",
        b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Annots [7 << /A 8 >> << /A << /S /URI >> >>"
        b" << /A << /S /URI /URI 9 >> >> << /A << /S /GoTo /URI (/no) >> >> << /A << /S /URI /URI (/yes) >> >>"
        b" << /A << /S /URI /URI <ff80> >> >> ] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Annots 5 >>",
    ]
    assert "http://a.example/yes" in read(pdfs.assembled(objects)).links


def test_many_links(monkeypatch):
    """No more links are kept than of a page."""
    monkeypatch.setattr(documents, "MAX_LINKS", 3)
    page = read(pdfs.pdf("x", [f"/{n}" for n in range(5)]))
    assert (len(page.links), page.truncated) == (3, True)


def test_text():
    """The text of all pages is joined; a limit cuts it and says so."""
    assert pdf.text_of(pdfs.pdf("Some words")) == ("Some words", "")


def test_long_text(monkeypatch):
    """A text that is too long is cut."""
    monkeypatch.setattr(pdf, "MAX_TEXT_CHARS", 4)
    assert pdf.text_of(pdfs.pdf("Some words")) == ("Some", "it is too long")


def test_late():
    """A reader that runs out of time gives what it has."""
    turns = iter([False, True])
    body = pdfs.pdf("Some words").replace(b"/Kids [3 0 R] /Count 1", b"/Kids [3 0 R 3 0 R] /Count 2")
    assert pdf.text_of(body, lambda: next(turns)) == ("Some words", "it takes too long; only its beginning was read")


def test_page_limit(monkeypatch):
    """No more pages are looked at than a limit allows."""
    monkeypatch.setattr(pdf, "_MOST_PAGES", 0)
    assert pdf.text_of(pdfs.pdf("Some words")) == ("", "")


def test_encrypted():
    """A PDF that is encrypted without a password is read."""
    import io

    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdfs.pdf("Secret words", ["/x"]))))
    writer.encrypt("", "owner", algorithm="RC4-128")
    with io.BytesIO() as file:
        writer.write(file)
        body = file.getvalue()
    assert pdf.text_of(body) == ("Secret words", "")
    assert read(body).links == ("http://a.example/x",)


def test_memory(monkeypatch):
    """Too little memory ends the process that reads, which is why it reads alone."""

    def full(_body):
        raise MemoryError

    monkeypatch.setattr(pdf, "_reader", full)
    with pytest.raises(MemoryError):
        read(b"")
    with pytest.raises(MemoryError):
        pdf.text_of(b"")


def test_without_pypdf(monkeypatch):
    """Without the extra this is known, and reading says which module is missing."""
    assert pdf.is_installed()
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ModuleNotFoundError, match="pypdf"):
        read(b"")
    with pytest.raises(ModuleNotFoundError, match="pypdf"):
        pdf.text_of(b"")


def test_uris_of_bytes():
    """A URI whose bytes are no text is read as far as possible; anything else is none."""
    assert pdf._text(b"http://a.example/\xff") == "http://a.example/\ufffd"
    assert pdf._text("a\ud800") == "a?"
    assert pdf._text(7) is None
