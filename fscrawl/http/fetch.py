"""One HTTP exchange within limits. `answers` has what comes of it. Bodies are decoded; redirects are not followed.

Vocabulary:
  jar         where the cookies of an exchange come from and go to: that of all requests without a session, or another

Promise: `Fetcher.send` returns within `Limits.seconds`, unless the system's resolver takes longer. It holds at most
`Limits.max_bytes` of a body, however far its coding inflates, and never raises for anything that a server does. A host
gets a request once: if a kept connection turns out to be closed, that is a failure, and whoever tries again counts it
(RFC 9110 9.2.2). A failure says whether any of the request was sent. Errors of libraries and of the operating system
are translated in one place, `failure`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import ssl
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config import addresses, credentials, proxies
from fscrawl.config.proxies import Rotation
from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.http import tls
from fscrawl.http.answers import ExchangeError, Failed, Fetched, Limits, NoDescriptorsError
from fscrawl.http.bodies import read_body, skip_body
from fscrawl.http.connections import Connections, DirectConnections, Kept, ProxiedConnections
from fscrawl.http.cookies import Jar
from fscrawl.http.dialling import Dialler, not_allowed
from fscrawl.http.outgoing import Outgoing, Sender
from fscrawl.http.wire import ArchivedReply, Exchange, Reply
from fscrawl.parse.media_types import may_be_page
from fscrawl.request import Request
from fscrawl.sites.rules import SiteRules

_NO_PROXY = "all proxies rest after failures, or have reached fetch.proxy_uses or fetch.proxy_failures"
_PARTIAL = "the server answered 206: it sent a part of the page, for which it was not asked"
_ALL_OF_IT = re.compile(r"[ \t]*bytes[ \t]+0-([0-9]{1,18})/([0-9]{1,18})[ \t]*", re.IGNORECASE)
_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}  # of this process, of the system
_OWN_JAR = Jar()  # stands for the fetcher's own


class _Last(threading.local):
    """The last exchange of a thread. `address`: see `Exchange`."""

    address = ""


class _Sending(NamedTuple):
    """A request that is sent, and what `Fetcher.send` got with it."""

    request: Outgoing
    jar: Jar | None
    limits: Limits
    exchange: Exchange


class Fetcher:
    """Fetches pages for one worker, from several threads. It keeps connections by host, and cookies by site.

    limits   those of the settings
    jar      the cookies of all requests without a session; None if none are kept
    """

    def __init__(
        self,
        fetch: FetchSettings,
        politeness: PolitenessSettings,
        threads: int,
        allow_env: Collection[str] = (),
        sites: Sequence[SiteRules] = (),
        jar: Jar | None = None,
    ) -> None:
        """`threads`: how many may fetch from one host at the same time. `allow_env`: as for `Variables`.

        `sites`: which may have headers of their own. `jar`: of all requests without a session, if cookies are kept.

        Raises SettingsError if a setting cannot be used on this machine: a variable that is missing or may not be
        named, an unreadable file.
        """
        self.limits = Limits(fetch.timeout, fetch.max_bytes)
        variables = credentials.Variables(os.environ, allow_env)
        self._sender = Sender(fetch, politeness, variables, sites)
        self.jar = (jar or Jar()) if fetch.cookies and not self._sender.sends_own_cookies else None
        self._dialler = dialler = Dialler(fetch)
        trust, connect_s = tls.Trust(fetch.ca_file), min(fetch.connect_timeout, fetch.timeout)
        found = [proxies.read(text, variables) for text in fetch.proxies]
        self._rotation = Rotation(found, fetch.proxy_uses, fetch.proxy_failures)
        kept = Kept(threads)  # of all proxies together
        self._proxied = [ProxiedConnections(trust, kept, connect_s, dialler, proxy) for proxy in found]
        self._ways: Sequence[Connections] = self._proxied or [DirectConnections(trust, kept, connect_s, dialler)]
        self._last = _Last()

    def get(
        self, url: str, conditions: Mapping[str, str] | None = None, limits: Limits | None = None
    ) -> Fetched | Failed:
        """Fetch a normal form by a plain GET; `conditions`, `limits`: as for `send`."""
        return self.send(Request(url), conditions, limits)

    def send(
        self,
        asked: Request,
        conditions: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        *,
        jar: Jar | None = _OWN_JAR,
        logs_in: bool = True,
        public_only: bool = False,
    ) -> Fetched | Failed:
        """Send a request to the URL in it, a normal form.

        `conditions`: headers such as If-None-Match. `limits`: of this exchange, None for those of the settings; the
        body of an answer is None if it is not wanted by them, and for a 304. `jar`: that of a session, or None for no
        cookies; by default, the one of all requests without a session. `logs_in`: send what may be a secret of the
        settings: log-ins, and headers of `fetch.headers` and of sites. `public_only`: go to public addresses only,
        whatever the settings permit.
        """
        limits = limits or self.limits
        exchange = Exchange(limits.seconds, public_only=public_only)
        self._last.address = ""
        if (port := urls.bad_port(asked.url)) is not None:
            return Failed(
                "blocked-address", f"port {port} is of another protocol than HTTP, and never asked", retry=False
            )
        jar = self.jar if jar is _OWN_JAR else jar
        try:
            request = self._sender.outgoing(asked, conditions, jar, logs_in=logs_in)
        except ValueError as error:
            return failure(error)
        sending = _Sending(request, jar, limits, exchange)
        answer = self._by_proxies(sending) if self._proxied else self._try_once(self._ways[0], sending)
        self._last.address = exchange.address
        return answer

    @property
    def address(self) -> str:
        """The IP address that was connected to in the last exchange of this thread; "" if there was none."""
        return self._last.address

    def _by_proxies(self, sending: _Sending) -> Fetched | Failed:
        """Try the proxies in turn until one of them answers. The proxy resolves the name."""
        url, exchange = sending.request.url, sending.exchange
        host = urls.hostname(url)
        if addresses.leads_inside(host, lambda address: self._dialler.may_reach(address, exchange)):
            return Failed("blocked-address", not_allowed(host, host, exchange), retry=False)
        failed = Failed("proxy", _NO_PROXY, retry=True, unsent=True)
        for _ in self._proxied:
            index = self._rotation.pick(urls.host(url))
            if index is None:
                break
            way = self._proxied[index]
            answer = self._try_once(way, sending)
            if isinstance(answer, Fetched) and not (answer.status == 407 and way.forwards(url)):
                self._rotation.worked(index)
                return answer
            if isinstance(answer, Fetched):
                answer = Failed("proxy", "the proxy asks for another user and password", retry=True, unsent=True)
            if answer.class_ in ("proxy", "timeout"):
                self._rotation.failed(index, by_itself=answer.class_ == "proxy")
            if answer.class_ != "proxy":
                return answer
            failed = answer
        return failed

    def _try_once(self, way: Connections, sending: _Sending) -> Fetched | Failed:
        with contextlib.suppress(NoDescriptorsError):
            return self._translated(way, sending)
        for each in self._ways:  # not above: the next error would count this one among its causes
            each.let_go()
        return self._translated(way, sending)

    def _translated(self, way: Connections, sending: _Sending) -> Fetched | Failed:
        try:
            return self._exchange(way, sending)
        except (ExchangeError, OSError, ValueError) as error:
            if _lacks_descriptors(error):
                raise NoDescriptorsError from error
            failed = failure(error)
            return failed if sending.exchange.is_sent else replace(failed, unsent=True)

    def _exchange(self, way: Connections, sending: _Sending) -> Fetched | Failed:
        request, jar, limits, exchange = sending
        began = time.monotonic()
        reply = way.ask(request, exchange)
        head_at = time.monotonic()
        try:
            if jar is not None and "set-cookie" in reply.headers:
                jar.learn(request.url, reply.raw["set-cookie"].split("\n"), time.time())
            answer = _read(reply, limits, head_at, exchange.address, asks_for_a_part=request.asks_for_a_part)
            return replace(answer, elapsed_s=time.monotonic() - began) if isinstance(answer, Fetched) else answer
        except BaseException:
            reply.close()
            raise

    def tidy(self) -> None:
        """Close the connections that have waited for too long. Exchanges do that, too, as long as there are some."""
        for way in self._ways:
            way.tidy()

    def close(self) -> None:
        for way in self._ways:
            way.close()


def archived(block: bytes, limits: Limits, address: str) -> Fetched | Failed:
    """Give the answer that a record of an archive has, as if its host had just sent it. `block`: of the record."""
    try:
        return _read(ArchivedReply(block), limits, time.monotonic(), address)
    except (ExchangeError, OSError, ValueError) as error:
        return failure(error)


def _read(
    reply: Reply, limits: Limits, head_at: float, address: str, *, asks_for_a_part: bool = False
) -> Fetched | Failed:
    """Read what is wanted of an answer."""
    status, headers = reply.status, reply.headers
    if status == 206 and not asks_for_a_part and not _is_whole(headers):
        skip_body(reply)
        return Failed("protocol", _PARTIAL, True, status, headers)
    if status == 304 or not limits.wants(status, headers):
        begins = skip_body(reply, looks=status == 200 and may_be_page(headers))
        return Fetched(status, headers, None, head_at, 0.0, address, begins)
    return Fetched(status, headers, read_body(reply, limits), head_at, 0.0, address)


def _is_whole(headers: dict[str, str]) -> bool:
    """Tell whether a partial answer is all that there is (RFC 9110 15.3.7).

    >>> [_is_whole({"content-range": f"bytes {each}"}) for each in ("0-9/10", "0-8/10", "5-9/10", "0-9/*")]
    [True, False, False, False]
    """
    found = _ALL_OF_IT.fullmatch(headers.get("content-range", ""))
    return found is not None and int(found[1]) + 1 == int(found[2])


def _lacks_descriptors(error: BaseException | None) -> bool:
    """Tell whether an error came because no file or socket can be opened."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_DESCRIPTORS:
            return True
        error = error.__cause__
    return False


def failure(error: Exception) -> Failed:
    """Translate an error of an exchange; its message is one line."""
    class_, retry, message = "protocol", True, f"{type(error).__name__}: {error}"  # of what cannot be sent: ValueError
    if isinstance(error, ExchangeError):
        class_, retry, message = error.class_, error.retry, str(error)
    elif isinstance(error, ssl.SSLError):  # it may be a balancer without a server behind it, or forget a session
        class_, retry = "tls", not isinstance(error, ssl.SSLCertVerificationError)
    elif isinstance(error, OSError):
        class_ = "timeout" if isinstance(error, TimeoutError) else "connect"
    return Failed(class_, " ".join(message.split()), retry=retry)
