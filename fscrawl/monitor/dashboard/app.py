"""The routes of the dashboard, and the snapshot that all requests share.

    GET  /, /dashboard.css, /dashboard.js   the page, its style, and its script
    GET  /events?window=W                   stream of the state; /events/hosts?…  of a page of the hosts
    GET  /api/state, /api/hosts             the same, once
    GET  /api/page?url= | ?host=&key=       a page; /api/pages?host=&list=&page=  a host's pages; /api/errors  examples
    GET  /body/<host>/<key>?as=W            a stored body, for a frame
    GET  /metrics                           for Prometheus
    POST /control/<verb>                    see `admin.control`

Promise: the thread that answers never waits for the tree. So if the tree hangs, the dashboard still says so: one
thread waits for it, and the others get an error after some seconds. A snapshot is made at most once a second, and only
when a request asks.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from fscrawl.errors import FscrawlError, TreeError, UsageError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.hostnames import candidates, read
from fscrawl.monitor.dashboard import pages
from fscrawl.monitor.dashboard.hosts import ONLY, SORTS, Hosts, Query, hosts_now
from fscrawl.monitor.dashboard.metrics import CONTENT_TYPE, metrics
from fscrawl.monitor.dashboard.summary import WINDOWS, summary
from fscrawl.monitor.snapshot import Observer, Snapshot
from fscrawl.storage.layout import ERRS, LINKS, is_key
from fscrawl.store import Tree
from fscrawl.util.terminal import say_error

_FRESH_S = 0.9
_LIMIT_S = 3.0

T = TypeVar("T")


class Latest:
    """Takes snapshots of the tree at `root`; NotATreeError if there is none at the start."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic, limit_s: float = _LIMIT_S) -> None:
        self.tree = Tree(root, new_machine_id())
        self._clock = clock
        self._limit_s = limit_s
        self._observer = Observer(self.tree)
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._looked_at = 0.0
        self._began = clock()

    def ask(self, question: Callable[[Snapshot], T]) -> T:
        """Give what `question` makes of the latest snapshot; TreeError if the tree cannot be read now.

        Only one question runs at a time.
        """
        if not self._lock.acquire(timeout=self._limit_s):
            waited_s = self._clock() - self._began
            raise TreeError(f"{self.tree.root}: no answer for {waited_s:.0f} s; does the share hang?")
        try:
            if self._snapshot is None or self._clock() - self._looked_at >= _FRESH_S:
                self._look()
            assert self._snapshot is not None
            return question(self._snapshot)
        finally:
            self._lock.release()

    def _look(self) -> None:
        self._snapshot = None
        self._began = self._clock()
        self._snapshot = self._observer.look()
        self._looked_at = self._clock()


_STATIC = Path(__file__).parent / "static"
_FILES = {
    "/": ("index.html", "text/html"),
    "/dashboard.css": ("dashboard.css", "text/css"),
    "/dashboard.js": ("dashboard.js", "text/javascript"),
}
_LOOKS_AT_A_TIME = 8  # own threads: requests that hang on a page's file must not block the state
_EVERY_S = 1.0
_MOST_BODY_BYTES = 65_536
_STILL_HERE_S = 15.0

Verbs = Mapping[str, Callable[[Tree, bytes], str]]


class Dashboard:
    """The application: `app` answers requests and runs behind a guard; `close` ends all streams."""

    def __init__(self, root: Path, verbs: Verbs) -> None:
        """`verbs`: by name, how it may change the crawl; none if it is read-only."""
        self._latest = Latest(root)
        self._hosts = Hosts(self._latest.tree)
        self._about = {"root": str(root), "control": bool(verbs)}
        self._verbs = verbs
        self._closing = asyncio.Event()
        self._threads: CapacityLimiter | None = None
        routes = [Route(path, _file(*file)) for path, file in _FILES.items()]
        routes += [
            Route("/events", self._state_events),
            Route("/api/state", self._state),
            Route("/events/hosts", self._host_events),
            Route("/api/hosts", self._host_table),
            Route("/api/page", self._page),
            Route("/api/pages", self._pages),
            Route("/api/errors", self._errors),
            Route("/body/{host}/{key}", self._body),
            Route("/metrics", self._metrics),
            Route("/control/{verb}", self._control, methods=["POST"]),
        ]
        handlers = {FscrawlError: _refused, HTTPException: _http_error, Exception: _unexpected}
        self.app = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]  # of narrower types

    def close(self) -> None:
        """End the streams. Call it in the thread of the event loop."""
        self._closing.set()

    # -- the state

    def _look(self, window: str) -> dict[str, Any]:
        return {**self._latest.ask(lambda view: summary(view, window)), **self._about}

    async def _in_thread(self, job: Callable[[], T]) -> T:
        self._threads = self._threads or CapacityLimiter(_LOOKS_AT_A_TIME)
        return await to_thread.run_sync(job, abandon_on_cancel=True, limiter=self._threads)

    async def _state(self, request: Request) -> Response:
        return _json_response(await self._in_thread(partial(self._look, _window(request))))

    async def _state_events(self, request: Request) -> Response:
        return self._stream("state", partial(self._look, _window(request)))

    def _hosts_now(self, query: Query) -> dict[str, Any]:
        snapshot = self._latest.ask(lambda view: view)
        return self._hosts.table(query, hosts_now(snapshot), snapshot.now)

    async def _host_table(self, request: Request) -> Response:
        return _json_response(await self._in_thread(partial(self._hosts_now, _query(request))))

    async def _host_events(self, request: Request) -> Response:
        return self._stream("hosts", partial(self._hosts_now, _query(request)))

    def _stream(self, name: str, produce: Callable[[], dict[str, Any]]) -> Response:
        return StreamingResponse(self._events(name, produce), media_type="text/event-stream")

    async def _events(self, name: str, produce: Callable[[], dict[str, Any]]) -> AsyncIterator[str]:
        """Give an event when anything but the time has changed. A tree that is gone is an event, too."""
        yield "retry: 2000\n\n"
        sent, sent_at = "", 0.0
        while not self._closing.is_set():
            try:
                kind, facts = name, await self._in_thread(produce)
            except TreeError as error:
                kind, facts = "trouble", {"error": str(error)}
            new = kind + _json({**facts, "now": None})
            if new != sent:
                sent, sent_at = new, time.monotonic()
                yield f"event: {kind}\ndata: {_json(facts)}\n\n"
            elif time.monotonic() - sent_at > _STILL_HERE_S:
                sent_at = time.monotonic()
                yield ": still here\n\n"
            await self._pause()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), _EVERY_S)
        except TimeoutError:
            return

    async def _metrics(self, request: Request) -> Response:  # noqa: ARG002 - as all routes
        try:
            text = await self._in_thread(lambda: self._latest.ask(metrics))
        except TreeError:
            text = metrics(None)
        return Response(text, media_type=CONTENT_TYPE)

    # -- pages; functions that are no coroutines run in a thread

    def _page(self, request: Request) -> Response:
        given = request.query_params
        if "key" in given:
            found = pages.detail(self._latest.tree, *_page_key(given.get("host", ""), given["key"]))
        else:
            if not candidates(given.get("url", "")):
                raise UsageError("not a URL; write it in full, or search for a part of it")
            found = pages.find(self._latest.tree, given["url"])
        if found is None:
            self._latest.tree.check_there()
            raise HTTPException(
                404, "neither stored nor failed: it waits for its turn, is outside the scope, or no page links to it"
            )
        return _json_response(found)

    def _pages(self, request: Request) -> Response:
        given, listed = request.query_params, _one_of(request, "list", ("pages", "failures"), "pages")
        host, directory = _host(given.get("host", "")), LINKS if listed == "pages" else ERRS
        self._latest.tree.check_there()
        return _json_response(pages.page_of(self._latest.tree, host, directory, _number(given.get("page"))))

    def _errors(self, request: Request) -> Response:  # noqa: ARG002
        self._latest.tree.check_there()
        return _json_response(pages.examples(self._latest.tree))

    def _body(self, request: Request) -> Response:
        way = _one_of(request, "as", pages.WAYS, "page")
        host, key = _page_key(request.path_params["host"], request.path_params["key"])
        found = pages.body(self._latest.tree, host, key, way)
        if found is None:
            self._latest.tree.check_there()
            raise HTTPException(404, "no body is stored for this page")
        return Response(found[1], headers={"content-type": f"{found[0]}; charset=utf-8"})

    # -- control

    async def _control(self, request: Request) -> Response:
        verb = self._verbs.get(request.path_params["verb"])
        if verb is None:
            raise HTTPException(404, f"must be one of {', '.join(self._verbs)}")
        given = b""
        async for chunk in request.stream():
            given += chunk
            if len(given) > _MOST_BODY_BYTES:
                raise HTTPException(413, "the body is too long")
        return _json_response({"done": await to_thread.run_sync(lambda: verb(self._latest.tree, given or b"{}"))})


def _file(name: str, media_type: str) -> Callable[[Request], Any]:
    content = (_STATIC / name).read_bytes()

    async def answer(request: Request) -> Response:  # noqa: ARG001
        return Response(content, media_type=media_type)

    return answer


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=True, separators=(",", ":"))


def _json_response(facts: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer in ASCII: a name in the tree may be no Unicode."""
    return Response(_json(facts), status, headers, "application/json")


# -- what was asked for


def _one_of(request: Request, name: str, allowed: Collection[str], usual: str) -> str:
    value = request.query_params.get(name, usual)
    if value not in allowed:
        raise UsageError(f"{name}: must be one of {', '.join(filter(None, allowed))}")
    return value


def _window(request: Request) -> str:
    return _one_of(request, "window", WINDOWS, "10min")


def _query(request: Request) -> Query:
    given = request.query_params
    sort, only = _one_of(request, "sort", SORTS, SORTS[0]), _one_of(request, "only", ONLY, "")
    return Query(given.get("q", ""), sort, given.get("order") != "up", _number(given.get("page")), only)


def _number(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 8):
        raise UsageError("page: must be a number")
    return int(text)


def _host(host: str) -> str:
    """Give the directory of a host, which may be written in any form."""
    if pages.HOST.match(host):
        return host
    try:
        return read(host).directory
    except ValueError:
        raise HTTPException(404, "there is no such host") from None


def _page_key(host: str, key: str) -> tuple[str, str]:
    if not is_key(key):
        raise HTTPException(404, "there is no such page")
    return _host(host), key


# -- what went wrong


async def _refused(request: Request, error: FscrawlError) -> Response:  # noqa: ARG001
    return _json_response({"error": str(error)}, 400 if isinstance(error, UsageError) else 503)


async def _http_error(request: Request, error: HTTPException) -> Response:  # noqa: ARG001
    return _json_response({"error": error.detail}, error.status_code, error.headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    say_error(f"fscrawl: dashboard: {request.url.path}: {type(error).__name__}: {error}")
    return _json_response({"error": "internal error; see the terminal of the dashboard"}, 500)
