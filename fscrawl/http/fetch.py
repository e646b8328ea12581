"""One HTTP exchange within limits. `answers` has what comes of it. Bodies are decoded; redirects are not followed.

Vocabulary:
  wants body  decides by status and headers whether the body is read
  bounds      limits of one exchange below those of the settings
  jar         where the cookies of an exchange come from and go to: that of all requests without a session, or another

Promise: `Fetcher.send` returns within `fetch.timeout`, unless the system's resolver takes longer. It holds at most
`fetch.max_bytes` of a body, however far its coding inflates, and never raises for anything that a server does. A host
gets a request once: if a kept connection turns out to be closed, that is a failure, and whoever tries again counts it
(RFC 9110 9.2.2). A failure says whether any of the request was sent. Errors of libraries and of the operating system
are translated in one place, `_translated`.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import ssl
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config import addresses, credentials, proxies
from fscrawl.config.proxies import Rotation
from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.bodies import ACCEPT_ENCODING, TooLargeError, read_body, read_prefix, skip_body
from fscrawl.http.connections import Adapter, DirectAdapter
from fscrawl.http.cookies import Jar
from fscrawl.http.failures import NoDescriptorsError, failure, lacks_descriptors
from fscrawl.http.keeping import Kept
from fscrawl.http.site_headers import SiteHeaders
from fscrawl.http.sockets import ALLOWED_HEAD_BYTES, exchange, may_reach, not_public, tls_context
from fscrawl.http.wire import Headers, Outgoing, written
from fscrawl.parse.media_types import may_be_page
from fscrawl.request import Request
from fscrawl.sites.rules import SiteRules

if TYPE_CHECKING:
    from fscrawl.http.proxied import ProxiedAdapter

WantsBody = Callable[[int, dict[str, str]], bool]  # of status and headers, names in lower case


class Bounds(NamedTuple):
    """`seconds` that an exchange may take, and `max_bytes` that its body may have, if the settings allow more."""

    seconds: float
    max_bytes: int = sys.maxsize


_NO_PROXY = "all proxies rest after failures, or have reached fetch.proxy_uses or fetch.proxy_failures"
_PARTIAL = "the server answered 206: it sent a part of the page, for which it was not asked"
_ALL_OF_IT = re.compile(r"[ \t]*bytes[ \t]+0-([0-9]{1,18})/([0-9]{1,18})[ \t]*", re.IGNORECASE)
_CHUNK_LINES_BYTES = 1048576  # what the lines of chunks may cost, beside an eighth of the body
_OWN_JAR = Jar()  # stands for the fetcher's own


class Fetcher:
    """Fetches pages for one worker, from several threads. It keeps connections by host, and cookies by site."""

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
        self._fetch = fetch
        permits = addresses.permits(fetch.allow_addresses)
        self._permits = lambda address: permits(address) and may_reach(address)
        self._connect_s = min(fetch.connect_timeout, fetch.timeout)
        variables = credentials.Variables(os.environ, allow_env)
        self._authorizations = credentials.authorizations(fetch.auth, variables)
        self._user_agents = [_sendable(each) for each in politeness.user_agents]
        headers = {name: credentials.expand(text, variables, "fetch.headers") for name, text in fetch.headers.items()}
        self._of_sites = SiteHeaders(sites, variables)
        self._jar = (jar or Jar()) if fetch.cookies and "cookie" not in map(str.lower, headers) else None
        found = [proxies.read(text, variables) for text in fetch.proxies]
        self._rotation = Rotation(found, fetch.proxy_uses, fetch.proxy_failures)
        context = tls_context(fetch.ca_file)
        self._proxied = _proxied_adapters(found, context, threads)
        self._adapters: Sequence[Adapter] = self._proxied or [DirectAdapter(self._permits, context, threads)]
        self._headers = _usual_headers(politeness.user_agent, fetch.accept, headers)
        self._lines = written(self._headers)
        self._without_secrets = _usual_headers(politeness.user_agent, fetch.accept, {})

    def get(self, url: str, conditions: Mapping[str, str] | None = None, **how: Any) -> Fetched | Failed:
        """Fetch a normal form by a plain GET; `conditions`, `how`: as for `send`."""
        return self.send(Request(url), conditions, **how)

    def send(
        self,
        asked: Request,
        conditions: Mapping[str, str] | None = None,
        *,
        jar: Jar | None = _OWN_JAR,
        wants_body: WantsBody = lambda status, headers: True,  # noqa: ARG005
        max_prefix_bytes: int | None = None,
        bounds: Bounds | None = None,
        logs_in: bool = True,
        public_only: bool = False,
    ) -> Fetched | Failed:
        """Send a request to the URL in it, a normal form.

        `conditions`: headers such as If-None-Match. `jar`: that of a session, or None for no cookies; by default, the
        one of all requests without a session. `wants_body`: called with the status and the headers of the answer; if it
        returns False, or for a 304, the body is None. `max_prefix_bytes`: read no more of a body than this, however
        long it is; None reads all of it. `logs_in`: send what may be a secret of the settings: log-ins, and headers of
        `fetch.headers` and of sites. `public_only`: go to public addresses only, whatever the settings permit.
        """
        url = asked.url
        exchange.address = ""
        exchange.is_sent = False
        exchange.public_only = public_only
        if (port := urls.bad_port(url)) is not None:
            return Failed(
                "blocked-address", f"port {port} is of another protocol than HTTP, and never asked", retry=False
            )
        exchange.deadline = time.monotonic() + min(self._fetch.timeout, bounds.seconds if bounds else math.inf)
        jar = self._jar if jar is _OWN_JAR else jar
        prepared = self._prepared(asked, conditions, jar, logs_in=logs_in)
        sending = _Sending(prepared, jar, wants_body, max_prefix_bytes, bounds)
        return self._by_proxies(sending) if self._proxied else self._try_once(self._adapters[0], sending)

    @property
    def jar(self) -> Jar | None:
        """The cookies of all requests without a session; None if none are kept."""
        return self._jar

    @property
    def address(self) -> str:
        """The IP address that was connected to in the last exchange of this thread; "" if there was none."""
        return exchange.address

    def _prepared(
        self, asked: Request, conditions: Mapping[str, str] | None, jar: Jar | None, *, logs_in: bool
    ) -> Outgoing:
        url = asked.url
        more: dict[str, str | bytes] = {}
        if self._user_agents:
            more["User-Agent"] = self._user_agents[urls.shard(urls.host(url), len(self._user_agents))]
        if logs_in and self._authorizations and (login := self._authorizations.get(urls.origin(url))):
            more["Authorization"] = login
        if jar is not None and (cookie := jar.header(url, time.time())):
            more["Cookie"] = cookie
        if logs_in and self._of_sites:
            conditions = {**self._of_sites.of(url), **(conditions or {})}
        if logs_in and not (more or conditions) and asked.is_plain:
            return Outgoing(url, self._headers, lines=self._lines)
        headers = (self._headers if logs_in else self._without_secrets).copy()
        headers.update(more)
        headers.update({name: _sendable(text) for name, text in (conditions or {}).items()})
        return _outgoing(asked, headers)

    def _by_proxies(self, sending: _Sending) -> Fetched | Failed:
        """Try the proxies in turn until one of them answers. The proxy resolves the name."""
        url = sending.request.url
        host = urls.hostname(url)
        if addresses.leads_inside(host, self._permits):
            return Failed("blocked-address", not_public(host, host), retry=False)
        failed = Failed("proxy", _NO_PROXY, retry=True, unsent=True)
        for _ in self._proxied:
            index = self._rotation.pick(urls.host(url))
            if index is None:
                break
            adapter = self._proxied[index]
            answer = self._try_once(adapter, sending)
            if isinstance(answer, Fetched) and not (answer.status == 407 and adapter.forwards(url)):
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

    def _try_once(self, adapter: Adapter, sending: _Sending) -> Fetched | Failed:
        with contextlib.suppress(NoDescriptorsError):
            return self._translated(adapter, sending)
        for each in self._adapters:  # not above: the next error would count this one among its causes
            each.let_go()
        return self._translated(adapter, sending)

    def _translated(self, adapter: Adapter, sending: _Sending) -> Fetched | Failed:
        try:
            return self._exchange(adapter, sending)
        except (HTTPException, TooLargeError, OSError, ValueError) as error:
            if lacks_descriptors(error):
                raise NoDescriptorsError from error
            return _failed(error)

    def _exchange(self, adapter: Adapter, sending: _Sending) -> Fetched | Failed:
        request, jar, wants_body, max_prefix_bytes, bounds = sending
        exchange.allowance_bytes = ALLOWED_HEAD_BYTES
        began = time.monotonic()
        reply = adapter.ask(request, self._connect_s)
        status = reply.status
        try:
            headers = reply.head.texts()
            head_at = time.monotonic()
            if jar is not None and "set-cookie" in headers:
                jar.learn(request.url, reply.head.get_all("set-cookie"), time.time())
            limit, setting = self._fetch.max_bytes, "fetch.max_bytes"
            if bounds is not None and bounds.max_bytes < limit:
                limit, setting = bounds.max_bytes, "all that a rendered page loads"
            exchange.allowance_bytes += limit + limit // 8 + _CHUNK_LINES_BYTES
            body, begins = None, b""
            if status == 206 and "Range" not in request.headers and not _is_whole(headers):
                skip_body(reply, status, headers)
                return Failed("protocol", _PARTIAL, True, status, headers)
            if status == 304 or not wants_body(status, headers):
                begins = skip_body(reply, status, headers, looks=status == 200 and may_be_page(headers))
            elif max_prefix_bytes is None:
                body = read_body(reply, status, headers, limit, setting)
            else:
                body = read_prefix(reply, headers, max_prefix_bytes)
            return Fetched(status, headers, body, head_at, time.monotonic() - began, exchange.address, begins)
        except BaseException:
            reply.close()  # a connection with an unread rest of a body must not be used again
            raise

    def tidy(self) -> None:
        """Close the connections that have waited for too long. Exchanges do that, too, as long as there are some."""
        for adapter in self._adapters:
            adapter.tidy()

    def close(self) -> None:
        for adapter in self._adapters:
            adapter.close()


def _proxied_adapters(found: Sequence[proxies.Proxy], context: ssl.SSLContext, threads: int) -> list[ProxiedAdapter]:
    """Make an adapter for each proxy; they share the connections that wait."""
    if not found:
        return []
    from fscrawl.http.proxied import ProxiedAdapter  # noqa: PLC0415 - it loads requests

    kept: Kept[Any, Any] = Kept(threads)
    return [ProxiedAdapter(context, kept, proxy) for proxy in found]


def _is_whole(headers: dict[str, str]) -> bool:
    """Tell whether a partial answer is all that there is (RFC 9110 15.3.7).

    >>> [_is_whole({"content-range": f"bytes {each}"}) for each in ("0-9/10", "0-8/10", "5-9/10", "0-9/*")]
    [True, False, False, False]
    """
    found = _ALL_OF_IT.fullmatch(headers.get("content-range", ""))
    return found is not None and int(found[1]) + 1 == int(found[2])


def _failed(error: BaseException) -> Failed:
    """Give the failure that an error of the exchange of this thread means."""
    failed = failure(error)
    return failed if exchange.is_sent else replace(failed, unsent=True)


class _Sending(NamedTuple):
    """A request that is sent, and what `Fetcher.send` got with it."""

    request: Outgoing
    jar: Jar | None
    wants_body: WantsBody
    max_prefix_bytes: int | None
    bounds: Bounds | None


def _outgoing(asked: Request, headers: Headers) -> Outgoing:
    """Give a request as it is sent. Its own headers take the place of those in `headers`.

    Servers expect a Content-Length of 0 from a POST without a body (RFC 9110 8.6).
    """
    own: dict[str, str] = {}
    for name, text in asked.headers:
        own[name] = f"{own[name]}, {text}" if name in own else text  # RFC 9110 5.3
    headers.update({name: _sendable(text) for name, text in own.items()})
    body = None
    if asked.method != "GET":
        body = asked.body
        headers["Content-Length"] = str(len(asked.body))
    if asked.type_:
        headers["Content-Type"] = asked.type_
    return Outgoing(asked.url, headers, asked.method, body)


def _usual_headers(user_agent: str, accept: tuple[str, ...], headers: dict[str, str]) -> Headers:
    """Give the headers of all requests. `headers` take the place of the usual ones."""
    usual = Headers(
        {
            "User-Agent": user_agent,
            "Accept": ",".join(accept if "*/*" in accept else (*accept, "*/*;q=0.1")),
            "Accept-Encoding": ACCEPT_ENCODING,
        }
    )
    usual.update({name: _sendable(text) for name, text in headers.items()})
    return usual


def _sendable(text: str) -> str | bytes:
    """Return the value of a header as it can be sent: one line, in UTF-8 if it is not ASCII.

    >>> _sendable("a\\r\\n b"), _sendable("\u00e9")
    ('a b', b'\\xc3\\xa9')
    """
    line = " ".join(text.split())
    return line if line.isascii() else line.encode()
