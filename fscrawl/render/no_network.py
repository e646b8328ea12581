"""The browser's proxy: a port on loopback that refuses everything.

What the browser loads by DevTools never comes here. What comes here has tried another way, such as a WebSocket, and
gets the answer 403. Promise: nothing is connected to, and no name is resolved.
"""

from __future__ import annotations

import asyncio
import contextlib

_REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_PATIENCE_S = 5.0
_HEAD_BYTES = 16_384


class NoNetwork:
    """`address`: where it listens, host:port. It does so for as long as the keeper lives."""

    def __init__(self) -> None:
        self.address = ""
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(_refuse, "127.0.0.1", 0, limit=_HEAD_BYTES)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(_PATIENCE_S):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(_REFUSAL)
            await writer.drain()
    writer.close()
