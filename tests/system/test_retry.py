"""`fscrawl retry`: failures go back to work, on finished and on running crawls, and nothing else does."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import cli, urls
from fscrawl.storage.records import ErrorRecord
from fscrawl.store import Tree
from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.web import Request, Response, Web

A, B = "127.0.41.1", "127.0.41.2"
HTML = {"Content-Type": "text/html; charset=utf-8"}
LINKS = "".join(f'<a href="/{name}">' for name in ("1", "gone/1", "gone/2", "broken/1"))

Retry = Callable[..., str]


class Site:
    """Two hosts of four pages; what is below /gone is a 404 and below /broken a 500, until `heal`."""

    def __init__(self) -> None:
        self.healed = False

    def heal(self) -> None:
        self.healed = True

    def __call__(self, request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(404)
        if not self.healed and request.path.startswith(("/gone", "/broken")):
            return Response(404 if "gone" in request.path else 500, HTML)
        further = '<a href="/further">' if request.path == "/gone/1" else ""
        return Response(200, HTML, (LINKS if request.path == "/" else further).encode())


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def retry(root: Path, capsys: pytest.CaptureFixture[str]) -> Retry:
    """Run the command; give what it says first."""

    def retry(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert cli.main(["retry", "--root", str(root), *words]) == code
        said = capsys.readouterr()
        return (said.out if code == 0 else said.err).splitlines()[0].partition(", in ")[0]

    return retry


QUICK = {"fetch.retries": 0}
FAILED = ("/gone/1", "/gone/2", "/broken/1")


def failed_once(root: Path, web: Web, **settings: object) -> None:
    """Crawl both hosts while three pages of each fail."""
    assert crawl(root, seeds=[web.url(A), web.url(B)], settings={**QUICK, **settings}).code == 0
    assert set(errors(root)) == {web.url(host, path) for host in (A, B) for path in FAILED}


@pytest.mark.parametrize("tree", [{}, {"crawl.partition": "url"}], ids=["by-host", "by-url"])
def test_finished_crawl(root: Path, site: Site, retry: Retry, tree: dict[str, object]) -> None:
    """After `retry` the next crawl fetches what had failed, and what that leads to: nothing else, and once."""
    with Web(site, [A, B]) as web:
        failed_once(root, web, **tree)
        site.heal()
        before = web.count()
        said = retry()
        assert said == "will be tried again: 6 URLs (4 http-4xx, 2 http-5xx)"
        assert web.count() == before
        for _ in range(2):
            assert crawl(root).code == 0
            assert web.count() == before + 2 * 4
        assert set(web.duplicates()) == {(host, path) for host in (A, B) for path in FAILED}
    assert errors(root) == {}
    stored = pages(root)
    assert len(stored) == 12
    assert stored[web.url(A, "/gone/1")].depth == 1
    assert stored[web.url(A, "/further")].depth == 2
    check_tree(root)


def test_audit_after_retry(root: Path, site: Site, retry: Retry) -> None:
    """A tree whose failures wait for another try is a sound one."""
    with Web(site, [A, B]) as web:
        failed_once(root, web)
    retry()
    assert cli.main(["audit", "--root", str(root)]) == 0


@pytest.mark.parametrize(
    ("words", "tried"),
    [
        (["--class", "http-5xx,robots", "--class", "dns"], {(A, "/broken/1"), (B, "/broken/1")}),
        (["--class", "http-4xx", "--host", "127.*.2"], {(B, "/gone/1"), (B, "/gone/2")}),
    ],
)
def test_choice(root: Path, site: Site, retry: Retry, words: list[str], tried: set[tuple[str, str]]) -> None:
    """Only what was chosen by class and host is tried again."""
    with Web(site, [A, B]) as web:
        failed_once(root, web)
        assert retry(*words).startswith(f"will be tried again: {len(tried)} URLs")
        assert crawl(root).code == 0
        assert set(web.duplicates()) == tried


def test_usage(root: Path, site: Site, retry: Retry) -> None:
    """A class that does not exist, or a place without a tree, is said in one line; without failures nothing is done."""
    assert "there is no crawl here" in retry(code=75)
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A, "/1")]).code == 0
    assert retry("--class", "http-4xx,http-3xx", code=2).startswith("fscrawl: --class http-3xx: must be one of dns,")
    assert retry() == "no failed URL matches"
    assert retry("--class", "dns") == "no failed URL matches"


def test_repeated(root: Path, site: Site, retry: Retry) -> None:
    """However often the command is given, each failure is tried once more, and one that comes of it stays."""
    with Web(site, [A, B]) as web:
        failed_once(root, web)
        for _ in range(3):
            retry()
        before = errors(root)
        assert crawl(root).code == 0
        assert set(web.duplicates().values()) == {2}
        after = errors(root)
        assert after.keys() == before.keys()
        assert all(after[url].failed_at > before[url].failed_at for url in after)
        assert crawl(root).code == 0
        assert set(web.duplicates().values()) == {2}, "what failed once more is not tried a third time"
        retry("--host", A, "--class", "http-5xx")
        assert crawl(root).code == 0
        assert web.duplicates().pop((A, "/broken/1")) == 3
    check_tree(root)


def test_failed_seed(root: Path, site: Site, retry: Retry) -> None:
    """A seed that failed, and all that it leads to, is crawled after a retry."""
    down = [True]
    with Web(lambda request: Response(500) if down else site(request), [A]) as web:
        site.heal()
        assert crawl(root, seeds=[web.url(A)], settings={**QUICK, "politeness.robots": "false"}).code == 1
        assert set(errors(root)) == {web.url(A)}
        down.clear()
        retry()
        assert crawl(root).code == 0
    assert errors(root) == {}
    assert len(pages(root)) == 6
    check_tree(root)


def test_host_that_was_given_up(root: Path, site: Site, retry: Retry) -> None:
    """A host that was given up because nobody answered is crawled once it does."""
    with Web(site, [A]) as web:
        url = web.url(A)
    assert crawl(root, seeds=[url], settings={**QUICK, "politeness.give_up_after": 0}).code == 1
    assert errors(root)[url].class_ == "connect"
    site.heal()
    with Web(site, [A], port=web.port):
        retry("--class", "connect")
        assert crawl(root).code == 0
    assert errors(root) == {}
    assert len(pages(root)) == 6


def test_running_crawl(root: Path, site: Site, retry: Retry) -> None:
    """A machine that runs takes failures up by itself, again and again."""
    with Web(site, [A, B]) as web:
        seeds = [web.url(A), web.url(B)]
        words = command(root, "--quiet", "--wait", seeds=seeds, settings={**QUICK, "fleet.beat": 0.2})
        with Running(words) as running:
            running.until(lambda: len(list(root.glob("errs/*/*.json"))) == 6, "six failures")
            for times in (2, 3):
                before = {url: failure.failed_at for url, failure in errors(root).items() if "broken" in url}
                retry("--class", "http-5xx")
                running.until(
                    lambda old=before: all(errors(root)[url].failed_at != old[url] for url in old), "failures"
                )
                running.until(lambda n=times: web.count(path="/broken/1") == 2 * n, "another try of each")
            site.heal()
            retry()
            running.until(lambda: not list(root.glob("errs/*/*.json")), "all healed")
            running.until(lambda: len(list(root.glob("links/*/*.json"))) == 12, "what they lead to")
            running.signal(signal.SIGINT)
            assert running.wait().code == 130
        assert {web.duplicates()[host, "/gone/1"] for host in (A, B)} == {2}
    check_tree(root)


def test_killed_command(root: Path, site: Site, retry: Retry) -> None:
    """Killed at any moment the command has put back some of the failures, all or none, and harmed nothing."""
    rng = random.Random(1)
    count = 200
    with Web(site, [A]) as web:
        assert crawl(root, seeds=[web.url(A, "/1")], settings=QUICK).code == 0
        tree = Tree(root, "somebody")
        for number in range(count):
            url = web.url(A, f"/gone/{number + 10}")
            failure = ErrorRecord(url, urls.key(url), 1, "", "2001-01-01T00:00:00.000Z", "m", "timeout", "", 4)
            tree.put_error(urls.host(url), failure)
        site.heal()
        words = [sys.executable, "-m", "fscrawl", "retry", "--root", str(root)]
        with Running(words) as running:
            whole_s = running.wait().elapsed_s
        for _ in range(5):
            with Running(words) as running:
                deadline = running.began + rng.uniform(0.4, 1.1) * whole_s
                while time.monotonic() < deadline:
                    time.sleep(0.002)
                running.signal(signal.SIGKILL)
            assert cli.main(["audit", "--root", str(root)]) == 0
        retry()
        assert crawl(root, timeout_s=100).code == 0  # one killed before its log had a line is waited for: dead_after
        assert web.duplicates() == {}
    assert errors(root) == {}
    assert len(pages(root)) == count + 1
    check_tree(root)
