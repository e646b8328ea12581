"""Cookies, in memory. Pure: headers and the time are arguments, and nothing is written.

Vocabulary:
  site      the registrable domain (see `urls`). Cookies of one site are never sent to another, whatever their Domain is
  jar       the cookies of the sites used last, by RFC 6265 with the additions of browsers (RFC 6265bis)
  learnt    cookies of a shared jar that the others who have the jar do not know of yet; one that a site has deleted is
            among them, with a time at which it expires that is over

Promise: while no cookie is set, `header` costs one look-up. A site has at most 50 cookies and 8 KiB, the jar at most
1,000 sites, of which it drops those unused for the longest time. So a hostile site can spoil only its own cookies.
Safe to use from several threads.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from fscrawl import urls
from fscrawl.parse.headers import parse_date

MAX_SITES = 1000
MAX_PER_SITE = 50
MAX_SITE_BYTES = 8192  # what servers accept as the head of a request

_SPACE = " \t"
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}\Z")
_PREFIX = re.compile(r"__(?:host|secure)-", re.IGNORECASE)
_ADDRESS = re.compile(r"\[.*\]|[0-9]+(?:\.[0-9]+){3}")

_Key = tuple[str, str, str]  # domain, path, name


class Cookie(NamedTuple):
    """`host_only`: sent to the host `domain`, not to hosts below it. `expires`: seconds since 1970, None for never.

    `http_only`: scripts must not see it. `by_tls`: it came over TLS. Many cross a pipe between processes, so they are
    named tuples.
    """

    name: str
    value: str
    domain: str
    path: str
    host_only: bool
    secure: bool
    expires: float | None
    http_only: bool = False
    by_tls: bool = False

    @property
    def key(self) -> _Key:
        return self.domain, self.path, self.name

    @property
    def size_bytes(self) -> int:
        return len(self.name) + len(self.value) + len(self.path) + len(self.domain)


class Cookies(NamedTuple):
    """Cookies by site, as a machine and its workers send them to each other; of requests under one `identity`.

    From a worker: those that it has learnt. To a worker: all that each of the sites has.
    """

    identity: str
    of_sites: dict[str, tuple[Cookie, ...]]


class Jar:
    """Takes cookies from answers and returns them for requests."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, dict[_Key, Cookie]] = OrderedDict()
        self._lock = threading.Lock()

    def header(self, url: str, now: float) -> str | None:
        """Return the Cookie header for a normal form, None if there is nothing to send. `now`: seconds since 1970.

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
        fitting.sort(key=lambda cookie: -len(cookie.path))  # stable: among equals the oldest comes first (RFC 6265 5.4)
        return "; ".join([f"{each.name}={each.value}" if each.name else each.value for each in fitting]) or None

    def of_site(self, site: str, now: float) -> tuple[Cookie, ...]:
        """List the cookies of a site that have not expired, the oldest first."""
        with self._lock:
            return tuple(each for each in self._sites.get(site, {}).values() if not _is_over(each, now))

    def learn(self, url: str, lines: Iterable[str], now: float) -> None:
        """Read the Set-Cookie lines of an answer to `url`. Cookies that it may not set are ignored."""
        site = urls.site(urls.hostname(url))
        self.add(site, [cookie for line in lines if (cookie := read(line, url, now)) is not None], now)

    def add(self, site: str, cookies: Iterable[Cookie], now: float) -> list[Cookie]:
        """Add cookies of a site, one after the other; give those that changed anything."""
        with self._lock:
            return self._add(site, cookies, now)

    def _add(self, site: str, cookies: Iterable[Cookie], now: float) -> list[Cookie]:
        held = self._sites.setdefault(site, {})
        secure = [each for each in held.values() if each.secure]
        news = [cookie for cookie in cookies if _put(held, secure, cookie, now)]
        _drop_expired(held, now)
        _shrink(held)
        self._sites.move_to_end(site)
        if not held:
            del self._sites[site]
        elif len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
        return news


class SharedJar(Jar):
    """A jar that others have, too: it notes what it learns, until somebody takes the notes to them."""

    def __init__(self) -> None:
        super().__init__()
        self._learnt: dict[str, dict[_Key, Cookie]] = {}

    def add(self, site: str, cookies: Iterable[Cookie], now: float) -> list[Cookie]:
        """Add cookies of a site, one after the other; note and give those that changed anything."""
        with self._lock:
            news = self._add(site, cookies, now)
            if news:
                learnt = {**self._learnt.get(site, {}), **{cookie.key: cookie for cookie in news}}
                held = self._sites.get(site, {})
                deleted = {key: cookie for key, cookie in learnt.items() if key not in held and _is_over(cookie, now)}
                _shrink(deleted)
                self._learnt[site] = deleted | {key: cookie for key, cookie in learnt.items() if key in held}
        return news

    def pop_learnt(self) -> dict[str, tuple[Cookie, ...]]:
        """Give what was learnt since the last call, by site."""
        if not self._learnt:
            return {}
        with self._lock:
            learnt, self._learnt = self._learnt, {}
        return {site: tuple(cookies.values()) for site, cookies in learnt.items()}

    def replace(self, site: str, cookies: Iterable[Cookie], now: float) -> None:
        """Let a site have these cookies, as the others know them, and those that were learnt here since."""
        with self._lock:
            self._sites.setdefault(site, {}).clear()
            self._add(site, [*cookies, *self._learnt.get(site, {}).values()], now)


def _put(held: dict[_Key, Cookie], secure: list[Cookie], cookie: Cookie, now: float) -> bool:
    """Put a cookie to those that are held of its site, and to the Secure ones; tell whether that changes anything."""
    if not cookie.by_tls and any(_lies_over(cookie, each, now) for each in secure):
        return False  # an attacker on the network must not replace a cookie that came over TLS
    if _is_over(cookie, now):  # this is how a site deletes a cookie
        return held.pop(cookie.key, None) is not None
    before = held.get(cookie.key)
    held[cookie.key] = cookie  # a replaced cookie keeps its place, since it keeps its time of creation
    if cookie.secure:
        secure.append(cookie)
    return cookie != before


def _drop_expired(held: dict[_Key, Cookie], now: float) -> None:
    for key in [key for key, cookie in held.items() if _is_over(cookie, now)]:
        del held[key]


def _shrink(held: dict[_Key, Cookie]) -> None:
    """Keep a site within its limits: drop the oldest cookies, those that plain http can set first.

    So nobody on the network can drive out what came over TLS (RFC 6265bis 5.7).
    """
    size_bytes = sum(cookie.size_bytes for cookie in held.values())
    ahead = iter(sorted(held, key=lambda key: held[key].secure))  # stable: the oldest comes first
    while len(held) > MAX_PER_SITE or size_bytes > MAX_SITE_BYTES:
        size_bytes -= held.pop(next(ahead)).size_bytes


def _lies_over(new: Cookie, old: Cookie, now: float) -> bool:
    """Tell whether a cookie could be taken for another one, a Secure one (RFC 6265bis 5.7)."""
    if old.name != new.name or _is_over(old, now) or not _leads_to(old.path, new.path):
        return False
    return _is_within(old.domain, new.domain) or _is_within(new.domain, old.domain)


def _goes_to(cookie: Cookie, url: str, host: str, now: float) -> bool:
    if _is_over(cookie, now):
        return False
    if cookie.secure and not url.startswith("https:"):
        return False
    if cookie.host_only and host != cookie.domain:
        return False
    return _is_within(host, cookie.domain) and _leads_to(cookie.path, _path(url))


def _is_over(cookie: Cookie, now: float) -> bool:
    return cookie.expires is not None and cookie.expires <= now


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)


def _leads_to(path: str, asked: str) -> bool:
    """Tell whether a cookie with a path goes to what is asked for (RFC 6265 5.1.4)."""
    return asked.startswith(path) and (len(asked) == len(path) or path.endswith("/") or asked[len(path)] == "/")


def _path(url: str) -> str:
    return url[url.find("/", 8) :].partition("?")[0]


def read(line: str, url: str, now: float) -> Cookie | None:
    """Read a Set-Cookie line of an answer to `url`. None if it is not a cookie, or `url` may not set it.

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
    secure, by_tls = "secure" in attributes, url.startswith("https:")
    path = attributes.get("path", "")
    own_path = path if path.startswith("/") and len(path) <= 1024 else _path(url).rpartition("/")[0] or "/"
    if domain is None or (secure and not by_tls):
        return None
    host_only = not attributes.get("domain")
    # Without a name, servers would take the beginning of the value for one.
    if not _keeps_prefix(name, host_only=host_only, secure=secure, path=path) or (not name and _PREFIX.match(value)):
        return None
    expires = _expires(attributes, now)
    return Cookie(name, value, domain, own_path, host_only, secure, expires, "httponly" in attributes, by_tls)


def _attributes(rest: str) -> dict[str, str]:
    """Return the attributes, names in lower case. Of repeated attributes the last counts."""
    found = {}
    for part in rest.split(";")[:30]:
        name, _, value = part.partition("=")
        found[name.strip(_SPACE).lower()] = value.strip(_SPACE)
    return found


def _domain(named: str, host: str) -> str | None:
    """Return the domain of a cookie. None if `host` may not set it: for a foreign domain or a public suffix."""
    named = named.removeprefix(".").lower()
    if not named or named == host:
        return host
    within = host.endswith("." + named) and not _ADDRESS.fullmatch(host)
    return named if within and urls.site(named) == urls.site(host) else None


def _keeps_prefix(name: str, *, host_only: bool, secure: bool, path: str) -> bool:
    """Return whether the cookie has what a prefix of its name promises: __Secure-, __Host- (RFC 6265bis 4.1.3)."""
    promise = name.lower()
    if promise.startswith("__host-"):
        return secure and host_only and path == "/"
    return secure or not promise.startswith("__secure-")


def _expires(attributes: dict[str, str], now: float) -> float | None:
    """Return when a cookie expires. Max-Age comes before Expires; a value that cannot be read is ignored."""
    age = attributes.get("max-age", "")
    if _WHOLE_NUMBER.match(age):
        return now + int(age) if int(age) > 0 else 0.0
    return parse_date(attributes.get("expires", ""))
