"""Errors of an exchange, and the failure that each of them means. Pure: no disk, no socket.

Vocabulary:
  causes    the errors behind an error: libraries wrap those of the operating system and of OpenSSL

Promise: `failure` finds a class for every error, and gives a message of one line.
"""

from __future__ import annotations

import errno
import socket
import ssl
from http.client import HTTPException
from typing import Any

from fscrawl.errors import FscrawlError
from fscrawl.http.answers import Failed
from fscrawl.http.bodies import CodingError, TooLargeError
from fscrawl.http.heads import BadHeadError, HeadTooLargeError

_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}  # of this process, of the system


class BlockedAddressError(OSError):
    """No address of the host is permitted."""


class ProxyFailedError(OSError):
    """The proxy could not be reached, or did not accept us."""


class NoDescriptorsError(FscrawlError):
    """No file or socket more can be opened, by this process or by the whole system. It says nothing of the host."""

    def __init__(self) -> None:
        super().__init__("too many open files; raise the limit (ulimit -n), or use fewer --threads")


def lacks_descriptors(error: BaseException) -> bool:
    """Tell whether an error came because no file or socket can be opened."""
    return any(isinstance(cause, OSError) and cause.errno in _NO_DESCRIPTORS for cause in _causes(error))


def failure(error: BaseException) -> Failed:
    """Translate an error of a library or of the operating system, by the most specific of its causes."""
    causes = _causes(error)
    for kinds, class_, retry in _MEANING:
        for cause in causes:
            if isinstance(cause, kinds):
                return Failed(class_, _one_line(cause), retry=retry and not _lasts(cause))
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


# From the most specific to the most general: types of errors, the class of the failure, whether another try may help.
_MEANING: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str, bool], ...] = (
    ((TooLargeError, HeadTooLargeError), "too-large", False),
    (BadHeadError, "protocol", False),
    (BlockedAddressError, "blocked-address", False),
    (ProxyFailedError, "proxy", True),
    (socket.gaierror, "dns", True),
    (ssl.SSLError, "tls", True),
    (TimeoutError, "timeout", True),
    (CodingError, "decode", False),
    (ConnectionError, "connect", True),
    ((HTTPException, ValueError), "protocol", True),
)


# OpenSSL's names for what is the same at each try: server and machine have no version or no cipher in common, or the
# port speaks no TLS. All else may be a balancer without a server behind it, or one that does not resume a session.
_LASTING = frozenset(
    {
        "DH_KEY_TOO_SMALL",
        "NO_CIPHERS_AVAILABLE",
        "NO_PROTOCOLS_AVAILABLE",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "TLSV1_ALERT_INSUFFICIENT_SECURITY",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "UNSAFE_LEGACY_RENEGOTIATION_DISABLED",
        "UNSUPPORTED_PROTOCOL",
        "WRONG_VERSION_NUMBER",
    }
)


def _lasts(error: BaseException) -> bool:
    """Tell whether an error of TLS would be the same at another try."""
    if not isinstance(error, ssl.SSLError):
        return False
    return isinstance(error, ssl.SSLCertVerificationError) or getattr(error, "reason", None) in _LASTING


def _one_line(error: BaseException) -> str:
    message = str(error) if isinstance(error, BlockedAddressError) else f"{type(error).__name__}: {error}"
    return " ".join(message.split())
