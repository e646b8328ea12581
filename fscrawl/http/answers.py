"""What one exchange may take, and what comes of it: an answer, or a failure with a class. Pure, and quick to load.

Vocabulary:
  limits    what an exchange may take, and what of its answer is read
  Fetched   an answer, whatever its status
  Failed    no usable answer: its class (see `CLASSES`), one line of text, and whether another try may help
  class     what went wrong, in a word. An exception of this package has the class of the failure that it means

Promise: a message has at most MAX_MESSAGE_CHARS characters: it goes into an error record, and a part of it may come
from a server.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from fscrawl.errors import FscrawlError

MAX_MESSAGE_CHARS = 500

WantsBody = Callable[[int, dict[str, str]], bool]  # of status and headers, names in lower case


def everything(status: int, headers: dict[str, str]) -> bool:  # noqa: ARG001 - the signature of WantsBody
    """Want any body."""
    return True


class Limits(msgspec.Struct, frozen=True):
    """What one exchange may take, and what of its answer is read. Those of the settings are `Fetcher.limits`.

    seconds     that the whole exchange may take: name, connection, TLS, head and body
    max_bytes   that the body may have, as received and as decoded
    setting     the name of that limit, for people whose page is larger
    cuts        of a larger body, the first `max_bytes` are given. If not, it is a failure
    wants       tells by status and headers whether the body is read
    """

    seconds: float
    max_bytes: int
    setting: str = "fetch.max_bytes"
    cuts: bool = False
    wants: WantsBody = everything

    def within(self, seconds: float, max_bytes: int = sys.maxsize, setting: str = "") -> Limits:
        """Give these limits, or tighter ones. `setting`: the name of `max_bytes`.

        >>> Limits(30.0, 1000).within(5.0, 99, "all of it") == Limits(5.0, 99, "all of it")
        True
        """
        tighter = replace(self, seconds=min(self.seconds, seconds))
        return replace(tighter, max_bytes=max_bytes, setting=setting) if max_bytes < self.max_bytes else tighter


class Fetched(msgspec.Struct, frozen=True):
    """`headers`: see `parse.headers`. `body`: None if it was not wanted (see `Fetcher.send`), and for a 304.

    `head_at`: monotonic time when the head of the answer had arrived. `elapsed_s`: from the request to the end of the
    body. `address`: the IP address that it came from, "" behind a proxy. `begins`: first bytes of a body that was
    not wanted, as far as they were at hand.
    """

    status: int
    headers: dict[str, str]
    body: bytes | None
    head_at: float
    elapsed_s: float
    address: str = ""
    begins: bytes = b""


class Failed(msgspec.Struct, frozen=True):
    """`retry`: another try may help. `status`, `headers`: of an answer, if there was one.

    `asked_at`: monotonic time when the host was last asked, if that was not for this answer but later.
    `unsent`: no part of the request has left this machine for its host.
    `of_session`: sessions of its host do not work, so all other pages of them would fail, too.
    """

    class_: str
    message: str
    retry: bool
    status: int | None = None
    headers: dict[str, str] | None = None
    asked_at: float | None = None
    unsent: bool = False
    of_session: bool = False

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE_CHARS:
            msgspec.structs.force_setattr(self, "message", self.message[: MAX_MESSAGE_CHARS - 1] + "…")


class ExchangeError(Exception):
    """An exchange has failed. `class_`, `retry`: of the failure that it means."""

    class_ = "protocol"
    retry = True


class ProtocolError(ExchangeError):
    """What came is no answer, or ended before it was whole."""


class BadHeadError(ExchangeError):
    """The head of an answer does not say clearly where the answer ends."""

    retry = False


class TooLargeError(ExchangeError):
    """More was received, or came out of a coding, than is allowed."""

    class_ = "too-large"
    retry = False


class CodingError(ExchangeError):
    """The body does not have the coding that its header names, or nobody here can undo it."""

    class_ = "decode"
    retry = False


class UnresolvedError(ExchangeError):
    """The name of a host has no address."""

    class_ = "dns"


class BlockedAddressError(ExchangeError):
    """No address of the host is permitted."""

    class_ = "blocked-address"
    retry = False


class ProxyFailedError(ExchangeError):
    """The proxy could not be reached, or did not accept us."""

    class_ = "proxy"


class NoDescriptorsError(FscrawlError):
    """No file or socket more can be opened, by this process or by the whole system. It says nothing of the host."""

    def __init__(self) -> None:
        super().__init__("too many open files; raise the limit (ulimit -n), or use fewer --threads")


CLASSES = {
    "dns": "the host name cannot be resolved",
    "connect": "the connection was refused, reset or cut off",
    "tls": "the certificate is not valid, or the TLS handshake failed",
    "timeout": "the exchange took longer than fetch.timeout or fetch.connect_timeout",
    "protocol": "the answer is not valid HTTP, does not say clearly where it ends or leads, or is a part of the page",
    "too-large": "the body is larger than fetch.max_bytes, or its chunks are too small,"
    " or a head or a redirect is too large",
    "redirects": "more than 20 redirects in a row, so the chain may have no end; browsers give up there, too",
    "decode": "the body cannot be decoded as its Content-Encoding says",
    "blocked-address": "a private or local address (fetch.allow_addresses permits it), or a port of another protocol",
    "proxy": "no proxy can be used now: all of them fail, rest, are used up or were dropped",
    "http-4xx": "the server refuses the request (status 400 to 499; 429: there are too many requests)",
    "http-5xx": "the server says that it failed (status 500 to 599)",
    "parse": "reading the page takes too much processor time or memory",
    "render": "the browser could not render the page: its scripts never end, it took too much, or the browser failed",
    "unexpected": "the page is not what the rules of its site expect (`expect` in a [[site]], `check` in a site file),"
    " or its session cannot be opened",
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
    "tls": "certificate of your own authority: fetch.ca_file; wrong scheme: use http://; else:  " + _RETRY + "tls",
    "timeout": "the host may be faster later:  " + _RETRY + "timeout",
    "protocol": "the server must be mended; if it was:  " + _RETRY + "protocol",
    "too-large": "raise fetch.max_bytes, if the message names it; if not, the server must be"
    " mended; then:  " + _RETRY + "too-large",
    "redirects": "nothing: the site is made so; if that was mended:  " + _RETRY + "redirects",
    "decode": "the server must be mended; if it was:  " + _RETRY + "decode",
    "blocked-address": "a private address needs fetch.allow_addresses; then:  " + _RETRY + "blocked-address",
    "proxy": "check fetch.proxies, fetch.proxy_uses and fetch.proxy_failures; then:  " + _RETRY + "proxy",
    "http-4xx": "a dead link, a login (fetch.auth), or too fast (politeness.delay); if that was mended:  "
    + _RETRY
    + "http-4xx",
    "http-5xx": "the server may work later:  " + _RETRY + "http-5xx",
    "parse": "nothing: the page is made so; if the rules of its site are at fault:  " + _RETRY + "parse",
    "render": "{fscrawl} doctor says whether the browser works; then:  " + _RETRY + "render",
    "site": "mend the site file, start the machines with it; then:  " + _RETRY + "site",
    "unexpected": "look at the page, and at `expect` in crawl.toml or at the site file; then:  "
    + _RETRY
    + "unexpected",
    "robots": "nothing: robots.txt forbids it; on a site of your own, set politeness.robots = false",
    "internal": "report it; the record in errs/ has the message",
    "planted": "{fscrawl} audit --root {root}",
    "worker-died": "if the machine had too little memory:  " + _RETRY + "worker-died",
}

_ALLOW = re.compile(r'write (allow_addresses = \["[^"]+"\])')


def private(host: str, address: str) -> str:
    """Say that a host has an address to which no connection is made, and the line that allows it.

    >>> private("a.example", "10.0.0.1")
    'a.example has the private address 10.0.0.1; if it is yours, write allow_addresses = ["10.0.0.1"] below [fetch]'
    """
    what = f"{address} is a private address" if host == address else f"{host} has the private address {address}"
    return f'{what}; if it is yours, write allow_addresses = ["{address}"] below [fetch]'


def line_to_allow(message: str) -> str:
    """Give the line for `crawl.toml` that a message of `private` names; "" if it is another message.

    >>> line_to_allow(private("a.example", "10.0.0.1"))
    'allow_addresses = ["10.0.0.1"]'
    """
    found = _ALLOW.search(message)
    return found[1] if found else ""
