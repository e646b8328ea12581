"""Answers of types that are not accepted, in sites that have rules: such as a log-in in place of a list."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.crawling import crawl, errors, pages
from tests.support.web import HTML, Request, Response, Web

HOST = "127.0.97.1"
PAGES, SERVES = 9, 4
JSON_ONLY = {"fetch.accept": '["application/json"]', "fetch.retries": 1}
SITE = f"""\
from fscrawl.site import Request, Site, Unexpected

class Lists(Site):
    hosts = ["{HOST}"]

    def seeds(self):
        yield Request("http://{HOST}:PORT/0", session="me")

    def open_session(self, session, send):
        send("/login")

    def check(self, page):
        if "json" not in page.headers.get("content-type", ""):
            raise Unexpected("no list", renew=True)

    def requests(self, page):
        for next in page.json("$.next"):
            yield Request(next, session="me")
"""
TABLE = f"""
[[site]]
hosts = ["{HOST}"]
seeds = ["http://{HOST}:PORT/find"]
form = {{q = "a"}}
expect = ["json:$.found"]
[[site]]
hosts = ["*"]
expect = ["css:h1"]
"""


def test_a_session_that_ends_with_a_page(root: Path, tmp_path: Path) -> None:
    """Lists are JSON, and the log-in that comes in their place is not: the session is opened anew."""
    served: list[int] = []

    def serve(request: Request) -> Response:
        if request.path == "/login":
            served.clear()
        if not request.path[1:].isdigit() or len(served) == SERVES:
            return Response(200, HTML, b"<form id=login>")
        number = int(request.path[1:])
        served.append(number)
        found = {"next": f"/{number + 1}"} if number + 1 < PAGES else {}
        return Response(200, {"Content-Type": "application/json"}, json.dumps(found).encode())

    with Web(serve, [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("PORT", str(web.port)))
        done = crawl(root, "--site", str(file), settings={**JSON_ONLY, "politeness.robots": "false"})
        assert done.code == 0, done
        assert len(pages(root)) == PAGES
        assert {record.kind for record in pages(root).values()} == {"page"}
        assert errors(root) == {}


def test_a_form_whose_answer_is_no_list(root: Path) -> None:
    """It is a failure, which can be tried again. A file to which a page links is of another type, and no failure."""

    def serve(request: Request) -> Response:
        if request.path == "/":
            return Response(200, HTML, b"<h1>a</h1><a href=/file.pdf>b</a>")
        if request.path == "/file.pdf":
            return Response(200, {"Content-Type": "application/pdf"}, b"%PDF-1.4")
        return Response(404) if request.path == "/robots.txt" else Response(200, {"Content-Type": "text/plain"}, b"no")

    other = HOST.removesuffix("1") + "2"
    with Web(serve, [HOST, other]) as web:
        root.mkdir()
        text = (
            "[crawl]\nscope = 'any'\n[politeness]\ndelay = 0\nuser_agent = 'a (+mailto:a@example.org)'\n[fetch]\n"
            "allow_addresses = ['127.0.0.0/8']\naccept = ['application/json', 'text/html']\nretries = 1\n"
        )
        end = "\n# end of settings (leave this line: it shows that the file was read to its end)\n"
        (root / "crawl.toml").write_text(text + TABLE.replace("PORT", str(web.port)) + end)
        done = crawl(root, seeds=[web.url(other)])
        assert done.code == 0, done
        assert web.count(path="/find") == 2
        assert web.count(path="/file.pdf") == 1
        assert {record.skipped for record in pages(root).values()} == {None, "type application/pdf"}
        (error,) = errors(root).values()
    assert error.class_ == "unexpected"
    assert error.message.startswith("its type text/plain is not accepted; expect = json:$.found: ")
