"""One HTTP exchange within limits: the only file that opens sockets to the web.

Vocabulary:
  Fetched     an answer, whatever its status; the body as after content decoding, redirects returned and not followed
  Failed      no usable answer: its class (see CLASSES), one line of text, and whether another try may help
  deadline    monotonic time at which the whole exchange must be over: name, connection, TLS, head and body together
  guard       decides on the address actually connected to, after the name has been resolved and before the connect,
              so a name that changes its answer gains nothing

Promise: `Fetcher.get` returns within `timeout` (but for the resolver's own patience), holds at most `max_bytes` of a
body whatever its coding inflates to, and never raises for what a server does. Errors of requests, urllib3 and the
operating system are translated here, once.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.request import ACCEPT_ENCODING
from urllib3.util.ssl_ import create_urllib3_context

from fscrawl.settings import FetchSettings, PolitenessSettings

CLASSES = {
    "dns": "the host name does not resolve",
    "connect": "the connection was refused, reset or cut off",
    "tls": "the certificate or the handshake is no good",
    "timeout": "the exchange took longer than fetch.timeout or fetch.connect_timeout",
    "protocol": "what came is not HTTP",
    "too-large": "the body is larger than fetch.max_bytes",
    "decode": "the body does not decode as its Content-Encoding says",
    "blocked-address": "the name leads to a private, loopback or link-local address",
    "http-4xx": "the server says that the request is at fault",
    "http-5xx": "the server says that it is at fault",
    "robots": "robots.txt does not allow it",
    "internal": "a defect of fscrawl, or of a library it uses; the message names it",
    "worker-died": "the process that worked on it died, twice",
}

_CHUNK = 65536
_DRAIN_BYTES = 65536  # a body this small is read to keep the connection, though nobody wants it
_KEPT_HOSTS = 256  # connections of so many hosts are kept open by one worker


@dataclass(frozen=True, slots=True)
class Fetched:
    """`headers`: names in lower case. `body` is None when it was not wanted (see `Fetcher.get`).

    `began`: monotonic time when the head of the answer was there. `elapsed_s`: from the request to the body's end.
    """

    status: int
    headers: dict[str, str]
    body: bytes | None
    began: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Failed:
    class_: str
    message: str
    retry: bool
    status: int | None = None
    headers: dict[str, str] | None = None


class BlockedAddressError(OSError):
    """The guard refused every address of a host."""


class _TooLargeError(Exception):
    pass


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the public internet, also behind IPv6's ways of wrapping an IPv4 one.

    >>> is_public("93.184.216.34"), is_public("169.254.169.254"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.is_site_local:
            return False
        if ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        wrapped = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if wrapped is not None:
            return is_public(str(wrapped))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved  # reserved: also ::127.0.0.1, ::ffff:0:127.0.0.1


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class _Exchange(threading.local):
    """What the connection of this thread must know of the exchange it is in."""

    deadline = float("inf")
    target = ""  # path and query as they are asked for


_exchange = _Exchange()


def _remaining_s() -> float:
    left = _exchange.deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the exchange took too long")
    return left


class _Deadline:
    """A socket whose every read ends by the exchange's deadline: a slow drip cannot outlast it."""

    def recv_into(self: Any, *args: Any) -> int:
        self.settimeout(_remaining_s())
        return super().recv_into(*args)  # type: ignore[misc, no-any-return]


class _Socket(_Deadline, socket.socket):
    pass


class _TlsSocket(_Deadline, ssl.SSLSocket):
    pass


class _GuardedConnection(HTTPConnection):
    """Resolves, guards and connects by itself, so that the address checked is the address connected to."""

    permits: Callable[[str], bool]

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
                return self._connect(family, kind, protocol, address)
            except OSError:
                continue  # the host has another address
        family, kind, protocol, _, address = found[-1]
        return self._connect(family, kind, protocol, address)

    def _connect(self, family: int, kind: int, protocol: int, address: Any) -> socket.socket:
        sock = _Socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(min(float(self.timeout or _remaining_s()), _remaining_s()))
            sock.connect(address)
        except BaseException:
            sock.close()
            raise
        return sock


class _GuardedTlsConnection(_GuardedConnection, HTTPSConnection):
    pass


class _Adapter(HTTPAdapter):
    """requests' adapter over guarded connections, one pool of kept connections per host."""

    def __init__(self, permits: Callable[[str], bool], connections_per_host: int) -> None:
        self._permits = permits
        super().__init__(pool_connections=_KEPT_HOSTS, pool_maxsize=connections_per_host)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        context = create_urllib3_context()
        context.sslsocket_class = _TlsSocket
        super().init_poolmanager(connections, maxsize, block, ssl_context=context, **kwargs)
        plain = type("Plain", (_GuardedConnection,), {"permits": staticmethod(self._permits)})
        tls = type("Tls", (_GuardedTlsConnection,), {"permits": staticmethod(self._permits)})
        self.poolmanager.pool_classes_by_scheme = {
            "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("TlsPool", (HTTPSConnectionPool,), {"ConnectionCls": tls}),
        }


class Fetcher:
    """Fetches for one worker; safe to use from its threads. Connections are kept open per host."""

    def __init__(self, fetch: FetchSettings, politeness: PolitenessSettings, threads: int) -> None:
        self._fetch = fetch
        permits = (lambda _: True) if fetch.allow_private_addresses else is_public
        # The adapter without a Session around it: that would spend 0.15 ms a page on cookies, redirects and
        # proxies of the environment, none of which a crawler leaves to it.
        self._adapter = _Adapter(permits, threads)
        self._request = requests.Request(
            "GET",
            "http://localhost/",
            headers={
                "User-Agent": politeness.user_agent,
                "Accept": ",".join(fetch.accept) + ",*/*;q=0.1",
                "Accept-Encoding": ACCEPT_ENCODING,  # what this urllib3 can decode, and no more
                **fetch.headers,
            },
        ).prepare()

    def get(
        self,
        url: str,
        *,
        wants: Callable[[int, dict[str, str]], bool] = lambda status, headers: True,  # noqa: ARG005
        max_bytes: int | None = None,
    ) -> Fetched | Failed:
        """Fetch a normal form. The body is read only if `wants(status, headers)`; at most `max_bytes` of it."""
        request = self._request.copy()
        request.url = url  # the normal form as it is: `prepare` would quote it again
        began = time.monotonic()
        _exchange.deadline = began + self._fetch.timeout
        _exchange.target = url[url.find("/", 8) :]
        try:
            return self._exchange(request, began, wants, max_bytes or self._fetch.max_bytes)
        except _TooLargeError as error:
            return Failed("too-large", str(error), retry=False)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            return _failure(error)

    def _exchange(
        self, request: requests.PreparedRequest, began: float, wants: Callable[..., bool], max_bytes: int
    ) -> Fetched:
        timeouts = (min(self._fetch.connect_timeout, self._fetch.timeout), self._fetch.timeout)
        answer = self._adapter.send(request, stream=True, timeout=timeouts)
        try:
            headers = _headers(answer.raw.headers)
            head_at = time.monotonic()
            body = None
            if wants(answer.status_code, headers):
                body = _read_body(answer.raw, headers, max_bytes)
            else:
                _leave_body(answer.raw, headers)
            return Fetched(answer.status_code, headers, body, head_at, time.monotonic() - began)
        except BaseException:
            answer.raw.close()  # a connection with an unread rest must not be used again
            raise

    def close(self) -> None:
        self._adapter.close()


def _headers(raw: Any) -> dict[str, str]:
    """Header names in lower case, values as UTF-8 where they are, repeated ones joined by ", " (RFC 9110 5.3)."""
    headers: dict[str, str] = {}
    for spelling, value in raw.iteritems():
        text = value if value.isascii() else value.encode("latin-1", "replace").decode("utf-8", "replace")
        name = spelling.lower()
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers


def _length(headers: dict[str, str]) -> int | None:
    text = headers.get("content-length", "")
    return int(text) if text.isdecimal() and text.isascii() else None


def _read_body(raw: Any, headers: dict[str, str], max_bytes: int) -> bytes:
    length = _length(headers)
    if length is not None and length > max_bytes:
        raise _TooLargeError(f"Content-Length is {length}, the limit {max_bytes} bytes")
    if length is not None and "content-encoding" not in headers:  # nothing can inflate: one read, no copies
        whole: bytes = raw.read(decode_content=False)
        raw.release_conn()
        return whole
    chunks, total = [], 0
    for chunk in raw.stream(_CHUNK, decode_content=True):
        total += len(chunk)
        if total > max_bytes:
            raise _TooLargeError(f"the body is over the limit of {max_bytes} bytes")
        chunks.append(chunk)
    raw.release_conn()
    return b"".join(chunks)


def _leave_body(raw: Any, headers: dict[str, str]) -> None:
    """Keep the connection if what is left is small, else close it."""
    length = _length(headers)
    if length is not None and length <= _DRAIN_BYTES:
        raw.drain_conn()
        raw.release_conn()
    else:
        raw.close()


def _failure(error: BaseException) -> Failed:
    """Find the cause that says most in a chain of requests' and urllib3's wrappers."""
    causes = _causes(error)
    for wanted, class_, retry in _MEANING:
        for cause in causes:
            if isinstance(cause, wanted):
                return Failed(class_, _one_line(cause), retry=retry)
    return Failed("connect", _one_line(error), retry=True)


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    ahead: list[Any] = [error]
    while ahead and len(found) < 20:
        cause = ahead.pop()
        if isinstance(cause, BaseException) and cause not in found:
            found.append(cause)
            ahead += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
    return found


_MEANING: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str, bool], ...] = (
    (BlockedAddressError, "blocked-address", False),
    ((socket.gaierror, urllib3.exceptions.NameResolutionError), "dns", True),
    ((ssl.SSLError, urllib3.exceptions.SSLError), "tls", False),
    ((TimeoutError, urllib3.exceptions.TimeoutError), "timeout", True),
    (urllib3.exceptions.DecodeError, "decode", False),
    ((ConnectionError, urllib3.exceptions.NewConnectionError), "connect", True),
    ((urllib3.exceptions.ProtocolError, ValueError), "protocol", True),
)


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
