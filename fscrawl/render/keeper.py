"""A process that renders pages in a browser, one at a time, and renews the browser.

The keepers of a machine share listening sockets, one for each lane, and each takes a page when it has none. So the
pages that wait do so in the kernel, and no keeper waits while another one has too many.

A browser that has rendered a page in time, and is small still, renders another one, in a new context. In all other
cases it is ended with its page, and the next page gets a new one. So whatever a page does to its browser, and by
whichever of its processes, costs no page but itself. One that takes much of the processor stands back for all others.

Promise: a page gets `Rendered`, or `Trouble`, or its connection ends because the keeper has; or it takes long while
others wait, and gets `GaveWay`. A page whose worker is gone is given up. If the processes of a browser have more memory
together than its setup allows, they are ended. A keeper of which no browser has ever started ends: it would fail all
pages that it gets. Whatever the keeper leaves behind, the reaper of each browser removes (`chromium`).
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
from fscrawl.render.messages import (
    LENGTH,
    NO_BROWSER,
    Answer,
    Ask,
    Begun,
    GaveWay,
    Job,
    KeeperSetup,
    Lane,
    Listening,
    Rendered,
    Trouble,
    is_ours,
    is_quick,
    packed,
)
from fscrawl.util.processes import SIGNALS, end_with_parent

_PAGES_A_BROWSER = 100
_STARTS_S = 30.0
_LOOK_S = 0.1  # a page may take hundreds of megabytes meanwhile
_MOST_AHEAD_S = 60.0
_USUAL_S = 1.0  # of the processor; a page that takes more stands back for all others from then on
_LARGE = 0.5  # of its limit: the next page gets a new browser
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


class _Keeper:
    def __init__(self, listening: Listening, setup: KeeperSetup) -> None:
        self._listening = listening
        self._setup = setup
        self._chromium: Chromium | None = None
        self._pages = 0  # of this browser
        self._used_s = 0.0  # of the processor, by its page
        self._ahead_s = 0.0  # by which slow pages have had more of this browser than quick ones
        self._is_useless = False
        self._has_started = False  # some browser has
        self._proxy = ""  # address of the browsers' proxy, host:port

    async def run(self) -> None:
        no_network = await refuse_all()
        host, port = no_network.sockets[0].getsockname()
        self._proxy = f"{host}:{port}"
        for each in self._listening:
            each.setblocking(False)
        while not self._is_useless:
            connection, lane = await self._next()
            began = time.monotonic()
            is_slow = await self._attend(connection, lane)
            had_s = time.monotonic() - began
            self._ahead_s = max(-_MOST_AHEAD_S, min(self._ahead_s + (had_s if is_slow else -had_s), _MOST_AHEAD_S))
        raise SystemExit(NO_BROWSER)

    async def _next(self) -> tuple[socket.socket, Lane]:
        """Wait for a page. If there are some in both lanes, each lane gets half of this browser's time."""
        loop, has_come = asyncio.get_running_loop(), asyncio.Event()
        lanes = [Lane.QUICK] if self._setup.quick_only else [*Lane]
        for lane in lanes:
            loop.add_reader(self._listening[lane], has_come.set)
        try:
            while True:
                for lane in lanes if self._ahead_s >= 0 else reversed(lanes):
                    with contextlib.suppress(BlockingIOError):  # no page, or another keeper has it
                        return self._listening[lane].accept()[0], lane
                has_come.clear()
                await has_come.wait()
        finally:
            for lane in lanes:
                loop.remove_reader(self._listening[lane])

    async def _attend(self, connection: socket.socket, lane: Lane) -> bool:
        """Render a page, and tell whether it was slow."""
        if not is_ours(connection):
            connection.close()
            return False
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                return await self._page(reader, writer, lane)
        finally:
            await _close(writer)
        return lane is Lane.SLOW

    async def _page(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lane: Lane) -> bool:
        writer.write(packed(Begun()))
        async with asyncio.timeout(_WORKER_S):
            job: Job = await _receive(reader)
        line = _Line(reader, writer)
        listening = asyncio.create_task(line.listen())
        rendering = asyncio.create_task(self._render(job, line, lane))
        await asyncio.wait([listening, rendering], return_when=asyncio.FIRST_COMPLETED)
        if rendering.done():
            writer.write(packed(rendering.result()))
        rendering.cancel()  # if the worker is gone
        listening.cancel()
        found, _ = await asyncio.gather(rendering, listening, return_exceptions=True)
        return lane is Lane.SLOW or isinstance(found, GaveWay)

    async def _render(self, job: Job, line: _Line, lane: Lane) -> Rendered | Trouble | GaveWay:
        try:
            chromium = self._chromium = self._chromium or await self._started()
        except (DevToolsError, OSError, TimeoutError) as error:
            self._is_useless = not self._has_started
            return Trouble(
                f"the browser {self._setup.executable} does not start: {error or 'it says nothing'}", retry=True
            )
        self._pages += 1
        self._used_s = 0.0
        rendering = asyncio.create_task(page.run(chromium.devtools, job, line.ask))
        watching = asyncio.create_task(self._watch(chromium, lane))
        is_over = False
        try:
            await asyncio.wait([watching, rendering], return_when=asyncio.FIRST_COMPLETED)
            is_over = not watching.done()
            found = rendering.result() if is_over else watching.result()
            return found._replace(processor_s=self._used_s)
        finally:
            watching.cancel()
            rendering.cancel()
            await asyncio.gather(watching, rendering, return_exceptions=True)
            is_old = self._pages >= _PAGES_A_BROWSER or chromium.is_lowered
            is_large = chromium.usage().memory_bytes > self._setup.memory_bytes * _LARGE
            if not is_over or is_old or is_large or chromium.devtools.gone.is_set():
                self._chromium, self._pages = None, 0
                await _end(chromium)

    async def _watch(self, chromium: Chromium, lane: Lane) -> Trouble | GaveWay:
        """Wait until a page must end: it fills the memory, or takes long while others wait."""
        began = time.monotonic()
        before_s = chromium.usage().processor_s
        while True:
            await asyncio.sleep(_LOOK_S)
            usage = chromium.usage()
            self._used_s = max(self._used_s, usage.processor_s - before_s)  # a process that has ended is in it no more
            if usage.memory_bytes > self._setup.memory_bytes:
                return Trouble("its browser took more memory than a page may have", retry=False)
            is_slow = not is_quick(time.monotonic() - began, self._used_s)
            if lane is Lane.QUICK and is_slow and self._is_waited_for():
                return GaveWay()
            if self._used_s > _USUAL_S:
                chromium.lower_priority()

    def _is_waited_for(self) -> bool:
        """Tell whether another quick page waits."""
        return bool(select.select([self._listening[Lane.QUICK]], [], [], 0)[0])

    async def _started(self) -> Chromium:
        longest_bytes = _AS_JSON * self._setup.max_bytes + 1_000_000
        chromium = Chromium(self._setup.executable, self._proxy, longest_bytes)
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
        return chromium


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
        """Receive answers until the worker is gone."""
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


_REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_PATIENCE_S = 5.0
_HEAD_BYTES = 16_384


async def refuse_all() -> asyncio.Server:
    """Start the browser's proxy: a port on loopback that refuses everything: no name is resolved, nothing connected to.

    What the browser loads by DevTools never comes here. What comes here has tried another way, such as a WebSocket, and
    gets the answer 403.
    """
    return await asyncio.start_server(_refuse, "127.0.0.1", 0, limit=_HEAD_BYTES)


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(_PATIENCE_S):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(_REFUSAL)
            await writer.drain()
    writer.close()
