"""A site of three hosts with pages for those who have a cookie; others are sent to a log-in on a fourth host."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from tests.support.crawling import pages
from tests.support.web import HTML, Request, Response, Web

LOGIN, ELSEWHERE = "login.site.example", "login.example"
MEMBERS = ["www.site.example", "shop.site.example", "news.site.example"]
ADDRESS = {name: f"127.0.75.{number}" for number, name in enumerate([LOGIN, ELSEWHERE, *MEMBERS], 1)}
PAGES = 12
ALL = sorted(f"{name} {number}" for name in MEMBERS for number in range(PAGES))


class SingleSignOn:
    """Serves that site. `delay_s`: of each page. `login`: LOGIN, which sets the cookie for all hosts of its site.

    Or ELSEWHERE, which is of another site, and cannot: each host sets the cookie for all before it redirects.
    """

    def __init__(self, delay_s: float = 0.02, login: str = LOGIN) -> None:
        self.web = Web(self._serve, list(ADDRESS.values()))
        self._delay_s, self._login = delay_s, login

    @property
    def seeds(self) -> list[str]:
        return [self._url(name, "/0") for name in MEMBERS]

    def _url(self, name: str, path: str) -> str:
        return f"http://{name}:{self.web.port}{path}"

    def _serve(self, request: Request) -> Response:
        name = request.headers["host"].partition(":")[0]
        path, query = urlsplit(request.path).path, parse_qs(urlsplit(request.path).query)
        if path == "/robots.txt":
            return Response(404)
        cookie = {"Set-Cookie": "sid=1; Domain=site.example; Path=/"}
        if name == self._login:
            return Response(302, {"Location": query["to"][0], **cookie})  # ELSEWHERE it may not set it
        if "sid=1" not in request.headers.get("cookie", ""):
            to = {"Location": self._url(self._login, f"/?to={quote(self._url(name, path))}")}
            return Response(302, to if self._login == LOGIN else {**to, **cookie})
        number = int(path[1:])
        links = "".join(f"<a href=/{each}>a</a>" for each in (2 * number + 1, 2 * number + 2) if each < PAGES)
        return Response(200, HTML, f"<title>{name} {number}</title>{links}".encode(), self._delay_s)


def titles(root: Path) -> list[str]:
    """Give the titles of all stored pages."""
    return sorted(record.title for record in pages(root).values() if record.title)
