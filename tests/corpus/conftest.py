"""The served corpus. Without its packages the tests are skipped with a reason; in CI (CI=true) they fail instead."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchmarks import corpus


@pytest.fixture(scope="session")
def served() -> Iterator[corpus.Served]:
    if missing := corpus.missing():
        reason = f"not installed: {', '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with corpus.serve() as served:
        yield served
