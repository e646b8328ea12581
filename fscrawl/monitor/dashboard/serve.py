"""The process of the dashboard: it listens on an address, and ends at once on Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import socket
import threading
from pathlib import Path
from types import FrameType

import uvicorn

from fscrawl import interrupts
from fscrawl.errors import EXIT_OK, UsageError
from fscrawl.monitor.dashboard.app import Dashboard, Verbs
from fscrawl.monitor.dashboard.guard import Guard, names_for
from fscrawl.util.terminal import say

_GRACE_S = 1
_LAST_RESORT_S = 3.0
_BACKLOG = 128


class _Server(uvicorn.Server):
    """A server that ends its streams when it is told to stop."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._dashboard.close)
        last = threading.Timer(_LAST_RESORT_S, interrupts.leave, [sig])  # if a thread waits for a share that hangs
        last.daemon = True
        last.start()
        super().handle_exit(sig, frame)


def serve(root: Path, host: str, port: int, verbs: Verbs, dataset: Path | None = None) -> int:
    """Serve the dashboard of the tree at `root` until Ctrl-C; UsageError if it cannot listen there.

    `verbs`: what it may do to the crawl (see `Dashboard`); where there are none, no token is made.
    `dataset`: the one whose index it searches.
    """
    token = secrets.token_urlsafe(24) if verbs else None
    dashboard = Dashboard(root, verbs, dataset)
    listener = listen(host, port)
    guard = Guard(dashboard.app, names_for(host, socket.gethostname()), token)
    config = uvicorn.Config(
        guard,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,  # the usual one asks a closed standard output whether it is a terminal
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # a client can write anything into them
        timeout_graceful_shutdown=_GRACE_S,
    )
    _announce(root, listener, token)
    _Server(config, dashboard).run([listener])  # it ends by a signal, which uvicorn raises again: see `interrupts`
    os._exit(EXIT_OK)  # do not wait for threads that wait for a share


def listen(host: str, port: int) -> socket.socket:
    """Bind and listen; UsageError, which names the option to change, if that is not possible."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"--port {port}: this port is in use; choose another, or 0 for any free port") from error
        if error.errno == errno.EACCES:
            raise UsageError(f"--port {port}: not permitted; choose a port above 1023") from error
        raise UsageError(f"--host {host}: cannot listen on this address: {error.strerror or error}") from error
    except UnicodeError as error:  # a label of the name is empty, too long, or has characters that no name has
        raise UsageError(f"--host {host}: no host can have this name; give an address, like 127.0.0.1") from error
    return listener


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
