"""Duplicates and near-duplicates in a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import urls
from tests.support.merging import EVERY, A, archived
from tests.support.trees import Grown, Made, check


def test_exact_duplicates(tree: Grown, out: Path) -> None:
    """A page with an earlier one's body names the first of them, in its run and in later ones, bodiless pages none."""
    tree.page("http://c.example/1", tree.bodies[A])
    made = tree.merge(out)
    tree.page("http://a.example/0", tree.bodies[A])
    tree.skipped("http://a.example/pdf2")
    made = tree.merge(out)
    rows = made.by_url()
    assert {url: row["duplicate_of"] for url, row in rows.items() if row["duplicate_of"]} == {
        "http://c.example/1": rows[A]["key"],
        "http://a.example/0": rows[A]["key"],
    }
    assert made.manifest["counts"]["duplicates"] == 2


WORDS = [f"word{number}" for number in range(300)]


def paragraphs(changed: int = 0, first: int = 0) -> bytes:
    """Give a page of 300 words, the first `changed` of them others."""
    return ("<p>" + " ".join([f"new{first + n}" for n in range(changed)] + WORDS[changed:])).encode()


def test_near_duplicates(tree: Grown, out: Path) -> None:
    """A page with a word changed is a near-duplicate, across runs too, one with the half changed is none."""
    first, second, third = (f"http://n{number}.example/" for number in range(3))
    tree.page(first, paragraphs())
    tree.page(third, paragraphs(150))
    made = tree.merge(out)
    assert made.manifest["counts"]["near_duplicates"] == 0
    tree.page(second, paragraphs(1))
    rows = tree.merge(out).by_url()
    assert {url: row["near_duplicate_of"] for url, row in rows.items() if row["near_duplicate_of"]} == {
        second: urls.key(first)
    }


def test_duplicates_point_to_originals(tree: Grown, out: Path) -> None:
    """A page is never a duplicate of a duplicate, nor a near-duplicate of either kind; and never both."""
    for number in range(12):
        tree.page(f"http://d{number:02}.example/", paragraphs(number // 3, number // 6))
        if number % 4 == 3:
            tree.merge(out)
    rows = {row["key"]: row for row in tree.merge(out).rows()}
    found = 0
    for row in rows.values():
        assert not (row["duplicate_of"] and row["near_duplicate_of"])
        if row["duplicate_of"]:
            assert rows[row["duplicate_of"]]["duplicate_of"] is None
        if row["near_duplicate_of"]:
            original = rows[row["near_duplicate_of"]]
            assert (original["duplicate_of"], original["near_duplicate_of"]) == (None, None)
        found += bool(row["duplicate_of"]) + bool(row["near_duplicate_of"])
    assert found >= 9


@pytest.mark.gate
def test_dedupe(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """--dedupe leaves out what is a duplicate of any page, of an earlier run too, and says how many."""
    tree.page("http://c.example/1", tree.bodies[A])
    tree.page("http://n0.example/", paragraphs())
    tree.page("http://n1.example/", paragraphs(1))
    code, printed, _ = fscrawl("--dedupe", *EVERY)
    assert code == 0
    assert "left out: 2 duplicates (--dedupe)" in printed
    made = Made(out)
    assert made.keys() == tree.keys("http://c.example/1", "http://n1.example/")
    tree.page("http://c.example/2", tree.bodies["http://n1.example/"])  # which is not in the dataset
    tree.page("http://a.example/0", tree.bodies[A])
    tree.page("http://a.example/1", b"<p>something else entirely")
    assert "left out: 4 duplicates (--dedupe)" in fscrawl()[1]
    left_out = ("http://c.example/1", "http://n1.example/", "http://c.example/2", "http://a.example/0")
    assert Made(out).keys() == tree.keys(*left_out)
    assert set(archived(Made(out))) == set(tree.bodies) - set(left_out)
    check(Made(out))
