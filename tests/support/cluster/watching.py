"""What the tests look at while something else runs the crawl."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.support.crawling import pages
from tests.support.web import Web


def until(
    holds: Callable[[], object], what: str, timeout_s: float = 40.0, told: Callable[[], str] = lambda: ""
) -> None:
    """Wait until it holds. `told`: gives what the crawl has printed, for the message that says that it did not."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}\n{told()}"
        time.sleep(0.1)


def is_whole(root: Path, web: Web, number: int) -> bool:
    """Tell whether a tree has all pages of a `linked_site` of so many, of each host."""
    return {web.url(host, f"/{page}") for host in web.hosts for page in range(number)} <= set(pages(root))
