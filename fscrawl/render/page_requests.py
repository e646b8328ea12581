"""What a page in the browser wants to load: each request is paused, and then refused here or asked of the worker.

The first one is for the page itself, and gets the answer that was fetched. If the page then wants to go elsewhere by
itself, the URL is noted as a link, and the page stays where it is. It may load itself again, as after it has set a
cookie.
"""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fscrawl.render.devtools import DevTools
from fscrawl.render.messages import Answer, Ask, Job

MOST_REQUESTS = 500
_MOST_RELOADS = 3
# What has no use for the DOM, and may go to anybody. A stylesheet may be waited for by scripts, and is loaded.
_NEVER = frozenset(
    {"Ping", "Prefetch", "CSPViolationReport", "EventSource", "WebSocket", "SignedExchange", "FedCM", "Manifest"}
)
_KINDS = {"image": "Image", "font": "Font", "media": "Media", "stylesheet": "Stylesheet"}
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
_NOT_GIVEN = frozenset(  # headers of an answer that the browser must not see: its body is whole and decoded
    {
        *("content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "content-disposition"),
        *("link", "report-to", "reporting-endpoints", "nel", "alt-svc", "strict-transport-security"),
    }
)

Answers = Callable[[Ask], Awaitable[Answer]]


class PageRequests:
    """The requests of one page.

    asked     how many were asked of the worker
    blocked   how many were not even asked for, by kind
    went_to   URLs that the page wanted to go to by itself, in their order
    """

    def __init__(self, devtools: DevTools, job: Job, answers: Answers) -> None:
        """`answers`: gives what the browser asks for."""
        self._devtools = devtools
        self._job = job
        self._answers = answers
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked = 0
        self._documents = 0
        self.blocked: Counter[str] = Counter()
        self.went_to: dict[str, None] = {}

    def paused(self, session: str, frame: str, said: dict[str, Any]) -> None:
        """Take a request that is paused. `frame`: the page's own; `said`: of the event."""
        request, kind, name = said["request"], said["resourceType"], said["requestId"]
        is_page = kind == "Document" and said["frameId"] == frame
        if is_page and not self._documents:
            self._documents = 1
            self._fulfil(session, name, self._job.status, self._job.headers.items(), self._job.body)
        elif is_page and not self._reloads(request):
            self.went_to.setdefault(request["url"], None)
            self._refuse(session, name, "Aborted")
        elif why := self._is_blocked(request, kind, is_page=is_page):
            self.blocked[why] += 1
            self._refuse(session, name, "BlockedByClient")
        else:
            self.asked += 1
            ask = Ask(self.asked, request["url"], request["method"], request["headers"], _body_of(request), kind)
            task = asyncio.get_running_loop().create_task(self._ask(session, name, ask))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _reloads(self, request: dict[str, Any]) -> bool:
        """Tell whether the page loads itself again, as after it has set a cookie; a few times it may."""
        is_same = request["url"].partition("#")[0] == self._job.url.partition("#")[0] and request["method"] == "GET"
        self._documents += is_same
        return is_same and self._documents <= _MOST_RELOADS

    def _is_blocked(self, request: dict[str, Any], kind: str, *, is_page: bool) -> str:
        """Say as what a request is blocked; "" if it is not."""
        if not request["url"].startswith(("http:", "https:")):
            return "scheme"
        if request["method"] not in _METHODS:
            return str(request["method"])[:20]
        if kind in _NEVER:
            return str(kind)
        if kind == "Document" and not is_page and "frame" in self._job.options.block:
            return "frame"
        if any(_KINDS.get(each) == kind for each in self._job.options.block):
            return kind
        if request["url"].endswith("/favicon.ico") and kind == "Other":
            return "favicon"
        return "too many" if self.asked >= MOST_REQUESTS else ""

    async def _ask(self, session: str, name: str, ask: Ask) -> None:
        answer = await self._answers(ask)
        if answer.status:
            self._fulfil(session, name, answer.status, answer.headers, answer.body)
        else:
            self._refuse(session, name, "AccessDenied")

    def _fulfil(self, session: str, name: str, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        given = [{"name": name, "value": value} for name, value in headers if name.lower() not in _NOT_GIVEN]
        self._devtools.post(
            "Fetch.fulfillRequest",
            session,
            requestId=name,
            responseCode=status,
            responseHeaders=given,
            body=base64.b64encode(body).decode(),
        )

    def _refuse(self, session: str, name: str, reason: str) -> None:
        self._devtools.post("Fetch.failRequest", session, requestId=name, errorReason=reason)

    def close(self) -> None:
        """Ask for nothing any more."""
        for task in list(self._tasks):
            task.cancel()


def _body_of(request: dict[str, Any]) -> bytes:
    """Give the body of a request. What the browser does not tell, such as a file, is left out."""
    parts = request.get("postDataEntries")
    if parts is not None:
        return b"".join(base64.b64decode(part.get("bytes", "")) for part in parts)
    return str(request.get("postData", "")).encode()
