"""Sessions that end in the middle of a crawl, as sites say it: by a redirect, by a form, by 401 or 403."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.crawling import crawl, errors, pages
from tests.support.web import HTML, Request, Response, Web

HOST = "127.0.73.1"
PAGES, SERVES = 30, 12
SITE = f"""\
from fscrawl.site import Request, Site, Unexpected

class Members(Site):
    hosts = ["{HOST}"]

    def seeds(self):
        yield Request("http://{HOST}:PORT/0", session="me")

    def open_session(self, session, send):
        assert send(Request("/login", form={{"user": "me"}})).status == 200

    def expect(self, page):
        is_away = page.headers.get("location", "").endswith("/login") or page.css("form#login")
        if page.status in (401, 403) or is_away:
            raise Unexpected("logged out", renew=True)
        if not page.css("h1"):
            raise Unexpected("no page of a member")

    def follow(self, page):
        for link in page.links:
            yield Request(link, session="me")
"""
FORM = b"<form id=login><input name=user></form>"
GONE = {
    "302": Response(302, {"Location": "/login"}),
    "200": Response(200, HTML, FORM),
    "401": Response(401, HTML, FORM),
    "403": Response(403, HTML, FORM),
}


class Members:
    """Pages for those who are logged in. A session serves so many pages; one of them is never for us."""

    def __init__(self, gone: Response) -> None:
        self._gone = gone
        self._names = map(str, itertools.count(1))
        self._served: dict[str, int] = {}

    def __call__(self, request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(404)
        if request.path == "/login":
            self._served[name := next(self._names)] = 0
            return Response(200, {**HTML, "Set-Cookie": f"sid={name}; Path=/"}, b"welcome")
        name = request.headers.get("cookie", "").removeprefix("sid=")
        if self._served.get(name, SERVES) >= SERVES:
            return self._gone
        self._served[name] += 1
        number = int(request.path[1:])
        links = "".join(f"<a href=/{each}>a</a>" for each in (2 * number + 1, 2 * number + 2) if each < PAGES)
        return Response(200, HTML, f"<h1>{number}</h1>{links}".encode())


@pytest.mark.gate
@pytest.mark.parametrize("gone", GONE)
def test_a_session_that_expires(tmp_path: Path, gone: str) -> None:
    """It is opened anew, whatever the site answers then, and no page is lost."""
    with Web(Members(GONE[gone]), [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("PORT", str(web.port)))
        done = crawl(tmp_path / "tree", "--site", str(file), workers=1)
        assert done.code == 0, done
        assert len(pages(tmp_path / "tree")) == PAGES
        assert errors(tmp_path / "tree") == {}
        assert web.count(path="/login") == -(-PAGES // SERVES)
        done = crawl(tmp_path / "tree", "--site", str(file), "--refresh", "0s", workers=1)
        assert done.code == 0, done
        assert {each.checked_status for each in pages(tmp_path / "tree").values()} == {None}  # all have come again
        assert web.count(path="/login") == 2 * -(-PAGES // SERVES)


@pytest.mark.gate
def test_a_page_that_is_not_for_us(tmp_path: Path) -> None:
    """A session is not opened anew for a 403 if `check` does not say so: it is asked for once, and is a failure."""
    check = "        if page.status in (401, 403) or is_away:"
    with Web(Members(GONE["403"]), [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("PORT", str(web.port)).replace(check, "        if is_away:"))
        done = crawl(tmp_path / "tree", "--site", str(file), workers=1)
        assert done.code == 0, done
        assert {(each.class_, each.status) for each in errors(tmp_path / "tree").values()} == {("http-4xx", 403)}
        assert web.count(path="/login") == 1
        assert web.duplicates() == {}
