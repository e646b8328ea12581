"""`crawl --refresh AGE`: stored pages are asked for again, and nothing that is stored is lost by it."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from fscrawl import urls
from fscrawl.admin.audit import audit
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from tests.support.crawling import Running, body, check_tree, command, crawl, errors, pages
from tests.support.fixtures import in_both, in_both_but_later
from tests.support.fleet import Fleet
from tests.support.web import Request, Response, Web

A, B = "127.0.43.1", "127.0.43.2"
HTML = {"Content-Type": "text/html; charset=utf-8"}
DATES = ["Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT"]


class Site:
    """Pages that each have a version; what validates them is an ETag (/e…), a Last-Modified (/d…) or nothing."""

    def __init__(self, *paths: str) -> None:
        self.version: dict[str, int] = dict.fromkeys(["/", *paths], 0)
        self.gone: set[str] = set()
        self.robots = ""
        self.delay_s = 0.0

    def __call__(self, request: Request) -> Response:
        path = request.path
        if path == "/robots.txt":
            return Response(200, {}, self.robots.encode())
        if path in self.gone or path not in self.version:
            return Response(404, HTML)
        version = self.version[path]
        headers: dict[str, str] = {}
        if path.startswith("/e"):
            headers["ETag"] = f'"{version}"'
        elif path.startswith("/d"):
            headers["Last-Modified"] = DATES[version]
        if self._has(request.headers, headers):
            return Response(304, headers)
        links = "".join(f'<a href="{other}">' for other in self.version if other != path) if path == "/" else ""
        return Response(200, {**HTML, **headers}, f"{path} {version} {links}".encode(), self.delay_s)

    def _has(self, asked: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        if "ETag" in headers:
            return asked.get("if-none-match") == headers["ETag"]
        return "Last-Modified" in headers and asked.get("if-modified-since") == headers["Last-Modified"]


def refresh(root: Path, age: str = "0s") -> str:
    done = crawl(root, "--refresh", age)
    assert done.code == 0, done
    return done.out


def audited(root: Path) -> dict[str, int]:
    """Give what the audit finds wrong."""
    tree = Tree(root, "audit-1-aa")
    seeds = read_seeds(tree.controls.seeds(), "", print)
    return dict(+audit(tree, settings.parse(tree.controls.settings()), seeds).found)


def age_all(root: Path) -> None:
    """Let every page be from long ago."""
    tree = Tree(root, "m-1-aa")
    for url, record in pages(root).items():
        tree.put_record(urls.host(url), msgspec.structs.replace(record, fetched_at="2001-01-01T00:00:00.000Z"))


@in_both
def test_what_has_not_changed_and_what_has(root: Path, layout: dict[str, object]) -> None:
    """Unchanged pages keep body and record, and say when they were looked at; changed ones are replaced; new links
    are followed; what is gone, or forbidden by now, stays.
    """
    site = Site("/e1", "/e2", "/d1", "/d2", "/plain", "/gone", "/secret")
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A)], settings=layout).code == 0
        before = {url.removeprefix(web.url(A, "")): record for url, record in pages(root).items()}
        site.version |= {"/e2": 1, "/d2": 1, "/new": 0}
        site.gone, site.robots = {"/gone"}, "User-agent: *\nDisallow: /secret"
        for path in (root / ".fscrawl" / "robots").iterdir():  # a day later
            path.unlink()
        refresh(root)
        after = {url.removeprefix(web.url(A, "")): record for url, record in pages(root).items()}
        counts = web.counts()
        assert after.keys() == before.keys() | {"/new"}
        for path, status in (("/e1", 304), ("/d1", 304), ("/gone", 404)):
            _assert_as_before(before[path], after[path], status)
            assert body(root, web.url(A, path)).startswith(f"{path} 0".encode())
        for path in ("/", "/e2", "/d2", "/plain"):
            assert after[path].fetched_at > before[path].fetched_at, path
            assert after[path].checked_at is None
        assert [body(root, web.url(A, path)).split()[1] for path in ("/e2", "/d2", "/plain")] == [b"1", b"1", b"0"]
        assert after["/plain"].sha256 == before["/plain"].sha256
        assert (after["/secret"], counts[A, "/secret"], counts[A, "/e1"]) == (before["/secret"], 1, 2)
    assert errors(root) == {}
    check_tree(root)


def _assert_as_before(before: PageRecord, after: PageRecord, status: int) -> None:
    assert (after.fetched_at, after.sha256, after.links) == (before.fetched_at, before.sha256, before.links)
    assert after.checked_status == status
    assert (after.checked_at or "") > before.fetched_at


def test_what_is_refused_is_told(root: Path) -> None:
    """A page that `expect` refuses by now stays, and the log says why: else it looks like one that has not changed."""
    with Web(Site("/e1"), [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        file = root / "crawl.toml"
        text = file.read_text().replace("\nretries = ", "\nretries = 0 # ")
        file.write_text(f'{text}\n[[site]]\nhosts = ["{A}"]\nexpect = ["css:.x"]\n{settings.END}\n')
        done = crawl(root, "--refresh", "0s", "--verbose", "--log-json")
    events = [json.loads(line) for line in (done.out + done.err).splitlines() if '"unchanged", "url"' in line]
    assert [(each.get("error"), each.get("message")) for each in events if each["url"] == web.url(A)] == [
        ("unexpected", "expect = css:.x: it was not found")
    ]


def test_age(root: Path) -> None:
    """Pages younger than the age are left alone, also those that were only looked at; others are asked for again."""
    site = Site("/e1")
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        refresh(root, "1h")
        assert web.duplicates() == {}
        url = web.url(A, "/e1")
        age_all(root)
        for _ in range(2):
            refresh(root, "1h")
            assert web.duplicates() == {(A, "/"): 2, (A, "/e1"): 2}
    assert pages(root)[url].checked_status == 304


@pytest.mark.parametrize("age", ["7", "1.5h"])
def test_age_that_is_none(root: Path, age: str) -> None:
    """An age that is none is said in one line, with exit code 2."""
    with Web(Site(), [A]) as web:
        done = crawl(root, f"--refresh={age}", "--quiet", seeds=[web.url(A)])
        assert web.count() == 0
    assert (done.code, done.out) == (2, "")
    assert done.err == f"fscrawl: --refresh {age}: must be an age, like 7d, 12h or 30m; 0s means every page\n"


def test_dead_host(root: Path) -> None:
    """A host that answers nothing any more keeps its pages, and no failure is written beside them."""
    site = Site("/e1", "/e2", "/plain")
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A)], settings={"politeness.give_up_after": 1, "fetch.retries": 0}).code == 0
    before = pages(root)
    refresh(root)
    assert pages(root).keys() == before.keys()
    assert errors(root) == {}
    assert audited(root) == {}


LOGIN = f"http://{B}:PORT/login"
CIRCLES = {
    "to itself": {"/a": "/a"},
    "by another page": {"/a": "/x", "/x": "/a"},
    "by three pages": {"/a": "/x", "/x": "/y", "/y": "/z", "/z": "/a"},
    "by a log-in": {"/a": LOGIN, "/login": f"http://{A}:PORT/a"},
    "of two stored pages": {"/a": "/b", "/b": "/a"},
    "that it does not belong to": {"/a": "/x", "/x": "/y", "/y": "/x"},
}


@pytest.mark.gate
@pytest.mark.parametrize("cookies", [False, True])
@pytest.mark.parametrize("way", CIRCLES)
def test_circles(way: str, root: Path, *, cookies: bool) -> None:
    """A stored page that redirects into a circle now is kept; a redirect that leads to a page takes its place."""
    moved: dict[str, str] = {}

    def serve(request: Request) -> Response:
        if (to := moved.get(request.path)) is not None:
            cookie = {"Set-Cookie": "seen=1; Path=/"} if cookies else {}
            return Response(302, {"Location": to.replace("PORT", str(web.port)), **cookie})
        return Response(200, HTML, b"<a href=/a><a href=/b><a href=/c>" if request.path == "/" else b"text")

    with Web(serve, [A, B]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        moved.update(CIRCLES[way], **{"/c": "/d"})
        refresh(root)
        assert web.count(path="/a") < 10
        found = pages(root)
        assert (found[web.url(A, "/a")].kind, found[web.url(A, "/b")].kind) == ("page", "page")
        assert found[web.url(A, "/a")].checked_status == 302
        assert body(root, web.url(A, "/a")) == b"text"
        assert found[web.url(A, "/c")].redirect == web.url(A, "/d")
        moved.clear()
        refresh(root)
        assert pages(root)[web.url(A, "/a")].checked_at is None
    check_tree(root)


@pytest.mark.parametrize("retries", [0, 3])
def test_moved(root: Path, retries: int) -> None:
    """A page that has moved becomes a redirect, by whichever way: each step is asked for first, whatever the retries.

    A page that several lead to is asked for once.
    """
    ways = {"/a": f"http://{B}:PORT/x", "/b": f"http://{B}:PORT/x", "/c": "/c2", "/c2": "/c3", "/c3": "/d"}
    moved: dict[str, str] = {}

    def serve(request: Request) -> Response:
        if (to := moved.get(request.path)) is not None:
            return Response(301, {"Location": to.replace("PORT", str(web.port))})
        links = "".join(f"<a href={path}>" for path in ("/a", "/b", "/c", "/d"))
        return Response(200, HTML, links.encode() if request.path == "/" else b"text")

    with Web(serve, [A, B]) as web:
        assert crawl(root, "--set", f"fetch.retries={retries}", seeds=[web.url(A)]).code == 0
        moved.update(ways)
        refresh(root)
        found = pages(root)
        leads = {path: found[web.url(A, path)].redirect for path in ("/a", "/b", "/c")}
        assert leads == {"/a": web.url(B, "/x"), "/b": web.url(B, "/x"), "/c": web.url(A, "/c2")}
        assert (web.count(path="/x"), web.count(path="/d")) == (1, 2)
    check_tree(root)


def test_a_clock_that_was_ahead(root: Path) -> None:
    """A page that was fetched in the future is asked for again: nobody knows how old it is."""
    site = Site("/a", "/b")
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        for path in root.glob("links/*/*.json"):
            path.write_text(json.dumps({**json.loads(path.read_text()), "fetched_at": "2101-01-01T00:00:00.000Z"}))
        for age in ("0s", "7d"):
            before = web.count(path="/a")
            refresh(root, age)
            assert web.count(path="/a") == before + (age == "0s")
        assert max(page.looked_at for page in pages(root).values()) < "2101"


@in_both_but_later
@pytest.mark.parametrize("partition", ["host", "url"])
def test_two_machines(root: Path, partition: str, layout: dict[str, object]) -> None:
    """Two machines that refresh a crawl ask for each page once more, and both have a part in it."""
    site = Site(*(f"/e{n}" for n in range(30)))
    hosts = [f"127.0.43.{n}" for n in range(10, 20)]
    chosen = {"crawl.partition": partition, "politeness.delay": 0.02, **layout}
    with Web(site, hosts) as web, Fleet(root, chosen) as fleet:
        assert crawl(root, seeds=[web.url(host) for host in hosts], settings={**chosen, "fleet.beat": 0.5}).code == 0
        age_all(root)
        site.version["/e1"] = 1
        before = web.counts()
        for _ in range(2):
            fleet.start("--refresh", "1h")
        fleet.wait_for_all(40)
        assert [member.code for member in fleet.members] == [0, 0], [m.output() for m in fleet.members]
        after = web.counts()
    assert {asked: after[asked] - before[asked] for asked in after if asked[1] != "/robots.txt"} == {
        (host, path): 1 for host in hosts for path in site.version
    }
    assert {record.checked_status for record in pages(root).values()} == {None, 304}
    check_tree(root)


@in_both_but_later
@pytest.mark.timeout(100)
def test_killed(root: Path, layout: dict[str, object]) -> None:
    """Killed at any moment, a refresh leaves at most new bodies with old records; the next one mends them.

    In packs, the old record has its old body.
    """
    rng = random.Random(1)
    site = Site(*(f"/e{n}" for n in range(60)))
    halves = [] if layout["store.layout"] == "packs" else ["damaged_bodies"]
    with Web(site, [A, B], deadline_s=100) as web:
        assert crawl(root, seeds=[web.url(A), web.url(B)], settings={"politeness.per_host": 4, **layout}).code == 0
        stored = pages(root).keys()
        site.delay_s = 0.02
        for kill in range(1, 5):
            site.version = dict.fromkeys(site.version, kill)
            before = web.count()
            with Running(command(root, "--quiet", "--refresh", "0s")) as running:
                running.until(lambda n=before: web.count() > n, "a request")
                deadline = time.monotonic() + rng.uniform(0.0, 0.8)
                while time.monotonic() < deadline:
                    time.sleep(0.002)
                running.signal(signal.SIGKILL, group=True)
                running.wait()
            wrong = audited(root)
            print(f"after kill {kill}: {wrong}")
            assert wrong.keys() <= {"dead_temporaries", *halves}
            assert pages(root).keys() == stored
        refresh(root)
        assert audited(root) == {}
        assert {body(root, url).split()[1] for url in stored} == {b"4"}
    assert errors(root) == {}
    check_tree(root)


def test_killed_between_body_and_record(root: Path) -> None:
    """A new body beside an old record is what an audit calls damaged; the next refresh mends it, for the server
    knows nothing of the old record's ETag any more.
    """
    site = Site("/e1", "/d1", "/plain")
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        site.version = dict.fromkeys(site.version, 1)
        for url, record in pages(root).items():
            path = url.removeprefix(web.url(A, ""))
            (root / "htmls" / f"{A}_{web.port}" / f"{record.key}.html").write_bytes(f"{path} 1 ".encode())
        assert audited(root) == {"damaged_bodies": 4}
        refresh(root)
        assert audited(root) == {}
        assert {record.checked_at for record in pages(root).values()} == {None}
    check_tree(root)
