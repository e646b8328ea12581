"""Cookies of one process, in memory. Pure: what came and what the time is are given, and nothing is written.

Vocabulary:
  site      the registrable domain (see `urls`): cookies of one never reach another, whatever their Domain says
  jar       the cookies of the sites met lately, by RFC 6265 with the additions of browsers (RFC 6265bis)

Promise: `header` costs one look-up while no cookie is set; a site holds at most 50 cookies and 8 KiB, the jar 1,000
sites (those unused for longest go), so a hostile site can spoil its own cookies only. Safe from several threads.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from fscrawl import urls
from fscrawl.http.dates import parse_date

MAX_SITES = 1000
MAX_PER_SITE = 50
MAX_SITE_BYTES = 8192  # what servers take as a request's head

_SPACE = " \t"
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}\Z")
_ADDRESS = re.compile(r"\[.*\]|[0-9]+(?:\.[0-9]+){3}")

_Key = tuple[str, str, str]  # domain, path, name


@dataclass(frozen=True, slots=True)
class Cookie:
    """`domain`: whose it is; with `host_only` of that host alone. `expires`: seconds since 1970, None for never."""

    name: str
    value: str
    domain: str
    path: str
    host_only: bool
    secure: bool
    expires: float | None

    @property
    def size_bytes(self) -> int:
        return len(self.name) + len(self.value) + len(self.path) + len(self.domain)


class Jar:
    """Learns cookies from answers and gives them with requests."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, dict[_Key, Cookie]] = OrderedDict()
        self._lock = threading.Lock()

    def header(self, url: str, now: float) -> str | None:
        """Give the Cookie header for a normal form, None if there is nothing to send. `now`: seconds since 1970.

        >>> jar = Jar()
        >>> jar.learn("http://a.example/", ["id=7; Path=/shop"], 0.0)
        >>> jar.header("http://a.example/shop/cart", 1.0), jar.header("http://a.example/", 1.0)
        ('id=7', None)
        """
        if not self._sites:
            return None
        host = urls.hostname(url)
        site = urls.site(host)
        with self._lock:
            held = self._sites.get(site)
            if held is None:
                return None
            self._sites.move_to_end(site)
            fitting = [cookie for cookie in held.values() if _goes_to(cookie, url, host, now)]
        fitting.sort(key=lambda cookie: -len(cookie.path))  # stable: the oldest first among equals (RFC 6265 5.4)
        return "; ".join([f"{each.name}={each.value}" if each.name else each.value for each in fitting]) or None

    def learn(self, url: str, lines: Iterable[str], now: float) -> None:
        """Take the Set-Cookie lines of an answer to `url` in; what a site may not set is passed over."""
        host = urls.hostname(url)
        site = urls.site(host)
        with self._lock:
            for line in lines:
                cookie = read(line, url, now)
                if cookie is not None:
                    self._put(site, cookie, now, trusted=url.startswith("https:"))

    def _put(self, site: str, cookie: Cookie, now: float, *, trusted: bool) -> None:
        held = self._sites.get(site, {})
        key = (cookie.domain, cookie.path, cookie.name)
        old = held.get(key)
        if old is not None and old.secure and not trusted:
            return  # whoever is on the wire must not replace what came over TLS
        if cookie.expires is not None and cookie.expires <= now:
            held.pop(key, None)  # that is how a site deletes one
            if not held:
                self._sites.pop(site, None)
            return
        held[key] = cookie  # a replaced one keeps its place, as its time of creation must
        _shrink(held, now)
        self._sites[site] = held
        self._sites.move_to_end(site)
        if len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)


def _shrink(held: dict[_Key, Cookie], now: float) -> None:
    """Hold a site to its limits: what has expired goes first, then the oldest."""
    if len(held) <= MAX_PER_SITE and sum(cookie.size_bytes for cookie in held.values()) <= MAX_SITE_BYTES:
        return
    for key in [key for key, cookie in held.items() if cookie.expires is not None and cookie.expires <= now]:
        del held[key]
    size_bytes = sum(cookie.size_bytes for cookie in held.values())
    while len(held) > MAX_PER_SITE or size_bytes > MAX_SITE_BYTES:
        size_bytes -= held.pop(next(iter(held))).size_bytes


def _goes_to(cookie: Cookie, url: str, host: str, now: float) -> bool:
    if cookie.expires is not None and cookie.expires <= now:
        return False
    if cookie.secure and not url.startswith("https:"):
        return False
    if host != cookie.domain and (cookie.host_only or not host.endswith("." + cookie.domain)):
        return False
    path = _path(url)
    return path.startswith(cookie.path) and (
        len(path) == len(cookie.path) or cookie.path.endswith("/") or path[len(cookie.path)] == "/"
    )


def _path(url: str) -> str:
    return url[url.find("/", 8) :].partition("?")[0]


def read(line: str, url: str, now: float) -> Cookie | None:
    """Read a Set-Cookie line as an answer to `url` may send it; None if it may not, or it is none.

    >>> read("a=1; Domain=example.co.uk; Max-Age=60", "http://www.example.co.uk/", 1000.0).expires
    1060.0
    >>> read("a=1; Domain=co.uk", "http://www.example.co.uk/", 0.0) is None
    True
    """
    pair, _, rest = line.partition(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", name
    name, value = name.strip(_SPACE), value.strip(_SPACE)
    if not name + value or len(name) + len(value) > 4096 or _CONTROL.search(line):
        return None
    attributes = _attributes(rest)
    host = urls.hostname(url)
    domain = _domain(attributes.get("domain", ""), host)
    secure = "secure" in attributes
    path = attributes.get("path", "")
    own_path = path if path.startswith("/") and len(path) <= 1024 else _path(url).rpartition("/")[0] or "/"
    if domain is None or (secure and not url.startswith("https:")):
        return None
    host_only = not attributes.get("domain")
    if not _keeps_its_word(name, host_only=host_only, secure=secure, path=path):
        return None
    return Cookie(name, value, domain, own_path, host_only, secure, _expires(attributes, now))


def _attributes(rest: str) -> dict[str, str]:
    """Give the attributes, names in lower case; of repeated ones the last counts."""
    found = {}
    for part in rest.split(";")[:30]:
        name, _, value = part.partition("=")
        found[name.strip(_SPACE).lower()] = value.strip(_SPACE)
    return found


def _domain(wanted: str, host: str) -> str | None:
    """Give the domain a cookie is for; None if `host` may not speak for it: another's, or a public suffix."""
    wanted = wanted.removeprefix(".").lower()
    if not wanted or wanted == host:
        return host
    within = host.endswith("." + wanted) and not _ADDRESS.fullmatch(host)
    return wanted if within and urls.site(wanted) == urls.site(host) else None


def _keeps_its_word(name: str, *, host_only: bool, secure: bool, path: str) -> bool:
    """Tell whether a name that promises (RFC 6265bis 4.1.3) is kept: __Secure-, __Host-."""
    promise = name.lower()
    if promise.startswith("__host-"):
        return secure and host_only and path == "/"
    return secure or not promise.startswith("__secure-")


def _expires(attributes: dict[str, str], now: float) -> float | None:
    """Max-Age counts more than Expires; one that cannot be read counts not at all."""
    age = attributes.get("max-age", "")
    if _WHOLE_NUMBER.match(age):
        return now + int(age) if int(age) > 0 else 0.0
    return parse_date(attributes.get("expires", ""))
