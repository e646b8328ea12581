"""The main content of a page by resiliparse: HTML in UTF-8 → text. Pure.

Vocabulary:
  depth    how many elements are above an element
  steps    resiliparse looks at all elements above each one. So elements times depth are its steps, of some 75 ns

Promise: any bytes give a text that can be written as UTF-8, in a time that is in proportion to the page. Nothing can
interrupt resiliparse. So it is not asked where it would take longer, and such a page has no main content. Its parser is
lexbor, too: it gets only pages that lexbor has read at an ordinary pace (`trees`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from selectolax.lexbor import LexborHTMLParser

# 500 levels around 100,000 paragraphs took 3.8 s. Honest pages have some 20 levels, and hardly any has more than 60.
_MAX_STEPS = 8_000_000  # 0.6 s
_LEAST_LEVELS, _MOST_LEVELS = 64, 512  # that are allowed, however large or small the page is
_NOT_IN_TEXT = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_OTHER_SPACE = re.compile("[\v\f\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_BETWEEN_CELLS = re.compile(r"(?<=\S)[ \t]*\t[ \t]*")


def fast_content(html: bytes, page: LexborHTMLParser) -> str:
    """Return the main content of a page, a line for each block; "" if it has none. `page`: its tree.

    Raises ImportError if resiliparse is not installed, and nothing else.
    """
    extract = _extractor()
    if _is_too_deep(page, html.count(b"<")):
        return ""
    try:
        found = extract(
            html.decode("utf-8", "replace"), main_content=True, alt_texts=False, comments=False, post_meta=False
        )
    except Exception:  # noqa: BLE001 - if a parser or a heuristic fails, the page has no main content
        return ""
    lines = map(str.rstrip, clean(found).split("\n"))
    return "\n".join(_BETWEEN_CELLS.sub("\t", line) for line in lines if line).strip()


def clean(text: str) -> str:
    """Return what a library has found without control characters, and with plain spaces. Lines and tabs stay.

    >>> clean("a\\x00b\\u2003c\\td\\ud800")
    'ab c\\td'
    """
    return _OTHER_SPACE.sub(" ", _NOT_IN_TEXT.sub("", text))


def _is_too_deep(page: LexborHTMLParser, tags: int) -> bool:
    """Return whether an element lies deeper than a page with so many tags may have it."""
    levels = max(_LEAST_LEVELS, min(_MOST_LEVELS, _MAX_STEPS // max(tags, 1)))
    return page.css_first(_at_depth(levels)) is not None


@cache
def _at_depth(levels: int) -> str:
    """Give a selector for elements that have so many above them. It takes a twentieth of the parsing."""
    return " > ".join(["*"] * (levels + 1))


@cache
def _extractor() -> Callable[..., str]:
    from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415 - an extra

    return extract_plain_text
