"""What the tests of a worker share: its tasks, the site that it asks, and pages that are stored already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from fscrawl import urls
from fscrawl.config.settings import FetchSettings, PolitenessSettings, Settings
from fscrawl.frontier.task import PageTask, RobotsTask, Task
from fscrawl.handlers.outcome import Outcome, Returned, Stored
from fscrawl.storage.records import PageRecord
from fscrawl.worker import Worker
from tests.support.crawling import USER_AGENT
from tests.support.web import Pages, Request, Response, Web

HOST = "127.0.3.1"
OTHER = "127.0.3.2"
GENERATION = 7
HTML = {"Content-Type": "text/html; charset=utf-8"}
SETTINGS = Settings(
    politeness=PolitenessSettings(delay=0.0, user_agent=USER_AGENT),
    fetch=FetchSettings(allow_addresses=("127.0.0.0/8",), timeout=5.0, retries=2),
)


class ObeyedWorker(Worker):
    """A worker whose machine gives a page again that came back because robots.txt was fetched before it."""

    def do(self, task: Task) -> Outcome:
        outcome = super().do(task)
        has_waited = isinstance(outcome, Returned) and outcome.asked_at is not None and self._context.permitted()
        return super().do(task) if has_waited else outcome


Work = Callable[..., Worker]


def task(url: str, *, attempt: int = 1) -> PageTask:
    return PageTask(url, urls.host(url), urls.key(url), 3, "f" * 24, attempt)


def what(outcome: Outcome) -> str | type:
    """Give what was stored, else the type of the outcome."""
    return outcome.kind if isinstance(outcome, Stored) else type(outcome)


def site(answers: dict[str, Response], robots: Response | None = None) -> Pages:
    """Serve these answers by path; what is not there is a 404."""
    missing = Response(404, {"Content-Type": "text/plain", "X-Why": "gone"}, b"no such page")

    def serve(request: Request) -> Response:
        if request.path == "/robots.txt":
            return robots or missing
        return answers.get(request.path, missing)

    return serve


def page(text: str) -> Response:
    return Response(200, HTML, text.encode())


def opened(worker: Worker, url: str, attempt: int = 1) -> Outcome:
    """Ask for the host's robots.txt."""
    return worker.do(RobotsTask(url, urls.host(url), attempt))


def dead_url() -> str:
    """Give a URL whose host answers nothing."""
    with Web(site({}), [HOST]) as web:
        return web.url(HOST)


ETAG = {"etag": '"1"', "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT"}


def stored_record(url: str, body: bytes = b"old", headers: Mapping[str, str] = ETAG, **changes: Any) -> PageRecord:
    values: dict[str, Any] = {
        "url": url,
        "key": urls.key(url),
        "depth": 3,
        "referrer": "",
        "fetched_at": "2001-01-01T00:00:00.000Z",
        "machine": "m",
        "status": 200,
        "headers": dict(headers),
        "bytes": len(body),
        "sha256": sha256(body).hexdigest(),
        "elapsed": 0.1,
        "links": (url + "?old",),
    }
    return PageRecord(**values | changes)
