"""Pages that redirect to a log-in, which sets a cookie and leads back to them: with the cookie they are pages."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import time
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from fscrawl import cli
from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.single_sign_on import ADDRESS, SingleSignOn, titles
from tests.support.single_sign_on import ALL as ALL_OF_SITE
from tests.support.trees import contents
from tests.support.web import HTML, Request, Response, Web

SHOP, IDENTITY = "127.0.74.1", "127.0.74.2"
PAGES = 6
SITE = """\
from fscrawl.site import Request, Site

class Shop(Site):
    hosts = ["HOST"]

    def seeds(self):
        yield Request("http://HOST/0", session="me")

    def follow(self, page):
        for link in page.links:
            yield Request(link, session="me")
"""


class Shop:
    """Pages of a shop for those who have a cookie. The others are sent to a host that leads them to /callback.

    `here`: to a path of the shop's own host. `never`: the cookie is not taken. `gone`: those who have it get a 404.
    `anew`: the log-in has another URL each time, as one with a nonce has.
    """

    def __init__(self, *, here: bool = False, never: bool = False, gone: bool = False, anew: bool = False) -> None:
        self.web = Web(self.serve, [SHOP, IDENTITY])
        self._here, self._never, self.gone, self._anew = here, never, gone, anew
        self._tickets = map(str, itertools.count(1))

    def url(self, number: int) -> str:
        return self.web.url(SHOP, f"/{number}")

    def serve(self, request: Request) -> Response:
        path, query = urlsplit(request.path).path, parse_qs(urlsplit(request.path).query)
        if path == "/robots.txt":
            return Response(404)
        if path == "/login":
            back = f"/callback?ticket={next(self._tickets)}&to={quote(query['to'][0])}"
            return Response(302, {"Location": self.web.url(SHOP, back), "Set-Cookie": "who=me; Path=/"})
        if path == "/callback":
            return Response(302, {"Location": query["to"][0], "Set-Cookie": "sid=1; Path=/"})
        if self._never or "sid=1" not in request.headers.get("cookie", ""):
            host = SHOP if self._here else IDENTITY
            nonce = f"&nonce={next(self._tickets)}" if self._anew else ""
            return Response(302, {"Location": self.web.url(host, f"/login?to={quote(path)}{nonce}")})
        if self.gone:
            return Response(404)
        number = int(path[1:])
        links = f"<a href=/{number + 1}>next</a>" if number + 1 < PAGES else ""
        return Response(200, HTML, f"<title>Page {number}</title>{links}".encode())


ALL = [f"Page {number}" for number in range(PAGES)]


@pytest.mark.gate
@pytest.mark.parametrize("here", [False, True])
@pytest.mark.parametrize("anew", [False, True])
def test_a_log_in_on_the_way(root: Path, here: bool, anew: bool) -> None:
    """Each page is stored, and only the first one is asked for twice."""
    shop = Shop(here=here, anew=anew)
    with shop.web as web:
        done = crawl(root, seeds=[shop.url(0)])
        assert done.code == 0, done
        assert titles(root) == ALL
        assert [web.count(SHOP, f"/{number}") for number in range(PAGES)] == [2, *([1] * (PAGES - 1))]
        assert errors(root) == {}
        check_tree(root)
        asked = web.count()
        assert crawl(root).code == 0
        assert web.count() == asked


def test_many_pages_before_the_first_log_in(root: Path) -> None:
    """They are all sent to the log-in, and come back."""
    shop = Shop()
    with shop.web as web:
        done = crawl(root, seeds=[shop.url(number) for number in range(PAGES)], settings={"crawl.max_depth": 9})
        assert done.code == 0, done
        assert titles(root) == ALL
        assert max(web.count(SHOP, f"/{number}") for number in range(PAGES)) == 2
        assert {record.depth for record in pages(root).values() if record.title} == {0}


def test_several_hosts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log-in for all hosts of a site is followed from each of them."""
    asked = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **how: asked(ADDRESS.get(host, host), *more, **how))
    site = SingleSignOn()
    with site.web:
        done = crawl(root, seeds=site.seeds)
    assert done.code == 0, done
    assert titles(root) == ALL_OF_SITE


def test_a_refresh(root: Path) -> None:
    """A new process has no cookies: all is as at the first time."""
    shop = Shop()
    with shop.web:
        assert crawl(root, seeds=[shop.url(0)]).code == 0
        done = crawl(root, "--refresh", "0s")
        assert done.code == 0, done
        assert titles(root) == ALL
        check_tree(root)


@pytest.mark.parametrize("anew", [False, True])
def test_a_log_in_that_fails(root: Path, anew: bool) -> None:
    """Who is sent to it for ever is asked once more, and no more: also when the crawl goes on."""
    shop = Shop(never=True, anew=anew)
    with shop.web as web:
        assert crawl(root, seeds=[shop.url(0)]).code == 1
        assert {record.redirect is not None for record in pages(root).values()} == {True}
        assert web.count(SHOP, "/0") == 2
        asked = web.count()
        assert crawl(root, "--reseed").code == 1
        assert web.count() == asked


@pytest.mark.gate
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_machine_ends_between(root: Path, number: int) -> None:
    """The log-in has led back, and the page is not asked for yet: the next run, which has no cookie, logs in anew."""
    shop = Shop()
    with shop.web as web:
        slow = {"politeness.delay": 1.5}
        with Running(command(root, seeds=[shop.url(0)], settings=slow)) as running:
            running.until(lambda: any("/callback" in each.path for each in web.exchanges), "the log-in has led back")
            time.sleep(0.8)  # so that logs are flushed; in another 0.7 s the page would be asked for
            running.signal(number, group=number == signal.SIGKILL)
            running.process.wait(20)
        assert web.count(SHOP, "/0") == 1
        settings = root / "crawl.toml"
        settings.write_text(settings.read_text().replace("delay = 1.5", "delay = 0"))
        assert crawl(root).code == 0
    assert titles(root) == ALL


def test_in_a_session(root: Path, tmp_path: Path) -> None:
    """A session that begins without a log-in gets its cookie on the way, if that does not leave the host."""
    shop = Shop(here=True)
    with shop.web as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("HOST", f"{SHOP}:{web.port}"))
        done = crawl(root, "--site", str(file))
        assert done.code == 0, done
        assert titles(root) == ALL
        assert web.count(SHOP, "/1") == 1


def test_try(capsys: pytest.CaptureFixture[str]) -> None:
    """`try` shows the page that a crawl would store in the end, and the way to it."""
    shop = Shop()
    flags = [
        "--set",
        "fetch.allow_addresses=['127.0.0.0/8']",
        "--set",
        "politeness.delay=0",
        "--set",
        "crawl.scope=any",
    ]
    with shop.web as web:
        url = shop.url(0)
        assert cli.main(["try", url, *flags]) == 0
        out = capsys.readouterr().out
        assert f"log-in    it led to {web.url(IDENTITY, '/login?to=/0')}, http://{SHOP}" in out
        assert "title     Page 0" in out
        assert f"  follow  {shop.url(1)}" in out
        assert web.count(SHOP, "/0") == 2
        assert cli.main(["try", url, "--json", *flags, "--set", "crawl.max_depth=1"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert (found["stored"], found["log_in"]) == ("redirect", [])
        assert cli.main(["try", url, "--json", *flags, "--set", "crawl.scope=host"]) == 1
        assert json.loads(capsys.readouterr().out)["stored"] == "redirect"


@pytest.mark.parametrize("what", ["never", "gone"])
def test_try_a_log_in_that_fails(capsys: pytest.CaptureFixture[str], what: str) -> None:
    """What stays a redirect is shown as one."""
    shop = Shop(never=what == "never", gone=what == "gone")
    flags = [
        "--set",
        "fetch.allow_addresses=['127.0.0.0/8']",
        "--set",
        "politeness.delay=0",
        "--set",
        "crawl.scope=any",
    ]
    with shop.web as web:
        assert cli.main(["try", shop.url(0), *flags]) == 1
        assert f"redirect  to {web.url(IDENTITY, '/login?to=/0')}" in capsys.readouterr().out
        assert web.count(SHOP, "/0") == 2


def test_try_changes_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the tree has of the page and of the way to it stays, whatever comes now."""
    shop = Shop()
    with shop.web:
        assert crawl(root, seeds=[shop.url(0)]).code == 0
        before = contents(root)
        for gone in (False, True):
            shop.gone = gone
            assert cli.main(["try", shop.url(0), "--root", str(root)]) == int(gone)
            assert contents(root) == before
        assert "log-in    it led to" in capsys.readouterr().out
