"""Sites whose log-in is refused: it is not sent again for each page."""

from __future__ import annotations

from pathlib import Path

from fscrawl.handlers.meaning import health_of
from fscrawl.http.answers import Failed
from tests.support.crawling import crawl, errors
from tests.support.web import HTML, Request, Response, Web

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


def test_a_wrong_password(tmp_path: Path) -> None:
    """It is sent some times, less and less often, and then the host is given up: accounts are locked for that."""
    root = tmp_path / "tree"
    with Web(_answer, [HOST]) as web:
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


def test_a_page_that_is_not_expected_says_nothing_of_its_host() -> None:
    """A captcha in place of one page is an answer; a log-in that is refused keeps all pages away."""
    assert health_of(Failed("unexpected", "a captcha", retry=True)) == "answered"
    assert health_of(Failed("unexpected", "refused", retry=True, unsent=True)) == "failing"
    assert health_of(Failed("site", "a mistake in open_session", retry=False, unsent=True)) == "failing"


def _answer(request: Request) -> Response:
    return Response(403 if request.path == "/login" else 200, HTML, b"<p>text")
