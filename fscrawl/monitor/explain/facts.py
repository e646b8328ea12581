"""The facts about a URL, as values."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from fscrawl.monitor.explain.inlinks import Inlink
from fscrawl.request import Request, body_text, is_spelling, read
from fscrawl.storage.records import ErrorRecord, PageRecord


class Reason(NamedTuple):
    """Why a URL is not stored: `name` for programs, `text` and `advice` ("" for none) for people."""

    name: str
    text: str
    advice: str = ""


class Line(NamedTuple):
    """A line that found a URL: in the log of `machine`, or in `seeds.txt` (then `machine` is "").

    found_on    URL of the page with key `referrer`
    source      "log", "seeds"
    """

    machine: str
    depth: int
    referrer: str
    mark: str = ""
    found_on: str | None = None
    source: str = "log"


class Mark(NamedTuple):
    """What the log of `machine` says has become of a URL: it is done, or failed at `failed_at`.

    depth     at which it was found
    counts    its links were chosen by rules that cover the present ones; so machines do nothing more for the URL
    """

    machine: str
    depth: int
    failed_at: str = ""
    counts: bool = False


class Hop(NamedTuple):
    """One step of a chain of redirects; `status` is None if the page is not stored."""

    url: str
    status: int | None


class Explanation(msgspec.Struct):
    """What is known about a URL, or a request in its spelling.

    `files`: tree path → bytes. `inlinks` is None unless they were asked for.
    `holder`: the machine with the lease of its shard, "" if there is none; `holder_state`: "alive", "left", "dead", "".
    """

    asked: str
    url: str | None = None
    key: str = ""
    host: str = ""
    shard: int = -1
    files: dict[str, int] = msgspec.field(default_factory=dict)
    page: PageRecord | None = None
    error: ErrorRecord | None = None
    redirects: list[Hop] = msgspec.field(default_factory=list)
    found_on: str | None = None
    inlinks: list[Inlink] | None = None
    lines: list[Line] = msgspec.field(default_factory=list)
    marks: list[Mark] = msgspec.field(default_factory=list)
    holder: str = ""
    holder_state: str = ""
    reasons: list[Reason] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def request(self) -> Request | None:
        """What is asked for beside the URL; None for a plain GET."""
        return read(self.url) if self.url is not None and "#" in self.url and is_spelling(self.url) else None

    @property
    def stored(self) -> bool:
        return self.page is not None

    def as_json(self) -> dict[str, Any]:
        """Give all of it as JSON values; of the links in the record only their number."""
        rows = ("redirects", "lines", "marks", "reasons")
        facts = {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if name not in {"page", "error", "inlinks", *rows}
        }
        facts |= {name: [each._asdict() for each in getattr(self, name)] for name in rows}
        facts["request"] = None if self.request is None else _as_json(self.request)
        facts["stored"] = self.stored
        facts["inlinks"] = None if self.inlinks is None else [each._asdict() for each in self.inlinks]
        facts["record"] = None if self.page is None else _without_links(json.loads(self.page.to_json()))
        facts["error"] = None if self.error is None else json.loads(self.error.to_json())
        return facts


def _as_json(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.url,
        "type": request.type_ or None,
        "body": body_text(request) or None,
        "headers": dict(request.headers),
        "session": request.session or None,
        "fragment": request.fragment or None,
    }


def _without_links(record: dict[str, Any]) -> dict[str, Any]:
    lists = ("links", "nofollow", "sitemaps")
    return {name: len(value) if name in lists else value for name, value in record.items()}
