"""Who only connects to the dashboard, or goes before it has answered, keeps nobody else from being answered."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from fscrawl.monitor.dashboard import serve
from fscrawl.monitor.dashboard.app import Dashboard
from fscrawl.monitor.dashboard.guard import Guard, names_for
from tests.support.trees import Grown

HEAD = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n"
PAGES = 400


@pytest.fixture
def port(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve a dashboard in a thread of this process, with less time for a request."""
    grown = Grown(root)
    for number in range(PAGES):
        grown.page(f"http://a.example/{number}")
    monkeypatch.setattr(serve, "_REQUEST_S", 1.0)
    listener = serve.listen("127.0.0.1", 0)
    server = uvicorn.Server(serve.config_of(Guard(Dashboard(root, {}).app, names_for("127.0.0.1", "box"), None)))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


def status(port: int, path: str = "/api/state") -> int:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path, headers={"host": "localhost"})
        answer = connection.getresponse()
        answer.read()
        return answer.status


@pytest.mark.parametrize("begun", [b"", b"GET", HEAD, HEAD + b"\r\n" + HEAD, HEAD + b"\r\n"])
def test_a_connection_without_a_request_ends(port: int, begun: bytes) -> None:
    """It has some seconds to ask, however slowly it does, and for one request only."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(begun)
        began = time.monotonic()
        answer = b""
        with contextlib.suppress(ConnectionError):
            while data := sock.recv(1 << 16):
                answer += data
        assert time.monotonic() - began < 5
        assert answer.count(b"HTTP/1.1 200") == begun.count(b"\r\n\r\n")


def test_many_connections_without_a_request(port: int) -> None:
    """More of them than may be open at a time are made: the oldest end, and who asks is answered."""
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(200)]
        assert status(port) == 200
        for sock in idle[:100]:
            with contextlib.suppress(ConnectionError):
                assert sock.recv(1) == b""
