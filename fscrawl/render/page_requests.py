"""What a page in the browser wants to load: each request is paused, and then refused here or asked of the worker.

The first one is for the page itself, and gets the answer that was fetched. If the page then wants to go elsewhere by
itself, the URL is noted as a link, and the page stays where it is. It may load itself again, as after it has set a
cookie; if that fails, it stays as it is, too.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fscrawl.parse.headers import pairs
from fscrawl.render.devtools import DevTools
from fscrawl.render.may_ask import refused_to_all
from fscrawl.render.messages import Answer, Ask, Job
from fscrawl.urls import MAX_URL_CHARS

MOST_REQUESTS = 500
_MOST_RELOADS = 3
_MOST_PLACES = 100
_NOT_GIVEN = frozenset(  # headers of an answer that the browser must not see: its body is whole and decoded
    {
        *("content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "content-disposition"),
        *("link", "report-to", "reporting-endpoints", "nel", "alt-svc", "strict-transport-security"),
    }
)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")  # of a header (RFC 9110 5.6.2); DevTools refuse others
_NO_VALUE = re.compile(r"[\0\r\n]")

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
        self._sent_bytes = 0
        self._documents = 0
        self.blocked: Counter[str] = Counter()
        self.went_to: dict[str, None] = {}

    def paused(self, session: str, frame: str, event: dict[str, Any]) -> None:
        """Handle a request that is paused. `frame`: the page's own; `event`: its values."""
        request, kind, name = event["request"], event["resourceType"], event["requestId"]
        is_page = kind == "Document" and event["frameId"] == frame
        if is_page and not self._documents:
            self._documents = 1
            headers = (pair for pair in pairs(self._job.headers) if pair[0].lower() != "set-cookie")  # it has them
            self._fulfil(session, name, self._job.status, headers, self._job.body)
        elif is_page and not self._reloads(request):
            self._goes_to(request)
            self._refuse(session, name, "Aborted")
        elif why := self._is_blocked(request, kind, is_page=is_page):
            self.blocked[why] += 1
            self._refuse(session, name, "Aborted" if is_page else "BlockedByClient")
        else:
            self.asked += 1
            ask = Ask(self.asked, request["url"], request["method"], request["headers"], _body_of(request), kind)
            task = asyncio.get_running_loop().create_task(self._ask(session, name, ask, is_page=is_page))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _reloads(self, request: dict[str, Any]) -> bool:
        """Tell whether the page loads itself again, as after it has set a cookie; a few times it may."""
        is_same = request["url"].partition("#")[0] == self._job.url.partition("#")[0] and request["method"] == "GET"
        self._documents += is_same
        return is_same and self._documents <= _MOST_RELOADS

    def _goes_to(self, request: dict[str, Any]) -> None:
        """Note where the page wants to go. What a form sends is another request than a GET of its URL."""
        if request["method"] != "GET":
            self.blocked["form"] += 1
        elif len(self.went_to) < _MOST_PLACES and len(request["url"]) <= MAX_URL_CHARS:
            self.went_to.setdefault(request["url"], None)

    def _is_blocked(self, request: dict[str, Any], kind: str, *, is_page: bool) -> str:
        """Say as what a request is blocked; "" if it is not."""
        if why := refused_to_all(request["url"], request["method"], kind, self._job.options.block, is_page=is_page):
            return why
        if self.asked >= MOST_REQUESTS:
            return "too many"
        self._sent_bytes += len(request.get("postData", "")) + len(request["url"])
        return "max_bytes" if self._sent_bytes > self._job.options.max_bytes else ""

    async def _ask(self, session: str, name: str, ask: Ask, *, is_page: bool) -> None:
        """Let a request be answered. "Aborted" leaves a page as it is that loads itself again in vain."""
        answer = await self._answers(ask)
        if answer.status and (not is_page or answer.status < 400):
            self._fulfil(session, name, answer.status, answer.headers, answer.body)
        else:
            self._refuse(session, name, "Aborted" if is_page else "AccessDenied")

    def _fulfil(self, session: str, name: str, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        given = [{"name": name, "value": value} for name, value in headers if _may_be_given(name, value)]
        done = self._devtools.post(
            "Fetch.fulfillRequest",
            session,
            requestId=name,
            responseCode=status,
            responseHeaders=given,
            body=base64.b64encode(body).decode(),
        )
        done.add_done_callback(lambda done: self._refuse_if_failed(done, session, name))

    def _refuse_if_failed(self, done: asyncio.Future[dict[str, Any]], session: str, name: str) -> None:
        """Let a request fail whose answer the browser does not take: it would wait for ever."""
        if not done.cancelled() and done.exception() is not None and not self._devtools.gone.is_set():
            self._refuse(session, name, "Failed")

    def _refuse(self, session: str, name: str, reason: str) -> None:
        self._devtools.post("Fetch.failRequest", session, requestId=name, errorReason=reason)

    async def all_answered(self) -> None:
        """Wait until the page asks for nothing."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def close(self) -> None:
        """Ask for nothing any more."""
        for task in list(self._tasks):
            task.cancel()


def _may_be_given(name: str, value: str) -> bool:
    return name.lower() not in _NOT_GIVEN and _NAME.match(name) is not None and _NO_VALUE.search(value) is None


def _body_of(request: dict[str, Any]) -> bytes:
    """Give the body of a request. What the browser does not pass on, such as a file, is left out."""
    parts = request.get("postDataEntries")
    if parts is not None:
        return b"".join(base64.b64decode(part.get("bytes", "")) for part in parts)
    return str(request.get("postData", "")).encode()
