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
import importlib.util
import os
import socket
import ssl
import stat
import struct
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from fscrawl.errors import SettingsError
from fscrawl.util.lru import Lru

MOST_SESSIONS = 1500  # of one worker; each takes some 5 KB
MOST_HANDSHAKE_BYTES = 32768  # that the host may send for it, or its connection is not kept; the usual are 3 to 10 KB

_BYTES_RECEIVED = struct.Struct("128xQ")  # in Linux's struct tcp_info

Host = tuple[str, int]  # name and port

_trusting = threading.Lock()


def context_for(ca_file: str | None, sockets: type[ResumingSocket]) -> ssl.SSLContext:
    """Give the TLS context of all connections. A user's certificate authorities are read again if their file changed.

    Reading them takes 15 ms of processor time, and each edit of the settings makes new connections. The usual ones are
    read when the first connection needs them, a user's at once: then a mistake in them is named.
    """
    if ca_file is None:
        _check_usual_authorities()
        context = _context_of(None, ())
    else:
        try:
            context = _context_of(ca_file, _version_of(ca_file))
            _trust(context)
        except (OSError, ValueError) as error:
            raise SettingsError(f"fetch.ca_file: no certificates can be read from {ca_file!a}: {error}") from error
    context.sslsocket_class = sockets
    return context


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
    if sys.version_info >= (3, 13):  # the defaults of Python and of urllib3 there
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    _log_keys(context)
    context.post_handshake_auth = True
    context.set_alpn_protocols(["http/1.1"])
    context.trusts_later = path or ""  # type: ignore[attr-defined]
    return context


def _log_keys(context: ssl.SSLContext) -> None:
    """Write the keys of connections where a user wants them, who looks at what goes over the wire."""
    path = os.environ.get("SSLKEYLOGFILE")
    if path:
        try:
            context.keylog_filename = path
        except OSError as error:
            raise SettingsError(f"SSLKEYLOGFILE: no keys can be written to {path!a}: {error}") from error


def _check_usual_authorities() -> None:
    """Raise SettingsError if they are surely missing. Nothing is loaded for that: crawls of http hosts need none."""
    found = importlib.util.find_spec("certifi")
    path = Path((found and found.origin) or "certifi").with_name("cacert.pem")
    if found is None or not (path.is_file() or _can_be_read(_usual_authorities())):  # distributions have them elsewhere
        raise SettingsError(f"the usual certificate authorities are missing ({path}): install the package certifi anew")


def _can_be_read(path: str) -> bool:
    return os.access(path, os.R_OK) and Path(path).is_file()


def _usual_authorities() -> str:
    import certifi  # noqa: PLC0415 - a crawl of http hosts does not need it

    return certifi.where()


def _trust(context: Any) -> None:
    """Read the certificate authorities of a context, if that was not done yet."""
    with _trusting:
        if context.trusts_later == "":
            _trust_usual(context)
        elif context.trusts_later is not None:
            context.load_verify_locations(context.trusts_later)
        context.trusts_later = None


def _trust_usual(context: ssl.SSLContext) -> None:
    try:
        context.load_verify_locations(_usual_authorities())
    except ssl.SSLError:
        raise
    except (OSError, ImportError) as error:  # they were there when the machine began, and may be again
        raise OSError(f"the usual certificate authorities cannot be read: {error}") from error


class ResumingSocket(ssl.SSLSocket):
    """Offers the session that the plain socket brings along (see `Sessions.offer`)."""

    @classmethod
    def _create(cls, sock: socket.socket, *args: Any, session: ssl.SSLSession | None = None, **more: Any) -> Self:
        _trust(more["context"])
        session = session or getattr(sock, "resumes", None)
        made: Self = super()._create(sock, *args, session=session, **more)  # type: ignore[misc]
        return made


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

    def offer(self, host: Host, sock: Any) -> None:
        """Let the handshake that follows on a connected socket resume the session of this host, if there is one."""
        sock.resumes = self._sessions.get(host)

    def keep(self, host: Host, sock: Any) -> None:
        """Keep the session of a connection that is about to be closed. `sock` may be any socket, or None."""
        with contextlib.suppress(ssl.SSLError, OSError):
            session = getattr(sock, "session", None)
            if session is not None and (session.has_ticket or session.id):
                self._sessions.put(host, session)

    def forget(self, host: Host) -> None:
        """Offer nothing to a host with which a handshake has failed."""
        self._sessions.pop(host)
