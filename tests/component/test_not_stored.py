"""What is not stored is counted by its reason, and the summary, `status` and `show` say the same."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from fscrawl.commands.program import open_tree
from fscrawl.monitor.advice import not_stored_lines
from fscrawl.monitor.snapshot import Observer
from tests.support.crawling import crawl, errors, fscrawl, pages
from tests.support.web import HTML, Request, Response, Web, linked_site

A, B, C = "127.0.77.1", "127.0.77.2", "127.0.77.3"
PAGE = b"<!DOCTYPE html><title>x</title>"


def status(root: Path) -> dict:
    return json.loads(fscrawl("status", "--root", root, "--json").out)


def said(root: Path) -> list[str]:
    """Give what is said of what is not stored, after checking that `status` says the same."""
    found = [f"{label} {text}" for label, text in not_stored_lines(Observer(open_tree(root)).look().not_stored)]
    table = fscrawl("status", "--root", root).out
    assert all(line.partition(" ")[2].split(" ", 1)[1] in table for line in found), table
    return found


def test_other_types(root: Path) -> None:
    """Types that are not accepted are named with their numbers, and how many of them began like HTML."""
    files: Mapping[str, Response] = {
        "/1.png": Response(200, {"Content-Type": "image/png"}, b"\x89PNG"),
        "/2.png": Response(200, {"Content-Type": "image/png"}, b"\x89PNG"),
        "/php": Response(200, {"Content-Type": "application/x-httpd-php"}, PAGE),
        "/long": Response(200, {"Content-Type": "text/x-page"}, PAGE + b"." * 200_000),
        "/zip": Response(200, {"Content-Type": "text/x-page", "Content-Encoding": "gzip"}, gzip.compress(PAGE)),
        "/css": Response(200, {"Content-Type": "text/css"}, b"a {}"),
    }

    def serve(request: Request) -> Response:
        links = "".join(f"<a href={path}>" for path in files)
        return files.get(request.path) or Response(200, HTML, links.encode())

    with Web(serve, [A]) as web:
        done = crawl(root, seeds=[web.url(A)])
        types = {"image/png": 2, "text/x-page": 2, "application/x-httpd-php": 1, "text/css": 1}
        assert (status(root)["other_types"], status(root)["like_html"]) == (types, 3)
        [line] = [line for line in done.out.splitlines() if line.startswith("other types")]
        assert line.split() == said(root)[0].split()
        shown = fscrawl("show", "--root", root, web.url(A, "/php")).out
        assert "begins like HTML" in shown
        assert 'add "application/x-httpd-php" to fetch.accept' in shown
        files = {path: Response(200, HTML, PAGE) for path in files}
        assert crawl(root, "--refresh", "0s").code == 0
        assert status(root)["other_types"] == {}


@pytest.mark.parametrize("many", [700, 9000])
def test_links_by_scope(many: int, tmp_path: Path) -> None:
    """The number of links outside depends on the pages alone: not on workers, order, or how often a page is read."""

    def serve(request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(404)
        number = int(request.path[1:] or 0)
        step = many // 10
        others = range(number * step, (number + 2) * step)
        outside = "".join(f"<a href=http://other{n % many}.example/>" for n in others)
        return Response(200, HTML, (outside + "".join(f"<a href=/{n}>" for n in range(10))).encode())

    found = set()
    with Web(serve, [A]) as web:
        for number, workers in enumerate((0, 2, 1)):
            root = tmp_path / str(number)
            settings = {"crawl.scope": "host", "crawl.order": ("breadth", "random", "depth")[number]}
            assert crawl(root, seeds=[web.url(A)], settings=settings, workers=workers).code == 0
            assert crawl(root, "--reseed", "--refresh", "0s").code == 0
            found.add(status(root)["left_out"]["scope"])
    [counted] = found
    assert counted == many if many < 2000 else abs(counted - many) < many / 10


def test_links_by_depth(tmp_path: Path) -> None:
    """A URL that is found within `max_depth` at last is not counted as left out by it."""
    with Web(linked_site(40, 3), [A]) as web:
        numbers = set()
        for order in ("breadth", "depth", "random"):
            root = tmp_path / order
            settings = {"crawl.max_depth": 2, "crawl.order": order}
            assert crawl(root, seeds=[web.url(A, "/0")], settings=settings).code == 0
            assert len(pages(root)) == 1 + 3 + 9
            numbers.add(status(root)["left_out"]["max_depth"])
    assert numbers == {27}


@pytest.mark.parametrize(
    "way",
    [
        Response(301, {"Location": "http://B/"}),
        Response(200, HTML, b'<meta http-equiv=refresh content="0; url=http://B/">'),
        Response(200, HTML, b'<a href="http://B/">We have moved</a>'),
    ],
)
def test_a_seed_that_leads_out(way: Response, root: Path) -> None:
    """A seed that leads only out of the scope is named, with where it leads; also when nothing is left to do."""

    def serve(request: Request) -> Response:
        if request.host.startswith(A):
            to = web.url(B).encode()
            headers = {name: value.replace("http://B/", to.decode()) for name, value in way.headers.items()}
            return Response(way.status, headers, way.body.replace(b"http://B/", to))
        return Response(200, HTML, PAGE)

    with Web(serve, [A, B, C]) as web:
        seeds = [web.url(A), web.url(C)]
        for done in (crawl(root, seeds=seeds, settings={"crawl.scope": "host"}), crawl(root)):
            [line] = [line for line in done.out.splitlines() if line.startswith("seed astray")]
            assert web.url(A) in line
            assert web.url(B) in line
        assert status(root)["seeds_astray"][web.url(A)]["target"] == web.url(B)
        assert "seed astray" in fscrawl("status", "--root", root).out
        done = crawl(root, seeds=[web.url(B)])
        assert "astray" not in done.out
        assert status(root)["seeds_astray"] == {}


def test_a_seed_of_scripts(root: Path) -> None:
    """A seed that has scripts, and hardly any text without them, is named, with the setting that renders it."""
    pages = {A: b"<div id=app></div><script src=/app.js></script>", B: b"<p>Short, but by a person."}
    with Web(lambda request: Response(200, HTML, pages[request.host.partition(":")[0]]), [A, B]) as web:
        done = crawl(root, seeds=[web.url(A), web.url(B)])
        [line] = [line for line in done.out.splitlines() if line.startswith("seed astray")]
        assert f"{web.url(A)} has scripts and hardly any text; " in line
        assert "render.hosts" in line
        assert status(root)["seeds_astray"] == {web.url(A): {"how": "scripts", "target": "", "rule": ""}}
    toml = root / "crawl.toml"
    toml.write_text(toml.read_text().replace("\nhosts = []", f'\nhosts = ["{A}"]'))
    assert status(root)["seeds_astray"] == {}


def test_a_host_that_was_given_up(root: Path) -> None:
    """All pages of a host that was given up say how it failed, and so does the summary."""

    def serve(request: Request) -> Response:
        links = b"".join(b"<a href=/%d>" % n for n in range(60))
        return (
            Response(200, HTML, links) if request.path == "/" else Response(503 if request.path[1:].isdigit() else 404)
        )

    with Web(serve, [A]) as web:
        settings = {"politeness.give_up_after": 1, "fetch.retries": 0, "politeness.max_rest": 1}
        done = crawl(root, seeds=[web.url(A)], settings=settings)
    messages = {each.message for each in errors(root).values()}
    assert messages == {"the server answered 503", "the host was given up: the server answered 503"}
    assert "the server answered 503" in next(line for line in done.out.splitlines() if line.startswith("given up"))
    assert list(status(root)["given_up"].values()) == ["the server answered 503"]
    assert any("503" in line for line in said(root))


def test_a_machine_that_could_not_say_its_last(root: Path) -> None:
    """The next machine counts what one has stored that died without its last counts, as on a full disk."""
    with Web(linked_site(30, 3), [A]) as web:
        assert crawl(root, seeds=[web.url(A, "/0")], settings={"crawl.max_pages": 20}, workers=1).code == 0
        [log] = (root / ".fscrawl" / "machines").glob("*.log")
        hello = log.read_bytes().splitlines(keepends=True)[0]
        log.write_bytes(hello + b'{"beat":1,"pages":7,"at":"2026-01-01T00:00:00.000Z"}\n')
        assert (status(root)["exact"], status(root)["pages"]) == (False, 7)
        toml = root / "crawl.toml"
        toml.write_text(toml.read_text().replace("max_pages = 20", "max_pages = 1000"))
        done = crawl(root)
        stored = len(pages(root))
        assert stored == 30
        assert f"the tree      {stored} pages" in done.out
        assert (status(root)["exact"], status(root)["pages"]) == (True, stored)
        assert crawl(root).code == 0
        assert status(root)["pages"] == stored
