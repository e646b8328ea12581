"""What a stored page costs a file server, in whatever it counts."""

from __future__ import annotations

from collections import Counter

FLAT = 1.10  # by so much a page may cost more in a large tree, or beside other machines


class Cost:
    """What some pages have cost.

    >>> print(Cost("RPCs", Counter(OPEN=20, CLOSE=21), 10))
    4.10 RPCs a page: CLOSE 2.10, OPEN 2.00 (of 10 pages)
    """

    def __init__(self, unit: str, spent: Counter[str], pages: float) -> None:
        self._unit, self._spent, self._pages = unit, spent, pages
        self.a_page = spent.total() / pages

    def __str__(self) -> str:
        kinds = [(name, count / self._pages) for name, count in self._spent.most_common()]
        each = ", ".join(f"{name} {number:.2f}" for name, number in kinds if number >= 0.005)
        return f"{self.a_page:.2f} {self._unit} a page: {each} (of {self._pages:g} pages)"
