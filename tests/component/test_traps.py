"""Sites that make new URLs without end: what ends by itself, and what docs/how-to/politeness.md says of the others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.crawling import CHECKOUT, crawl, pages
from tests.support.web import HTML, Request, Response, Web

HOST = "127.0.76.1"
DOCS = CHECKOUT / "docs" / "how-to" / "politeness.md"
Links = Callable[[Request], list[str]]


def site(links: Links) -> Callable[[Request], Response]:
    """Give a site of pages with these links. It gives a cookie to whoever has none."""

    def serve(request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(404)
        cookie = {} if "cookie" in request.headers else {"Set-Cookie": "sid=1; Path=/"}
        return Response(200, {**HTML, **cookie}, "".join(f'<a href="{each}">' for each in links(request)).encode())

    return serve


@pytest.mark.gate
@pytest.mark.parametrize(
    ("links", "most", "rule"),
    [
        (lambda request: ["a/"], 4, "trap"),
        (lambda request: ["a/b/c/d/"], 9, "trap"),
        (lambda request: [f"{request.path}{'&amp;' if '?' in request.path else '?'}x=1"], 600, ""),
    ],
)
def test_links_that_grow(root: Path, links: Links, most: int, rule: str) -> None:
    """A relative link that makes its own path or query longer ends: by the rule, or by the length of a URL."""
    with Web(site(links), [HOST]) as web:
        done = crawl(root, seeds=[web.url(HOST)])
        assert done.code == 0, done
        assert 1 < len(pages(root)) <= most
        assert not rule or re.search(rf"^not followed +1 link by {rule}$", done.out, re.MULTILINE), done.out


def test_a_calendar(root: Path) -> None:
    """It has no end; a depth is one, and so is an expression that is added later."""

    def links(request: Request) -> list[str]:
        month = int(parse_qs(urlsplit(request.path).query).get("month", ["0"])[0])
        return [f"/calendar/?month={month + 1}", "/page"]

    with Web(site(links), [HOST]) as web:
        assert crawl(root, seeds=[web.url(HOST)], settings={"crawl.max_depth": 5}).code == 0
        assert len(pages(root)) == 7
        file = root / "crawl.toml"
        text = file.read_text()
        for old, new in (("max_depth = 5", "# max_depth ="), ("deny = []", 'deny = ["/calendar/"]')):
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
        done = crawl(root)
        assert done.code == 0, done
        assert (len(pages(root)), web.count()) == (7, 8)


def ids(request: Request, numbers: itertools.count[int], *, for_all: bool) -> list[str]:
    """Give links with a session id; without `for_all` for those who have no cookie."""
    mark = f";jsessionid={next(numbers):X}" if for_all or "cookie" not in request.headers else ""
    return [f"/{number}{mark}" for number in range(4)]


@pytest.mark.gate
@pytest.mark.parametrize(("deny", "found"), [("[]", 9), ("[';jsessionid=']", 1)])
def test_session_ids_for_those_without_a_cookie(root: Path, deny: str, found: int) -> None:
    """The pages to which the first one links are stored twice; who denies such links gets no other page at all."""
    numbers = itertools.count()
    with Web(site(lambda request: ids(request, numbers, for_all=False)), [HOST]) as web:
        done = crawl(root, seeds=[web.url(HOST)], settings={"crawl.deny": deny}, workers=1, threads=1)
        assert done.code == 0, done
        assert len(pages(root)) == found


@pytest.mark.parametrize("for_all", [False, True])
def test_session_ids_are_taken_off(root: Path, tmp_path: Path, for_all: bool) -> None:
    """By the site file of the documentation, each page is stored once."""
    numbers = itertools.count()
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text().partition("### Session ids")[2], re.DOTALL)
    with Web(site(lambda request: ids(request, numbers, for_all=for_all)), [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(code.replace("shop.example", f"{HOST}:{web.port}"))
        done = crawl(root, "--site", str(file), seeds=[web.url(HOST)])
        assert done.code == 0, done
        assert {urlsplit(url).path for url in pages(root)} == {"/", "/0", "/1", "/2", "/3"}
