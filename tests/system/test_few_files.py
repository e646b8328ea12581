"""A machine that may open far fewer files than it wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, errors, pages
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.proof

HOSTS = [f"127.0.44.{number}" for number in range(1, 40)]


@pytest.mark.parametrize("files", [30, 60])
def test_few_files(root: Path, files: int) -> None:
    """All pages are stored, none is a failure, and no host is blamed."""
    with Web(linked_site(10, 5), HOSTS) as web:
        words = command(root, "--workers", "1", "--threads", "32", seeds=[web.url(host) for host in HOSTS])
        with Running(["prlimit", f"--nofile={files}:{files}", "--", *words]) as running:
            done = running.wait(90.0)
        assert web.duplicates() == {}
    assert (done.code, len(pages(root)), errors(root)) == (0, 11 * len(HOSTS), {}), done
    assert "Traceback" not in done.err
    check_tree(root)
