"""What comes of an exchange: an answer, or a failure that has a class. Pure: it opens nothing.

Vocabulary:
  Fetched   an answer, whatever its status
  Failed    no usable answer: its class (see CLASSES), one line of text, and whether another try may help
  causes    the errors behind an error: requests and urllib3 wrap what the operating system and OpenSSL raised

Promise: every error of theirs has a class, and its message is one line of at most 500 characters.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from typing import Any

import urllib3

from fscrawl.http.bodies import CodingError, TooLargeError

CLASSES = {
    "dns": "the host name does not resolve",
    "connect": "the connection was refused, reset or cut off",
    "tls": "the certificate or the handshake is no good",
    "timeout": "the exchange took longer than fetch.timeout or fetch.connect_timeout",
    "protocol": "what came is not HTTP",
    "too-large": "the body is larger than fetch.max_bytes, or the head than any should be",
    "decode": "the body does not decode as its Content-Encoding says",
    "blocked-address": "the name leads to a private, loopback or link-local address (see fetch.allow_addresses)",
    "proxy": "no proxy can be used now: they fail, rest, or are used up",
    "http-4xx": "the server says that the request is at fault",
    "http-5xx": "the server says that it is at fault",
    "robots": "robots.txt does not allow it",
    "internal": "a defect of fscrawl, or of a library it uses; the message names it",
    "worker-died": "the process that worked on it died, twice",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """`headers`: names in lower case. `body` is None when it was not wanted (see `Fetcher.get`), or of a 304.

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


class ProxyFailedError(OSError):
    """The proxy could not be reached, or did not let us in."""


def failure(error: BaseException) -> Failed:
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
    (TooLargeError, "too-large", False),
    (BlockedAddressError, "blocked-address", False),
    (ProxyFailedError, "proxy", True),
    ((socket.gaierror, urllib3.exceptions.NameResolutionError), "dns", True),
    ((ssl.SSLError, urllib3.exceptions.SSLError), "tls", False),
    ((TimeoutError, urllib3.exceptions.TimeoutError), "timeout", True),
    ((CodingError, urllib3.exceptions.DecodeError), "decode", False),
    ((ConnectionError, urllib3.exceptions.NewConnectionError), "connect", True),
    ((urllib3.exceptions.ProtocolError, urllib3.exceptions.InvalidHeader, ValueError), "protocol", True),
)


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
