"""Servers that send much to make us keep much: memory and disk stay within the bounds of `docs/security.md`."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.crawling import Done, Running, check_tree, command, errors, pages, unmeasured
from tests.support.memory_use import Memory
from tests.support.web import HTML, Request, Response, Web

MEMORY_BYTES = 600_000_000  # of all processes together
TREE_BYTES = 100_000_000  # without the bodies
DEADLINE_S = 480.0  # what reads large pages stands back for others, and this computer may be busy

BASE_PAGES, BASE_CHARS = 61, 9_000_000
REDIRECTS, LOCATION_CHARS = 300, 60_000
ROBOTS_HOSTS, RULES = 100, 24_000
FORBIDDEN, RULE_CHARS = 1_500, 500_000

BASE, MOVED, RULE = "127.0.46.1", "127.0.46.2", "127.0.46.3"
ROBOTS = [f"127.0.47.{n + 1}" for n in range(ROBOTS_HOSTS)]
GZIP = {"Content-Encoding": "gzip"}


def zipped(text: str, headers: dict[str, str] = HTML) -> Response:
    return Response(200, headers | GZIP, gzip.compress(text.encode(), 1))


def links(*targets: str) -> str:
    return "".join(f"<a href='{target}'>x</a>" for target in targets)


class Sites:
    """The four sites."""

    def __init__(self) -> None:
        self.many_rules = Response(200, {}, "".join(["User-agent: *\n", *self._rules()]).encode())
        self.long_rule = zipped(f"User-agent: *\nDisallow: /r/{'*' * RULE_CHARS}\n", {})

    def _rules(self) -> list[str]:
        return [f"Disallow: /x{n}\n" for n in range(RULES)]

    def serve(self, request: Request) -> Response:
        if request.path == "/robots.txt":
            return self._robots(request.host)
        if request.path == "/":
            return self._index(request.host)
        if request.host == BASE:
            return self._far_base(request.path)
        if request.host == MOVED:
            far = f"http://{MOVED}/{request.path[1:]}{'b' * LOCATION_CHARS}"
            return Response(302, {"Location": far})
        return Response(404)

    def _robots(self, host: str) -> Response:
        return self.long_rule if host == RULE else self.many_rules if host in ROBOTS else Response(404)

    def _far_base(self, path: str) -> Response:
        """One character takes four bytes of memory, so all do; and no two bases are the same."""
        far = f"http://{BASE}{path}/\U0001f600{'a' * BASE_CHARS}/"
        return zipped(f"<base href='{far}'>" + links("0", "1", "2", "3"))

    def _index(self, host: str) -> Response:
        if host == BASE:
            return zipped(links(*(f"/far/{n}" for n in range(BASE_PAGES))))
        if host == MOVED:
            return zipped(links(*(f"/{n}" for n in range(REDIRECTS))))
        return zipped(links(*(f"/r/{n}" for n in range(FORBIDDEN))) if host == RULE else "a page")


@dataclass(frozen=True, slots=True)
class Crawled:
    root: Path
    done: Done
    peak: int
    at_the_peak: list[int]


# a crawl of half a gigabyte of bodies
pytestmark = [pytest.mark.proof, pytest.mark.timeout(DEADLINE_S + 60)]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    root = tmp_path_factory.mktemp("bounds") / "tree"
    hosts = [BASE, MOVED, RULE, *ROBOTS]
    with Web(Sites().serve, hosts, deadline_s=DEADLINE_S) as web:
        words = command(root, seeds=[web.url(host) for host in hosts])
        with Running(words, env=unmeasured()) as running, Memory(running.process.pid) as memory:
            done = running.wait(DEADLINE_S)
    assert done.code == 0, done
    print(f"peak {memory.peak / 1e6:.0f} MB: {memory.at_the_peak}; {done.elapsed_s:.0f} s")
    return Crawled(root, done, memory.peak, memory.at_the_peak)


def test_memory(crawled: Crawled) -> None:
    """All processes together stay below 600 MB."""
    assert 0 < crawled.peak < MEMORY_BYTES, crawled.at_the_peak


def test_disk(crawled: Crawled) -> None:
    """The tree, bodies aside, stays below 100 MB."""
    directories: Counter[str] = Counter()
    for path in crawled.root.rglob("*"):
        if path.is_file():
            directory = "/".join(path.relative_to(crawled.root).parts[:-1][:2])
            directories[directory] += path.stat().st_size
    assert sum(size for directory, size in directories.items() if not directory.startswith("htmls")) < TREE_BYTES, (
        directories.most_common(9)
    )


def test_what_came_of_them(crawled: Crawled) -> None:
    """Every page has its record, and what was left out for its length is counted."""
    stored, failed = pages(crawled.root), errors(crawled.root)
    assert len(stored) == 3 + ROBOTS_HOSTS + BASE_PAGES
    assert Counter(error.class_ for error in failed.values()) == {"too-large": REDIRECTS, "robots": FORBIDDEN}
    assert f"not followed  {BASE_PAGES} links by length" in crawled.done.out
    check_tree(crawled.root)
