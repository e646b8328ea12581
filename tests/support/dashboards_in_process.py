"""How tests ask a dashboard within their own process."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.dashboards import Answer

A = "http://a.example/"
PORT = "http://p.example:8080/"
BEATS = [{"beat": n, "pages": n * 10, "bytes": n * 1000, "pending": 5, "errors": {"dns": 1}} for n in range(5)]
Ask = Callable[..., Answer]
