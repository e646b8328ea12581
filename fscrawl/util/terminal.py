"""Text from the web or from the tree, made safe to print. Pure."""

from __future__ import annotations


def plain(text: str) -> str:
    """Replace unprintable characters, which could control a terminal or break the line of a log.

    >>> plain("http://a.example/\\x1b[31mred\\n")
    'http://a.example/?[31mred?'
    """
    return "".join(c if c.isprintable() else "?" for c in text)
