"""What the tests on mounts share: a file server for each flavour, started once, and a directory on it for each test.

Tests name the flavours that they are run on (`tests/support/shares/marks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.shares.place import SharedPlace
from tests.support.shares.share import Flavour, Share, missing
from tests.support.shares.trouble import DEAD_AFTER_S, TROUBLE_S


@pytest.fixture(scope="session")
def share(request: pytest.FixtureRequest) -> Iterator[Share]:
    """A share of the flavour that is asked for by `on`."""
    flavour: Flavour = request.param
    lacking = missing(flavour)
    if lacking:
        pytest.skip(f"{flavour.name} needs {', '.join(lacking)}")
    # A client's patience ends while the server is in trouble, as 42 s do within 2 minutes; and bricks forget a client
    # before other machines take it for dead, as 42 s are before the 60 of `dead_after`.
    with Share(flavour, ping_timeout_s=min(42, int(TROUBLE_S * 0.4)), forget_s=int(DEAD_AFTER_S * 0.4)) as running:
        yield running


@pytest.fixture
def place(share: Share, tmp_path: Path, layout: Mapping[str, object]) -> Iterator[SharedPlace]:
    """Where a fleet may make its tree: each of its machines mounts the share."""
    where = SharedPlace(share, tmp_path.name, layout)
    try:
        yield where
    finally:
        where.close()


@pytest.fixture(scope="session")
def mount(share: Share) -> Iterator[Path]:
    """One mount, for all tests that need no more."""
    with share.mount() as point:
        yield point
