"""A process that renders pages in one browser, and renews it.

The keepers of a machine share listening sockets, one for each lane (`lanes`). A keeper takes a page when it has a place
for one (`places`). So the pages that wait do so in the kernel, and no keeper waits while another one has too many.

Vocabulary:
  place     where a page is rendered; a keeper has `render.pages` of them
  retired   a browser that has rendered `_PAGES_A_BROWSER` pages, takes three quarters of `render.memory`, or is
            stuck: it gets no more pages, and ends when its last one is done

Promise: a page gets `Rendered`, or `Trouble`, or its connection ends because the keeper has; or it takes long while
others wait, and gets `GaveWay`. A page whose worker is gone is given up. If the processes of a browser have more than
`render.memory`, that of its largest page is ended. A keeper of which no browser has ever started ends: it would fail
all pages that it gets.
Whatever the keeper leaves behind, the reaper of each browser removes (`chromium`).
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import select
import signal
import socket
import time
from typing import Any

from fscrawl.render import page
from fscrawl.render.chromium import Chromium, remove_left_directories
from fscrawl.render.devtools import DevToolsError
from fscrawl.render.lanes import Lane
from fscrawl.render.messages import (
    LENGTH,
    NO_BROWSER,
    Answer,
    Ask,
    Begun,
    GaveWay,
    Job,
    KeeperSetup,
    Listening,
    Rendered,
    Trouble,
    is_ours,
    packed,
)
from fscrawl.render.no_network import NoNetwork
from fscrawl.render.places import Place, Places, gives_way
from fscrawl.util.children import SIGNALS
from fscrawl.util.parent import end_with_parent

_PAGES_A_BROWSER = 100
_STARTS_S = 30.0
_LOOK_S = 0.5
_LARGE = 0.75  # of its limit: it gets no more pages
_WORKER_S = 30.0  # that a worker may take to send its page, or to take the result
_AS_JSON = 3  # times longer than its bytes a DOM may be in a message


def serve(listening: Listening, setup: KeeperSetup) -> None:
    """Render pages until the machine is gone. This is the whole life of a keeper's process."""
    for number in SIGNALS:  # they reach the whole process group; the machine decides
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked until here
    end_with_parent(0)
    remove_left_directories()
    asyncio.run(_Keeper(listening, setup).run())


class _Browser:
    """`pages`: how many it renders now; `begun`: how many it has begun."""

    def __init__(self, chromium: Chromium) -> None:
        self.chromium = chromium
        self.pages = 0
        self.begun = 0
        self.is_retired = False


class _Keeper:
    def __init__(self, listening: Listening, setup: KeeperSetup) -> None:
        self._listening = listening
        self._setup = setup
        self._browser: _Browser | None = None  # for the next page
        self._browsers: list[_Browser] = []  # all that run
        self._places = Places(setup.pages)
        self._may_give_way: dict[Place, asyncio.Task[Any]] = {}
        self._may_go_on = asyncio.Event()  # a page has come, or a place is free
        self._starting = asyncio.Lock()
        self._has_started = False  # some browser has
        self._is_useless = False
        self._no_network = NoNetwork()

    async def run(self) -> None:
        await self._no_network.start()
        for each in self._listening:
            each.setblocking(False)
        loop = asyncio.get_running_loop()
        pages: set[asyncio.Task[None]] = {loop.create_task(self._watch())}
        while True:
            connection, place = await self._next()
            task = loop.create_task(self._attend(connection, place))
            pages.add(task)
            task.add_done_callback(pages.discard)

    async def _next(self) -> tuple[socket.socket, Place]:
        """Wait for a page of a lane that may have a place."""
        while True:
            now = time.monotonic()
            lanes = self._places.order(now)
            for lane in lanes:
                with contextlib.suppress(BlockingIOError):  # no page, or another keeper has it
                    return self._listening[lane].accept()[0], self._places.take(lane, now)
            await self._wait(lanes)

    async def _wait(self, lanes: list[Lane]) -> None:
        """Wait until a page comes in one of these lanes, or a place is free, or for a moment: lanes change, too."""
        loop = asyncio.get_running_loop()
        self._may_go_on.clear()
        for lane in lanes:
            loop.add_reader(self._listening[lane], self._may_go_on.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                await self._may_go_on.wait()
        for lane in lanes:
            loop.remove_reader(self._listening[lane])

    async def _attend(self, connection: socket.socket, place: Place) -> None:
        try:
            if not is_ours(connection):
                connection.close()
                return
            reader, writer = await asyncio.open_connection(sock=connection)
            try:
                with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                    await self._page(reader, writer, place)
            finally:
                await _close(writer)
        finally:
            self._places.leave(place, time.monotonic())
            self._may_go_on.set()
        if self._is_useless:
            raise SystemExit(NO_BROWSER)

    async def _page(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: Place) -> None:
        writer.write(packed(Begun()))
        async with asyncio.timeout(_WORKER_S):
            job: Job = await _receive(reader)
        line = _Line(reader, writer)
        listening = asyncio.create_task(line.listen())
        rendering = asyncio.create_task(self._render(job, line, place))
        await asyncio.wait([listening, rendering], return_when=asyncio.FIRST_COMPLETED)
        if rendering.cancelled():
            writer.write(packed(GaveWay()))
        elif rendering.done():
            writer.write(packed(rendering.result()))
        else:  # the worker is gone
            rendering.cancel()
        listening.cancel()
        await asyncio.gather(rendering, listening, return_exceptions=True)

    async def _render(self, job: Job, line: _Line, place: Place) -> Rendered | Trouble:
        try:
            browser = await self._one()
        except (DevToolsError, OSError, TimeoutError) as error:
            self._is_useless = not self._has_started
            return Trouble(
                f"the browser {self._setup.executable} does not start: {error or 'it says nothing'}", retry=True
            )
        browser.pages += 1
        browser.begun += 1
        place.since = time.monotonic()  # a page need not give way because the browser had to start
        if (task := asyncio.current_task()) is not None:
            self._may_give_way[place] = task
        try:
            return await page.run(browser.chromium.devtools, job, line.ask)
        finally:
            self._may_give_way.pop(place, None)
            browser.pages -= 1
            await self._look_at(browser)

    async def _watch(self) -> None:
        """End the process of a page that fills the memory: the others go on. And let pages give way."""
        while True:
            await asyncio.sleep(_LOOK_S)
            self._let_one_give_way()
            for browser in [each for each in self._browsers if each.pages]:
                if sum(browser.chromium.sizes().values()) > self._setup.memory_bytes:
                    browser.chromium.end_largest_page()

    def _let_one_give_way(self) -> None:
        now = time.monotonic()
        place = gives_way(self._may_give_way, now)
        if place is not None and self._is_waited_for(now):
            self._may_give_way.pop(place).cancel()  # once: a second time would leave its context in the browser

    def _is_waited_for(self, now: float) -> bool:
        """Tell whether a page waits that is not known to be slow, and may not have a place now."""
        may_begin = self._places.order(now)
        waiting = select.poll()
        for lane in Lane:
            if lane is not Lane.SLOW and lane not in may_begin:
                waiting.register(self._listening[lane], select.POLLIN)
        return bool(waiting.poll(0))

    async def _one(self) -> _Browser:
        """Give the browser for the next page."""
        async with self._starting:
            now = self._browser
            if now is not None and (now.is_retired or now.chromium.devtools.gone.is_set()):
                await self._look_at(now)
                self._browser = now = None
            if now is None:
                self._browser = now = await self._started()
            return now

    async def _started(self) -> _Browser:
        longest_bytes = _AS_JSON * self._setup.max_bytes + 1_000_000
        chromium = Chromium(self._setup.executable, self._no_network.address, longest_bytes)
        try:
            await chromium.devtools.start()
            async with asyncio.timeout(_STARTS_S):
                await chromium.devtools.send("Browser.getVersion")
        except BaseException:
            await _end(chromium)
            raise
        self._has_started = True
        if self._setup.has_started is not None:
            self._setup.has_started.value = 1
        browser = _Browser(chromium)
        self._browsers.append(browser)
        return browser

    async def _look_at(self, browser: _Browser) -> None:
        """Retire a browser that has done enough, and end it when it has no page any more."""
        if not browser.is_retired:
            is_old = browser.begun >= _PAGES_A_BROWSER
            is_large = is_old or sum(browser.chromium.sizes().values()) > self._setup.memory_bytes * _LARGE
            devtools = browser.chromium.devtools
            browser.is_retired = is_large or devtools.is_stuck or devtools.gone.is_set()
        if browser.is_retired and not browser.pages and browser in self._browsers:
            self._browsers.remove(browser)
            await _end(browser.chromium)


async def _end(chromium: Chromium) -> None:
    chromium.devtools.close()
    await asyncio.to_thread(chromium.end)


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection when all that was written has been sent. Only its transport may close the socket."""
    writer.close()
    try:
        async with asyncio.timeout(_WORKER_S):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()


class _Line:
    """The connection to the worker of one page."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Answer]] = {}

    async def listen(self) -> None:
        """Take in answers until the worker is gone."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                answer = await _receive(self._reader)
                waiting = self._waiting.pop(answer.number, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)

    async def ask(self, ask: Ask) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[ask.number] = future
        self._writer.write(packed(ask))
        return await future


async def _receive(reader: asyncio.StreamReader) -> Any:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 - the other end has our user, see `is_ours`
