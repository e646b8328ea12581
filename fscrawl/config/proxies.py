"""Proxies: reading their settings, and choosing one for each request. Pure: no socket, and the clock is an argument.

Vocabulary:
  proxy     a server that requests are sent through: "http://…", or "socks5h://…", which resolves names itself
  rest      a proxy that failed is not used for 1 s, then for twice as long each time, at most for 5 minutes
  used up   this process has sent as many requests through the proxy as `fetch.proxy_uses` allows
  dropped   the proxy itself has failed `fetch.proxy_failures` times in a row: this process does not use it any more

Promise: each request to a host goes through the next proxy in turn that neither rests nor is used up or dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote, unquote, urlsplit

import msgspec

from fscrawl.config.credentials import Variables, expand

FIRST_REST_S = 1.0
LONGEST_REST_S = 300.0
_REMEMBERED_HOSTS = 65536
_RIGHT = 'a list of proxies such as "http://user:$FSCRAWL_PASSWORD@host:8080" or "socks5h://host:1080"'


class Proxy(msgspec.Struct, frozen=True):
    """`scheme`: "http" or "socks5h". `user`: None if it needs no login."""

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str = ""

    @property
    def address(self) -> str:
        """The proxy without its user and password, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def url(self) -> str:
        """The proxy with its user and password."""
        if self.user is None:
            return self.address
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        return self.address.replace("://", f"://{login}@", 1)

    def __repr__(self) -> str:
        return f"Proxy({self.address})"


def read(text: str, variables: Variables) -> Proxy:
    """Read one entry of `fetch.proxies`. User and password may be environment variables. ValueError if it is wrong.

    >>> read("http://me:$FSCRAWL_PW@proxy.example:3128", Variables({"FSCRAWL_PW": "a@b"})).password
    'a@b'
    """
    parts = urlsplit(text)
    if parts.scheme not in ("http", "socks5h") or not parts.hostname or not parts.port or not text.isprintable():
        raise ValueError(text)
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(text)
    user = None if parts.username is None else expand(unquote(parts.username), variables, "fetch.proxies")
    password = expand(unquote(parts.password or ""), variables, "fetch.proxies")
    return Proxy(parts.scheme, parts.hostname, parts.port, user, password)


class _AnyVariables(Variables):
    """Variables of which each one is set and may be named, to check settings on a machine that lacks them."""

    def value(self, name: str, where: str) -> str:  # noqa: ARG002 - the signature of Variables
        return ""


def check_proxies(values: Iterable[str]) -> str | None:
    """Return None if all values are proxies, else what they must be.

    >>> check_proxies(["http://me:$PW@proxy.example:3128"]) is None
    True
    >>> check_proxies(["proxy.example:3128"]) == _RIGHT + "; number 1 is not one"
    True
    """
    for number, value in enumerate(values, 1):
        try:
            read(value, _AnyVariables({}))
        except ValueError:
            return f"{_RIGHT}; number {number} is not one"  # it may have a password
    return None


class _State(msgspec.Struct):
    uses: int = 0
    rests: int = 0  # in a row
    fails: int = 0  # of its own, in a row: it may also rest because a host did not answer in time
    rests_until: float = 0.0


class Rotation:
    """Chooses proxies, which are named by their index in the list. Safe to use from several threads."""

    def __init__(
        self,
        proxies: Sequence[Proxy],
        uses: int | None = None,
        failures: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`uses`: of each proxy; `failures`: of it in a row, after which it is dropped. None: no limit."""
        self._failures = failures
        self._states = [_State() for _ in proxies]
        self._uses = uses
        self._clock = clock
        self._turns: dict[str, int] = {}
        self._next_first = 0  # hosts begin at different proxies, else the first would get all hosts asked only once
        self._lock = threading.Lock()

    def pick(self, host: str) -> int | None:
        """Return the next proxy for a host, or None if all rest, are used up or were dropped."""
        with self._lock:
            now = self._clock()
            first = self._turns.get(host, self._next_first)
            for step in range(len(self._states)):
                index = (first + step) % len(self._states)
                state = self._states[index]
                if state.rests_until <= now and not self._is_over(state):
                    state.uses += 1
                    self._set_next(host, index + 1)
                    return index
            return None

    def _is_over(self, state: _State) -> bool:
        """Tell whether a proxy is used up, or was dropped."""
        if self._failures is not None and state.fails >= self._failures:
            return True
        return self._uses is not None and state.uses >= self._uses

    def _set_next(self, host: str, index: int) -> None:
        if host not in self._turns:
            self._next_first += 1
            if len(self._turns) >= _REMEMBERED_HOSTS:
                self._turns = {}  # every host begins at some proxy again, which does no harm
        self._turns[host] = index

    def failed(self, index: int, *, by_itself: bool = True) -> None:
        """Let a proxy rest. Requests that were under way when its rest began belong to the same failure.

        `by_itself`: False if the host may be at fault.
        """
        with self._lock:
            now, state = self._clock(), self._states[index]
            if state.rests_until > now:
                return
            state.rests_until = now + min(FIRST_REST_S * 2**state.rests, LONGEST_REST_S)
            state.rests = min(state.rests + 1, 30)
            state.fails += by_itself

    def worked(self, index: int) -> None:
        state = self._states[index]
        state.rests = state.fails = 0
