"""The main content of a fixed set of pages, of different kinds, by both libraries."""

import pytest

from tests.support.main_content import EXPECTED, FOLDER, content, judged, table, total

DOCUMENT = FOLDER.parents[2] / "docs" / "reference" / "dataset.md"


def test_every_page_is_judged():
    """There is a list of what it has for every page, and a page for every list."""
    assert {path.stem for path in (FOLDER / "pages").iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_pages_are_what_the_lists_say(name):
    """All that must be found is visible, and most of what must not: nothing is found by being misspelt."""
    found = judged(name, "visible")
    assert found.right == found.wanted
    assert found.wrong >= found.boilerplate - 2


@pytest.mark.parametrize(("how", "recall", "precision"), [("main", 0.9, 0.8), ("fast", 0.9, 0.75)])
def test_quality(how, recall, precision):
    """Both find nine tenths of the content, and leave out most of what is around it, of which half the text is."""
    found = total(how)
    assert found.recall >= recall
    assert found.precision >= precision
    assert total("visible").precision < 0.55


@pytest.mark.parametrize("how", ["main", "fast"])
def test_encodings(how):
    """Pages in Shift_JIS and windows-1251 are read as what they are."""
    assert "百年前に建てられた小さな図書館" in content("japanese", how)
    assert "Маяк на северном мысе" in content("russian", how)


def test_the_table_in_the_documents():
    """The documents have the figures, to the passage."""
    assert "\n".join(table()) in DOCUMENT.read_text(encoding="utf-8")
