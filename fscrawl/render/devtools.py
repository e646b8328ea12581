"""The DevTools protocol over a pipe: commands, their results, and events. No port is open, so nobody else can use it.

Vocabulary:
  session   the messages about one target (a page, a worker of a page); "" is the browser itself
  event     what the browser says by itself, with the session's name

Promise: a command gives its result, or raises DevToolsError; when the browser is gone, every command raises it. A
message that is too long is dropped: a command whose result it was raises TooLongError.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
from collections.abc import Callable
from typing import Any

from fscrawl.render.messages import Cookie

_READ_BYTES = 1 << 16
_NUMBER = re.compile(rb'\{"id":([0-9]+),')  # of a result; an event has none
Event = Callable[[str, dict[str, Any]], None]  # name, parameters


class DevToolsError(Exception):
    """A command failed, or the browser is gone."""


class TooLongError(DevToolsError):
    """The result of a command is too long."""


class DevTools:
    def __init__(self, reads: int, writes: int, longest_bytes: int) -> None:
        """Take the ends of two pipes: what the browser says, and what it gets. `longest_bytes`: of a message."""
        self._reads, self._writes = reads, writes
        self._longest_bytes = longest_bytes
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._listeners: dict[str, Event] = {}  # by session
        self.gone = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_READ_BYTES)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._reads, "rb"))
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(self._writes, "wb")
        )
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        self._task = loop.create_task(self._read(reader))

    def listen(self, session: str, event: Event) -> None:
        """Let `event` be called for each event of a session."""
        self._listeners[session] = event

    def forget(self, session: str) -> None:
        """Drop the listener of a session that is over, and end what waits for it."""
        self._listeners.pop(session, None)
        for number, (of, future) in list(self._waiting.items()):
            if of == session:
                del self._waiting[number]
                if not future.done():
                    future.set_exception(DevToolsError("the page is gone"))

    async def send(self, method: str, session: str = "", /, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its result."""
        return await self.post(method, session, **parameters)

    def post(self, method: str, session: str = "", /, **parameters: Any) -> asyncio.Future[dict[str, Any]]:
        """Send a command; its result may be awaited, or not."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_looked_at)
        if self.gone.is_set() or self._writer is None:
            future.set_exception(DevToolsError("the browser is gone"))
            return future
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._waiting[number] = session, future
        self._writer.write(json.dumps(message).encode() + b"\0")
        return future

    async def _read(self, reader: asyncio.StreamReader) -> None:
        begun = bytearray()  # a message of which the end has not come
        is_too_long = False
        # Whatever happens: the browser cannot be used any more, and another one takes its place.
        with contextlib.suppress(Exception):
            while chunk := await reader.read(_READ_BYTES):
                first, *others = chunk.split(b"\0")
                begun += first
                for other in others:
                    if not is_too_long:
                        self._receive(json.loads(begun))
                    begun, is_too_long = bytearray(other), False
                if len(begun) > self._longest_bytes:
                    if not is_too_long and (number := _NUMBER.match(begun)):
                        self._receive({"id": int(number[1]), "too long": True})
                    begun, is_too_long = bytearray(), True
        self._end()

    def _receive(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if number is None:
            listener = self._listeners.get(message.get("sessionId", ""))
            if listener is not None:
                listener(message["method"], message.get("params", {}))
            return
        _, future = self._waiting.pop(number, ("", None))
        if future is None or future.done():
            return
        if "too long" in message:
            future.set_exception(TooLongError("its result is too long"))
        elif "error" in message:
            future.set_exception(DevToolsError(str(message["error"].get("message", message["error"]))))
        else:
            future.set_result(message.get("result", {}))

    def _end(self) -> None:
        self.gone.set()
        waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(DevToolsError("the browser is gone"))

    def close(self) -> None:
        """Close the pipes: the browser ends by that."""
        self._end()
        if self._task is not None:
            self._task.cancel()
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()


def _looked_at(future: asyncio.Future[dict[str, Any]]) -> None:
    """A failure of a command that nobody waits for is no news."""
    if not future.cancelled():
        future.exception()


def cookie_parameters(cookie: Cookie) -> dict[str, Any]:
    """Give a cookie as DevTools takes it: one for a single host has a URL in place of a domain."""
    common = {"name": cookie.name, "value": cookie.value, "path": cookie.path, "secure": cookie.secure}
    common["httpOnly"] = cookie.http_only
    if cookie.domain.startswith("."):
        return {**common, "domain": cookie.domain}
    return {**common, "url": f"{'https' if cookie.secure else 'http'}://{cookie.domain}{cookie.path}"}
