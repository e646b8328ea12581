"""One HTTP exchange with an address that is not public."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from fscrawl.config import addresses
from fscrawl.http import dialling
from fscrawl.request import Request
from tests.support.exchanges import HTML
from tests.support.raw import HOST, Make, failed, fetched
from tests.support.web import Response, Web


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::ffff:127.0.0.1]"]
)
def test_loopback_is_blocked(make: Make, host: str) -> None:
    """However loopback is written, nothing is asked of it."""
    with Web(lambda _: Response(), ["127.0.0.1"]) as web:
        answer = failed(make(allow_addresses=()).get(f"http://{host}:{web.port}/"))
    assert (answer.class_, answer.retry) == ("blocked-address", False)
    assert web.exchanges == []


@pytest.mark.parametrize("host", ["[::1]", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00::1]"])
def test_private_address_is_blocked(make: Make, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection to a private, link-local or metadata address is even begun."""
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it connects"))
    answer = failed(make(allow_addresses=()).get(f"http://{host}/"))
    assert (answer.class_, answer.retry) == ("blocked-address", False)


def test_an_exchange_that_may_reach_public_addresses_only(make: Make) -> None:
    """It goes to no other one, be there a connection that waits, and its rule counts for no other exchange.

    No setting would help, so none is named.
    """
    with Web(lambda _: Response(200, HTML), [HOST]) as web:
        fetcher, url = make(), web.url(HOST)
        fetched(fetcher.get(url))
        answer = failed(fetcher.send(Request(url), public_only=True))
        assert (answer.class_, "fetch." in answer.message) == ("blocked-address", False)
        fetched(fetcher.get(url))
    assert web.count() == 2
    behind_a_proxy = make(proxies=(f"http://{HOST}:8",))
    for host in ("10.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        answer = failed(behind_a_proxy.send(Request(f"http://{host}/"), public_only=True))
        assert (answer.class_, "fetch." in answer.message) == ("blocked-address", False)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("proxies", [(), (f"http://{HOST}:8",)])
def test_ports_of_other_protocols(
    make: Make, scheme: str, proxies: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent to a port that belongs to another protocol than HTTP, also not through a proxy."""
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it connects"))
    answer = failed(make(proxies=proxies).get(f"{scheme}://{HOST}:25/"))
    assert (answer.class_, answer.retry) == ("blocked-address", False)
    assert "port 25 is of another protocol than HTTP" in answer.message


class _Resolver:
    """Stands in for getaddrinfo: gives a list of addresses each time, the last one for ever; and for connect."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.connected: list[str] = []
        monkeypatch.setattr(socket, "getaddrinfo", self.getaddrinfo)
        monkeypatch.setattr(socket.socket, "connect", lambda _, address: self.connect(address))

    def getaddrinfo(self, host: str, port: int, **_: object) -> list[Any]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]

    def connect(self, address: tuple[str, int]) -> None:
        self.connected.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")


def test_rebinding_gains_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public when it is checked and private when asked again: what was checked is connected to."""
    resolver = _Resolver(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    fetcher = make(allow_addresses=())
    assert failed(fetcher.get("http://rebind.example/")).class_ == "connect"
    assert (resolver.asked, resolver.connected) == (["rebind.example"], ["93.184.216.34"])
    assert failed(fetcher.get("http://rebind.example/")).class_ == "blocked-address"
    assert resolver.connected == ["93.184.216.34"]


def test_rebinding_when_the_time_of_a_name_is_over(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name whose address is kept, and that leads inside when it is looked up anew, is refused from then on."""
    with Web(lambda _: Response(200, {**HTML, "Connection": "close"}, b"<p>"), [HOST, "127.0.0.1"]) as web:
        answers = [[HOST], ["127.0.0.1"]]

        def turning(_: str, port: int, **__: object) -> list[Any]:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]

        monkeypatch.setattr(socket, "getaddrinfo", turning)
        fetcher = make(allow_addresses=(f"{HOST}/32",))
        url = f"http://rebind.example:{web.port}/"
        assert [fetched(fetcher.get(url)).status for _ in range(2)] == [200, 200]
        monkeypatch.setattr(dialling.time, "monotonic", _later(dialling.KEPT_S + 1))
        for _ in range(2):
            assert failed(fetcher.get(url)).class_ == "blocked-address"
        assert (web.count(HOST), web.count("127.0.0.1")) == (2, 0)


def test_what_is_kept_is_no_permission(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard is asked about the address of each connection, also of a name that is known already."""
    asked: list[str] = []
    with Web(lambda _: Response(200, {**HTML, "Connection": "close"}, b"<p>"), [HOST]) as web:
        resolver = _resolving(monkeypatch, HOST)
        monkeypatch.setattr(
            addresses, "permits", lambda *_: lambda address: not asked.append(address) and len(asked) < 3
        )
        fetcher = make()
        url = f"http://turns.example:{web.port}/"
        assert [fetched(fetcher.get(url)).status for _ in range(2)] == [200, 200]
        assert failed(fetcher.get(url)).class_ == "blocked-address"
        assert (asked, resolver, web.count()) == ([HOST] * 3, ["turns.example"], 2)


def _resolving(monkeypatch: pytest.MonkeyPatch, address: str) -> list[str]:
    """Let all names lead to an address; give the list of names that are asked for."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **_: object) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def _later(by_s: float) -> Callable[[], float]:
    now = time.monotonic
    return lambda: now() + by_s


def test_only_public_addresses_of_several(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a name's addresses only the public ones are tried, one after the other."""
    resolver = _Resolver(monkeypatch, ["10.0.0.1", "93.184.216.34", "127.0.0.1", "93.184.216.35"])
    assert failed(make(allow_addresses=()).get("http://mixed.example/")).class_ == "connect"
    assert resolver.connected == ["93.184.216.34", "93.184.216.35"]


def test_second_address_is_tried(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose first address refuses is asked at its second."""
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda _, port, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in ("127.0.2.9", HOST)],
    )
    with Web(lambda _: Response(200, HTML, b"<p>"), [HOST]) as web:
        assert fetched(make().get(f"http://two.example:{web.port}/")).body == b"<p>"
