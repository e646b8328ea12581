"""One page in one browser: it is opened with the answer that was fetched, its scripts run, and its DOM is read.

Vocabulary:
  virtual time   the clock that the page's scripts see. It stands still while something is loaded, and otherwise jumps
                 from timer to timer. So a page that does something after three seconds is not waited for that long
  slice          a piece of virtual time

The page has a context of its own, with no cookies but those that it is given. Every request it makes is paused, and
then refused here or asked of the worker. The first one is for the page itself, and gets the answer that was fetched. If
the page then wants to go elsewhere by itself, the URL is noted as a link, and the page stays where it is. It may load
itself again, as after it has set a cookie; if that fails, it stays as it is, too.

Promise: `run` returns within the page's timeout and twice `_GRACE_S`, whatever page and browser do. A browser in which
something of the page may be left is given up: its `devtools` are closed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import math
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fscrawl.parse.headers import pairs
from fscrawl.render.devtools import DevTools, DevToolsError, TooLongError, cookie_parameters
from fscrawl.render.may_ask import refused_to_all
from fscrawl.render.messages import Answer, Ask, Job, Rendered, Trouble
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


_GRACE_S = 3.0  # for the DOM of a page that was still busy, and for its end
_IDLE_S = 5.0  # virtual: what a page does later is not waited for
_SLICE_S = 0.25
_SCROLL_S = 1.0
_MOST_TURNS = 3
_FRAMES_S = 1.0
_WORKER_S, _MOST_OF_WORKERS = 0.1, 10  # one may ask for ever
_MOST_DRAWINGS = 2  # a busy machine may draw slowly
_LEAST_AHEAD_S, _AHEAD_S = 0.1, 1.0  # of the real clock, so that it does not overtake the page's while that is drawn
_TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_FITS = "(document.scrollingElement ?? document.documentElement).scrollHeight <= innerHeight"
_TO_THE_END = "scrollTo(0, document.documentElement.scrollHeight)"
_LOWER: dict[str, Any] = {"width": 1280, "height": 500, "deviceScaleFactor": 0, "mobile": False}
_MOST_VIRTUAL_S = 60.0  # until a selector finds something
_MOST_ERRORS, _ERROR_CHARS = 20, 300
_MOST_TARGETS = 20
_MOST_FRAMES = 200
_WITHOUT_WAYS_OUT = """
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport", "SharedWorker"])
    delete globalThis[name];
"""
# Scripts that do not want to be watched leave their page empty, and nothing of that is a request. Behind the page there
# is the empty one of its target, which is no entry of its own.
_STAYS = """
if (window === window.top) {
    const {navigation} = window, {go} = History.prototype;
    const to = steps => navigation.entries()[navigation.currentEntry?.index + steps] && go.call(history, steps);
    Object.assign(History.prototype, {go: steps => to(steps | 0), back: () => to(-1), forward: () => to(1)});
    navigation.addEventListener("navigate", event => {
        if (event.destination.url.startsWith("about:")) event.preventDefault();
    });
}
"""
_NOWHERE = ("about:", "chrome-error:")
_DIED = "its process has died: it took too much memory or the browser has a defect"
_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]+)?)s\Z")


class _NoPageError(Exception):
    """There is no page that could be read, and there will be none. The text says why."""


async def run(devtools: DevTools, job: Job, answers: Answers) -> Rendered | Trouble:
    """Render a page. `answers`: gives what the browser asks for."""
    page = _Page(devtools, job, answers)
    try:
        async with asyncio.timeout(job.options.timeout_s + _GRACE_S):
            return await page.run()
    except TimeoutError:
        return page.late()
    except DevToolsError as error:
        return Trouble(page.trouble or f"the browser: {error}", retry=True)
    except _NoPageError as error:
        return Trouble(str(error), retry=False)
    except Exception as error:  # noqa: BLE001 - a defect must cost one page
        return Trouble(f"a defect of fscrawl: {type(error).__name__}: {error}", retry=False)
    finally:
        await page.close()


class _Page:
    def __init__(self, devtools: DevTools, job: Job, answers: Answers) -> None:
        self._devtools = devtools
        self._job = job
        self._requests = PageRequests(devtools, job, answers)
        self._context = ""
        self._target = ""
        self._session = ""
        self._sessions: set[str] = set()
        self._workers: set[str] = set()  # sessions of those that live
        self._loaded = asyncio.Event()
        self._slice_over = asyncio.Event()
        self._errors: list[str] = []
        self._is_open = False
        self._is_done = False  # in time; nothing of it holds up the browser
        self._frames_made = 0
        self._clock_from: float | None = None  # monotonic time when the page's clock became virtual
        self._passed_s = 0.0  # on it since then
        self._time = asyncio.timeout(None)
        self.trouble = ""

    async def run(self) -> Rendered:
        began = time.monotonic()
        await self._open()
        ended = "done"
        try:
            async with asyncio.timeout(self._job.options.timeout_s) as self._time:
                opened = await self._send("Page.navigate", url=self._job.url)
                if why := opened.get("errorText"):
                    raise _NoPageError(f"the browser refuses the page: {why}")
                self._is_open = True
                await self._wait()
                if self._job.options.scroll:
                    await self._scroll()
        except TimeoutError:
            if not self._is_open:
                raise
            ended = "timeout"
            self._stop_clock()
        self._still_lives()
        dom = await self._dom()
        picture = await self._picture() if self._job.options.screenshot else b""
        self._is_done = ended == "done"
        return Rendered(
            dom,
            ended,
            round(time.monotonic() - began, 3),
            dict(self._requests.blocked),
            tuple(self._requests.went_to),
            tuple(self._errors),
            picture,
        )

    def late(self) -> Trouble:
        """Say what the page's time has gone for."""
        seconds = f"{self._job.options.timeout_s:g} s"
        if not self._is_open:  # it had the answer already, so nothing of the page's was waited for
            return Trouble(f"the browser has not opened it within {seconds}", retry=True)
        return Trouble(f"its scripts, or what they ask of the browser, took more than {seconds}", retry=False)

    # -- the page is opened

    async def _open(self) -> None:
        send = self._devtools.send
        made = await send("Target.createBrowserContext", disposeOnDetach=True)
        self._context = made["browserContextId"]
        self._devtools.post("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._context)
        for cookie in self._job.cookies:  # one by one: of several, the browser takes none if it refuses one
            self._devtools.post(
                "Storage.setCookies", browserContextId=self._context, cookies=[cookie_parameters(cookie)]
            )
        made = await send("Target.createTarget", url="about:blank", browserContextId=self._context)
        self._target = made["targetId"]
        attached = await send("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        self._attend(self._session)
        await asyncio.gather(*self._set_up())

    def _set_up(self) -> list[asyncio.Future[dict[str, Any]]]:
        post, session = self._devtools.post, self._session
        agent = self._job.options.user_agent
        return [
            post("Page.enable", session),
            post("Runtime.enable", session),
            post("Inspector.enable", session),
            post("Log.enable", session),
            post("Emulation.setUserAgentOverride", session, userAgent=agent),
            post("Page.addScriptToEvaluateOnNewDocument", session, source=_WITHOUT_WAYS_OUT + _STAYS),
            post("Fetch.enable", session, patterns=[{"urlPattern": "*"}]),
            post("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True),
        ]

    def _attend(self, session: str) -> None:
        self._sessions.add(session)
        self._devtools.listen(session, lambda name, event: self._happened(session, name, event))

    # -- waiting

    async def _wait(self) -> None:
        wait = self._job.options.wait
        if wait == "load":
            await self._loaded.wait()
            self._still_lives()
        elif wait == "idle":
            await self._until_quiet(_IDLE_S)
        elif seconds := _SECONDS.match(wait):
            await self._until_quiet(float(seconds[1]))
        else:
            await self._until(wait.removeprefix("css:"))

    async def _until_quiet(self, seconds: float) -> None:
        """Let virtual time pass until nothing is loaded any more; what is seen then may load more."""
        await self._frames()
        await self._pass(seconds)
        for _ in range(_MOST_TURNS):
            asked = self._requests.asked
            await self._let_workers_load()
            await self._frames()
            await self._pass(_SLICE_S)
            if self._requests.asked == asked:
                return

    async def _let_workers_load(self) -> None:
        """Wait for what workers of the page load: that does not hold up its clock, and they have one of their own."""
        for _ in range(_MOST_OF_WORKERS if self._workers else 0):
            asked = self._requests.asked
            await self._requests.all_answered()
            await asyncio.sleep(_WORKER_S)  # they may go on by that
            if self._requests.asked == asked:
                return

    async def _frames(self) -> None:
        """Let the page be drawn, which takes real time: what is drawn may wait for being seen."""
        for _ in range(_MOST_DRAWINGS):
            await self._go_ahead()
            if await self._is_drawn():
                return

    async def _is_drawn(self, within_s: float = _FRAMES_S) -> bool:
        with contextlib.suppress(TimeoutError, DevToolsError):  # the page is loading itself again
            async with asyncio.timeout(within_s):
                await self._send("Runtime.evaluate", expression=_TWO_FRAMES, awaitPromise=True)
                return True
        return False

    async def _pass(self, seconds: float) -> None:
        """Let virtual time pass; behind it, the clock stands still."""
        self._still_lives()
        self._slice_over.clear()
        policy = "pauseIfNetworkFetchesPending"
        if self._clock_from is None:
            self._clock_from = time.monotonic()
        self._passed_s += seconds
        await self._send("Emulation.setVirtualTimePolicy", policy=policy, budget=math.ceil(seconds * 1000))
        await self._slice_over.wait()
        self._still_lives()

    async def _go_ahead(self) -> None:
        """Let the page's clock be ahead of the real one. Slow hosts keep it behind, and then nothing is drawn."""
        if self._clock_from is not None:
            behind_s = time.monotonic() - self._clock_from - self._passed_s
            if behind_s > -_LEAST_AHEAD_S:
                await self._pass(behind_s + _AHEAD_S)

    def _still_lives(self) -> None:
        """Raise if the page's process has died: it says nothing any more."""
        if self.trouble:
            raise DevToolsError(self.trouble)

    async def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return await self._devtools.send(method, self._session, **parameters)

    def _stop_clock(self) -> None:
        """Let no timer of the page fire any more: one that always has something to do would not let itself be read."""
        self._devtools.post("Emulation.setVirtualTimePolicy", self._session, policy="pause")

    async def _until(self, selector: str) -> None:
        """Let time pass until a selector finds something; the errors say if it does not."""
        for _ in range(round(_MOST_VIRTUAL_S / _SLICE_S)):
            await self._frames()
            await self._pass(_SLICE_S)
            document = await self._send("DOM.getDocument", depth=0)
            node = document["root"]["nodeId"]
            found = await self._send("DOM.querySelector", nodeId=node, selector=selector)
            if found["nodeId"]:
                return
        self._note(f"render.wait: nothing matches {selector}")

    async def _scroll(self) -> None:
        """Scroll to the end some times. A page that fits into the window gets a lower one, or it could not be."""
        fits = await self._send("Runtime.evaluate", expression=_FITS)
        is_lower = bool(fits["result"].get("value"))
        if is_lower:
            await self._send("Emulation.setDeviceMetricsOverride", **_LOWER)
            await self._until_quiet(_SLICE_S)
        for _ in range(self._job.options.scroll):
            await self._send("Runtime.evaluate", expression=_TO_THE_END)
            await self._until_quiet(_SCROLL_S)
        if is_lower:
            await self._send("Emulation.clearDeviceMetricsOverride")
            await self._until_quiet(_SLICE_S)  # it may show what is seen only

    # -- what comes of it

    async def _dom(self) -> bytes:
        document = await self._send("DOM.getDocument", depth=0)
        if (where := document["root"]["documentURL"]).startswith(_NOWHERE):
            raise _NoPageError(f"its scripts have left it for {where}")
        node = document["root"]["nodeId"]
        try:
            html = await self._send("DOM.getOuterHTML", nodeId=node, includeShadowDOM=True)
        except TooLongError:
            raise _NoPageError(f"its DOM is too large (more than {self._job.options.max_bytes} bytes)") from None
        return str(html["outerHTML"]).encode("utf-8", "replace")

    async def _picture(self) -> bytes:
        with contextlib.suppress(DevToolsError, TimeoutError):
            async with asyncio.timeout(_GRACE_S / 2):
                self._devtools.post("Emulation.setVirtualTimePolicy", self._session, policy="advance")
                await self._is_drawn(_GRACE_S)
                picture = await self._send("Page.captureScreenshot", format="png", captureBeyondViewport=False)
                return base64.b64decode(picture["data"])
        return b""

    # -- what happens meanwhile

    def _happened(self, session: str, name: str, event: dict[str, Any]) -> None:
        match name:
            case "Fetch.requestPaused":
                self._requests.paused(session, self._target, event)
            case "Page.loadEventFired":
                self._loaded.set()
            case "Emulation.virtualTimeBudgetExpired":
                self._slice_over.set()
            case "Page.javascriptDialogOpening":
                self._devtools.post("Page.handleJavaScriptDialog", session, accept=False)
            case "Page.frameAttached":
                self._frame_made()
            case "Target.attachedToTarget":
                self._attached(session, event)
            case "Target.detachedFromTarget":
                self._workers.discard(event["sessionId"])
                self._devtools.forget(event["sessionId"])
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded":
                self._complained(name, event)
            case "Inspector.targetCrashed":
                self.trouble = _DIED
                self._devtools.forget(self._session)
                self._loaded.set()
                self._slice_over.set()

    def _complained(self, name: str, event: dict[str, Any]) -> None:
        """Note what the page's scripts complain of, or the browser, such as a WebSocket that was refused."""
        if name == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self._note(details.get("exception", {}).get("description") or details.get("text", ""))
        elif name == "Runtime.consoleAPICalled":
            if event["type"] in ("error", "assert"):
                self._note(" ".join(str(each.get("value", each.get("description", ""))) for each in event["args"]))
        elif event["entry"]["text"].startswith("WebSocket connection to"):
            self._requests.blocked["WebSocket"] += 1
        elif event["entry"]["level"] == "error" and event["entry"]["source"] != "network":
            self._note(event["entry"]["text"])

    def _attached(self, session: str, event: dict[str, Any]) -> None:
        """A page has made a worker, or a frame in another process: what they load is paused, too."""
        child, kind = event["sessionId"], event["targetInfo"]["type"]
        if kind not in ("worker", "iframe") or len(self._sessions) > _MOST_TARGETS:
            self._requests.blocked[kind] += 1
            self._devtools.post("Target.detachFromTarget", session, sessionId=child)
            return
        self._attend(child)
        if kind == "worker":
            self._workers.add(child)
        else:
            self._devtools.post("Fetch.enable", child, patterns=[{"urlPattern": "*"}])
        self._devtools.post("Target.setAutoAttach", child, autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self._devtools.post("Runtime.runIfWaitingForDebugger", child)

    def _frame_made(self) -> None:
        """Use the page as it is if it makes frames without end: each of them costs the browser and us."""
        self._frames_made += 1
        if self._frames_made == _MOST_FRAMES:
            self._note(f"render: it made {_MOST_FRAMES} frames, and was used as it was then")
            with contextlib.suppress(RuntimeError):  # its time is over already
                self._time.reschedule(asyncio.get_running_loop().time())

    def _note(self, text: str) -> None:
        if len(self._errors) < _MOST_ERRORS:
            self._errors.append(" ".join(text.split())[:_ERROR_CHARS])

    # -- the end

    async def close(self) -> None:
        """End the page, and all that it has started. If it may have left anything, the browser is given up."""
        self._requests.close()
        is_gone = False
        with contextlib.suppress(DevToolsError, TimeoutError):
            if self._is_done:
                async with asyncio.timeout(_GRACE_S):
                    await self._devtools.send("Target.disposeBrowserContext", browserContextId=self._context)
                is_gone = True
        if not is_gone:
            self._devtools.close()
        for session in self._sessions:
            self._devtools.forget(session)
