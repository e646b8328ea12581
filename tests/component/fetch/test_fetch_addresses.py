"""One HTTP exchange with a host that has several addresses."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from fscrawl.http import dialling
from tests.support.exchanges import HTML
from tests.support.raw import HOST, Make, failed, fetched
from tests.support.web import Response, Web

SILENT, REFUSING, SECOND = "127.0.2.7", "127.0.2.9", "127.0.2.8"


@contextlib.contextmanager
def silent(port: int) -> Iterator[None]:
    """Let connections to SILENT get no answer: its queue is full, so the kernel drops what comes."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server((SILENT, port), backlog=0))
        for _ in range(4):
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(server.getsockname())
        time.sleep(0.05)
        yield


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def entry(address: str, port: int) -> tuple[object, ...]:
        if ":" in address:
            return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
        return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))

    monkeypatch.setattr(socket, "getaddrinfo", lambda _, port, **__: [entry(each, port) for each in addresses])


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the addresses that are connected to, in their order."""
    noted: list[str] = []
    connect = socket.socket.connect

    def noting(sock: socket.socket, address: tuple[str, int]) -> None:
        noted.append(address[0])
        connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", noting)
    return noted


def test_a_silent_address(make: Make, monkeypatch: pytest.MonkeyPatch, begun: list[str]) -> None:
    """A host whose first address is silent is asked at its second a moment later, and next time there at once."""
    resolve(monkeypatch, SILENT, HOST)
    with Web(lambda _: Response(200, {**HTML, "Connection": "close"}, b"<p>"), [HOST]) as web, silent(web.port):
        fetcher = make(connect_timeout=60.0, timeout=60.0)
        for _ in range(2):
            assert fetched(fetcher.get(f"http://two.example:{web.port}/")).body == b"<p>"
    assert begun == [SILENT, HOST, HOST]


def test_all_are_silent(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no address answers, the exchange ends when its time for connecting is over."""
    resolve(monkeypatch, SILENT, SILENT)
    with Web(lambda _: Response(200, HTML, b"<p>"), [HOST]) as web, silent(web.port):
        answer = failed(make(connect_timeout=0.6, timeout=60.0).get(f"http://two.example:{web.port}/"))
    assert (answer.class_, answer.retry) == ("timeout", True)


def test_a_refusal_beside_a_silent_one(make: Make, monkeypatch: pytest.MonkeyPatch, begun: list[str]) -> None:
    """An address that refuses makes room for the next one at once."""
    resolve(monkeypatch, SILENT, REFUSING, SECOND)
    with Web(lambda _: Response(200, HTML, b"<p>"), [SECOND]) as web, silent(web.port):
        assert fetched(make().get(f"http://three.example:{web.port}/")).body == b"<p>"
    assert begun == [SILENT, REFUSING, SECOND]


def test_all_refuse(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last refusal is the failure."""
    resolve(monkeypatch, REFUSING, SECOND)
    answer = failed(make().get("http://two.example:9/"))
    assert (answer.class_, answer.retry) == ("blocked-address", False)  # port 9 is never asked
    answer = failed(make().get("http://two.example:8009/"))
    assert (answer.class_, answer.retry) == ("connect", True)
    assert "refused" in answer.message


def test_no_socket_stays(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts that have lost are closed."""
    made: list[socket.socket] = []

    def making(*how: int) -> socket.socket:
        made.append(socket.socket(*how))
        return made[-1]

    with Web(lambda _: Response(200, HTML, b"<p>"), [HOST]) as web, silent(web.port):
        entries = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, web.port)) for address in (SILENT, SILENT, HOST)
        ]
        won, address = dialling.connected(entries, 10.0, making)
        assert (address, won.getpeername()) == (HOST, (HOST, web.port))
        assert [sock.fileno() < 0 for sock in made] == [True, True, False]
        won.close()


def test_families_take_turns() -> None:
    """Addresses of both families are tried in turn, the first one's family first."""
    four, six = socket.AF_INET, socket.AF_INET6
    found = [(six, 1, 6, "", "a"), (six, 1, 6, "", "b"), (six, 1, 6, "", "c"), (four, 1, 6, "", "d")]
    assert [entry[4] for entry in dialling.in_turn(found)] == ["a", "d", "b", "c"]
    assert [entry[4] for entry in dialling.in_turn(found[::-1])] == ["d", "c", "b", "a"]


def test_a_name_with_hundreds_of_addresses(make: Make, monkeypatch: pytest.MonkeyPatch, begun: list[str]) -> None:
    """Eight of them are tried, of both families."""
    others = [f"127.0.2.{n}" for n in range(100, 250)]
    resolve(monkeypatch, *others, *[f"::ffff:{each}" for each in others], HOST)
    with Web(lambda _: Response(200, HTML, b"<p>"), [HOST]) as web:
        fetcher = make()
        url = f"http://many.example:{web.port}/"
        assert failed(fetcher.get(url)).class_ == "connect"
        assert len(begun) == dialling.MOST_TRIED
        assert {":" in each for each in begun} == {True, False}
        resolve(monkeypatch, HOST, *others)
        assert fetched(fetcher.get(url)).body == b"<p>"


def test_a_family_that_the_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket that cannot be made is an address that cannot be reached."""

    def making(family: int, kind: int, protocol: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(97, "Address family not supported by protocol")
        return socket.socket(family, kind, protocol)

    with socket.create_server((HOST, 0)) as server:
        entries = [(socket.AF_INET6, 1, 6, "", ("::1", 1, 0, 0)), (socket.AF_INET, 1, 6, "", server.getsockname())]
        won, _ = dialling.connected(entries, 5.0, making)
        assert won.getpeername() == server.getsockname()
        won.close()
    with pytest.raises(OSError, match="family not supported"):
        dialling.connected(entries[:1], 5.0, making)


def test_a_host_that_has_moved(make: Make, monkeypatch: pytest.MonkeyPatch, begun: list[str]) -> None:
    """A host that cannot be reached at the address that is known is looked up anew for the next try."""
    answer = Response(200, {**HTML, "Connection": "close"}, b"<p>")
    with Web(lambda _: answer, [HOST]) as old:
        resolve(monkeypatch, HOST)
        fetcher, url = make(), f"http://moves.example:{old.port}/"
        assert fetched(fetcher.get(url)).status == 200
        port = old.port
    with Web(lambda _: answer, [SECOND], port=port):
        resolve(monkeypatch, SECOND)
        assert failed(fetcher.get(url)).class_ == "connect"
        assert fetched(fetcher.get(url)).status == 200
    assert begun == [HOST, HOST, SECOND]
