"""Which files become pages, and where they stand in the navigation."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md")
BESIDE = ("docs/**/*.png", "docs/**/*.svg", "docs/*.json", "deploy/**/*", "examples/*.ipynb")  # shown, or linked to
Nav = list[Any]  # as MkDocs has it: pages, and mappings from a title to what stands below


class NavError(Exception):
    """A page is not in the navigation, or the navigation has one that is not there. The message names it."""


def copy_pages(checkout: Path, into: Path) -> list[str]:
    """Copy all pages, and what they show, into an empty directory, with their paths; give the paths of the pages."""
    shutil.rmtree(into, ignore_errors=True)
    for pattern in (*PAGES, *BESIDE):
        for file in filter(Path.is_file, checkout.glob(pattern)):
            copy = into / file.relative_to(checkout)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    return sorted(path.relative_to(into).as_posix() for path in into.rglob("*.md"))


def complete(nav: Nav, pages: Iterable[str]) -> Nav:
    """Put pages into the places that entries ending with / keep for them; NavError if one has no place.

    >>> complete([{"A": ["a/x.md", "a/"]}, "b.md"], ["a/w.md", "a/x.md", "a/y.md", "b.md"])
    [{'A': ['a/x.md', 'a/w.md', 'a/y.md']}, 'b.md']
    """
    left = set(pages)
    for entry in _entries(nav):
        if not entry.endswith("/"):
            if entry not in left:
                raise NavError(f"mkdocs.yml: nav has {entry}, which is not there, or stands there twice")
            left.remove(entry)
    whole = _filled(nav, left)
    if left:
        raise NavError(f"mkdocs.yml: nav has no place for {', '.join(sorted(left))}; add it where readers look for it")
    return whole


def _entries(nav: Nav) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from _entries(below)


def _filled(nav: Nav, left: set[str]) -> Nav:
    """Give the navigation with pages out of `left`, which are taken from there."""
    whole: Nav = []
    for entry in nav:
        if not isinstance(entry, str):
            whole.append({title: _filled(below, left) for title, below in entry.items()})
        elif entry.endswith("/"):
            found = sorted(page for page in left if page.startswith(entry))
            left.difference_update(found)
            whole += found
        else:
            whole.append(entry)
    return whole
