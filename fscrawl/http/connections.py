"""Direct connections to hosts, which wait for the next exchange. `proxied` has those through proxies.

A connection of urllib3 is not used for it: to load that, and `requests` around it, takes a quarter of the time until a
worker begins, and its exchanges take five times as long.

Promise: that of `sockets`; and a connection with an unread rest of an answer is never used again.
"""

from __future__ import annotations

import contextlib
import select
import ssl
import weakref
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from fscrawl import urls
from fscrawl.http import tls
from fscrawl.http.keeping import Kept, idle_s
from fscrawl.http.sockets import Dialler, exchange, may_reach, remaining_s
from fscrawl.http.wire import Outgoing, Reply, host_and_port, request_bytes, written
from fscrawl.request import ONCE
from fscrawl.util.lru import Recent

_MOST_HOSTS = 256  # that an adapter knows


class Exchanges:
    """The exchanges over a connection, direct or not."""

    sock: Any = None
    address = ""  # of the host that it is connected to; "" behind a proxy
    is_kept = True  # if it may be used again
    poll: select.poll  # of its socket

    def ask(self, method: str, request: bytes, done: Callable[[Reply], None]) -> Reply:
        """Send a request, and read the head of the answer. `done`: as for `Reply`."""
        exchange.address = self.address
        sock = self.sock
        sock.settimeout(remaining_s())
        exchange.is_sent = True
        with contextlib.suppress(BrokenPipeError):  # the server may have answered before it had read all
            sock.sendall(request)
        reply = Reply(sock, method, done)
        reply.begin()
        exchange.idle_s = idle_s(reply.head.get("keep-alive"))
        return reply

    @property
    def may_wait(self) -> bool:
        """Tell whether it may be used again. Bytes behind an answer would be taken for the next one."""
        pending = getattr(self.sock, "pending", None)  # in the TLS layer; the kernel's are seen before the next request
        return self.sock is not None and self.is_kept and not (pending is not None and pending())

    def forget_session(self) -> None:
        """Do nothing: there is no TLS session."""


class Connection(Exchanges):
    """A direct connection to a host."""

    def __init__(self, dialler: Dialler, host: str, port: int) -> None:
        self._dialler = dialler
        self._host = host
        self._port = port

    def connect(self, timeout_s: float) -> None:
        """Connect within `timeout_s`. Raises OSError."""
        self.sock = self._dialler.dial(self._host, self._port, timeout_s)
        self.address = str(self.sock.getpeername()[0])

    def close(self) -> None:
        """Close it; it can be connected again."""
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()


class Resumes:
    """Resumes the last TLS session with its host. Stands before a class of connections, direct or not."""

    sessions: tls.Sessions
    sock: Any
    is_kept: bool

    @property
    def session_of(self) -> tls.Host:
        """The host that the session is with."""
        raise NotImplementedError

    def forget_session(self) -> None:
        """Offer the session no more: the first exchange has failed, perhaps because it was resumed."""
        self.is_kept = False
        self.sessions.forget(self.session_of)

    def close(self) -> None:
        """Close the connection, and keep its session."""
        if self.is_kept:
            self.sessions.keep(self.session_of, self.sock)
        super().close()  # type: ignore[misc]  # of the connection


class TlsConnection(Resumes, Connection):
    """The same over TLS."""

    def __init__(self, dialler: Dialler, host: str, port: int, context: ssl.SSLContext, sessions: tls.Sessions) -> None:
        super().__init__(dialler, host, port)
        self._context = context
        self.sessions = sessions

    @property
    def session_of(self) -> tls.Host:
        return self._host, self._port

    def connect(self, timeout_s: float) -> None:
        super().connect(timeout_s)
        self.sessions.offer(self.session_of, self.sock)
        self.sock.settimeout(min(timeout_s, remaining_s()))  # connecting has taken some of it
        try:
            # Certificates do not have the dot at the end of a name.
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._host.rstrip("."))
        except ssl.SSLError:
            self.sessions.forget(self.session_of)
            self._dialler.forget(self._host)  # the address may be another host's by now
            raise
        self.is_kept = not tls.is_heavy(self.sock)


class HostConnections:
    """The connections to one host. Those that wait are in `kept`, which all hosts share."""

    def __init__(
        self, way: Hashable, kept: Kept[Any, Any], make: Callable[[], Any], connect: Callable[[Any, float], None]
    ) -> None:
        """`way`: what connections wait by: origin, and proxy if there are several.

        `make`: gives new connections; `connect`: connects one of them within some seconds.
        """
        self._way = way
        self._kept = kept
        self._make = make
        self._connect = connect

    def ask(self, method: str, request: bytes, connect_s: float) -> Reply:
        """Do an exchange up to the head of the answer. `connect_s`: that connecting may take, and a TLS handshake."""
        connection = self._acquire(method)
        is_new = connection.sock is None

        def done(reply: Reply) -> None:
            if not reply.is_whole:
                connection.close()
            self._kept.put(self._way, connection, exchange.idle_s if connection.may_wait else 0.0)

        try:
            if is_new:
                self._connect(connection, connect_s)
                connection.poll = select.poll()
                connection.poll.register(connection.sock, select.POLLIN)
            reply: Reply = connection.ask(method, request, done)
        except BaseException:
            if is_new:
                connection.forget_session()
            connection.close()
            raise
        return reply

    def _acquire(self, method: str) -> Any:
        connection = self._kept.pop(self._way)
        if connection is None:
            return self._make()
        # Closed by the host, or with bytes that nobody wants. A host may also close it at this very moment. Then nobody
        # would know whether it has done what is asked for, so what may be asked for only once begins a new one.
        # What waits was connected to for another exchange, which may have been allowed to reach more.
        is_out_of_reach = connection.address and not may_reach(connection.address)
        if method in ONCE or is_out_of_reach or connection.poll.poll(0):
            connection.close()
        return connection


class Adapter:
    """Asks hosts, from several threads. A subclass says how they are connected to."""

    def __init__(self, kept: Kept[Any, Any]) -> None:
        """`kept`: connections that wait; several adapters may share it."""
        self._kept = kept
        self._hosts: Recent[str, HostConnections] = Recent(_MOST_HOSTS)  # by origin
        weakref.finalize(self, kept.close)

    def ask(self, request: Outgoing, connect_s: float) -> Reply:
        """Send a request to a normal form, and read the head of the answer. Raises what connections raise."""
        url, headers, method, body, lines = request
        origin = urls.origin(url)
        host = self._hosts.get(origin) or self._add_host(origin)
        target, to = self._target(url, origin), origin.partition("//")[2]
        return host.ask(method, request_bytes(method, target, to, lines or written(headers), body), connect_s)

    def _target(self, url: str, origin: str) -> str:
        """Give what a request names in its first line: path and query, or a whole URL."""
        return url[len(origin) :]

    def _add_host(self, origin: str) -> HostConnections:
        scheme, _, authority = origin.partition("://")
        host = self._connections(origin, scheme, *host_and_port(authority, scheme))
        self._hosts.put(origin, host)
        return host

    def _connections(self, origin: str, scheme: str, name: str, port: int) -> HostConnections:
        """Give the connections to a host. `name`: as in URLs, so an IPv6 address has brackets."""
        raise NotImplementedError

    def tidy(self) -> None:
        """Close the connections that have waited for too long."""
        self._kept.expire()

    def let_go(self) -> None:
        """Close all connections that wait: their descriptors are needed."""
        self._kept.clear()

    def close(self) -> None:
        """Close the connections that wait, and those in use when they are given back."""
        self._kept.close()


class DirectAdapter(Adapter):
    """Connects to the hosts themselves."""

    def __init__(self, permits: Callable[[str], bool], context: ssl.SSLContext, per_host: int) -> None:
        """`permits`: the guard; `per_host`: connections kept for one host."""
        super().__init__(Kept(per_host))
        self._context = context
        self._sessions = tls.Sessions()
        self._dialler = Dialler(permits)

    def _connections(self, origin: str, scheme: str, name: str, port: int) -> HostConnections:
        to = self._dialler, name.strip("[]"), port
        # A reference to this object would be a cycle: connections would stay when the adapter goes.
        make: Callable[[], Connection] = partial(Connection, *to)
        if scheme == "https":
            make = partial(TlsConnection, *to, self._context, self._sessions)
        return HostConnections(origin, self._kept, make, _connect)


def _connect(connection: Connection, connect_s: float) -> None:
    connection.connect(connect_s)
