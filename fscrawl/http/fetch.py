"""One HTTP exchange within limits: the only file that opens sockets to the web.

Vocabulary:
  Fetched     an answer, whatever its status; the body as after content decoding, redirects returned and not followed
  Failed      no usable answer: its class (see CLASSES), one line of text, and whether another try may help
  deadline    monotonic time at which the whole exchange must be over: name, connection, TLS, head and body together
  allowance   bytes that may still come: of the head, then of the body with the overhead of its chunks
  guard       decides on the address actually connected to, after the name has been resolved and before the connect,
              so a name that changes its answer gains nothing
  way         how connections are made: straight, through an HTTP proxy, through a SOCKS proxy

Promise: `Fetcher.get` returns within `timeout` (but for the resolver's own patience), holds at most `max_bytes` of a
body whatever its coding inflates to, and never raises for what a server does. Errors of requests, urllib3 and the
operating system are translated here, once.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPResponse
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.ssl_ import create_urllib3_context

from fscrawl import urls
from fscrawl.config import addresses, credentials, proxies
from fscrawl.config.addresses import is_public
from fscrawl.config.proxies import Proxy, Rotation
from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.errors import SettingsError
from fscrawl.http.answers import CLASSES, BlockedAddressError, Failed, Fetched, ProxyFailedError, failure
from fscrawl.http.bodies import ACCEPT_ENCODING, TooLargeError, read_body, read_prefix, skip_body
from fscrawl.http.cookies import Jar

__all__ = ["CLASSES", "Failed", "Fetched", "Fetcher", "is_public"]

_KEPT_HOSTS = 256  # connections of so many hosts are kept open by one worker
_HEAD_BYTES = 262144  # of an answer's head, with all informational ones before it; browsers take as much
_CHUNK_LINES_BYTES = 1048576  # beside an eighth of the body: what its chunks may cost in lines
_INFORMATIONAL = 20  # 103 Early Hints may come a few times


class _Exchange(threading.local):
    """What the connection of this thread must know of the exchange it is in."""

    deadline = float("inf")
    allowance_bytes = _HEAD_BYTES
    target = ""  # path and query as they are asked for


_exchange = _Exchange()


def _remaining_s() -> float:
    left = _exchange.deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the exchange took too long")
    return left


class _Bounded:
    """A socket whose every read ends by the exchange's deadline, and that takes no more than its allowance."""

    def recv_into(self: Any, *args: Any) -> int:
        self.settimeout(_remaining_s())
        received: int = super().recv_into(*args)  # type: ignore[misc]
        _exchange.allowance_bytes -= received
        if _exchange.allowance_bytes < 0:
            raise TooLargeError("the server sent more than the head or the body of an answer may be")
        return received


class _Socket(_Bounded, socket.socket):
    pass


class _TlsSocket(_Bounded, ssl.SSLSocket):
    pass


class _Answer(HTTPResponse):
    """Passes over every informational answer; http.client knows 100 alone, and takes 103 for the last word."""

    def begin(self) -> None:
        super().begin()
        for _ in range(_INFORMATIONAL):
            if not 100 <= self.status < 200 or self.status == 101:
                return
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        raise urllib3.exceptions.ProtocolError("informational answers without an end")


class _Straight(HTTPConnection):
    """Resolves, guards and connects by itself, so that the address checked is the address connected to."""

    response_class = _Answer
    permits: Callable[[str], bool]
    via: Proxy  # of the ways through one

    def request(self, method: str, url: str, *args: Any, **more: Any) -> None:
        """Ask for the normal form: `url` is what urllib3 made of it, which quotes by other rules (RFC 3986)."""
        super().request(method, _exchange.target or url, *args, **more)

    def _new_conn(self) -> socket.socket:
        try:
            found = socket.getaddrinfo(self._dns_host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise urllib3.exceptions.NameResolutionError(self.host, self, socket.gaierror(str(error))) from error
        permitted = [entry for entry in found if self.permits(str(entry[4][0]))]
        if not permitted:
            raise BlockedAddressError(f"{self.host} leads to {found[0][4][0]}, which is not a public address")
        return self._connect_to_one_of(permitted)

    def _connect_to_one_of(self, found: list[Any]) -> socket.socket:
        for family, kind, protocol, _, address in found[:-1]:
            try:
                return self._connect(_Socket(family, kind, protocol), address)
            except OSError:
                continue  # the host has another address
        family, kind, protocol, _, address = found[-1]
        return self._connect(_Socket(family, kind, protocol), address)

    def _connect(self, sock: socket.socket, address: Any) -> socket.socket:
        try:
            sock.settimeout(min(float(self.timeout or _remaining_s()), _remaining_s()))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            sock.close()
            raise
        return sock


class _ByHttpProxy(_Straight):
    """Connects to the proxy, which urllib3 asks for http pages by their whole URL, and for tunnels to https hosts."""

    def _new_conn(self) -> socket.socket:
        try:
            return super()._new_conn()
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
                raise ProxyFailedError(f"{self.via.address} wants a name and password, or others") from error
            raise ConnectionError(f"{self.via.address} makes no connection, and answers {refused[1]}") from error


class _BySocksProxy(_Straight):
    def _new_conn(self) -> socket.socket:
        socks = _socks()
        sock = type("SocksSocket", (_Bounded, socks.socksocket), {})()
        sock.set_proxy(socks.SOCKS5, self.via.host, self.via.port, True, self.via.user, self.via.password or None)
        try:
            return self._connect(sock, (self._dns_host, self.port))
        except OSError as error:
            if isinstance(getattr(error, "socket_err", error), socks.SOCKS5Error):  # it is well; the host is not
                raise ConnectionError(f"{self.via.address} makes no connection: {error}") from error
            raise ProxyFailedError(f"{self.via.address} cannot be used: {error}") from error


def _socks() -> Any:
    try:
        import socks  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra that only those who name such a proxy need
    except ImportError:
        raise SettingsError("fetch.proxies: socks5h:// needs PySocks; install it: pip install PySocks") from None
    return socks


def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Make the context of all connections, the authorities read once and not for each connection."""
    context = create_urllib3_context()
    context.sslsocket_class = _TlsSocket
    path = ca_file or requests.adapters.DEFAULT_CA_BUNDLE_PATH
    try:
        context.load_verify_locations(path)
    except (OSError, ValueError) as error:
        raise SettingsError(f"fetch.ca_file: no certificates can be read from {path!a}: {error}") from error
    return context


class _Adapter(HTTPAdapter):
    """requests' adapter over one way, one pool of kept connections per host."""

    def __init__(
        self, permits: Callable[[str], bool], context: ssl.SSLContext, per_host: int, via: Proxy | None = None
    ) -> None:
        self._permits = permits
        self._context = context
        self._via = via
        super().__init__(pool_connections=_KEPT_HOSTS, pool_maxsize=per_host)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **_: Any) -> None:
        self.poolmanager: Any = self._manager(
            num_pools=connections, maxsize=maxsize, block=block, ssl_context=self._context
        )
        via = self._via
        way = _Straight if via is None else _ByHttpProxy if via.scheme == "http" else _BySocksProxy
        facts = {"permits": staticmethod(self._permits), "via": via}
        plain, tls = type("Plain", (way,), facts), type("Tls", (way, HTTPSConnection), facts)
        self.poolmanager.pool_classes_by_scheme = {
            "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("TlsPool", (HTTPSConnectionPool,), {"ConnectionCls": tls}),
        }

    def _manager(self, **options: Any) -> urllib3.PoolManager:
        via = self._via
        if via is None or via.scheme != "http":
            return urllib3.PoolManager(**options)
        login = {} if via.user is None else {"Proxy-Authorization": credentials.basic(f"{via.user}:{via.password}")}
        return urllib3.ProxyManager(via.address, proxy_headers=login, **options)

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:  # noqa: ARG002 - requests' signature
        """Give what is asked for: the path, and of an HTTP proxy the whole URL of a page that needs no tunnel."""
        url = request.url or ""
        _exchange.target = url if self.forwards(url) else url[url.find("/", 8) :]
        return _exchange.target

    def forwards(self, url: str) -> bool:
        """Tell whether it is the proxy that answers, and not the host through a tunnel."""
        return self._via is not None and self._via.scheme == "http" and url.startswith("http:")

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Leave the pool as it is: its context has the authorities, and asks for a certificate."""


class Fetcher:
    """Fetches for one worker; safe to use from its threads. Connections and cookies are kept per host."""

    def __init__(self, fetch: FetchSettings, politeness: PolitenessSettings, threads: int) -> None:
        """SettingsError if a setting cannot be used on this machine: a missing variable, an unreadable file."""
        self._fetch = fetch
        self._permits = addresses.permits(fetch.allow_private_addresses, fetch.allow_addresses)
        self._timeouts = (min(fetch.connect_timeout, fetch.timeout), fetch.timeout)
        self._authorizations = credentials.authorizations(fetch.auth, os.environ)
        self._user_agents = [_sendable(each) for each in politeness.user_agents]
        headers = {name: credentials.expand(text, os.environ, "fetch.headers") for name, text in fetch.headers.items()}
        self._jar = Jar() if fetch.cookies and "cookie" not in map(str.lower, headers) else None
        # The adapter without a Session around it: that would spend 0.15 ms a page on cookies, redirects and
        # proxies of the environment, none of which a crawler leaves to it.
        context = _tls_context(fetch.ca_file)
        found = [proxies.read(text, os.environ) for text in fetch.proxies]
        if any(proxy.scheme == "socks5h" for proxy in found):
            _socks()
        self._rotation = Rotation(found, fetch.proxy_uses)
        self._adapters = [_Adapter(lambda _: True, context, threads, proxy) for proxy in found] or [
            _Adapter(self._permits, context, threads)
        ]
        request: Any = requests.Request(
            "GET",
            "http://localhost/",
            headers={
                "User-Agent": politeness.user_agent,
                "Accept": ",".join(fetch.accept) + ",*/*;q=0.1",
                "Accept-Encoding": ACCEPT_ENCODING,  # what `bodies` can decode, and no more
            },
        ).prepare()
        self._request = request
        for name, text in headers.items():
            request.headers[name] = _sendable(text)  # bytes too, which requests passes on

    def get(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        wants_body: Callable[[int, dict[str, str]], bool] = lambda status, headers: True,  # noqa: ARG005
        max_prefix_bytes: int | None = None,
    ) -> Fetched | Failed:
        """Fetch a normal form. The body is read only if `wants_body(status, headers)`: all of it, or its `beginning`.

        `headers` go with this request besides the others, e.g. If-None-Match; a 304 comes back without a body.
        """
        _exchange.deadline = time.monotonic() + self._fetch.timeout
        request = self._prepared(url, headers)
        if self._fetch.proxies:
            return self._by_proxy(request, url, wants_body, max_prefix_bytes)
        return self._once(self._adapters[0], request, url, wants_body, max_prefix_bytes)

    def _prepared(self, url: str, headers: Mapping[str, str] | None) -> Any:
        request: Any = self._request.copy()
        request.url = url  # the normal form as it is: `prepare` would quote it again
        if self._user_agents:
            request.headers["User-Agent"] = self._user_agents[urls.shard(urls.host(url), len(self._user_agents))]
        if self._authorizations and (login := self._authorizations.get(urls.origin(url))):
            request.headers["Authorization"] = login
        if self._jar is not None and (cookie := self._jar.header(url, time.time())):
            request.headers["Cookie"] = cookie
        for name, text in (headers or {}).items():
            request.headers[name] = _sendable(text)
        return request

    def _by_proxy(
        self, request: Any, url: str, wants_body: Callable[..., bool], max_prefix_bytes: int | None
    ) -> Fetched | Failed:
        """Ask the proxies in turn until one takes the request; who resolves the name is the proxy."""
        host = urls.hostname(url)
        if addresses.leads_inside(host, self._permits):
            return Failed("blocked-address", f"{host} is not a public address", retry=False)
        failed = Failed("proxy", "every proxy rests after failures, or has been used often enough", retry=True)
        for _ in self._adapters:
            place = self._rotation.take(urls.host(url))
            if place is None:
                break
            answer = self._once(self._adapters[place], request, url, wants_body, max_prefix_bytes)
            if isinstance(answer, Fetched) and not (answer.status == 407 and self._adapters[place].forwards(url)):
                self._rotation.worked(place)
                return answer
            if isinstance(answer, Fetched):
                answer = Failed("proxy", "the proxy wants a name and password, or others", retry=True)
            if answer.class_ in ("proxy", "timeout"):
                self._rotation.failed(place)
            if answer.class_ != "proxy":
                return answer
            failed = answer
        return failed

    def _once(
        self, adapter: _Adapter, request: Any, url: str, wants_body: Callable[..., bool], max_prefix_bytes: int | None
    ) -> Fetched | Failed:
        _exchange.allowance_bytes = _HEAD_BYTES
        try:
            return self._exchange(adapter, request, url, wants_body, max_prefix_bytes)
        except (requests.RequestException, urllib3.exceptions.HTTPError, TooLargeError, OSError, ValueError) as error:
            return failure(error)

    def _exchange(
        self, adapter: _Adapter, request: Any, url: str, wants_body: Callable[..., bool], max_prefix_bytes: int | None
    ) -> Fetched:
        began = time.monotonic()
        answer = adapter.send(request, stream=True, timeout=self._timeouts)
        raw, status = answer.raw, answer.status_code
        try:
            headers = _headers(raw.headers)
            head_at = time.monotonic()
            if self._jar is not None and "set-cookie" in headers:
                self._jar.learn(url, raw.headers.getlist("set-cookie"), time.time())
            limit = self._fetch.max_bytes
            _exchange.allowance_bytes += limit + limit // 8 + _CHUNK_LINES_BYTES
            body = None
            if status != 304 and wants_body(status, headers):
                if max_prefix_bytes is None:
                    body = read_body(raw, status, headers, limit)
                else:
                    body = read_prefix(raw, headers, max_prefix_bytes)
            else:
                skip_body(raw, status, headers)
            return Fetched(status, headers, body, head_at, time.monotonic() - began)
        except BaseException:
            raw.close()  # a connection with an unread rest must not be used again
            raise

    def close(self) -> None:
        for adapter in self._adapters:
            adapter.close()


def _sendable(text: str) -> str | bytes:
    """Give a header's value as it can be sent: one line, and UTF-8 where it is not ASCII.

    >>> _sendable("a\\r\\n b"), _sendable("\u00e9")
    ('a b', b'\\xc3\\xa9')
    """
    line = " ".join(text.split())
    return line if line.isascii() else line.encode()


def _headers(raw: Any) -> dict[str, str]:
    """Header names in lower case, values as UTF-8 where they are, repeated ones joined by ", " (RFC 9110 5.3)."""
    headers: dict[str, str] = {}
    for spelling, value in raw.iteritems():
        text = value if value.isascii() else value.encode("latin-1", "replace").decode("utf-8", "replace")
        name = spelling.lower()
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers
