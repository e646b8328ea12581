"""What is to be read, and by whom: a worker process reads costly pages outside itself, and tests read all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fscrawl.http.fetch import Failed
from fscrawl.parse import links
from fscrawl.parse.links import ParsedPage
from fscrawl.urls import Joiner


class Reading(NamedTuple):
    """A page to read. `content_type`, `robots_tag`: HTTP headers; `parser`, `drop_query`: settings."""

    body: bytes
    url: str
    content_type: str | None
    robots_tag: str | None
    parser: str
    drop_query: bool


class UnreadableError(Exception):
    """A page cannot be read within its limits."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


Reader = Callable[[Reading, Joiner], ParsedPage]  # raises UnreadableError


def read_here(reading: Reading, joiner: Joiner) -> ParsedPage:
    """Read a page in this thread, however long it takes."""
    return links.extract(
        reading.body,
        reading.url,
        joiner,
        content_type=reading.content_type,
        robots_tag=reading.robots_tag,
        parser=reading.parser,
    )
