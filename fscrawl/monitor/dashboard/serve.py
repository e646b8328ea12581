"""The process of the dashboard: it listens on an address, and ends at once on Ctrl-C.

Promise: whoever only connects, and asks nothing, keeps nobody else from being answered. Each connection is for one
request, which must be there within some seconds. The number of connections is bounded far below that of open files, so
that accept() does not fail.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import secrets
import socket
import threading
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from fscrawl import interrupts
from fscrawl.errors import EXIT_OK, UsageError
from fscrawl.monitor.dashboard.app import Dashboard, Verbs
from fscrawl.monitor.dashboard.guard import Guard, names_for
from fscrawl.util.terminal import say

_GRACE_S = 1
_LAST_PORT = 65535
_LAST_RESORT_S = 3.0
_BACKLOG = 64  # asyncio accepts as many at a time
_REQUEST_S = 10.0  # for the head of a request
_MOST_WAITING = 64  # connections without a request; for one more, the one that has waited longest is ended
_MOST_CONNECTIONS = 256  # others get 503


class _Connection(H11Protocol):
    """A connection that ends if no request comes. `Guard` sees to it that it ends behind its first answer."""

    _waiting: dict[_Connection, None] = {}  # noqa: RUF012 - of all connections, the oldest first

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._waiting[self] = None
        asyncio.get_running_loop().call_later(_REQUEST_S, self.end_if_silent)
        if len(self._waiting) > _MOST_WAITING:
            next(iter(self._waiting)).end_if_silent()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self._waiting.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def end_if_silent(self) -> None:
        if self._waiting.pop(self, self) is None:
            self.transport.abort()


class _Server(uvicorn.Server):
    """A server that ends its streams when it is stopped."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        asyncio.get_running_loop().call_soon_threadsafe(self._dashboard.close)
        last = threading.Timer(_LAST_RESORT_S, interrupts.leave, [sig])  # if a thread waits for a share that hangs
        last.daemon = True
        last.start()
        super().handle_exit(sig, frame)


def serve(root: Path, host: str, port: int, verbs: Verbs) -> int:
    """Serve the dashboard of the tree at `root` until Ctrl-C; UsageError if it cannot listen there.

    `verbs`: what it may do to the crawl (see `Dashboard`); where there are none, no token is made.
    """
    token = secrets.token_urlsafe(24) if verbs else None
    dashboard = Dashboard(root, verbs)
    listener = listen(host, port)
    guard = Guard(dashboard.app, names_for(host, socket.gethostname()), token)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it logs each error of accept(), with its traceback
    _announce(root, listener, token)
    _Server(config_of(guard), dashboard).run([listener])  # it ends by a signal, which is raised again: see `interrupts`
    os._exit(EXIT_OK)  # do not wait for threads that wait for a share


def config_of(app: ASGIApp) -> uvicorn.Config:
    """Give how uvicorn is to serve an application."""
    options: dict[str, Any] = {
        "http": _Connection,
        "ws": "none",
        "lifespan": "off",
        "log_config": None,  # the usual one asks a closed standard output whether it is a terminal
        "log_level": "critical",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # a client can write anything into them
        "timeout_graceful_shutdown": _GRACE_S,
        "limit_concurrency": _MOST_CONNECTIONS,
        "backlog": _BACKLOG,
    }
    return uvicorn.Config(app, **options)


def listen(host: str, port: int) -> socket.socket:
    """Bind and listen; UsageError, which names the option to change, if that is not possible."""
    if port > _LAST_PORT:  # getaddrinfo() would take the rest of a division
        raise UsageError(f"--port {port}: must be a number from 0 to {_LAST_PORT}, for example 8712")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        both = family is socket.AF_INET6 and socket.has_dualstack_ipv6()  # "::" is every address, of IPv4, too
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"--port {port}: this port is in use; choose another, or 0 for any free port") from error
        if error.errno == errno.EACCES:
            raise UsageError(f"--port {port}: not permitted; choose a port above 1023") from error
        raise UsageError(f"--bind {host}: cannot listen on this address: {error.strerror or error}") from error
    except UnicodeError as error:  # a label of the name is empty, too long, or has characters that no name has
        raise UsageError(f"--bind {host}: no host can have this name; give an address, like 127.0.0.1") from error


def _announce(root: Path, listener: socket.socket, token: str | None) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    fragment = f"#token={token}" if token else ""
    say(f"dashboard of {root}:  http://{shown}:{port}/{fragment}")
    if token:
        say("anyone who has this address can pause, resume and stop the crawl, and add seeds")
    if not (host.startswith("127.") or host == "::1"):
        say("warning: anyone who can reach this machine can read the crawl; nothing is encrypted")
    say("press Ctrl-C to end", flush=True)
