"""Connections to hosts, direct or through a proxy: the only file that opens sockets to the web.

Vocabulary:
  exchange    one request and its answer; a thread works on one exchange at a time
  deadline    monotonic time at which the whole exchange must be over: name, connection, TLS, head and body together
  allowance   how many bytes may still be received: of the head, then of the body with the overhead of its chunks
  guard       decides about each address after the name has been resolved and before the socket connects. So a name that
              resolves to another address the next time cannot get around it

Promise: no read waits beyond the deadline or goes beyond the allowance, and no socket connects to an address that the
guard refuses. Only the system's resolver may take longer.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.proxy import connection_requires_http_tunnel

from fscrawl.config import credentials
from fscrawl.config.proxies import Proxy
from fscrawl.errors import SettingsError
from fscrawl.http import racing, tls
from fscrawl.http.bodies import TooLargeError
from fscrawl.http.failures import BlockedAddressError, ProxyFailedError
from fscrawl.http.keeping import IDLE_S, Kept, idle_s
from fscrawl.http.names import Names
from fscrawl.http.wire import Outgoing, Reply, host_and_port, request_bytes, written
from fscrawl.util.installed import to_install
from fscrawl.util.recent import Recent

HEAD_BYTES = 262144  # of an answer's head and the informational answers before it; browsers accept as much

_POOLS = 256  # what urllib3 knows of so many hosts


class _Exchange(threading.local):
    """What the connection of this thread must know of its exchange."""

    deadline = float("inf")
    allowance_bytes = HEAD_BYTES
    idle_s = IDLE_S  # that the connection may wait for its next exchange
    address = ""  # of the host; "" before it is connected to, and if a proxy is asked


exchange = _Exchange()


def _remaining_s() -> float:
    left = exchange.deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the exchange took longer than fetch.timeout")
    return left


class _LimitedReads:
    """A socket whose reads keep to the deadline and the allowance of the exchange."""

    def recv_into(self: Any, *args: Any) -> int:
        self.settimeout(_remaining_s())
        received: int = super().recv_into(*args)  # type: ignore[misc]
        exchange.allowance_bytes -= received
        if exchange.allowance_bytes < 0:
            raise TooLargeError("the server sent more than fetch.max_bytes, or a head of more than 256 KiB")
        return received


class _Socket(_LimitedReads, socket.socket):
    pass


class _TlsSocket(_LimitedReads, tls.ResumingSocket):
    pass


class _DirectConnection(HTTPConnection):
    """Resolves, guards and connects itself, so that the address checked is the address connected to."""

    permits: Callable[[str], bool]
    via: Proxy  # of the connections through a proxy
    names: Names
    learned: racing.Learned
    sessions: tls.Sessions
    is_kept = True  # if it may be used again
    poll: select.poll  # of its socket
    address = ""  # of the host that it is connected to; "" behind a proxy

    def exchange(self, method: str, request: bytes, done: Callable[[Reply], None]) -> Reply:
        """Send a request, and read the head of the answer. `done`: as for `Reply`."""
        exchange.address = self.address
        sock: Any = self.sock
        sock.settimeout(_remaining_s())
        with contextlib.suppress(BrokenPipeError):  # the server may have answered before it had read all
            sock.sendall(request)
        reply = Reply(sock, method, done)
        reply.begin()
        exchange.idle_s = idle_s(reply.head.get("keep-alive"))
        return reply

    def _new_conn(self) -> socket.socket:
        try:
            found = self.names.look_up(self._dns_host, self.port or 0, _remaining_s())
        except TimeoutError:
            raise
        except OSError as error:
            raise urllib3.exceptions.NameResolutionError(self.host, self, socket.gaierror(str(error))) from error
        permitted = [entry for entry in found if self.permits(str(entry[4][0]))]
        if not permitted:
            raise BlockedAddressError(f"{self.host} has the address {found[0][4][0]}, which is not public")
        try:
            sock = self._connect_to_one_of(permitted)
        except OSError:
            self.names.forget(self._dns_host)
            raise
        self.address = str(sock.getpeername()[0])
        return sock

    def _connect_to_one_of(self, found: list[Any]) -> socket.socket:
        if len(found) == 1:
            family, kind, protocol, _, address = found[0]
            return self._connect(_Socket(family, kind, protocol), address)
        host, timeout_s = (self.host, self.port or 0), self._timeout_s()
        sock, address = racing.connected(self.learned.in_order(host, found), _Socket, timeout_s)
        self.learned.note(host, address)
        sock.settimeout(timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    @property
    def may_wait(self) -> bool:
        """Tell whether it may be used again. Bytes behind an answer would be taken for the next one."""
        pending = getattr(self.sock, "pending", None)  # in the TLS layer; the kernel's are seen before the next request
        return self.sock is not None and self.is_kept and not (pending is not None and pending())

    def forget_session(self) -> None:
        """Do nothing: there is no TLS session."""

    def _timeout_s(self) -> float:
        return min(float(self.timeout or _remaining_s()), _remaining_s())

    def _connect(self, sock: socket.socket, address: Any) -> socket.socket:
        try:
            sock.settimeout(self._timeout_s())
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            sock.close()
            raise
        return sock


class _HttpProxyConnection(_DirectConnection):
    """Connects to an HTTP proxy. urllib3 sends it whole URLs for http pages, and asks for tunnels to https hosts."""

    def _new_conn(self) -> socket.socket:
        try:
            sock = super()._new_conn()
            self.address = ""  # the proxy's is not the host's
            return sock
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise ProxyFailedError(f"{self.via.address} cannot be reached: {error}") from error

    def _tunnel(self) -> None:
        try:
            super()._tunnel()
        except OSError as error:
            refused = re.search(r"Tunnel connection failed: ([0-9]{3})", str(error))
            if refused is None:
                raise
            if refused[1] == "407":
                raise ProxyFailedError(f"{self.via.address} asks for another user and password") from error
            raise ConnectionError(f"{self.via.address} opened no tunnel to the host: status {refused[1]}") from error


class _SocksProxyConnection(_DirectConnection):
    """Connects to the host through a SOCKS proxy, which resolves the name."""

    def _new_conn(self) -> socket.socket:
        socks = import_socks()
        sock = type("SocksSocket", (_LimitedReads, socks.socksocket), {})()
        sock.set_proxy(socks.SOCKS5, self.via.host, self.via.port, True, self.via.user, self.via.password or None)
        try:
            return self._connect(sock, (self._dns_host, self.port))
        except OSError as error:
            if isinstance(getattr(error, "socket_err", error), socks.SOCKS5Error):  # the proxy works, the host does not
                raise ConnectionError(f"{self.via.address} cannot connect to the host: {error}") from error
            raise ProxyFailedError(f"{self.via.address} cannot be used: {error}") from error


class _TlsConnection(HTTPSConnection):
    """Resumes the last TLS session with its host. Stands before a class of connections, which connects."""

    names: Names
    sessions: tls.Sessions
    is_kept: bool
    _timeout_s: Callable[[], float]

    @property
    def _session_of(self) -> tls.Host:
        return (self._tunnel_host or self.host, self._tunnel_port or self.port or 443)

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self.sessions.offer(self._session_of, sock)
        sock.settimeout(self._timeout_s())  # connecting has taken some of it
        return sock

    def connect(self) -> None:
        try:
            super().connect()
            self.is_kept = not tls.is_heavy(self.sock)
        except ssl.SSLError:
            self.sessions.forget(self._session_of)
            self.names.forget(self._dns_host)  # the address may be another host's by now
            raise

    def forget_session(self) -> None:
        """Offer the session no more: the first exchange has failed, perhaps because it was resumed."""
        self.is_kept = False
        self.sessions.forget(self._session_of)

    def close(self) -> None:
        if self.is_kept:
            self.sessions.keep(self._session_of, self.sock)
        super().close()


def import_socks() -> Any:
    """Import PySocks, which only SOCKS proxies need. SettingsError if it is not installed."""
    try:
        import socks  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise SettingsError(f"fetch.proxies: socks5h:// needs PySocks: {to_install('socks')}") from None
    return socks


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Give the TLS context of all connections (see `tls.context_for`)."""
    return tls.context_for(ca_file, _TlsSocket)


class _ProxyManager(urllib3.ProxyManager):
    """Keeps a pool of connections to the proxy for each host, although they all lead to the proxy.

    In a pool for all hosts, what a host sends behind its answer could be taken for the answer of the next host.
    """

    def connection_from_host(
        self, host: str | None, port: int | None = None, scheme: str | None = "http", pool_kwargs: Any = None
    ) -> HTTPConnectionPool:
        if scheme == "https" or self.proxy is None:
            return super().connection_from_host(host, port, scheme, pool_kwargs)  # a tunnel, which belongs to the host
        context: dict[str, Any] = self._merge_pool_kwargs(pool_kwargs)
        context |= {"scheme": self.proxy.scheme, "host": self.proxy.host, "port": self.proxy.port}
        key: Any = (self.key_fn_by_scheme["http"](context.copy()), host, port)
        pool: Any = self.connection_from_pool_key(key, context)
        pool.reaches = (host, port)
        return pool  # type: ignore[no-any-return]


class _Pool(HTTPConnectionPool):
    """The connections to one host. Those that wait are in `kept`, which all hosts share.

    It does exchanges itself: those of urllib3 cost five times as much.
    """

    kept: Kept[Any, Any]
    reaches: tuple[str | None, int | None] | None = None  # what a proxy is asked for; None: the host itself

    @property
    def _key(self) -> Any:
        return self.scheme, self.reaches or (self.host, self.port)

    def _take(self) -> Any:
        connection = self.kept.take(self._key)
        if connection is not None and connection.poll.poll(0):  # closed by the host, or with bytes that nobody wants
            connection.close()
        return connection or self._new_conn()

    def close(self) -> None:
        """Do nothing: `kept` closes what waits for too long."""

    def ask(self, method: str, request: bytes, connect_s: float) -> Reply:
        """Do an exchange up to the head of the answer. `connect_s`: that connecting may take, and a TLS handshake."""
        connection: Any = self._take()
        is_new = connection.is_closed

        def done(reply: Reply) -> None:
            if not reply.is_whole:
                connection.close()
            self.kept.put(self._key, connection, exchange.idle_s if connection.may_wait else 0.0)

        try:
            if is_new:
                connection.timeout = connect_s
                self._connect(connection)
            reply: Reply = connection.exchange(method, request, done)
        except BaseException:
            if is_new:
                connection.forget_session()
            connection.close()
            raise
        return reply

    def _connect(self, connection: Any) -> None:
        if connection_requires_http_tunnel(self.proxy, self.proxy_config, self.scheme):
            self._prepare_proxy(connection)
        else:
            connection.connect()
        connection.poll = select.poll()
        connection.poll.register(connection.sock, select.POLLIN)


class Adapter(HTTPAdapter):
    """requests' adapter, direct or through one proxy. It keeps a pool of connections for each host.

    It is used by `ask`, and not by `send`, which would make a response of requests around one of urllib3.
    """

    def __init__(
        self, permits: Callable[[str], bool], context: ssl.SSLContext, per_host: int, via: Proxy | None = None
    ) -> None:
        """`permits`: the guard; `per_host`: connections kept for one host; `via`: None to connect directly."""
        self._permits = permits
        self._context = context
        self._via = via
        self._kept: Kept[Any, Any] = Kept(per_host)
        self._pools: Recent[str, _Pool] = Recent(_POOLS)  # by origin: urllib3 would work out its key each time
        weakref.finalize(self, self._kept.close)
        super().__init__(pool_connections=_POOLS, pool_maxsize=1)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **_: Any) -> None:
        self.poolmanager: Any = self._manager(
            num_pools=connections, maxsize=maxsize, block=block, ssl_context=self._context
        )
        connection, kept = self._connection_class(), self._kept
        attributes: dict[str, Any] = {"permits": staticmethod(self._permits), "via": self._via, "names": Names()}
        attributes |= {"learned": racing.Learned(), "sessions": tls.Sessions()}
        plain, secure = type("Plain", (connection,), attributes), type("Tls", (_TlsConnection, connection), attributes)
        self.poolmanager.pool_classes_by_scheme = {
            "http": type("PlainPool", (_Pool,), {"ConnectionCls": plain, "kept": kept}),
            "https": type("TlsPool", (_Pool, HTTPSConnectionPool), {"ConnectionCls": secure, "kept": kept}),
        }

    def _connection_class(self) -> type[_DirectConnection]:
        if self._via is None:
            return _DirectConnection
        return _HttpProxyConnection if self._via.scheme == "http" else _SocksProxyConnection

    def _manager(self, **options: Any) -> urllib3.PoolManager:
        via = self._via
        if via is None or via.scheme != "http":
            return urllib3.PoolManager(**options)
        login = {} if via.user is None else {"Proxy-Authorization": credentials.basic(f"{via.user}:{via.password}")}
        return _ProxyManager(via.address, proxy_headers=login, **options)

    def ask(self, request: Outgoing, connect_s: float) -> Reply:
        """Send a request to a normal form, and read the head of the answer. Raises what connections raise."""
        url, headers, method, body, lines = request
        end = url.find("/", 8)
        origin, target = url[:end], url[end:]
        pool = self._pools.get(origin) or self._pool_of(origin)
        if self.forwards(url):
            target, headers, lines = url, headers.copy(), None
            headers.update(pool.proxy_headers)
        lines = lines or written(headers)
        return pool.ask(method, request_bytes(method, target, origin.partition("//")[2], lines, body), connect_s)

    def _pool_of(self, origin: str) -> _Pool:
        scheme, _, authority = origin.partition("://")
        host, port = host_and_port(authority, scheme)
        pool: _Pool = self.poolmanager.connection_from_host(host, port, scheme)
        self._pools.put(origin, pool)
        return pool

    def tidy(self) -> None:
        """Close the connections that have waited for too long."""
        self._kept.expire()

    def close(self) -> None:
        super().close()
        self._kept.close()

    def forwards(self, url: str) -> bool:
        """Return whether the proxy itself answers, not the host through a tunnel."""
        return self._via is not None and self._via.scheme == "http" and url.startswith("http:")
