"""What the browser's tests share: Debian's chromium, and its pages with everything that went wrong in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HTML = {"Content-Type": "text/html; charset=utf-8"}
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"not installed: {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Open a page in a context of its own; at the end, no script of ours may have failed."""
    contexts, failures = [], []

    def open_page(**context: Any) -> Any:
        made = chromium.new_context(
            **{"viewport": {"width": 1200, "height": 800}, "reduced_motion": "reduce", **context}
        )
        made.set_default_timeout(15_000)
        contexts.append(made)
        page = made.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert failures == []
