"""Sites that mean harm, beside one that does not: they use up what is theirs, and nobody waits for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import neighbours
from tests.support.crawling import Running, check_tree, command, errors, pages
from tests.support.neighbours import HEALTHY, SLOW, WILD, customised
from tests.support.web import HTML, Request, Response, Web, linked_site

# A parser that a page can hang or crash, in spite of all that `trees` does; and less patience than usual.
HANGING = """
import os, re
from fscrawl.parse import links
_tree = links.tree
def _parse(body, only_usual=False, **how):
    if only_usual:
        return _tree(body, only_usual=True, **how)
    if b"<!-- hang" in body:
        re.fullmatch(rb"(a+)+b", b"a" * 60)
    if b"<!-- crash" in body:
        os.abort()
    if b"<!-- memory" in body:
        bytearray(3 * 2**30)
    return _tree(body, **how)
links.tree = _parse
import fscrawl.engine.parsing
fscrawl.engine.parsing._LIMIT_S = 0.5
"""
HOSTILE = [f"127.5.20.{n}" for n in range(1, 4)]
LARGE_BYTES = 600_000
UNUSUAL = b"<p><" + b"a " * 20_000 + b">"  # so the process beside the worker reads a page
HEALTHY_PAGES = 30


def _hostile(request: Request) -> Response:
    if request.host == HEALTHY:
        return linked_site(HEALTHY_PAGES, 5, body_bytes=LARGE_BYTES)(request)
    if request.path == "/":
        links = "".join(f'<a href="/{what}">' for what in ("hang-1", "crash", "memory", "hang-2", "good"))
        return Response(200, HTML, links.encode())
    if request.path == "/robots.txt":
        return Response(404)
    return Response(200, HTML, f"<!-- {request.path[1:]} -->".encode() + UNUSUAL)


@pytest.mark.fleet
@pytest.mark.proof
def test_pages_that_hang_or_crash_a_parser(tmp_path: Path) -> None:
    """Each is an error of class `parse`. The pages of others are asked for once, and none of them waits."""
    root = tmp_path / "tree"
    with Web(_hostile, [HEALTHY, *HOSTILE]) as web:
        seeds = [web.url(host) for host in (*HOSTILE, HEALTHY)]
        settings = {"politeness.give_up_after": 600, "politeness.delay": 0.02, "politeness.max_rest": 23}
        words = command(
            root, seeds=seeds, settings=settings
        )  # by that, no site waits longer than 3 s for what it costs
        with Running(words, env=customised(tmp_path, HANGING)) as running:
            done = running.wait(100)
    assert done.code == 0, done
    check_tree(root)
    bad = {web.url(host, f"/{what}") for host in HOSTILE for what in ("hang-1", "hang-2", "crash", "memory")}
    assert {url: error.class_ for url, error in errors(root).items()} == dict.fromkeys(bad, "parse")
    good = {web.url(host, path) for host in HOSTILE for path in ("/", "/good")}
    assert {url for url in pages(root) if HEALTHY not in url} == good
    asked = web.requests(HEALTHY)
    assert sorted(each.path for each in asked) == sorted(
        ["/robots.txt", "/", *(f"/{n}" for n in range(HEALTHY_PAGES))]
    ), "no worker died, so nothing was asked for again"
    assert asked[-1].arrived < max(each.arrived for host in HOSTILE for each in web.requests(host))


@pytest.mark.fleet
@pytest.mark.proof
@pytest.mark.parametrize(("mix", "slow"), [("slow", SLOW), ("wildcard", WILD)])
def test_beside_slow_hosts(tmp_path: Path, mix: str, slow: list[str]) -> None:
    """A hundred pages of a healthy host are served before the first of many hosts has answered after 20 s."""

    def over(web: Web) -> bool:
        return len(web.exchanges) > 100 and web.count(HEALTHY) > 100

    web = neighbours.crawl_until(tmp_path, mix, over, 60, delay_s=0.02)
    late = [each for each in web.exchanges if each.host in slow and each.answered - each.arrived > 10]
    assert not late


def _made_up(request: Request, way: str) -> Response:
    """One site is a chain of pages; another says, in one of several ways, that the first one has other URLs, too."""
    port = request.headers["host"].rpartition(":")[2]
    made_up = [f"http://{HEALTHY}:{port}/made-up-{n}" for n in range(300)]
    if request.host == HEALTHY:
        number = request.path.strip("/") or "0"
        if number.isdecimal() and int(number) < HEALTHY_PAGES:
            return Response(200, HTML, f"<a href=/{int(number) + 1}>".encode())
        return Response(404)
    if request.path == "/robots.txt":
        named = {"robots.txt": made_up, "sitemaps": ["/sitemap.xml"]}.get(way, [])
        return Response(200, {}, "".join(f"Sitemap: {each}\n" for each in named).encode())
    if request.path == "/sitemap.xml":
        listed = "".join(f"<sitemap><loc>{each}</loc></sitemap>" for each in made_up)
        return Response(200, {}, f"<sitemapindex>{listed}</sitemapindex>".encode())
    links = "".join(f"<a href={each}>" for each in made_up) if way == "links" else ""
    return Response(200, HTML, links.encode())


@pytest.mark.fleet
@pytest.mark.proof
@pytest.mark.parametrize("way", ["links", "robots.txt", "sitemaps"])
def test_made_up_links_to_another_host(tmp_path: Path, way: str) -> None:
    """The pages of a host do not wait behind all that somebody elsewhere says that it has."""
    with Web(lambda request: _made_up(request, way), [HEALTHY, HOSTILE[0]]) as web:
        seeds = [web.url(HOSTILE[0]), web.url(HEALTHY)]
        words = command(tmp_path / "tree", seeds=seeds, settings={"politeness.delay": 0.01})
        with Running(words) as running:
            done = running.wait(60)
    assert done.code == 0, done
    asked = [exchange.path for exchange in web.requests(HEALTHY)]
    assert "/made-up-299" in asked
    first, last = asked.index("/"), asked.index(f"/{HEALTHY_PAGES - 1}")
    assert last - first < 3 * HEALTHY_PAGES
