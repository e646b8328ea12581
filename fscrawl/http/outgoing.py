"""What is sent to a host: the request as bytes, with the headers, log-ins and cookies that belong to it. No socket.

Vocabulary:
  headers   of a request, by their names in lower case. They are sent as they were written last
  secret    a header of a site whose value names an environment variable. What is written out in crawl.toml can be read
            anyway
  named     a site names a URL's server if it has its host with the port, or its IP address

Promise: a header of a site goes to the hosts of its site only: to any server that the site names, else to the default
ports of http and https; a secret then to that of https only. Another service on the host, or whoever reads plain http,
does not learn it. A log-in goes to its own origin only. Variables are read once, and no message shows a value.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fscrawl import urls
from fscrawl.config import credentials
from fscrawl.config.credentials import Variables, expand, names_variable
from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.hostnames import is_address, pattern_covers
from fscrawl.http.bodies import ACCEPT_ENCODING
from fscrawl.http.cookies import Jar
from fscrawl.request import Request
from fscrawl.sites.rules import SiteRules, Sites

Headers = dict[str, tuple[str, "str | bytes"]]  # name in lower case → name and value

_NAME = re.compile(rb"[^:\s][^:\r\n]*\Z")
_LINE_END = re.compile(rb"[\r\n]")
_PORT = re.compile(r":\d+\Z")


class Outgoing(NamedTuple):
    """A request to a normal form."""

    url: str
    method: str
    headers: Headers
    lines: bytes  # the headers, written
    body: bytes

    @property
    def asks_for_a_part(self) -> bool:
        return "range" in self.headers

    def to_bytes(self, target: str, more: bytes = b"") -> bytes:
        """Write it. `target`: path and query, or a whole URL; `more`: further lines of headers."""
        host = "" if "host" in self.headers else f"Host: {urls.origin(self.url).partition('//')[2]}\r\n"
        begin = f"{self.method} {target} HTTP/1.1\r\n{host}".encode("ascii")
        return b"%b%b%b\r\n%b" % (begin, self.lines, more, self.body)


class Sender:
    """Makes requests as they are sent. Threads share it."""

    def __init__(
        self, fetch: FetchSettings, politeness: PolitenessSettings, variables: Variables, sites: Sequence[SiteRules]
    ) -> None:
        """Raise SettingsError if a variable is missing, or may not be named."""
        self._authorizations = credentials.authorizations(fetch.auth, variables)
        self._user_agents = politeness.user_agents
        self._of_sites = SiteHeaders(sites, variables)
        usual = {
            "User-Agent": politeness.user_agent,
            "Accept": ",".join(fetch.accept if "*/*" in fetch.accept else (*fetch.accept, "*/*;q=0.1")),
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        self._without_secrets = with_headers({}, usual)
        own = {name: expand(text, variables, "fetch.headers") for name, text in fetch.headers.items()}
        self._headers = with_headers(self._without_secrets, own)
        self._lines = written(self._headers)
        self.sends_own_cookies = "cookie" in self._headers

    def outgoing(
        self, asked: Request, conditions: Mapping[str, str] | None, jar: Jar | None, *, logs_in: bool
    ) -> Outgoing:
        """Make a request as it is sent. All arguments: as for `Fetcher.send`. ValueError if it cannot be sent.

        Its own headers take the place of all others. Servers expect a Content-Length of 0 from a POST without a body
        (RFC 9110 8.6).
        """
        url = asked.url
        more: dict[str, str | bytes] = {}
        if self._user_agents:
            more["User-Agent"] = self._user_agents[urls.shard(urls.host(url), len(self._user_agents))]
        if logs_in and self._authorizations and (login := self._authorizations.get(urls.origin(url))):
            more["Authorization"] = login
        if jar is not None and (cookie := jar.header(url, time.time())):
            more["Cookie"] = cookie.encode("latin-1")  # byte by byte as it came (see `framing.Head`)
        if logs_in and self._of_sites:
            more.update(self._of_sites.of(url))
        if conditions:
            more.update(conditions)
        if logs_in and not more and asked.is_plain:
            return Outgoing(url, "GET", self._headers, self._lines, b"")
        headers = with_headers(self._headers if logs_in else self._without_secrets, more)
        own: dict[str, str] = {}
        for name, text in asked.headers:
            own[name] = f"{own[name]}, {text}" if name in own else text  # RFC 9110 5.3
        if asked.method != "GET":
            own["Content-Length"] = str(len(asked.body))
        if asked.type_:
            own["Content-Type"] = asked.type_
        headers = with_headers(headers, own)
        return Outgoing(url, asked.method, headers, written(headers), asked.body if asked.method != "GET" else b"")


def with_headers(headers: Headers, more: Mapping[str, str | bytes]) -> Headers:
    """Give headers and some more, which take the place of those of the same name, whatever its capitals.

    >>> with_headers({"accept": ("accept", "a"), "x": ("X", "b")}, {"Accept": "c"})
    {'accept': ('Accept', 'c'), 'x': ('X', 'b')}
    """
    return headers | {name.lower(): (name, _sendable(value)) for name, value in more.items()}


def written(headers: Headers) -> bytes:
    """Write headers as lines. Raises ValueError for one that is no line.

    >>> written({"accept": ("Accept", "text/html")})
    b'Accept: text/html\\r\\n'
    """
    found = [(_bytes(name), _bytes(value)) for name, value in headers.values()]
    for name, value in found:
        if not _NAME.match(name) or _LINE_END.search(value):
            raise ValueError(f"the header {name[:40]!r} of the request cannot be sent")
    return b"".join(b"%b: %b\r\n" % each for each in found)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _sendable(text: str | bytes) -> str | bytes:
    """Return the value of a header as it can be sent: one line, in UTF-8 if it is not ASCII.

    >>> _sendable("a\\r\\n b"), _sendable("\u00e9")
    ('a b', b'\\xc3\\xa9')
    """
    if isinstance(text, bytes):
        return text
    line = " ".join(text.split())
    return line if line.isascii() else line.encode()


class SiteHeaders:
    """The headers of all sites. They are false if there are none."""

    def __init__(self, sites: Sequence[SiteRules], variables: Variables) -> None:
        """Raise SettingsError if a variable is missing, or may not be named."""
        sites = [site for site in sites if site.headers or not site.code]  # a table has those of a class without
        self._sites = Sites(sites)
        self._by_name: dict[str, tuple[dict[str, str], dict[str, str]]] = {}  # all, and those that are no secrets
        for site in sites:
            if site.headers:
                what = f"{site.name} headers"
                headers = {name: expand(text, variables, what) for name, text in site.headers.items()}
                public = {name: text for name, text in headers.items() if not names_variable(site.headers[name])}
                self._by_name[site.name] = headers, public

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def of(self, url: str) -> Mapping[str, str]:
        """Give the headers for a normal form."""
        site = self._sites.of(url)
        if site is None or site.name not in self._by_name:
            return {}
        headers, public = self._by_name[site.name]
        if any(_names(pattern, url) for pattern in site.hosts):
            return headers
        if _PORT.search(urls.origin(url)):  # a normal form has no default port
            return {}
        return headers if url.startswith("https:") else public


def _names(pattern: str, url: str) -> bool:
    """Tell whether a pattern names the server of a normal form: with its port, or by its address.

    >>> [_names(each, "http://a.example:8080/") for each in ("a.example:8080", "*.example:8080", "a.example")]
    [True, True, False]
    >>> _names("127.0.0.1", "http://127.0.0.1:8080/"), _names("*", "http://127.0.0.1:8080/")
    (True, False)
    """
    return pattern_covers(pattern, url) and (_PORT.search(pattern) is not None or is_address(pattern))
