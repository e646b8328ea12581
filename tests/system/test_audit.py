"""A tree that was damaged in every way: what the audit says of it, and what a repair and a further crawl make of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fscrawl import urls
from tests.support.crawling import Done, Running, check_tree, command, crawl, errors, pages
from tests.support.fleet import QUICK
from tests.support.web import Request, Response, Web, linked_site

HOSTS = ["127.0.8.1", "127.0.8.2"]
PAGES = 40
HTML = {"Content-Type": "text/html; charset=utf-8"}


def serve(request: Request) -> Response:
    """Forty linked pages; the first links to a redirect, too, and to a page that is not there."""
    if request.path == "/moved":
        return Response(302, {"Location": "/1"}, b"")
    answer = linked_site(PAGES, 4, body_bytes=500)(request)
    if request.path == "/":
        return Response(200, HTML, answer.body + b'<a href="/moved">moved</a><a href="/gone">gone</a>')
    return answer


def run_audit(root: Path, *flags: str) -> Done:
    with Running([sys.executable, "-m", "fscrawl", "audit", "--root", str(root), *flags]) as running:
        return running.wait()


def found(done: Done) -> dict[str, int]:
    """Give the counts of a report in JSON that are not 0."""
    return {kind: told["count"] for kind, told in json.loads(done.out)["found"].items() if told["count"]}


def snapshot(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


class Tree:
    """A tree's files, to be damaged."""

    def __init__(self, root: Path, web: Web) -> None:
        self.root = root
        self._web = web
        self.machine = next(path.stem for path in (root / ".fscrawl/machines").glob("*.log"))

    def file(self, directory: str, path: str, host: str = HOSTS[0]) -> Path:
        url = self._web.url(host, path)
        suffix = "html" if directory == "htmls" else "json"
        return self.root / directory / urls.host(url) / f"{urls.key(url)}.{suffix}"

    def damage(self, *, logs: bool) -> dict[str, int]:
        """Damage it in every way; give what there is to be found. `logs`: what the machine said is cut, too."""
        body = self.file("htmls", "/3")
        body.write_bytes(body.read_bytes()[:100])
        body = self.file("htmls", "/4")
        body.write_bytes(body.read_bytes().replace(b"page", b"pagf", 1))
        self.file("htmls", "/5").unlink()
        self.file("htmls", "/moved").write_bytes(b"of an earlier answer")
        record = self.file("links", "/6")
        record.write_bytes(record.read_bytes()[:-40])  # its beginning tells the URL
        self.file("links", "/7").write_bytes(b"\0" * 300)  # only what links to it does
        self.file("links", "/8").rename(self.file("links", "/8", HOSTS[1]).with_name(f"{'0' * 24}.json"))
        self.file("htmls", "/nobody").write_bytes(b"nobody's")
        self.file("links", "/9").with_name(f".{'9' * 24}.json.{self.machine}.31-0.tmp").write_bytes(b"{")
        failure = self.file("errs", "/gone").read_text()
        beside = self.file("errs", "/10")
        beside.write_text(failure.replace(self.file("errs", "/gone").stem, beside.stem))
        self.file("errs", "/gone", HOSTS[1]).write_bytes(b"{")
        (robots,) = (self.root / ".fscrawl/robots").glob(f"{HOSTS[0]}*.json")
        robots.write_bytes(b"")
        (self.root / f".fscrawl/probe-{self.machine}").mkdir()
        self.file("links", "/11").unlink()  # others link to it
        log = self.root / f".fscrawl/generations/1/log/{self.machine}.log"
        if logs:
            log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
        return {
            # The deleted one, and the one whose record is under another key, are lost if the logs say they are told.
            **({"damaged_logs": 1} if logs else {"lost_urls": 2}),
            "damaged_bodies": 2,
            "missing_bodies": 1,
            "unexpected_bodies": 1,
            "torn_records": 2,
            "misplaced_records": 1,
            "orphan_bodies": 3,  # of nobody, of the record in the wrong place, and of the one that was deleted
            "dead_temporaries": 2,
            "errors_beside_pages": 1,
            "damaged_errors": 1,
            "torn_robots": 1,
        }


@pytest.mark.parametrize("logs", [False, True])
def test_damaged_in_every_way(root: Path, logs: bool) -> None:
    """Every damage is found and mended, and the next crawl completes the tree with nothing else fetched again."""
    with Web(serve, HOSTS) as web:
        assert crawl(root, seeds=[web.url(host) for host in HOSTS]).code == 0
        whole, failed = set(pages(root)), set(errors(root))
        assert run_audit(root).code == 0
        tree = Tree(root, web)
        damages = tree.damage(logs=logs)
        before = snapshot(root)
        done = run_audit(root, "--json")
        assert (done.code, found(done)) == (1, damages), done
        assert snapshot(root) == before
        assert run_audit(root).code == 1
        done = run_audit(root, "--repair", "--json")
        assert (done.code, found(done)) == (0, damages), done
        check_tree(root)
        again = run_audit(root, "--json")
        assert (again.code, found(again)) == (0, {}), again
        assert json.loads(done.out)["put_back"] == (7 if logs else 8)
        assert json.loads(again.out)["pending"] == 8
        assert crawl(root).code == 0
        assert set(pages(root)) == whole
        assert set(errors(root)) == failed
        check_tree(root)
        last = run_audit(root, "--json")
        assert (last.code, found(last), json.loads(last.out)["pending"]) == (0, {}, 0), last
        again_asked = {(host, path.strip("/")) for host, path in web.duplicates()}
        assert again_asked == {(HOSTS[0], str(n)) for n in (3, 4, 5, 6, 7, 8, 11)} | {(HOSTS[1], "gone")}


def test_repair_beside_a_crawl(root: Path) -> None:
    """While a machine is at work its pages are left alone, and it ends as if nobody had looked; a repair then mends."""

    def slowly(request: Request) -> Response:
        answer = serve(request)
        return Response(answer.status, answer.headers, answer.body, delay_s=0.1)

    with Web(slowly, HOSTS) as web:
        words = command(root, "--quiet", seeds=[web.url(HOSTS[0])], settings=QUICK)
        with Running(words) as running:
            running.until(lambda: web.count(path="/9"), "ten pages")
            tree = Tree(root, web)
            body = tree.file("htmls", "/1")
            body.write_bytes(body.read_bytes()[:100])
            done = run_audit(root, "--repair")
            assert done.code == 1, done
            assert "1, 0 repaired" in done.out
            assert tree.machine in done.out
            assert running.wait().code == 0
        assert run_audit(root, "--repair").code == 0
        assert crawl(root).code == 0
        assert run_audit(root).code == 0
        assert set(web.duplicates()) == {(HOSTS[0], "/1")}
    check_tree(root)
