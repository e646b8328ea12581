"""A directory of the tree that somebody has removed, or that is on a share that is not mounted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, check_tree, crawl, pages
from tests.support.web import Web, linked_site

A = "127.0.45.1"


@pytest.mark.parametrize("directory", ["htmls", "links", "errs"])
def test_missing_directory(root: Path, directory: str) -> None:
    """A finished crawl is not said to be finished when its pages are gone; the advice brings all of them back."""
    with Web(linked_site(6, 3), [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        before = set(pages(root))
        shutil.rmtree(root / directory)
        done = crawl(root)
        assert (done.code, done.out) == (75, ""), done
        assert f"{root}/{directory}: it is not there; is the share mounted?" in done.err
        assert not (root / directory).exists(), "nothing is made on the disk below"
        (root / directory).mkdir()
        words = [sys.executable, "-m", "fscrawl", "audit", "--repair", "--root", str(root)]
        subprocess.run(words, cwd=CHECKOUT, timeout=60, capture_output=True, check=False)
        assert crawl(root).code == 0
        assert set(pages(root)) == before
    check_tree(root)
