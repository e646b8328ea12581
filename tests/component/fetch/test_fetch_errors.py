"""One HTTP exchange that fails: resets, nonsense, and names that lead nowhere."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from fscrawl.http.answers import Failed, Fetched
from tests.support.raw import HOST, Make, Raw, answering, failed, head


def test_refused(make: Make) -> None:
    """A port where nobody listens is a failure worth another try."""
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    answer = failed(make().get(f"http://{HOST}:{port}/"))
    assert (answer.class_, answer.retry) == ("connect", True)


def _reset(connection: socket.socket) -> None:
    head(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def _reset_in_body(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n.....")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


@pytest.mark.parametrize("behave", [_reset, _reset_in_body, head], ids=["head", "body", "closed"])
def test_reset(make: Make, behave: Callable[[socket.socket], None]) -> None:
    """A connection that is reset, or closed without an answer, is a failure worth another try."""
    with Raw(behave) as server:
        answer = failed(make().get(server.url()))
    assert (answer.class_, answer.retry) == ("connect", True)


@pytest.mark.parametrize("status", ["099", "1000", "-1"])
def test_strange_status(make: Make, status: str) -> None:
    """A status that HTTP does not know raises nothing."""
    with Raw(answering(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode(), times=1)) as server:
        assert isinstance(make().get(server.url()), Fetched | Failed)


def test_unknown_name(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that does not resolve is a failure of class dns, worth another try."""

    def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    answer = failed(make().get("http://nowhere.example/"))
    assert (answer.class_, answer.retry) == ("dns", True)


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a..b", ".", "a" * 300])
def test_impossible_name(make: Make, name: str) -> None:
    """A name that cannot be asked for is a failure, not an exception."""
    assert failed(make().get(f"http://{name}/")).class_ in ("dns", "protocol", "connect")
