"""What all imitations have in common, and how they answer.

Promise: what `rows` and `stored` say is computed from the data of the site alone, never from what was asked.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Protocol

from demo.server import Request, Response

HTML = "text/html; charset=utf-8"


class Imitation(Protocol):
    """A site: a function from requests to answers, and the truth about it.

    host, port    where the files of its example expect it
    is_ill        some requests fail for as long as it is set; most sites are never ill
    """

    host: str
    port: int
    is_ill: bool

    def __call__(self, request: Request) -> Response: ...

    def stored(self) -> set[tuple[str, str]]:
        """Give what a crawl must have stored: (path with query, body of the request) of each page."""

    def rows(self) -> list[dict[str, Any]]:
        """Give the rows that the example's answer must have, in the order of their URLs."""


def answer(
    body: str | bytes, type_: str = HTML, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Give an answer with a body; text is sent as UTF-8."""
    data = body.encode() if isinstance(body, str) else body
    return Response(status, {"Content-Type": type_, **(headers or {})}, data)


def missing() -> Response:
    return answer("<h1>nothing here</h1>", status=404)


def rng(*seeds: object) -> random.Random:
    """Give random numbers that are the same in every run for the same seeds."""
    return random.Random("/".join(map(str, seeds)))
