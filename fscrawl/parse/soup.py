"""HTML → the tree of html5lib, in a bounded time. Pure but for a clock that it reads.

html5lib is in Python, and quadratic for some pages that `html_limits` finds harmless. It can be stopped at each token,
because it looks at the open elements then.
"""

from __future__ import annotations

import time
from typing import Any

from bs4 import BeautifulSoup
from bs4.builder._html5lib import HTML5TreeBuilder, TreeBuilderForHtml5lib

_PATIENCE_S = 1.0  # of processor time, beyond `_SLOW_S` for each character
_SLOW_S = 10e-6  # honest pages take one or two


class TooSlowError(Exception):
    """The page takes html5lib longer than any honest one."""


class _Builder(HTML5TreeBuilder):
    """Makes a tree builder of html5lib that can be stopped."""

    ends_at = 0.0  # by the thread's clock

    def create_treebuilder(self, namespaceHTMLElements: bool) -> TreeBuilderForHtml5lib:  # noqa: N803 - html5lib's name
        self.underlying_builder = _Stoppable(namespaceHTMLElements, self.soup, ends_at=self.ends_at)
        return self.underlying_builder


class _Stoppable(TreeBuilderForHtml5lib):
    def __init__(self, *arguments: Any, ends_at: float, **more: Any) -> None:
        self._ends_at = ends_at
        self._open: list[Any] = []
        super().__init__(*arguments, **more)

    @property
    def openElements(self) -> list[Any]:  # noqa: N802 - html5lib's name
        if time.thread_time() > self._ends_at:
            raise TooSlowError
        return self._open

    @openElements.setter
    def openElements(self, elements: list[Any]) -> None:  # noqa: N802
        self._open = elements


def parse(html: str) -> BeautifulSoup:
    """Parse a page. TooSlowError if it takes too long; RecursionError for hundreds of nested `<rt>`.

    >>> parse("<p>a<b>c").b.text
    'c'
    """
    builder = _Builder(multi_valued_attributes={})  # so that all attributes are strings, also `rel`
    builder.ends_at = time.thread_time() + _PATIENCE_S + _SLOW_S * len(html)
    # The newline has no meaning in HTML, but without it Beautiful Soup warns about input that looks like XML or a path.
    # The warning cannot be silenced here, since its filters belong to all threads.
    return BeautifulSoup("\n" + html, builder=builder)
