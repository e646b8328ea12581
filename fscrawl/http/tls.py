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
import stat
import struct
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from fscrawl.errors import SettingsError
from fscrawl.util.lru import Lru

MOST_SESSIONS = 1500  # of one worker; each takes some 5 KB
MOST_HANDSHAKE_BYTES = 32768  # that the host may send for it, or its connection is not kept; the usual are 3 to 10 KB

_BYTES_RECEIVED = struct.Struct("128xQ")  # in Linux's struct tcp_info

Host = tuple[str, int]  # name and port

_reading = threading.Lock()


class Trust:
    """Whom connections trust: the usual certificate authorities, or those of a user.

    To read them takes 15 ms of processor time. So those of a user are read again only if their file has changed, and
    the usual ones when the first connection needs them. A user's are read at once: then a mistake in them is named.
    """

    def __init__(self, ca_file: str | None) -> None:
        self._file = ca_file
        self._version: tuple[int, ...] = ()
        self._context: ssl.SSLContext | None = None
        try:
            if ca_file is not None:
                self._version = _version_of(ca_file)
            if ca_file is not None or os.environ.get("SSLKEYLOGFILE"):
                self.context()
        except (OSError, ValueError) as error:
            what = f"fetch.ca_file: no certificates can be read from {ca_file!a}: {error}" if ca_file else str(error)
            raise SettingsError(what) from error

    def context(self) -> ssl.SSLContext:
        """Give the context of all connections. OSError if the usual authorities cannot be read: they may be again."""
        with _reading:
            self._context = self._context or _context_of(self._file, self._version)
            return self._context


def _version_of(path: str) -> tuple[int, ...]:
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for, and a device may have no end
        raise ValueError("it is no regular file")
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=1)
def _context_of(path: str | None, version: tuple[int, ...]) -> ssl.SSLContext:  # noqa: ARG001 - another version is another key
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # certificates are needed, and must be for the host's name
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    if sys.version_info >= (3, 13):  # the defaults of Python there
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    context.post_handshake_auth = True
    context.set_alpn_protocols(["http/1.1"])
    _log_keys(context)
    if path is None:
        _trust_usual(context)
    else:
        context.load_verify_locations(path)
    return context


def _trust_usual(context: ssl.SSLContext) -> None:
    try:
        import certifi  # noqa: PLC0415 - a crawl of http hosts does not need it

        context.load_verify_locations(certifi.where())
    except (OSError, ImportError) as error:  # an upgrade may remove them for a moment
        raise OSError(f"the usual certificate authorities cannot be read: {error}") from error


def _log_keys(context: ssl.SSLContext) -> None:
    """Write the keys of connections where a user wants them, who looks at what goes over the wire."""
    path = os.environ.get("SSLKEYLOGFILE")
    if path:
        try:
            context.keylog_filename = path
        except OSError as error:
            raise SettingsError(f"SSLKEYLOGFILE: no keys can be written to {path!a}: {error}") from error


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
