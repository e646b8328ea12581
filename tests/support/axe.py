"""Rules of accessibility, checked by axe-core in a page of a real browser.

assert violations(page) == []

Its script comes with the package axe-playwright-python. It is evaluated through DevTools, so the policy of a page need
not allow it, and is in force while it is checked.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


@cache
def _script() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text()


def violations(page: Any) -> list[str]:
    """Give one line for each element that breaks a rule, in the page and its frames that run scripts."""
    page.evaluate(f"() => {{ {_script()} }}")
    found = page.evaluate(
        "(rules) => axe.run(document, { runOnly: { type: 'tag', values: rules }, resultTypes: ['violations'],"
        " iframes: false })",
        list(RULES),
    )
    return [
        f"{each['id']} ({each['help']}): {node['html'][:200]}: {node['failureSummary'][:300]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
