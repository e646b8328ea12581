"""Proxies: what a setting names, and whose turn it is. Pure: no socket, and the clock is given.

Vocabulary:
  proxy     where requests go instead of to the host: "http://…" or "socks5h://…" (names are resolved there)
  rest      a proxy that failed is left alone for a while: 1 s, then twice as long each time, at most 5 minutes
  used up   a proxy has been used `uses` times by this process

Promise: each request of a host goes to the next proxy in turn that neither rests nor is used up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from fscrawl.config.credentials import expand

FIRST_REST_S = 1.0
LONGEST_REST_S = 300.0
_REMEMBERED_HOSTS = 65536
_RIGHT = 'proxies such as "http://user:$PASSWORD@host:8080" or "socks5h://host:1080"'


@dataclass(frozen=True, slots=True)
class Proxy:
    """`scheme`: "http" or "socks5h". `user` None: it asks for no name and password."""

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str = ""

    @property
    def address(self) -> str:
        """What may be shown of it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self.address})"


def read(text: str, environment: Mapping[str, str]) -> Proxy:
    """Read a proxy's setting; name and password may be environment variables. ValueError if it is none.

    >>> read("http://me:$PW@proxy.example:3128", {"PW": "a@b"}).password
    'a@b'
    """
    parts = urlsplit(text)
    if parts.scheme not in ("http", "socks5h") or not parts.hostname or not parts.port or not text.isprintable():
        raise ValueError(text)
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(text)
    user = None if parts.username is None else expand(unquote(parts.username), environment, "fetch.proxies")
    password = expand(unquote(parts.password or ""), environment, "fetch.proxies")
    return Proxy(parts.scheme, parts.hostname, parts.port, user, password)


class _Anything(dict[str, str]):
    """Stands in for an environment in which every variable is set."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, _: str) -> str:
        return ""


def check_proxies(values: Iterable[str]) -> str | None:
    """Give what would be right where a value is no proxy, else None.

    >>> check_proxies(["http://me:$PW@proxy.example:3128"]) is None
    True
    >>> check_proxies(["proxy.example:3128"]) == _RIGHT
    True
    """
    for value in values:
        try:
            read(value, _Anything())
        except ValueError:
            return _RIGHT
    return None


@dataclass(slots=True)
class _State:
    uses: int = 0
    fails: int = 0
    rests_until: float = 0.0


class Rotation:
    """Whose turn it is; safe from several threads. Proxies are told apart by their place in the list."""

    def __init__(
        self, proxies: Sequence[Proxy], uses: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._states = [_State() for _ in proxies]
        self._uses = uses
        self._clock = clock
        self._turns: dict[str, int] = {}
        self._newcomer = 0  # hosts begin at different proxies, or the first would get all that are asked once
        self._lock = threading.Lock()

    @property
    def used_up(self) -> bool:
        """No proxy will ever be free again."""
        return self._uses is not None and all(state.uses >= self._uses for state in self._states)

    def take(self, host: str) -> int | None:
        """Give the next proxy for a host, None if all rest or are used up."""
        with self._lock:
            now = self._clock()
            first = self._turns.get(host, self._newcomer)
            for step in range(len(self._states)):
                place = (first + step) % len(self._states)
                state = self._states[place]
                if state.rests_until <= now and (self._uses is None or state.uses < self._uses):
                    state.uses += 1
                    self._turn(host, place + 1)
                    return place
            return None

    def _turn(self, host: str, following: int) -> None:
        if host not in self._turns:
            self._newcomer += 1
            if len(self._turns) >= _REMEMBERED_HOSTS:
                self._turns = {}  # every host begins anew, and nothing is lost by it
        self._turns[host] = following

    def failed(self, place: int) -> None:
        """Let a proxy rest; the failures of requests that were under way when its rest began are the same one."""
        with self._lock:
            now, state = self._clock(), self._states[place]
            if state.rests_until > now:
                return
            state.rests_until = now + min(FIRST_REST_S * 2**state.fails, LONGEST_REST_S)
            state.fails = min(state.fails + 1, 30)

    def worked(self, place: int) -> None:
        self._states[place].fails = 0
