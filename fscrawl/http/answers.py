"""The result of an exchange: an answer, or a failure with a class. Pure: no disk, no socket.

Vocabulary:
  Fetched   an answer, whatever its status
  Failed    no usable answer: its class (see CLASSES), one line of text, and whether another try may help
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

CLASSES = {
    "dns": "the host name cannot be resolved",
    "connect": "the connection was refused, reset or cut off",
    "tls": "the certificate is not valid, or the TLS handshake failed",
    "timeout": "the exchange took longer than fetch.timeout or fetch.connect_timeout",
    "protocol": "the answer is not valid HTTP, or its head does not say clearly where it ends",
    "too-large": "the body is larger than fetch.max_bytes (or that of its type), or a head or a redirect is too large",
    "decode": "the body cannot be decoded as its Content-Encoding says",
    "blocked-address": "the address is private or local (see fetch.allow_addresses), or the port is no port of HTTP",
    "proxy": "no proxy can be used now: all of them fail, rest, are used up or were dropped",
    "http-4xx": "the server says that the request is wrong (status 400 to 499)",
    "http-5xx": "the server says that it failed (status 500 to 599)",
    "parse": "reading the page takes too much processor time or memory",
    "render": "the browser could not render the page: its scripts never end, it took too much, or the browser failed",
    "unexpected": "the page is not what the rules of its site expect (`expect` in a [[site]], `check` in a site file)",
    "site": "the site file has a mistake; the message names the line",
    "robots": "robots.txt does not allow it",
    "internal": "a defect of fscrawl or of a library; the message names it",
    "planted": "a link, a directory or the like stands where its files should be; `fscrawl audit` names it",
    "worker-died": "the worker process died again and again while it worked on this page",
}
_RETRY = "{fscrawl} retry --root {root} --class "
HELP = {
    "dns": "check the host name, and the resolver of this machine; then:  " + _RETRY + "dns",
    "connect": "the host may be back later:  " + _RETRY + "connect",
    "tls": "a private authority goes into fetch.ca_file; then:  " + _RETRY + "tls",
    "timeout": "the host may be faster later:  " + _RETRY + "timeout",
    "protocol": "the server must be mended; if it was:  " + _RETRY + "protocol",
    "too-large": "raise fetch.max_bytes, or fetch.max_bytes_by_type; then:  " + _RETRY + "too-large",
    "decode": "the server must be mended; if it was:  " + _RETRY + "decode",
    "blocked-address": "if you trust it: fetch.allow_addresses; then:  " + _RETRY + "blocked-address",
    "proxy": "check fetch.proxies, fetch.proxy_uses and fetch.proxy_failures; then:  " + _RETRY + "proxy",
    "http-4xx": "a dead link, or a login (fetch.auth); if that was mended:  " + _RETRY + "http-4xx",
    "http-5xx": "the server may work later:  " + _RETRY + "http-5xx",
    "parse": "nothing: the page is made so; if the rules of its site are at fault:  " + _RETRY + "parse",
    "render": "{fscrawl} doctor says whether the browser works; then:  " + _RETRY + "render",
    "site": "mend the site file, start the machines with it; then:  " + _RETRY + "site",
    "unexpected": "look at the page, and at `expect` in crawl.toml; then:  " + _RETRY + "unexpected",
    "robots": "nothing: the site does not want it; for a site of your own, politeness.robots",
    "internal": "report it; the record in errs/ has the message",
    "planted": "{fscrawl} audit --root {root}",
    "worker-died": "if the machine had too little memory:  " + _RETRY + "worker-died",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """`headers`: names in lower case. `body`: None if it was not wanted (see `Fetcher.get`), and for a 304.

    `began`: monotonic time when the head of the answer had arrived. `elapsed_s`: from the request to the end of the
    body.
    """

    status: int
    headers: dict[str, str]
    body: bytes | None
    began: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Failed:
    """`retry`: another try may help. `status`, `headers`: of an answer, if there was one."""

    class_: str
    message: str
    retry: bool
    status: int | None = None
    headers: dict[str, str] | None = None

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
