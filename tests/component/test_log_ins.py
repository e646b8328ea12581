"""Log-ins: one that is refused is not sent again for each page, and one that works is not sent again for each edit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl.config.settings import Settings
from fscrawl.engine.pool import Pool
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.meaning import health_of
from fscrawl.http.answers import Failed
from fscrawl.request import Request as Asked
from fscrawl.request import spelling
from fscrawl.sites.code import load
from fscrawl.sites.rules import SiteFile
from tests.support.crawling import crawl, errors, pages
from tests.support.pools import HOSTS, SETTINGS, Start, pools, task
from tests.support.web import HTML, Request, Response, Web
from tests.support.workers import GENERATION

HOST = "127.0.72.1"
SITE = """\
from fscrawl.site import Request, Site, Unexpected

class Shop(Site):
    hosts = ["HOST"]

    def seeds(self):
        for number in range(200):
            yield Request(f"http://HOST/{number}", session=str(number % 2))

    def open_session(self, session, send):
        if send(Request("/login", form={"user": session})).status != 200:
            raise Unexpected("the log-in is refused")
"""


@pytest.mark.gate
def test_a_wrong_password(tmp_path: Path) -> None:
    """It is sent some times, less and less often, and then the host is given up: accounts are locked for that."""
    root = tmp_path / "tree"
    with Web(_refuses, [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("HOST", f"{HOST}:{web.port}"))
        done = crawl(root, "--site", str(file), settings={"politeness.give_up_after": 3}, timeout_s=60)
    assert done.code == 1, done  # nothing is stored
    assert 0 < web.count(path="/login") < 40
    found = errors(root)
    assert len(found) == 200
    assert {each.class_ for each in found.values()} == {"unexpected"}
    assert {each.message.partition(":")[0] for each in found.values()} <= {
        "the host was given up",
        "session '0' cannot be opened",
        "session '1' cannot be opened",
    }


LOOKS = "        if send(Request("
NEEDS_A_FORM = '        token = send("/login").css("input[name=csrf]::attr(value)")[0]\n'


@pytest.mark.gate
@pytest.mark.parametrize("first", ["", NEEDS_A_FORM])
def test_a_log_in_that_asks_for_a_pause(tmp_path: Path, first: str) -> None:
    """Retry-After of a log-in holds for its host as that of a page does: nothing is asked before, and nothing is lost.

    That the site file does not find its form in such an answer is no mistake of the file.
    """
    asked_at: list[float] = []

    def serve(request: Request) -> Response:
        if request.path != "/login":
            return Response(200, HTML, b"<p>text")
        asked_at.append(request.arrived)
        form = b"<input name=csrf value=1>"
        return Response(200, HTML, form) if len(asked_at) > 1 else Response(429, {"Retry-After": "3"})

    with Web(serve, [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace(LOOKS, first + LOOKS).replace("HOST", f"{HOST}:{web.port}"))
        done = crawl(tmp_path / "tree", "--site", str(file), settings={"politeness.give_up_after": 30})
    assert done.code == 0, done
    assert len(pages(tmp_path / "tree")) == 200
    assert len(asked_at) == (5 if first else 3)  # two sessions, and one opening in vain
    assert asked_at[1] - asked_at[0] >= 2.9


UNNOTICED = (
    SITE[: SITE.index("    def open_session")]
    + """\
    def open_session(self, session, send):
        send(Request("/login", form={"user": session}))

    def expect(self, page):
        if page.status in (302, 403):
            raise Unexpected("logged out", renew=True)
"""
)


@pytest.mark.gate
@pytest.mark.parametrize("refused", [Response(302, {"Location": "/login"}), Response(403)])
def test_a_wrong_password_that_shows_on_pages(tmp_path: Path, refused: Response) -> None:
    """A site may take a wrong password with status 200, and send each page to the log-in: it is the same trouble."""
    root = tmp_path / "tree"
    with Web(lambda request: Response(200, HTML) if request.path == "/login" else refused, [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(UNNOTICED.replace("HOST", f"{HOST}:{web.port}"))
        done = crawl(root, "--site", str(file), settings={"politeness.give_up_after": 3}, timeout_s=60)
    assert done.code == 1, done
    assert 0 < web.count(path="/login") < 40
    found = errors(root)
    assert len(found) == 200
    assert {each.class_ for each in found.values()} == {"unexpected"}
    assert {re.split("[:;]", each.message)[0] for each in found.values()} <= {"the host was given up", "logged out"}


def test_a_page_that_is_not_expected_says_nothing_of_its_host() -> None:
    """A captcha in place of one page is an answer; a log-in that is refused keeps all pages away."""
    assert health_of(Failed("unexpected", "a captcha", retry=True)) == "answered"
    assert health_of(Failed("unexpected", "refused", retry=True, unsent=True)) == "failing"
    assert health_of(Failed("unexpected", "logged out; in vain", retry=True, of_session=True)) == "failing"
    assert health_of(Failed("site", "a mistake in open_session", retry=False, unsent=True)) == "failing"


def _refuses(request: Request) -> Response:
    return Response(403 if request.path == "/login" else 200, HTML, b"<p>text")


@pytest.mark.gate
def test_sessions_of_several_workers(tmp_path: Path) -> None:
    """Each session is opened once, however many workers are idle."""

    def serve(request: Request) -> Response:
        name = request.body.decode() if request.path == "/login" else request.headers["cookie"]
        return Response(200, {**HTML, "Set-Cookie": f"{name}; Path=/"}, b"<p>text", 0.01)

    with Web(serve, [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("HOST", f"{HOST}:{web.port}"))
        settings = {"politeness.per_host": 8, "politeness.robots": "false"}
        done = crawl(tmp_path / "tree", "--site", str(file), settings=settings, workers=4, threads=1)
        assert done.code == 0, done
        assert len(pages(tmp_path / "tree")) == 200
        assert web.count(path="/login") == 2


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    with pools(root) as start:
        yield start


def test_an_edit_ends_no_session(start: Start) -> None:
    """However often the settings are edited while machines run, a session is opened once; its cookies stay."""
    with Web(_answer, [HOSTS[0]]) as web:
        settings = _with_sites(web)
        pool = start(workers=1, settings=settings)
        for number in range(10):
            _ask(pool, web.url(HOSTS[0], f"/{number}"))
            settings = replace(settings, politeness=replace(settings.politeness, max_rest=100.0 + number))
            _edit(pool, settings)
    assert web.count(path="/login") == 1
    asked = [each for each in web.requests() if each.path != "/login"]
    assert [each.headers.get("cookie") for each in asked] == ["user=7"] * 10


def test_an_edit_ends_no_cookies(start: Start) -> None:
    """Cookies of requests without a session live as long as the worker, too."""
    with Web(lambda _: Response(200, HTML | {"Set-Cookie": "seen=1"}, b"<p>text"), [HOSTS[0]]) as web:
        pool = start(workers=1)
        for number in range(2):
            _do(pool, web.url(HOSTS[0], f"/{number}"))
            _edit(pool, replace(SETTINGS, politeness=replace(SETTINGS.politeness, max_rest=100.0)))
    assert [each.headers.get("cookie") for each in web.requests()] == [None, "seen=1"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda each: replace(each, politeness=replace(each.politeness, user_agent="another (+https://example.org)")),
        lambda each: replace(each, fetch=replace(each.fetch, headers={"X-Key": "other"})),
        lambda each: replace(each, fetch=replace(each.fetch, auth={HOSTS[0]: "user:other"})),
    ],
)
def test_an_edit_of_who_asks_begins_sessions_anew(start: Start, edit: Callable[[Settings], Settings]) -> None:
    """A host may tie a session to what it sees of the crawl, such as its user agent or its log-in."""
    with Web(_answer, [HOSTS[0]]) as web:
        settings = _with_sites(web)
        pool = start(workers=1, settings=settings)
        _ask(pool, web.url(HOSTS[0], "/1"))
        _edit(pool, edit(settings))
        _ask(pool, web.url(HOSTS[0], "/2"))
        _edit(pool, settings)
        _ask(pool, web.url(HOSTS[0], "/3"))
    assert web.count(path="/login") == 2


def _answer(request: Request) -> Response:
    cookie = {"Set-Cookie": f"{request.body.decode()}; Path=/"} if request.path == "/login" else {}
    return Response(200, HTML | cookie, b"<p>text")


def _with_sites(web: Web) -> Settings:
    text = SITE.replace("HOST", f"{HOSTS[0]}:{web.port}")
    return replace(SETTINGS, code=load(SiteFile("site.py", text)))


def _edit(pool: Pool, settings: Settings) -> None:
    pool.reconfigure(CrawlConfig(settings, frozenset(f"http://{host}/" for host in HOSTS), GENERATION))


def _ask(pool: Pool, url: str) -> None:
    """Let a page of a session be fetched."""
    _do(pool, spelling(Asked(url, session="7")))


def _do(pool: Pool, url: str) -> None:
    pool.submit(task(url))
    deadline = time.monotonic() + 20
    while not list(pool.wait(0.2)):
        assert time.monotonic() < deadline
