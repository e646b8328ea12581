"""Sessions of sites that a site file describes: opened when first needed, renewed, and gone with the worker process.

Also the cookies of all other requests, which the workers of a machine share.

Vocabulary:
  session   a jar of cookies that requests of one name share. Nothing of it is stored
  opened    the sessions of a worker process. They outlive an edit of the settings, since a site may count log-ins
  identity  what a host may see of who asks. A session that was opened under one identity is not used under another
  opening   the requests by which a site file opens a session. They are made here, one after the other, by the rules
            that hold for pages: scope, robots.txt, the delay of the host, the limits of an exchange
  spoilt    a page has shown that its session is at fault; it is opened anew before its next request
  in vain   sessions of a host that were spoilt one after the other, without any page that was as expected in between:
            a wrong password shows so at sites that answer it with status 200

Promise: a session is opened by one thread; others that need it wait. An edit that leaves the identity as it is opens
none anew. Its requests go to one host, which one machine holds, and that has one worker do them (see `engine.pool`). So
nobody else opens it meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.handlers import costs
from fscrawl.handlers.meaning import bad_status, is_redirect, redirected
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.cookies import Cookies, Jar, SharedJar
from fscrawl.http.fetch import Fetcher
from fscrawl.parse.headers import locations
from fscrawl.politeness.redirects import MOST_HOPS, Hops
from fscrawl.politeness.robots import Rules
from fscrawl.politeness.robots_cache import RobotsCache, forbidden
from fscrawl.request import Request, flaw, read, spelling
from fscrawl.sites.rules import SiteFault
from fscrawl.sites.site import Answer, NoAnswer, Unexpected
from fscrawl.util.lru import Lru
from fscrawl.util.time_limit import ThreadLimit, TookTooLongError

if TYPE_CHECKING:  # it loads the parsers of rules, which most crawls do not need
    from fscrawl.sites.code import Code

MOST_SESSIONS = 1000  # in one worker; those unused for the longest time are opened anew when they are needed
MOST_SENT = 20  # requests of one opening
MOST_OWN_S = 30.0  # that a site file may take between two of them


class Asking(NamedTuple):
    """How a worker may ask a host by itself.

    send       as `Fetcher.send`, with a jar
    refuses    says why a URL may not be asked, by scope or robots.txt; None: it may
    wait       waits for the host's delay; False if this machine may not ask any more
    """

    send: Callable[[Request, Jar], Fetched | Failed]
    refuses: Callable[[str], Failed | None]
    wait: Callable[[str], bool]


def asking(fetcher: Fetcher, hops: Hops, robots: RobotsCache, *, obey: bool) -> Asking:
    """Give the way in which a worker asks by itself. `obey`: robots.txt is obeyed."""

    def rules(url: str) -> Rules | Failed | None:
        return robots.rules_for(urls.host(url), url).rules if obey else None

    def refuses(url: str) -> Failed | None:
        found = rules(url)
        if isinstance(found, Failed):
            return found
        if not hops.in_scope(url):
            return Failed("site", f"{url[:200]} is outside the scope: {hops.refuses(url)}", retry=False)
        return None if found is None else forbidden(found, url)

    def wait(url: str) -> bool:
        found = rules(url)
        return hops.wait(found.delay_s if isinstance(found, Rules) else 0.0)

    return Asking(lambda request, jar: fetcher.send(request, jar=jar), refuses, wait)


class _Session:
    """`served`: how many requests it has served since it was opened."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.jar: Jar | None = None
        self.served = 0


class _Given(threading.local):
    """The cookies that a thread was given last."""

    jar: Jar | None = None


class Opened:
    """The sessions of one worker process, whatever its settings are by now; used by all its threads.

    Also the cookies of all requests that name no session. Those of another identity are forgotten.
    """

    def __init__(self, most: int = MOST_SESSIONS, told: Callable[[str], None] = lambda _: None) -> None:
        """`told`: is called with a line for each request that opens a session, without its body."""
        self.told = told
        self._sessions: Lru[tuple[str, str, str], _Session] = Lru(most)
        self._in_vain: Lru[tuple[str, str], int] = Lru(most)
        self._without = "", SharedJar()  # the identity, and its cookies

    def jar_of(self, identity: str) -> Jar:
        """Give the cookies of all requests without a session; from now on all are asked under this identity."""
        if identity != self._without[0]:
            self._without = identity, SharedJar()
        return self._without[1]

    def pop_learnt(self) -> Cookies | None:
        """Give the cookies that the machine does not know of yet; None if there are none."""
        identity, jar = self._without
        learnt = jar.pop_learnt()
        return Cookies(identity, learnt) if learnt else None

    def replace(self, cookies: Cookies) -> None:
        """Let sites have the cookies that the machine knows."""
        identity, jar = self._without
        if cookies.identity == identity:
            for site, each in cookies.of_sites.items():
                jar.replace(site, each, time.time())

    def of(self, identity: str, request: Request) -> _Session:
        """Give the session of a request, which may be a new one."""
        return self._sessions.get_or_make((identity, urls.host(request.url), request.session), _Session)

    def in_vain(self, identity: str, request: Request) -> int:
        """Give how many sessions of a request's host were in vain."""
        return self._in_vain.get((identity, urls.host(request.url))) or 0

    def note_in_vain(self, identity: str, request: Request, number: int) -> None:
        self._in_vain.put((identity, urls.host(request.url)), number)


class Sessions:
    """The sessions of one worker; used by all its threads."""

    def __init__(self, asking: Asking, opened: Opened | None = None, identity: str = "") -> None:
        """`opened`: those of its process, None: it begins with none. `identity`: as of a `CrawlConfig`."""
        self._asking = asking
        self._opened = opened or Opened()
        self._identity = identity
        self._given = _Given()

    def jar(self, request: Request, site: Code | None) -> Jar | Failed:
        """Give the cookies of a request's session, which is opened if need be; the failure if that is not possible.

        `site`: that of the request's host; None: its sessions begin without cookies.
        """
        session = self._opened.of(self._identity, request)
        with session.lock:
            is_worn = site is not None and site.renew_after is not None and session.served >= site.renew_after
            if session.jar is None or is_worn:
                session.jar, session.served = None, 0
                jar = Jar()
                failure = None if site is None else self._open(request, site, jar)
                if failure is not None:
                    return failure
                session.jar = jar
            session.served += 1
            self._given.jar = session.jar
            return session.jar

    @property
    def given(self) -> Jar | None:
        """The cookies that this thread was given last."""
        return self._given.jar

    def spoil(self, request: Request) -> int:
        """Let a session be opened anew before its next request. Give how many of its host were in vain.

        Unless another thread has done so since this one was given its cookies.
        """
        if not request.session:
            return 0
        session = self._opened.of(self._identity, request)
        with session.lock:
            in_vain = self._opened.in_vain(self._identity, request)
            if session.jar is self._given.jar:
                session.jar = None
                in_vain += 1
                self._opened.note_in_vain(self._identity, request, in_vain)
        return in_vain

    def approve(self, request: Request) -> None:
        """Note that a page of a session was as expected."""
        self._opened.note_in_vain(self._identity, request, 0)

    def _open(self, request: Request, site: Code, jar: Jar) -> Failed | None:
        limit = ThreadLimit(MOST_OWN_S)
        opening = _Opening(self._asking, request.url, jar, limit, self._opened.told)
        name = f"session {request.session[:60]!r} cannot be opened"
        try:
            with costs.of_user(), limit:
                site.open_session(request.session, opening.send)
        except NoAnswer as error:
            if isinstance(error.failure, Failed):
                return Failed(error.failure.class_, f"{name}: {error}", error.failure.retry, error.failure.status)
            return Failed("site", f"{name}: {error}", retry=False)
        except Unexpected as error:
            headers = opening.last.headers if opening.last is not None else None  # it may say when to come again
            return Failed("unexpected", f"{name}: {error}", retry=True, headers=headers)
        except SiteFault as error:
            return opening.not_now(name, error) or Failed("site", str(error), retry=False)
        except TookTooLongError as error:
            return Failed("site", str(error), retry=False)
        if opening.sent and not self._asking.wait(request.url):
            return _STOOD_STILL
        return None


_STOOD_STILL = Failed("timeout", "the machine stood still", retry=True)


def _no_answer(failure: Failed) -> NoAnswer:
    return NoAnswer(failure.message, failure)


class _Opening:
    """Makes the requests of one opening. `sent`: how many; `last`: the last answer."""

    def __init__(self, asking: Asking, url: str, jar: Jar, limit: ThreadLimit, told: Callable[[str], None]) -> None:
        """`url`: of the request for which the session is opened; only its host is asked. `limit`: for the site file.

        `told`: as for `Opened`.
        """
        self._told = told
        self.sent = 0
        self.last: Fetched | None = None
        self._asking = asking
        self._url = url
        self._jar = jar
        self._limit = limit

    def send(self, given: Request | str) -> Answer:
        """Send a request, follow its redirects, and give the last answer."""
        with self._limit.paused():
            return self._sent(given)

    def _sent(self, given: Request | str) -> Answer:
        request = self._checked(given)
        for _ in range(MOST_HOPS + 1):
            answer = self._exchange(request)
            if not is_redirect(answer):
                return Answer(request, answer.body or b"", status=answer.status, headers=answer.headers)
            target = urls.normalise(locations(answer.headers)[0], request.url)
            if target is None:
                raise _no_answer(bad_status(answer))
            following = redirected(spelling(request), answer.status, target)
            if following is None:
                raise NoAnswer(f"send: {request.url} redirects its body from https to {target}")
            request = self._checked(read(following))
        raise NoAnswer(f"send: more than {MOST_HOPS} redirects in a row, the last one to {request.url}")

    def _exchange(self, request: Request) -> Fetched:
        if self.sent >= MOST_SENT:
            raise NoAnswer(f"send: more than {MOST_SENT} requests to open one session")
        refusal = self._asking.refuses(request.url)
        if refusal is None and self.sent and not self._asking.wait(request.url):
            refusal = _STOOD_STILL
        if refusal is not None:
            raise _no_answer(refusal)
        self.sent += 1
        answer = self._asking.send(request, self._jar)
        came = answer.message if isinstance(answer, Failed) else answer.status
        self._told(f"{request.method} {request.address}: {came}")
        if isinstance(answer, Failed):
            raise _no_answer(answer)
        self.last = answer
        return answer

    def not_now(self, name: str, fault: SiteFault) -> Failed | None:
        """Give the failure if the last answer was an error that passes: a site file hardly expects it."""
        failure = bad_status(self.last) if self.last is not None and self.last.status >= 400 else None
        return replace(failure, message=f"{name}: {failure.message}; {fault}") if failure and failure.retry else None

    def _checked(self, given: Request | str) -> Request:
        """Give the request with a normal form as URL, which may be relative; NoAnswer if it may not be sent."""
        request = Request(given) if isinstance(given, str) else given
        url = urls.normalise(request.url, self._url)
        if url is None or urls.host(url) != urls.host(self._url):
            host = urls.shown_host(urls.host(self._url))
            raise NoAnswer(f"send: {request.url[:200]} is not on {host}, the only host that the session may ask")
        request = request._replace(url=url, session="")
        if wrong := flaw(request):
            raise NoAnswer(f"send: a request for {url[:200]}: {wrong}")
        return request
