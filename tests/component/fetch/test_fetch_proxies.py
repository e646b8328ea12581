"""Pages through proxies: in turn, with their passwords kept, and never to a private address in a URL."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.errors import SettingsError
from fscrawl.http import connections as ways
from fscrawl.request import Request
from tests.support.raw import HOST, Make, Raw, answering, failed, fetched, head, ok

PAGE = "http://page.example/a?b"


def noting(heads: list[bytes], answer: bytes) -> Callable[[socket.socket], None]:
    """Note each request's head and answer it."""

    def behave(connection: socket.socket) -> None:
        while True:
            heads.append(head(connection))
            connection.sendall(answer)

    return behave


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _join(client: socket.socket, target: socket.socket) -> None:
    other_way = threading.Thread(target=_pump, args=(target, client), daemon=True)
    other_way.start()
    _pump(client, target)
    other_way.join(10)


def tunnelling(heads: list[bytes], port: int) -> Callable[[socket.socket], None]:
    """Note what is asked, and whatever it is connect to `port` of HOST."""

    def behave(connection: socket.socket) -> None:
        heads.append(head(connection))
        with socket.create_connection((HOST, port), 5) as target:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n")
            _join(connection, target)

    return behave


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Make a certificate for page.example, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl command to make a certificate with")
    words = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=page.example"
    words += f" -addext subjectAltName=DNS:page.example -keyout {tmp_path}/key -out {tmp_path}/crt"
    subprocess.run(words.split(), check=True, capture_output=True, timeout=20)
    (tmp_path / "both").write_bytes((tmp_path / "key").read_bytes() + (tmp_path / "crt").read_bytes())
    return tmp_path / "both"


def test_http(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An http page is asked of the proxy by its whole normal form, with the proxy's password, on a kept connection."""
    monkeypatch.setenv("FSCRAWL_TEST_PW", "p@ss")
    heads: list[bytes] = []
    with Raw(noting(heads, ok(b"<p>"))) as proxy:
        fetcher = make(proxies=(f"http://me:$FSCRAWL_TEST_PW@{HOST}:{proxy.port}",), allow_addresses=())
        answers = [fetched(fetcher.get(PAGE + "|")) for _ in range(2)]
        assert [(each.body, each.address) for each in answers] == [(b"<p>", "")] * 2
        assert proxy.accepted == 1
    assert heads[0].startswith(b"GET http://page.example/a?b| HTTP/1.1\r\nHost: page.example\r\n")
    assert b"Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in heads[0]


def test_public_pages_by_a_private_proxy(make: Make) -> None:
    """An exchange that may reach public addresses only goes through a proxy that has a private one itself."""
    heads: list[bytes] = []
    with Raw(noting(heads, ok(b"<p>"))) as proxy:
        fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",), allow_addresses=())
        fetched(fetcher.send(Request(PAGE), public_only=True))
    assert heads[0].startswith(b"GET http://page.example/a?b HTTP/1.1\r\n")


def test_https(make: Make, certificate: Path) -> None:
    """An https page comes through a tunnel, its certificate checked; its host never sees the proxy's password."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    asked: list[bytes] = []
    connects: list[bytes] = []
    with Raw(noting(asked, ok(b"<p>")), context) as page, Raw(tunnelling(connects, page.port)) as proxy:
        settings = {"proxies": (f"http://me:pw@{HOST}:{proxy.port}",), "allow_addresses": ()}
        fetcher = make(**settings, ca_file=str(certificate))
        answers = [fetched(fetcher.get("https://page.example/a")) for _ in range(2)]
        assert [(each.body, each.address) for each in answers] == [(b"<p>", "")] * 2
        assert failed(fetcher.get("https://other.example/")).class_ == "tls"
        assert failed(make(**settings).get("https://page.example/")).class_ == "tls"
    assert connects[0].startswith(b"CONNECT page.example:443 HTTP/1.")
    assert b"Proxy-Authorization: Basic bWU6cHc=\r\n" in connects[0]
    assert asked[0].startswith(b"GET /a HTTP/1.1\r\n")
    assert b"Proxy-Auth" not in asked[0]


def test_in_turn(make: Make) -> None:
    """Requests of a host go through the proxies in turn."""
    with Raw(answering(ok(b"one"))) as one, Raw(answering(ok(b"two"))) as two:
        fetcher = make(proxies=(f"http://{HOST}:{one.port}", f"http://{HOST}:{two.port}"))
        assert [fetched(fetcher.get(PAGE)).body for _ in range(4)] == [b"one", b"two", b"one", b"two"]


def test_tls_sessions_are_of_one_proxy(make: Make, certificate: Path) -> None:
    """What was agreed on with a host through one proxy is not shown through another: it would tell who asks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    resumed: list[bool | None] = []

    def once(connection: socket.socket) -> None:
        assert isinstance(connection, ssl.SSLSocket)
        resumed.append(connection.session_reused)
        answering(ok(b"<p>", "Connection: close"), 1)(connection)

    with Raw(once, context) as page, Raw(tunnelling([], page.port)) as one, Raw(tunnelling([], page.port)) as other:
        proxies = tuple(f"http://{HOST}:{proxy.port}" for proxy in (one, other))
        fetcher = make(proxies=proxies, ca_file=str(certificate))
        assert [fetched(fetcher.get("https://page.example/a")).body for _ in range(4)] == [b"<p>"] * 4
        assert (one.accepted, other.accepted) == (2, 2)
    assert resumed == [False, False, True, True]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("trouble", ["refused", "407"])
def test_failing_proxy(make: Make, scheme: str, trouble: str) -> None:
    """A proxy that refuses, or wants another password, is of class proxy, rests, and its password is not told."""
    denied = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with Raw(answering(denied)) as proxy:
        port = proxy.port
        if trouble == "refused":
            with socket.create_server((HOST, 0)) as listener:
                port = listener.getsockname()[1]
        fetcher = make(proxies=(f"http://me:hunter2@{HOST}:{port}",))
        first, second = (failed(fetcher.get(f"{scheme}://page.example/")) for _ in range(2))
    assert (first.class_, first.retry, second.class_, second.retry) == ("proxy", True, "proxy", True)
    assert "rest after failures" in second.message
    assert "hunter2" not in first.message
    assert "bWU6" not in first.message


def test_another_proxy_takes_over(make: Make) -> None:
    """A page that one proxy cannot take is asked of the next at once."""
    with socket.create_server((HOST, 0)) as listener:
        dead = listener.getsockname()[1]
    with Raw(answering(ok(b"<p>"))) as proxy:
        fetcher = make(proxies=(f"http://{HOST}:{dead}", f"http://{HOST}:{proxy.port}"))
        assert [fetched(fetcher.get(PAGE)).body for _ in range(3)] == [b"<p>"] * 3


def test_dropped_proxy(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many failures in a row, a proxy is not asked any more, though its rest is over."""
    monkeypatch.setattr("fscrawl.config.proxies.FIRST_REST_S", 0.0)
    heads: list[bytes] = []
    denied = noting(heads, b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    with Raw(denied) as one, Raw(answering(ok(b"<p>"))) as two:
        proxies = (f"http://{HOST}:{one.port}", f"http://{HOST}:{two.port}")
        fetcher = make(proxies=proxies, proxy_failures=2)
        assert [fetched(fetcher.get(PAGE)).body for _ in range(6)] == [b"<p>"] * 6
    assert len(heads) == 2


def test_silent_proxy(make: Make) -> None:
    """A proxy that takes the connection and says nothing costs one deadline, then rests."""
    with Raw(lambda connection: head(connection) and connection.recv(1)) as proxy:
        fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",), timeout=0.5)
        assert [failed(fetcher.get(PAGE)).class_ for _ in range(2)] == ["timeout", "proxy"]


def test_host_that_the_proxy_cannot_reach(make: Make) -> None:
    """A proxy that says that it cannot reach the host is not to blame: the host has failed."""
    with Raw(answering(b"HTTP/1.1 502 Bad Gateway\r\n\r\n", times=1)) as proxy:
        fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",))
        assert [failed(fetcher.get("https://page.example/")).class_ for _ in range(2)] == ["connect"] * 2


def test_uses(make: Make) -> None:
    """A proxy is used as often as it may be."""
    with Raw(answering(ok(b"<p>"))) as proxy:
        fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",), proxy_uses=2)
        assert [fetched(fetcher.get(PAGE)).body for _ in range(2)] == [b"<p>"] * 2
        assert failed(fetcher.get(PAGE)).class_ == "proxy"


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "[::1]", "169.254.169.254", "localhost"])
def test_private_targets(make: Make, host: str) -> None:
    """No proxy is asked for a private address that stands in the URL."""
    with Raw(answering(ok(b"<p>"))) as proxy:
        fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",), allow_addresses=())
        answer = failed(fetcher.get(f"http://{host}/"))
        assert (answer.class_, answer.retry, proxy.accepted) == ("blocked-address", False, 0)


def test_flood_of_a_proxy(make: Make) -> None:
    """A proxy's answer to CONNECT is bounded too."""

    def endless(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X: y\r\n" * 1000)

    with Raw(endless) as proxy:
        answer = failed(make(proxies=(f"http://{HOST}:{proxy.port}",), timeout=30.0).get("https://page.example/"))
    assert answer.class_ in ("too-large", "protocol", "proxy")


def test_socks_without_pysocks(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PySocks is missing, one line says what to install."""
    monkeypatch.setitem(sys.modules, "socks", None)
    with pytest.raises(SettingsError, match=r"^fetch[.]proxies: socks5h:// needs PySocks: .*\bsocks\b"):
        make(proxies=("socks5h://127.0.0.1:1080",))


def socks_server(asked: list[bytes], port: int, reply: int = 0) -> Callable[[socket.socket], None]:
    """Speak SOCKS 5 with a name and password (RFC 1928, 1929), note both and the host, and connect to `port`."""

    def behave(connection: socket.socket) -> None:
        connection.recv(2 + 255)
        connection.sendall(b"\5\2")
        asked.append(connection.recv(513))
        connection.sendall(b"\1\0")
        asked.append(connection.recv(262))
        connection.sendall(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        if not reply:
            with socket.create_connection((HOST, port), 5) as target:
                _join(connection, target)

    return behave


needs_pysocks = pytest.mark.skipif(importlib.util.find_spec("socks") is None, reason="PySocks is not installed")


@needs_pysocks
def test_socks(make: Make) -> None:
    """A SOCKS proxy is given the host's name to look up, and carries the page."""
    asked: list[bytes] = []
    with Raw(answering(ok(b"<p>"))) as page, Raw(socks_server(asked, page.port)) as proxy:
        fetcher = make(proxies=(f"socks5h://me:pw@{HOST}:{proxy.port}",), allow_addresses=())
        assert [fetched(fetcher.get(PAGE)).body for _ in range(2)] == [b"<p>"] * 2
        assert proxy.accepted == 1
    assert asked == [b"\1\2me\2pw", b"\5\1\0\3\x0cpage.example\0\x50"]


@needs_pysocks
def test_socks_host_unreachable(make: Make) -> None:
    """A SOCKS proxy that says that the host refuses is not to blame; one that cannot be reached is."""
    with Raw(socks_server([], 0, reply=5)) as proxy:
        fetcher = make(proxies=(f"socks5h://me:pw@{HOST}:{proxy.port}",))
        assert [failed(fetcher.get(PAGE)).class_ for _ in range(2)] == ["connect"] * 2
    assert failed(make(proxies=(f"socks5h://{HOST}:{proxy.port}",)).get(PAGE)).class_ == "proxy"


@needs_pysocks
def test_silent_socks(make: Make) -> None:
    """A SOCKS proxy that does not answer ends by the deadline."""
    with Raw(lambda connection: connection.recv(9) and connection.recv(9)) as proxy:
        fetcher = make(proxies=(f"socks5h://{HOST}:{proxy.port}",), timeout=0.5)
        assert failed(fetcher.get(PAGE)).class_ == "proxy"


def test_connections_of_all_proxies(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """All proxies together keep as many connections as one worker may: more would use up its open files."""
    monkeypatch.setattr(ways, "most_kept", lambda: 5)
    with Raw(noting([], ok(b"<p>"))) as proxy:
        fetcher = make(proxies=tuple(f"http://user{number}:x@{HOST}:{proxy.port}" for number in range(4)))
        for number in range(40):
            assert fetched(fetcher.get(f"http://host{number}.example/")).body == b"<p>"
        assert len({id(way._kept) for way in fetcher._ways}) == 1
        assert len(fetcher._ways[0]._kept) == 5
