"""What people do in a browser: wait, and press Tab until they are where they want to be."""

from __future__ import annotations

import time
from typing import Any

# ruff: noqa: E501 - scripts as they are


def until(page: Any, expression: str, given: Any = None, timeout_s: float = 20.0) -> None:
    """Wait until a function of the page gives true; Playwright's own way would need eval, which the policy forbids."""
    deadline = time.monotonic() + timeout_s
    while not page.evaluate(f"(given) => {expression}", given):
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {expression}"
        page.wait_for_timeout(50)


def focused(page: Any) -> str:
    """Give what the focused element says; of a field its id."""
    return page.evaluate(
        "(() => { const e = document.activeElement; return e.matches('input, select') ? e.id : e.textContent.trim().slice(0, 40) })()"
    )


def tab_to(page: Any, wanted: str, most: int = 40) -> None:
    """Press Tab until what has the focus says `wanted`; each stop must be visible as such."""
    for _ in range(most):
        page.keyboard.press("Tab")
        ring = page.evaluate(
            "() => { const e = document.activeElement; const s = getComputedStyle(e.matches('.choice input') ? e.nextElementSibling : e);"
            " return e === document.body || s.outlineStyle !== 'none' }"
        )
        assert ring, f"no ring around {focused(page)}"
        if focused(page) == wanted:
            return
    raise AssertionError(f"never came to {wanted}")
