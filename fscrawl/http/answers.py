"""The result of an exchange: an answer, or a failure with a class. Pure: no disk, no socket.

Vocabulary:
  Fetched   an answer, whatever its status
  Failed    no usable answer: its class (see `error_classes`), one line of text, and whether another try may help
  causes    the errors behind an error: requests and urllib3 wrap those of the operating system and of OpenSSL

Promise: `failure` finds a class for every error. A message is one line of at most MAX_MESSAGE_CHARS characters: it goes
into an error record, and a part of it may come from a server.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from typing import Any

import urllib3

from fscrawl.http.bodies import CodingError, TooLargeError
from fscrawl.http.heads import BadHeadError

MAX_MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Fetched:
    """`headers`: names in lower case. `body`: None if it was not wanted (see `Fetcher.get`), and for a 304.

    `began`: monotonic time when the head of the answer had arrived. `elapsed_s`: from the request to the end of the
    body. `address`: the IP address that it came from, "" behind a proxy.
    """

    status: int
    headers: dict[str, str]
    body: bytes | None
    began: float
    elapsed_s: float
    address: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """`retry`: another try may help. `status`, `headers`: of an answer, if there was one.

    `asked_at`: monotonic time when the host was last asked, if that was not for this answer but later.
    """

    class_: str
    message: str
    retry: bool
    status: int | None = None
    headers: dict[str, str] | None = None
    asked_at: float | None = None

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE_CHARS:
            object.__setattr__(self, "message", self.message[: MAX_MESSAGE_CHARS - 1] + "…")


class BlockedAddressError(OSError):
    """No address of the host is permitted."""


class ProxyFailedError(OSError):
    """The proxy could not be reached, or did not accept us."""


def failure(error: BaseException) -> Failed:
    """Translate an error of requests, urllib3 or the operating system, by the most specific of its causes."""
    causes = _causes(error)
    for kinds, class_, retry in _MEANING:
        for cause in causes:
            if isinstance(cause, kinds):
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


# From the most specific to the most general: types of errors, the class of the failure, whether another try may help.
_MEANING: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str, bool], ...] = (
    (TooLargeError, "too-large", False),
    (BadHeadError, "protocol", False),
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
    return " ".join(f"{type(error).__name__}: {error}".split())
