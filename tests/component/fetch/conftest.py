"""What the tests of one HTTP exchange share: fetchers that may go to loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.raw import Make, fetchers


@pytest.fixture
def make() -> Iterator[Make]:
    """Make fetchers that may go to loopback, and close them."""
    with fetchers() as fetcher:
        yield fetcher
