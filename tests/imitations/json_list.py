"""A list as JSON, as `examples/json-list` crawls it: /api?pn=0, 10, … 1000, ten entries each.

Where the entries stand differs from answer to answer, but they are always called `result`. At random an answer is an
error with status 200.
"""

from __future__ import annotations

import itertools
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.server import Request, Response
from tests.imitations.frame import answer, missing, rng

LAST, STEP = 1000, 10
JSON = "application/json"


class JsonList:
    host = "127.0.80.3"
    port = 8803
    is_ill = False

    def __init__(self) -> None:
        self._answers = itertools.count(1)

    def __call__(self, request: Request) -> Response:
        parts = urlsplit(request.path)
        if parts.path != "/api":
            return missing()
        if rng("busy", next(self._answers)).random() < 0.08:
            return answer('{"error": "busy", "result": []}', JSON)
        first = int(parse_qs(parts.query)["pn"][0])
        found: Any = {"result": [_entry(number) for number in range(first, first + STEP)]}
        if first % 30 == 0:
            found = {"data": {"page": first, "list": found}}
        return answer(json.dumps(found, ensure_ascii=False), JSON)

    def stored(self) -> set[tuple[str, str]]:
        return {(f"/api?pn={first}", "") for first in range(0, LAST + 1, STEP)}

    def rows(self) -> list[dict[str, Any]]:
        return [_row(number) for number in range(LAST + STEP)]


def _entry(number: int) -> dict[str, Any]:
    entry = {"id": number, "name": f"名称 {number}", "score": number / 8, "tags": [f"t{number % 3}", f"u{number % 5}"]}
    return entry if number % 4 else {**entry, "score": None}


def _row(number: int) -> dict[str, Any]:
    entry = _entry(number)
    return {"id": number, "name": entry["name"], "score": entry["score"], "tags": entry["tags"]}
