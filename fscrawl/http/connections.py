"""Connections to hosts: how they are made, directly or through a proxy, and how they wait for the next request.

A connection is worth keeping if the host is asked again soon: it saves a handshake. Otherwise it costs memory here and
at the server, and a request that is sent just when the server closes it fails. So each is kept for `IDLE_S` at most,
and for less if the server says so (Keep-Alive: timeout=5). Hosts that are finished, or whose delay is long, have none.

Of all together there are `MOST`. When these wait, a further one is closed, not the oldest of them: hosts take turns, so
the oldest is the next to be used, and if each took the place of the oldest, none would ever be used again.

Connections of urllib3 are not used for it: to load that, and `requests` around it, takes a quarter of the time until a
worker begins, its exchanges take five times as long, and it has no limit for a whole exchange.

Vocabulary:
  way     what connections wait by: the origin of the host, and the proxy if there are several

Promise: that of `wire` and of `dialling`. What is given up is closed, and a connection is given to one thread at a
time. A proxy resolves the names of hosts, so the guard is not asked about their addresses.
"""

from __future__ import annotations

import re
import resource
import ssl
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from functools import partial
from typing import Any

from fscrawl import urls
from fscrawl.config import credentials
from fscrawl.config.proxies import Proxy
from fscrawl.errors import SettingsError
from fscrawl.http import tls
from fscrawl.http.answers import ExchangeError, ProxyFailedError
from fscrawl.http.dialling import Dialler
from fscrawl.http.outgoing import Outgoing
from fscrawl.http.wire import Connection, Exchange, Reply
from fscrawl.request import ONCE
from fscrawl.util.installed import to_install

IDLE_S = 15.0  # servers close those that were idle for 5 s (Apache) to 75 s (nginx)
MOST = 1000  # of a worker; over TLS each takes some 45 KB
_MARGIN_S = 1.0  # what is given up so long before the server gives it up
_DESCRIPTORS_SHARE = 4  # a process uses one of so many descriptors that it may have open for what waits

_TIMEOUT = re.compile(r"(?:^|[,;\s])timeout\s*=\s*\"?([0-9]{1,9})", re.IGNORECASE)


class Kept:
    """Connections that wait, by their way; threads share it. Each way has `per_host` of them at most."""

    def __init__(self, per_host: int, most: int | None = None) -> None:
        self._per_host = per_host
        self._most = most_kept() if most is None else most
        self._idle = OrderedDict[int, tuple[Hashable, Connection, float]]()  # what waits for longest comes first
        self._of_way: dict[Hashable, list[int]] = {}
        self._next = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._idle)

    def pop(self, way: Hashable) -> Connection | None:
        """Give the connection that was used last, None if there is none to use."""
        now = time.monotonic()
        found = None
        with self._lock:
            given_up = self._expired(now)
            while found is None and way in self._of_way:
                connection, until = self._remove(self._of_way[way][-1])
                if now < until:
                    found = connection
                else:
                    given_up.append(connection)
        _close(given_up)
        return found

    def put(self, way: Hashable, connection: Connection, idle_s: float = IDLE_S) -> None:
        """Keep a connection for the next request, for `idle_s` at most; or close it."""
        now = time.monotonic()
        with self._lock:
            given_up = self._expired(now)
            is_full = len(self._idle) >= self._most or len(self._of_way.get(way, ())) >= self._per_host
            if idle_s <= 0 or is_full or self._is_closed:
                given_up.append(connection)
            else:
                self._idle[self._next] = (way, connection, now + min(idle_s, IDLE_S))
                self._of_way.setdefault(way, []).append(self._next)
                self._next += 1
        _close(given_up)

    def expire(self) -> None:
        """Close what has waited for too long. `pop` and `put` do it, too."""
        with self._lock:
            given_up = self._expired(time.monotonic())
        _close(given_up)

    def close(self) -> None:
        """Close all, and whatever is put here from now on."""
        self._is_closed = True
        self.clear()

    def clear(self) -> None:
        """Close all that wait."""
        with self._lock:
            given_up = [connection for _, connection, _ in self._idle.values()]
            self._idle.clear()
            self._of_way.clear()
        _close(given_up)

    def _expired(self, now: float) -> list[Connection]:
        """Take out those that wait for longest and whose time is over. (One that may wait for less may come behind.)"""
        given_up: list[Connection] = []
        while self._idle:
            number, (_, _, until) = next(iter(self._idle.items()))
            if now < until:
                break
            given_up.append(self._remove(number)[0])
        return given_up

    def _remove(self, number: int) -> tuple[Connection, float]:
        way, connection, until = self._idle.pop(number)
        numbers = self._of_way[way]
        numbers.remove(number)
        if not numbers:
            del self._of_way[way]
        return connection, until


def _close(given_up: list[Connection]) -> None:
    for connection in given_up:
        connection.close()


def most_kept() -> int:
    """Give how many idle connections this process may have, by its limit of open files."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if limit == resource.RLIM_INFINITY else max(1, min(MOST, limit // _DESCRIPTORS_SHARE))


def idle_s(keep_alive: str | None) -> float:
    """Give how long a connection may wait for its next request, by the header Keep-Alive of its last answer.

    >>> idle_s(None), idle_s("timeout=5, max=99"), idle_s("timeout=1")
    (15.0, 4.0, 0.0)
    """
    found = _TIMEOUT.search(keep_alive) if keep_alive else None
    return IDLE_S if found is None else max(0.0, min(IDLE_S, float(found[1]) - _MARGIN_S))


class Connections:
    """The connections of one way to the hosts. Several threads use it. A subclass says how to connect."""

    def __init__(self, trust: tls.Trust, kept: Kept, connect_s: float) -> None:
        """`kept`: those that wait; ways may share it. `connect_s`: that connecting may take, and a handshake."""
        self._trust = trust
        self._kept = kept
        self._connect_s = connect_s
        self._sessions = tls.Sessions()
        weakref.finalize(self, kept.close)

    def ask(self, request: Outgoing, exchange: Exchange) -> Reply:
        """Send a request, and read the head of the answer. Raises ExchangeError or OSError."""
        origin = urls.origin(request.url)
        way, data = self._way(origin), self._written(request, origin)
        connection = self._waiting(way, request.method, exchange)
        is_new = connection is None
        if connection is None:
            connection = self._connected(origin, exchange)
        exchange.address = connection.address
        exchange.is_sent = True
        try:
            return connection.ask(request.method, data, exchange, partial(_give_back, self._kept, way, connection))
        except BaseException:
            connection.close()
            if is_new and origin.startswith("https:"):  # perhaps because its session was resumed
                self._sessions.forget(_host_and_port(origin))
            raise

    def _waiting(self, way: Hashable, method: str, exchange: Exchange) -> Connection | None:
        """Give a connection that waits and can be used for an exchange.

        A host may close it at this very moment. Then nobody would know whether it has done what is asked for, so what
        may be asked for only once begins a new one. And what waits was connected to for another exchange, which may
        have been allowed to reach more.
        """
        connection = self._kept.pop(way)
        if connection is None:
            return None
        is_in_reach = not connection.address or exchange.may_reach(connection.address)
        if method not in ONCE and is_in_reach and connection.is_quiet:
            return connection
        connection.close()
        return None

    def _connected(self, origin: str, exchange: Exchange) -> Connection:
        host = _host_and_port(origin)
        context = self._trust.context() if origin.startswith("https:") else None
        sock, address = self._dial(origin, host, exchange)
        if context is None:
            return Connection(sock, address)
        try:
            sock.settimeout(min(self._connect_s, exchange.left_s()))  # connecting has taken some of it
            secured = self._sessions.secured(sock, host, context)
        except BaseException as error:
            sock.close()
            if isinstance(error, ssl.SSLError):
                self._has_failed(host)
            raise
        if tls.is_heavy(secured):
            return Connection(secured, address, is_kept=False)
        return Connection(secured, address, on_close=partial(self._sessions.keep, host))

    def _way(self, origin: str) -> Hashable:
        return origin

    def _written(self, request: Outgoing, origin: str) -> bytes:
        return request.to_bytes(request.url[len(origin) :])

    def _dial(self, origin: str, host: tls.Host, exchange: Exchange) -> tuple[Any, str]:
        """Give a socket that leads to a host, and its address, if that is known."""
        raise NotImplementedError

    def _has_failed(self, host: tls.Host) -> None:
        """Forget what is known of a host: a handshake with it has failed."""
        self._sessions.forget(host)

    def tidy(self) -> None:
        """Close the connections that have waited for too long."""
        self._kept.expire()

    def let_go(self) -> None:
        """Close all connections that wait: their descriptors are needed."""
        self._kept.clear()

    def close(self) -> None:
        """Close the connections that wait, and those in use when they are given back."""
        self._kept.close()


def _give_back(kept: Kept, way: Hashable, connection: Connection, reply: Reply) -> None:
    may_wait = reply.is_whole and connection.may_wait
    kept.put(way, connection, idle_s(reply.raw.get("keep-alive")) if may_wait else 0.0)


def _host_and_port(origin: str) -> tls.Host:
    """Split the origin of a normal form. An IPv6 address has no brackets then.

    >>> _host_and_port("https://a.example"), _host_and_port("http://[::1]:80")
    (('a.example', 443), ('::1', 80))
    """
    scheme, _, authority = origin.partition("://")
    host, colon, port = authority.rpartition(":")
    if not (colon and port.isdecimal()):
        host, port = authority, "443" if scheme == "https" else "80"
    return host.strip("[]"), int(port)


class DirectConnections(Connections):
    """Those to the hosts themselves."""

    def __init__(self, trust: tls.Trust, kept: Kept, connect_s: float, dialler: Dialler) -> None:
        super().__init__(trust, kept, connect_s)
        self._dialler = dialler

    def _dial(self, origin: str, host: tls.Host, exchange: Exchange) -> tuple[Any, str]:  # noqa: ARG002
        return self._dialler.dial(*host, self._connect_s, exchange)

    def _has_failed(self, host: tls.Host) -> None:
        super()._has_failed(host)
        self._dialler.forget(host[0])  # the address may be another host's by now


class ProxiedConnections(Connections):
    """Those through one proxy. An HTTP proxy is sent whole URLs of http pages, and asked for tunnels to https hosts."""

    def __init__(self, trust: tls.Trust, kept: Kept, connect_s: float, dialler: Dialler, via: Proxy) -> None:
        """`kept`: connections that wait, of all proxies. SettingsError if the proxy needs what is not installed."""
        if via.scheme == "socks5h":
            import_socks()
        super().__init__(trust, kept, connect_s)
        self._via = via
        self._dialler = dialler
        login = b"" if via.user is None else credentials.basic(f"{via.user}:{via.password}").encode("ascii")
        self._login = b"Proxy-Authorization: %b\r\n" % login if login else b""

    def forwards(self, url: str) -> bool:
        """Tell whether the proxy itself answers, not the host through a tunnel."""
        return self._via.scheme == "http" and url.startswith("http:")

    def _way(self, origin: str) -> Hashable:
        # What a host sends behind its answer must not be taken for the answer of the next host: so connections to one
        # proxy, too, wait by origin.
        return id(self), origin

    def _written(self, request: Outgoing, origin: str) -> bytes:
        if self.forwards(request.url):
            return request.to_bytes(request.url, self._login)
        return super()._written(request, origin)

    def _dial(self, origin: str, host: tls.Host, exchange: Exchange) -> tuple[Any, str]:
        if self._via.scheme != "http":
            return self._by_socks(host, exchange), ""
        try:
            sock, _ = self._dialler.dial(self._via.host, self._via.port, self._connect_s, exchange, guarded=False)
        except (ExchangeError, OSError) as error:
            raise ProxyFailedError(f"{self._via.address} cannot be reached: {error}") from error
        if origin.startswith("https:"):
            try:
                self._tunnel(Connection(sock), *host, exchange)
            except BaseException:
                sock.close()
                raise
        return sock, ""

    def _tunnel(self, connection: Connection, name: str, port: int, exchange: Exchange) -> None:
        target = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        words = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n".encode("ascii")
        reply = connection.ask("CONNECT", words + self._login + b"\r\n", exchange, lambda _: None)
        if reply.status == 407:
            raise ProxyFailedError(f"{self._via.address} asks for another user and password")
        if reply.status >= 300:
            raise ConnectionError(f"{self._via.address} opened no tunnel to the host: status {reply.status}")

    def _by_socks(self, host: tls.Host, exchange: Exchange) -> Any:
        """Connect to a host through a SOCKS proxy, which resolves the name."""
        via, socks = self._via, import_socks()
        until = time.monotonic() + min(self._connect_s, exchange.left_s())
        is_open = False

        class Bounded(socks.socksocket):  # type: ignore[misc,name-defined]  # a timeout is that of each call
            def recv_into(self, *args: Any) -> int:
                if not is_open:
                    self.settimeout(max(0.001, until - time.monotonic()))
                received: int = super().recv_into(*args)
                return received

        sock = Bounded()
        sock.set_proxy(socks.SOCKS5, via.host, via.port, True, via.user, via.password or None)
        try:
            sock.settimeout(until - time.monotonic())
            sock.connect(host)
            is_open = True
        except OSError as error:
            sock.close()
            if isinstance(getattr(error, "socket_err", error), socks.SOCKS5Error):  # the proxy works, the host does not
                raise ConnectionError(f"{via.address} cannot connect to the host: {error}") from error
            raise ProxyFailedError(f"{via.address} cannot be used: {error}") from error
        return sock


def import_socks() -> Any:
    """Import PySocks, which only SOCKS proxies need. SettingsError if it is not installed."""
    try:
        import socks  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise SettingsError(f"fetch.proxies: socks5h:// needs PySocks: {to_install('socks')}") from None
    return socks
