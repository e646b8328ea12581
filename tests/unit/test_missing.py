"""What the settings ask for, and a machine cannot do."""

from fscrawl.config.settings import Settings, parse
from fscrawl.config.watcher import missing
from fscrawl.parse import pdf

_WITH_PDF = parse('[fetch]\naccept = ["application/*"]\naccept_links = ["application/pdf"]')


def test_pdf(monkeypatch):
    """Without pypdf, PDFs that are to be searched for links are named, with what to install."""
    assert missing(_WITH_PDF) == ""
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    assert "pypdf is missing: " in missing(_WITH_PDF)
    assert "pdf" in missing(_WITH_PDF).rpartition(": ")[2]


def test_nobody_asks_for_it(monkeypatch):
    """Nothing is said where PDFs are not stored, or not searched."""
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    assert missing(Settings()) == ""
    assert missing(parse('[fetch]\naccept = ["application/pdf"]')) == ""
    assert missing(parse('[fetch]\naccept_links = ["application/pdf"]')) == ""
