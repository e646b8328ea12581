"""How much a test tries: a tenth in `make test` and in the gate, for a quick answer; all of it in `make test-all`.

FSCRAWL_TESTS=all in the environment asks for all. A test whose cost grows with the number of things it tries asks here
how many: `@settings(max_examples=tries(500))`, `@pytest.mark.parametrize("size", some(8, 60, 200))`.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("FSCRAWL_TESTS") == "all"
_PART = 10
_FEWEST = 10
_EXAMPLES = 100  # of hypothesis, where a test says nothing


def tries(count: int) -> int:
    """Give how many of `count` tries are made: all, or a tenth and not fewer than ten."""
    return count if FULL else min(count, max(_FEWEST, count // _PART))


def some(*values: T) -> list[T]:
    """Give all values, or only the first."""
    return list(values if FULL else values[:1])


def set_profile() -> None:
    """Set how much hypothesis tries where a test says nothing. Guests have no hypothesis, and need none."""
    try:
        from hypothesis import settings
    except ImportError:
        return
    settings.register_profile("fscrawl", max_examples=tries(_EXAMPLES), deadline=None)  # machines are busy
    settings.load_profile("fscrawl")
