"""`fscrawl dashboard` beside a large crawl."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.dashboards import Served
from tests.support.trees import Grown


@pytest.mark.proof
def test_a_hundred_thousand_hosts(root: Path) -> None:
    """With 100,000 hosts each page of the table, in any order, is there within moments, and so is the state."""
    grown = Grown(root)
    for number in range(99_999):
        (root / "links" / f"h{number:06}.example").mkdir()
    grown.page("http://h099999.example/")
    with Served(root) as served:
        began = time.monotonic()
        while served.ask("GET", "/api/hosts?sort=host&order=up").json()["hosts"] != 100_000:
            assert time.monotonic() - began < 60
        slowest = 0.0
        for query in (
            "sort=pending",
            "sort=until&order=up&page=1999",
            "sort=host",
            "q=0999",
            "q=99999&sort=until",
        ):
            began = time.monotonic()
            table = served.ask("GET", f"/api/hosts?{query}").json()
            slowest = max(slowest, time.monotonic() - began)
            assert len(table["rows"]) == min(50, table["found"])
            assert served.ask("GET", "/api/state").status == 200
        assert slowest < 5
        print(f"slowest answer of 100,000 hosts: {slowest * 1000:.0f} ms")
