"""What an audit finds of documents that are not HTML, and what its repair does to them."""

from pathlib import Path

import pytest

from tests.support.audits import ONE

PAPER = "http://a.example/paper.pdf"


def with_paper(made):
    """Store a document that is not HTML; give the path of its body."""
    record = made.page(PAPER, (ONE,), body=b"%PDF-1.4", file="pdf")
    made.tell()
    return made.root / made.tree.body_path("a.example", record.key, "pdf")


def test_document(any_made):
    """A document that is not HTML is a page; nothing is wrong with it."""
    path = with_paper(any_made)
    report = any_made.audit()
    assert (report.found, report.pages, path.read_bytes()) == ({}, 5, b"%PDF-1.4")


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_bytes(b"%PDF"), lambda path: path.write_bytes(b"%PDF-1.5")]
)
def test_damaged_document(any_made, damage):
    """A document whose body is missing or damaged is fetched again, and all its bodies are removed."""
    path = with_paper(any_made)
    damage(path)
    beside = path.with_suffix(".json")
    beside.write_bytes(b"{}")
    report = any_made.audit(repair=True)
    assert sum(report.found.values()) == 1
    assert report.ok
    assert not path.exists()
    assert not beside.exists()
    assert PAPER in any_made.put_back()
    assert any_made.audit().found == {}


def test_bodies_of_other_types(any_made):
    """A body under an extension, or in a directory, that the page has no more is removed; the page stays."""
    path = with_paper(any_made)
    path.with_suffix(".jpg").write_bytes(b"x")
    any_made.file("htmls", PAPER).parent.mkdir(exist_ok=True)
    any_made.file("htmls", PAPER).write_bytes(b"<p>")
    found = any_made.audit()
    assert found.found == {"unexpected_bodies": 1}
    assert any_made.audit(repair=True).ok
    assert any_made.audit().found == {}
    assert path.read_bytes() == b"%PDF-1.4"
    assert not path.with_suffix(".jpg").exists()


def test_documents_without_records(any_made):
    """Each body without a record is an orphan, and a repair removes them all."""
    path = with_paper(any_made)
    key = "f" * 24
    fan = path.parent
    for extension in ("pdf", "jpg"):
        (fan / f"{key}.{extension}").write_bytes(b"x")
    (path.parent / "0.pdf").write_bytes(b"x")
    report = any_made.audit(repair=True)
    assert report.found == {"orphan_bodies": 2, "strays": 1}
    assert [each.name for each in fan.glob(f"{key}*")] == []


def test_planted_in_place_of_a_document(any_made):
    """A link in place of a document's body is named, never followed, and goes when the page is mended."""
    path = with_paper(any_made)
    path.unlink()
    path.symlink_to(any_made.root / "crawl.toml")
    report = any_made.audit(repair=True)
    assert report.found == {"planted": 1, "damaged_bodies": 1}
    assert not path.is_symlink()
    assert (any_made.root / "crawl.toml").exists()
