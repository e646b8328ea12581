"""The main content of a fixed set of pages, of different kinds."""

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


def test_quality():
    """It has nine tenths of the content, and leaves out most of what is around it, of which half the text is."""
    found = total("main")
    assert found.recall >= 0.9
    assert found.precision >= 0.8
    assert total("visible").precision < 0.55


def test_encodings():
    """Pages in Shift_JIS and windows-1251 are read as what they are."""
    assert "百年前に建てられた小さな図書館" in content("japanese", "main")
    assert "Маяк на северном мысе" in content("russian", "main")


def test_the_table_in_the_documents():
    """The documents have the figures, to the passage."""
    assert "\n".join(table()) in DOCUMENT.read_text(encoding="utf-8")
