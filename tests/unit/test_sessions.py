"""Sessions of sites: when they are opened, by which requests, and what becomes of openings that fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from fscrawl.handlers.sessions import MOST_SENT, Asking, Opened, Sessions
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.cookies import Jar
from fscrawl.request import Request
from fscrawl.sites.rules import SiteFault
from fscrawl.sites.site import NoAnswer, Send, Unexpected

HOST = "http://a.example"
ASKED = Request(f"{HOST}/list", session="1")


class Web:
    """Answers requests: path → status and location; all others with 200. `refused`: URLs that may not be asked."""

    def __init__(self, answers: dict[str, Any] | None = None, refused: dict[str, Failed] | None = None) -> None:
        self.answers, self.refused = answers or {}, refused or {}
        self.log: list[str] = []
        self.may_wait = True

    def asking(self) -> Asking:
        return Asking(self._send, self.refused.get, self._wait)

    def _send(self, request: Request, jar: Jar) -> Fetched | Failed:
        self.log.append(f"{request.method} {request.url.removeprefix(HOST)}")
        jar.learn(request.url, [f"n={len(self.log)}; Path=/"], 0.0)
        answer = self.answers.get(request.url.removeprefix(HOST), (200, {}))
        return answer if isinstance(answer, Failed) else Fetched(answer[0], answer[1], b"body", 0.0, 0.1)

    def _wait(self, url: str) -> bool:
        self.log.append("wait")
        return self.may_wait


class Site:
    """A site that opens sessions by a function."""

    def __init__(self, opens: Callable[[str, Send], object], renew_after: int | None = None) -> None:
        self._opens = opens
        self.renew_after = renew_after

    def open_session(self, session: str, send: Send) -> None:
        self._opens(session, send)


def start(_: str, send: Send) -> None:
    assert send("/start").body == b"body"


def test_a_session_is_opened_once() -> None:
    """The first request of a session opens it; the next ones get its cookies. The delay is kept in between."""
    web = Web()
    sessions = Sessions(web.asking())
    jar = sessions.jar(ASKED, Site(start))
    assert isinstance(jar, Jar)
    assert jar.header(ASKED.url, 1.0) == "n=1"
    assert sessions.jar(ASKED, Site(start)) is jar
    assert web.log == ["GET /start", "wait"]
    assert sessions.jar(ASKED._replace(session="2"), Site(start)) is not jar


def test_a_session_without_site_begins_empty() -> None:
    """Where no site opens sessions, one begins without cookies, and nothing is asked."""
    web = Web()
    sessions = Sessions(web.asking())
    jar = sessions.jar(ASKED, None)
    assert isinstance(jar, Jar)
    assert sessions.jar(ASKED, None) is jar
    assert web.log == []
    assert isinstance(Sessions(web.asking()).jar(ASKED, Site(lambda *_: None)), Jar)
    assert web.log == []


def test_a_session_is_renewed() -> None:
    """It is opened anew after so many requests, and when a page shows that it does not work any more."""
    web = Web()
    sessions, site = Sessions(web.asking()), Site(start, renew_after=2)
    jars = [sessions.jar(ASKED, site) for _ in range(5)]
    assert [jars.index(jar) for jar in jars] == [0, 0, 2, 2, 4]
    sessions.spoil(ASKED)
    renewed = sessions.jar(ASKED, site)
    assert renewed is not jars[-1]
    in_thread(lambda: sessions.spoil(ASKED))  # its page came with the cookies before
    assert sessions.jar(ASKED, site) is renewed
    sessions.spoil(ASKED._replace(session=""))


def test_sessions_in_vain() -> None:
    """Sessions of a host that were spoilt one after the other are counted, until a page of one is as expected."""
    sessions, site = Sessions(Web().asking()), Site(start)
    others = [ASKED._replace(session=str(number)) for number in range(3)]
    for number, each in enumerate([*others, *others], 1):
        sessions.jar(each, site)
        assert sessions.spoil(each) == number
        assert sessions.spoil(each) == number  # it has been already
    sessions.jar(ASKED, site)
    sessions.approve(ASKED)
    assert sessions.spoil(ASKED) == 1
    there = ASKED._replace(url="http://b.example/")
    sessions.jar(there, site)
    assert sessions.spoil(there) == 1
    assert sessions.spoil(ASKED._replace(session="")) == 0


def in_thread(act: Callable[[], object]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join(10)


def test_redirects_of_an_opening_are_followed() -> None:
    """A log-in leads on by redirects, after which the page is given; each is a request with a delay before it."""
    web = Web({"/start": (302, {"location": "/login"}), "/login": (307, {"location": "/welcome"})})

    def opens(_: str, send: Send) -> None:
        assert send(Request("/start", form={"user": "a"})).url == f"{HOST}/welcome"

    assert isinstance(Sessions(web.asking()).jar(ASKED, Site(opens)), Jar)
    assert web.log == ["POST /start", "wait", "GET /login", "wait", "GET /welcome", "wait"]


PASSING = Failed("timeout", "too slow", retry=True)


@pytest.mark.parametrize(
    ("opens", "web", "class_", "said"),
    [
        (lambda _, send: send("http://b.example/"), Web(), "site", "http://b.example/ is not on a.example, the only"),
        (lambda _, send: send("mailto:a@b"), Web(), "site", "is not on a.example"),
        (lambda _, send: send(Request("/", "BREW")), Web(), "site", "a request for http://a.example/: its method"),
        (lambda _, send: send("/a"), Web({"/a": PASSING}), "timeout", "session '1' cannot be opened: too slow"),
        (lambda _, send: send("/a"), Web(refused={f"{HOST}/a": Failed("robots", "no", False)}), "robots", ": no"),
        (lambda _, send: send("/a"), Web({"/a": (302, {"location": "/a"})}), "site", "more than 5 redirects"),
        (lambda _, send: send("/a"), Web({"/a": (302, {"location": "mailto:a"})}), "protocol", "answered 302"),
        (
            lambda _, send: send(Request("https://a.example/in", form={"user": "a"})),
            Web({"https://a.example/in": (307, {"location": f"{HOST}/in"})}),
            "site",
            "redirects its body from https to http://a.example/in",
        ),
        (lambda _, send: [send("/") for _ in range(99)], Web(), "site", f"more than {MOST_SENT} requests"),
    ],
)
def test_openings_that_fail(opens: Callable[[str, Send], object], web: Web, class_: str, said: str) -> None:
    """What keeps an opening from its answer is the failure of the request that needed the session."""
    failure = Sessions(web.asking()).jar(ASKED, Site(opens))
    assert isinstance(failure, Failed)
    assert failure.class_ == class_
    assert said in failure.message


@pytest.mark.parametrize(
    ("error", "class_", "retry"),
    [
        (Unexpected("a captcha"), "unexpected", True),
        (SiteFault("site.py:3: KeyError"), "site", False),
        (NoAnswer("of his own"), "site", False),
    ],
)
def test_openings_that_raise(error: Exception, class_: str, retry: bool) -> None:
    """A session that its site cannot open is tried again by the next request of it."""

    def opens(*_: object) -> None:
        raise error

    sessions = Sessions(Web().asking())
    failure = sessions.jar(ASKED, Site(opens))
    assert isinstance(failure, Failed)
    assert (failure.class_, failure.retry) == (class_, retry)
    assert isinstance(sessions.jar(ASKED, Site(start)), Jar)


@pytest.mark.parametrize(
    ("status", "error", "class_", "retry"),
    [
        (503, Unexpected("no form"), "unexpected", True),
        (503, SiteFault("site.py:3: IndexError"), "http-5xx", True),
        (404, SiteFault("site.py:3: IndexError"), "site", False),
        (200, SiteFault("site.py:3: IndexError"), "site", False),
    ],
)
def test_a_log_in_that_is_not_there_now(status: int, error: Exception, class_: str, retry: bool) -> None:
    """A site file may not expect a 503 in place of its form: that is no mistake of the file. Retry-After counts."""

    def opens(_: str, send: Send) -> None:
        send("/login")
        raise error

    failure = Sessions(Web({"/login": (status, {"retry-after": "9"})}).asking()).jar(ASKED, Site(opens))
    assert isinstance(failure, Failed)
    assert (failure.class_, failure.retry) == (class_, retry)
    assert not retry or failure.headers == {"retry-after": "9"}
    assert str(error) in failure.message


def test_a_machine_that_stood_still_opens_nothing() -> None:
    """Another machine may have the host after a wait, so nothing more is asked, and the request comes back."""
    web = Web()
    web.may_wait = False
    for opens in (lambda _, send: send("/a"), lambda _, send: (send("/a"), send("/b"))):
        failure = Sessions(web.asking()).jar(ASKED, Site(opens))
        assert isinstance(failure, Failed)
        assert failure.retry
    assert "GET /b" not in web.log


def test_one_thread_opens_a_session() -> None:
    """Threads that need a session at the same time wait for the one that opens it."""
    web = Web()
    sessions = Sessions(web.asking())
    begun, go_on = threading.Event(), threading.Event()

    def opens(_: str, send: Send) -> None:
        begun.set()
        assert go_on.wait(10)
        send("/start")

    jars: list[object] = []
    threads = [threading.Thread(target=lambda: jars.append(sessions.jar(ASKED, Site(opens)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert len(jars) == 3
    assert len(set(map(id, jars))) == 1
    assert web.log.count("GET /start") == 1


def test_sessions_are_bounded() -> None:
    """A worker keeps so many sessions; one that was not used for the longest time is opened anew."""
    web = Web()
    sessions, site = Sessions(web.asking(), Opened(most=2)), Site(start)
    first = sessions.jar(ASKED, site)
    for name in ("2", "3"):
        sessions.jar(ASKED._replace(session=name), site)
    assert sessions.jar(ASKED, site) is not first
