"""Waiting for what a crawl on the pass-through does; each wait has a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.support.passthrough import Passthrough


def wait_for(holds: Callable[[], object], what: str, timeout_s: float = 30.0) -> float:
    """Wait until it holds; give how long that took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < timeout_s, f"not within {timeout_s} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - began


def published(mount: Passthrough) -> Callable[[], bool]:
    """Give what tells whether something has been published through the mount since now."""
    before = mount.calls()["rename"]
    return lambda: mount.calls()["rename"] > before
