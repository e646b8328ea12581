"""Connections through a proxy, from the pools that requests has for it. Loaded if there are proxies.

Promise: that of `connections`. The proxy resolves the names of hosts, so the guard is not asked about their addresses.
"""

from __future__ import annotations

import re
import socket
import ssl
from typing import Any

import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.proxy import connection_requires_http_tunnel

from fscrawl.config import credentials
from fscrawl.config.proxies import Proxy
from fscrawl.errors import SettingsError
from fscrawl.http import tls
from fscrawl.http.connections import Adapter, Exchanges, HostConnections, Resumes
from fscrawl.http.failures import ProxyFailedError
from fscrawl.http.keeping import Kept
from fscrawl.http.sockets import Dialler, LimitedReads, connect, remaining_s
from fscrawl.http.wire import Outgoing, Reply
from fscrawl.util.installed import to_install

_POOLS = 256  # they hold no connections (see `_connections`)


class _Connection(Exchanges, HTTPConnection):
    via: Proxy
    dialler: Dialler  # to the proxy
    sessions: tls.Sessions

    def _timeout_s(self) -> float:
        return min(float(self.timeout or remaining_s()), remaining_s())


class _HttpProxyConnection(_Connection):
    """Connects to an HTTP proxy. It is sent whole URLs for http pages, and asked for tunnels to https hosts."""

    def _new_conn(self) -> socket.socket:
        try:
            return self.dialler.dial(self._dns_host, self.port or 0, self._timeout_s())
        except OSError as error:
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


class _SocksProxyConnection(_Connection):
    """Connects to the host through a SOCKS proxy, which resolves the name."""

    def _new_conn(self) -> socket.socket:
        socks = import_socks()
        sock = type("SocksSocket", (LimitedReads, socks.socksocket), {})()
        sock.set_proxy(socks.SOCKS5, self.via.host, self.via.port, True, self.via.user, self.via.password or None)
        try:
            return connect(sock, (self._dns_host, self.port), self._timeout_s())
        except OSError as error:
            if isinstance(getattr(error, "socket_err", error), socks.SOCKS5Error):  # the proxy works, the host does not
                raise ConnectionError(f"{self.via.address} cannot connect to the host: {error}") from error
            raise ProxyFailedError(f"{self.via.address} cannot be used: {error}") from error


class _TlsConnection(Resumes, HTTPSConnection):
    """The same over TLS. Stands before a class of connections, which connects."""

    @property
    def session_of(self) -> tls.Host:
        return (self._tunnel_host or self.host, self._tunnel_port or self.port or 443)

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self.sessions.offer(self.session_of, sock)
        sock.settimeout(self._timeout_s())  # type: ignore[attr-defined]  # connecting has taken some of it
        return sock

    def connect(self) -> None:
        try:
            super().connect()
            self.is_kept = not tls.is_heavy(self.sock)
        except ssl.SSLError:
            self.sessions.forget(self.session_of)
            raise


def import_socks() -> Any:
    """Import PySocks, which only SOCKS proxies need. SettingsError if it is not installed."""
    try:
        import socks  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise SettingsError(f"fetch.proxies: socks5h:// needs PySocks: {to_install('socks')}") from None
    return socks


class _Pools(HTTPAdapter):
    """The pools of requests. The log-in at the proxy is given, since its address is shown in messages."""

    def __init__(self, login: dict[str, str]) -> None:
        self._login = login
        super().__init__(pool_connections=_POOLS, pool_maxsize=1)

    def proxy_headers(self, proxy: str) -> dict[str, str]:  # noqa: ARG002 - it is the only one
        return self._login


class ProxiedAdapter(Adapter):
    """Asks hosts through one proxy."""

    def __init__(self, context: ssl.SSLContext, kept: Kept[Any, Any], via: Proxy) -> None:
        """`kept`: connections that wait, of all proxies. SettingsError if the proxy needs what is not installed."""
        if via.scheme == "socks5h":
            import_socks()
        super().__init__(kept)
        self._via = via
        self._pools = self._manager(context)
        connection = _HttpProxyConnection if via.scheme == "http" else _SocksProxyConnection
        dialler = Dialler(lambda _: True)
        attributes: dict[str, Any] = {"via": via, "dialler": dialler, "sessions": tls.Sessions()}
        plain, secure = type("Plain", (connection,), attributes), type("Tls", (_TlsConnection, connection), attributes)
        self._pools.pool_classes_by_scheme = {
            "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("TlsPool", (HTTPSConnectionPool,), {"ConnectionCls": secure}),
        }

    def _manager(self, context: ssl.SSLContext) -> Any:
        pools = _Pools(self._login())
        if self._via.scheme == "http":
            return pools.proxy_manager_for(self._via.address, ssl_context=context)
        pools.init_poolmanager(_POOLS, 1, ssl_context=context)
        return pools.poolmanager

    def _login(self) -> dict[str, str]:
        via = self._via
        return {} if via.user is None else {"Proxy-Authorization": credentials.basic(f"{via.user}:{via.password}")}

    def ask(self, request: Outgoing, connect_s: float) -> Reply:
        if self.forwards(request.url):
            headers = request.headers.copy()
            headers.update(self._login())
            request = request._replace(headers=headers, lines=None)
        try:
            return super().ask(request, connect_s)
        except urllib3.exceptions.HTTPError as error:
            raise ConnectionError(str(error)) from error

    def forwards(self, url: str) -> bool:
        """Tell whether the proxy itself answers, not the host through a tunnel."""
        return self._via.scheme == "http" and url.startswith("http:")

    def _target(self, url: str, origin: str) -> str:
        return url if self.forwards(url) else super()._target(url, origin)

    def _connections(self, origin: str, scheme: str, name: str, port: int) -> HostConnections:
        pool = self._pools.connection_from_host(name, port, scheme)

        def begin(connection: Any, connect_s: float) -> None:
            connection.timeout = connect_s
            if connection_requires_http_tunnel(pool.proxy, pool.proxy_config, pool.scheme):
                pool._prepare_proxy(connection)  # noqa: SLF001 - it has no public name
            else:
                connection.connect()

        # A proxy has one pool for all http hosts. But what a host sends behind its answer must not be taken for the
        # answer of the next host: so connections wait by origin, and not in the pool.
        return HostConnections((id(self), origin), self._kept, pool._new_conn, begin)  # noqa: SLF001 - the same
