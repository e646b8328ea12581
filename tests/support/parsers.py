"""Which pages the two HTML parsers read differently."""

from __future__ import annotations

from fscrawl.parse.links import extract
from fscrawl.urls import Joiner

URL = "http://a.example/dir/"


def differing(bodies: list[bytes]) -> set[bytes]:
    """Give the bodies of which lexbor and html5lib do not make the same page."""
    joiner = Joiner()
    header = "text/html; charset=utf-8"

    def both(body: bytes) -> bool:
        pages = (extract(body, URL, joiner, content_type=header, parser=p) for p in ("lexbor", "html5lib"))
        return len(set(pages)) > 1

    return {body for body in bodies if both(body)}
