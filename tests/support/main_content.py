"""How good the main content of a fixed set of pages is: what it has of what it must have, and of what it must not.

    python -m tests.support.main_content

prints the table that stands in docs/reference/dataset.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fscrawl.parse import links, text
from fscrawl.parse.encoding import sniff_encoding

FOLDER = Path(__file__).parents[1] / "component" / "main_content"
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
WAYS = ("visible", "main")


@dataclass(frozen=True)
class Found:
    """What a text has: `right` of `wanted` passages of the content, and `wrong` of `boilerplate` passages around it."""

    right: int
    wanted: int
    wrong: int
    boilerplate: int

    def __add__(self, other: Found) -> Found:
        return Found(*(a + b for a, b in zip(self.row, other.row, strict=True)))

    @property
    def row(self) -> tuple[int, int, int, int]:
        return self.right, self.wanted, self.wrong, self.boilerplate

    @property
    def recall(self) -> float:
        return self.right / self.wanted

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)


def content(name: str, how: str) -> str:
    body = (FOLDER / "pages" / f"{name}.html").read_bytes()
    return text.read(links.readable(body, sniff_encoding(body), "text/html"), how).text


def judged(name: str, how: str) -> Found:
    found, expected = content(name, how), EXPECTED[name]
    right, wrong = (sum(passage in found for passage in expected[kind]) for kind in ("has", "not"))
    return Found(right, len(expected["has"]), wrong, len(expected["not"]))


def total(how: str) -> Found:
    return sum((judged(name, how) for name in EXPECTED), Found(0, 0, 0, 0))


def table() -> Iterator[str]:
    """Yield the lines of a table in Markdown: for each page and way the passages that it has."""
    yield f"| page | {' | '.join(WAYS)} |"
    yield f"|---|{'---|' * len(WAYS)}"
    for name in EXPECTED:
        cells = (
            f"{each.right} of {each.wanted}, {each.wrong} of {each.boilerplate}"
            for each in (judged(name, how) for how in WAYS)
        )
        yield f"| {name} | {' | '.join(cells)} |"
    sums = [total(how) for how in WAYS]
    yield f"| recall | {' | '.join(f'{each.recall:.2f}' for each in sums)} |"
    yield f"| precision | {' | '.join(f'{each.precision:.2f}' for each in sums)} |"


if __name__ == "__main__":
    print("\n".join(table()))
