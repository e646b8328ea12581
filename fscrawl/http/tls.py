"""TLS: whom connections trust, and sessions that later connections to the same host resume.

A full handshake costs the client 1.3 ms of processor time and the server more; a resumed one costs half of that, and
no certificates are sent. TLS 1.3 sends what a session needs (a ticket) some time after the handshake. So a session is
taken from a connection when it is closed.

Vocabulary:
  session   what client and server agreed on: keys, and that the certificate was good for the name

Promise: a session is offered only to the host and port that it comes from, and only with the same context, so by the
same trust. `Sessions` belong to one way to the hosts: what was agreed on through one proxy is not shown through
another. If the server does not accept a session, the handshake is a full one.

Connections and sessions hold the certificates that the host has sent, and it may send 100 KB of them: such a connection
is not kept, nor its session (`is_heavy`).
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import threading
from pathlib import Path
from typing import Any

from fscrawl.errors import SettingsError
from fscrawl.util.lru import Lru

MOST_SESSIONS = 1500  # of one worker; each takes some 5 KB
MOST_HANDSHAKE_BYTES = 32768  # that the host may send for it, or its connection is not kept; the usual are 3 to 10 KB

_BYTES_RECEIVED = struct.Struct("128xQ")  # in Linux's struct tcp_info

Host = tuple[str, int]  # name and port


class Trust:
    """Whom connections trust: the usual certificate authorities, or those of a user.

    To read the usual ones takes 15 ms, so that is done when the first connection needs them. A user's are read at once:
    then a mistake in them is named.
    """

    def __init__(self, ca_file: str | None) -> None:
        self._file = ca_file
        self._context: ssl.SSLContext | None = None
        self._making = threading.Lock()
        if ca_file is None and not os.environ.get("SSLKEYLOGFILE"):
            return
        try:
            if ca_file is not None and not Path(ca_file).is_file():
                raise OSError("there is no regular file")  # a pipe would be waited for
            self.context()
        except OSError as error:
            what = f"fetch.ca_file: no certificates can be read from {ca_file!a}" if ca_file else "SSLKEYLOGFILE"
            raise SettingsError(f"{what}: {error}") from error

    def context(self) -> ssl.SSLContext:
        """Give the context of all connections. OSError if the usual authorities cannot be read: they may be again."""
        with self._making:
            self._context = self._context or _context_of(self._file)
            return self._context


def _context_of(path: str | None) -> ssl.SSLContext:
    if path is None:
        try:
            import certifi  # noqa: PLC0415 - a crawl of http hosts does not need it
        except ImportError as error:  # an upgrade may remove it for a moment
            raise OSError(f"the usual certificate authorities cannot be read: {error}") from error
        path = certifi.where()
    context = ssl.create_default_context(cafile=path)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.post_handshake_auth = True
    context.set_alpn_protocols(["http/1.1"])
    return context


def is_heavy(sock: socket.socket) -> bool:
    """Tell whether a host has sent too much in a handshake that is just over for its connection to be kept."""
    if not hasattr(socket, "TCP_INFO"):
        return False
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.size)
    (received,) = _BYTES_RECEIVED.unpack(info)
    return bool(received > MOST_HANDSHAKE_BYTES)


class Sessions:
    """The last session of each host, for one context and one way to the hosts; threads share it."""

    def __init__(self) -> None:
        self._sessions: Lru[Host, ssl.SSLSession] = Lru(MOST_SESSIONS)

    def secured(self, sock: socket.socket, host: Host, context: ssl.SSLContext) -> ssl.SSLSocket:
        """Do the handshake on a connected socket, whose timeout holds for it; resume the host's session, if any."""
        # Certificates do not have the dot at the end of a name.
        return context.wrap_socket(sock, server_hostname=host[0].rstrip("."), session=self._sessions.get(host))

    def keep(self, host: Host, sock: Any) -> None:
        """Keep the session of a connection that is about to be closed."""
        with contextlib.suppress(ssl.SSLError, OSError):
            session = sock.session
            if session is not None and (session.has_ticket or session.id):
                self._sessions.put(host, session)

    def forget(self, host: Host) -> None:
        """Offer nothing to a host with which a handshake, or the first exchange behind it, has failed."""
        self._sessions.pop(host)
