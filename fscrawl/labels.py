"""Labels: names of tasks. A seed may carry one, and what it leads to has the same. Pure.

Promise: `unescaped(escaped(label)) == label`; what stands in logs is read as a label only if it may be one.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

MAX_CHARS = 100


def is_label(text: str) -> bool:
    """Tell whether a text may be a label: 1 to 100 printable characters, without blanks around them.

    >>> is_label("2024-01 A"), is_label(""), is_label("a" * 101)
    (True, False, False)
    """
    return 0 < len(text) <= MAX_CHARS and text.isprintable() and text == text.strip()


def in_comment(comment: str) -> str:
    """Give the label in the comment behind a seed; "" if it is none, since a comment may say anything.

    >>> in_comment("# day 1"), in_comment("#")
    ('day 1', '')
    """
    text = comment.lstrip("#").strip()
    return text if is_label(text) else ""


def sound(text: str | None) -> str:
    """Give the label that a record has; "" if it has none, or somebody has written something else there."""
    return text if text is not None and is_label(text) else ""


def escaped(label: str) -> str:
    """Give a label as it stands in a word of a log.

    >>> escaped("day 1, ü")
    'day%201%2C%20%C3%BC'
    """
    return quote(label, safe="")


def unescaped(word: str) -> str:
    """Read what `escaped` wrote; "" if it is no label."""
    return sound(unquote(word))
