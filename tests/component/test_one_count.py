"""One vocabulary of numbers: whoever counts a tree with every kind of record gives the same numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fscrawl import cli
from fscrawl.monitor.dashboard.summary import summary
from fscrawl.monitor.report import gather
from fscrawl.monitor.snapshot import Observer
from fscrawl.store import Tree
from tests.support.crawling import Done, crawl
from tests.support.web import HTML, Request, Response, Web

A, B = "127.0.44.1", "127.0.44.2"
_LINKS = (
    "/same",
    "/again",
    "/moved",
    "/pdf",
    "/image",
    "/clip",
    "/gone",
    "/later",
    "/mended",
    "/private",
    "/changes",
    "/turns",
    "/lost",
)


class Site:
    """Answers that depend on the round: what fails first is mended later, and what is stored first changes."""

    def __init__(self) -> None:
        self.round = 1

    def __call__(self, request: Request) -> Response:
        first = self.round == 1
        path = request.path
        if path == "/robots.txt":
            return Response(
                200, {}, f"User-agent: *\nDisallow: /private\nSitemap: http://{request.headers['host']}/map".encode()
            )
        answers = {
            "/": Response(200, HTML, "".join(f'<a href="{link}">' for link in _LINKS).encode()),
            "/map": Response(200, {"Content-Type": "text/xml"}, b"<urlset></urlset>"),
            "/same": Response(200, HTML, b"the same body"),
            "/again": Response(200, HTML, b"the same body"),
            "/moved": Response(301, {"Location": "/same"}),
            "/pdf": Response(200, {"Content-Type": "application/pdf"}, b"%PDF-1.4"),
            "/image": Response(200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n"),
            "/clip": Response(200, {"Content-Type": "video/mp4"}, b"\0\0\0\x18ftypmp42"),
            "/later": Response(404 if first else 500),
            "/mended": Response(404) if first else Response(200, HTML, b"mended"),
            "/changes": Response(200, HTML, f"round {self.round}".encode()),
            "/turns": Response(200, HTML, b"a page") if first else Response(301, {"Location": "/"}),
            "/lost": Response(200, HTML, b"it stays") if first else Response(404),
        }
        return answers.get(path, Response(404))


@pytest.fixture(scope="module", params=["files", pytest.param("packs", marks=pytest.mark.gate)])
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A tree of three runs: a crawl, another try of all failures, and a refresh of all pages."""
    root = tmp_path_factory.mktemp("count") / "tree"
    pages = Site()
    with Web(pages, [A, B]) as web:
        accept = '["text/html", "application/pdf", "image/*"]'
        settings = {"fetch.retries": 0, "fetch.accept": accept, "store.layout": request.param}
        first = crawl(root, seeds=[web.url(A), web.url(B)], settings=settings)
        assert first.code == 0, first
        pages.round = 2
        assert cli.main(["retry", "--root", str(root), "--class", "http-4xx"]) == 0
        second = crawl(root)
        assert second.code == 0, second
        last = crawl(root, "--refresh", "0s", "--log-json")
        assert last.code == 0, last
    return root, last


# Of each host: /, /same, /again, /mended, /changes, /lost, /pdf and /image are pages; /moved and /turns are redirects;
# /clip and the sitemap are of other types; /gone, /later and /private fail. Sixteen pages have seven different bodies.
EXPECTED = {"pages": 16, "redirects": 4, "others": 4, "failures": 6, "duplicates": 9, "pending": 0, "hosts": 2}
CLASSES = {"http-4xx": 2, "http-5xx": 2, "robots": 2}


def test_summary_and_progress(crawled: tuple[Path, Done]) -> None:
    """The summary of a crawl and the end of its progress."""
    _, done = crawled
    line = next(line for line in done.out.splitlines() if line.startswith("the tree"))
    found = re.fullmatch(r"the tree +(\d+) pages \(.*\), (\d+) failures, (\d+) URLs pending", line)
    assert found is not None, line
    assert [int(each) for each in found.groups()] == [16, 6, 0]
    end = json.loads(done.err.splitlines()[-1])
    assert (end["event"], end["tree_pages"], end["pending"]) == ("end", 16, 0)
    said = {words[1]: int(words[0]) for words in map(str.split, done.out.splitlines()) if words[0].isdecimal()}
    assert said == CLASSES


def test_status(crawled: tuple[Path, Done], capsys: pytest.CaptureFixture[str]) -> None:
    """`status`, as an object and as a table."""
    root, _ = crawled
    told = _json(capsys, "status", "--root", str(root), "--json")
    assert (told["pages"], told["errors"], told["pending"], told["exact"]) == (16, CLASSES, 0, True)
    assert sum(machine["pages"] for machine in told["machines"]) == 16
    cli.main(["status", "--root", str(root)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["pages", "16", "stored,"] in [words[:3] for words in lines]
    assert ["failures", "6:"] in [words[:2] for words in lines]
    assert ["pending", "0", "URLs"] in [words[:3] for words in lines]


def test_dashboard(crawled: tuple[Path, Done]) -> None:
    """The dashboard's totals, failures and table of hosts."""
    root, _ = crawled
    facts = summary(Observer(Tree(root, "m-1-aa")).look(), "1h")
    assert (facts["pages"], sum(facts["errors"].values()), facts["pending"]) == (16, 6, 0)
    assert dict(facts["errors"]) == CLASSES


def test_report(crawled: tuple[Path, Done]) -> None:
    """The report: the same as the dashboard, and the files of its hosts."""
    root, _ = crawled
    found = gather(Tree(root, "m-1-aa"))
    assert (found["state"]["pages"], sum(found["state"]["errors"].values())) == (16, 6)
    assert found["hosts"]["hosts"] == EXPECTED["hosts"]
    rows = found["hosts"]["rows"]
    assert (sum(row["records"] for row in rows), sum(row["failures"] for row in rows)) == (24, 6)


def test_audit(crawled: tuple[Path, Done], capsys: pytest.CaptureFixture[str]) -> None:
    """The audit, as an object."""
    root, _ = crawled
    told = _json(capsys, "audit", "--root", str(root), "--json")
    names = {"failures": "errors"}
    assert told["ok"]
    assert {name: told[names.get(name, name)] for name in EXPECTED if name != "duplicates"} == {
        name: number for name, number in EXPECTED.items() if name != "duplicates"
    }


def test_merge(crawled: tuple[Path, Done], tmp_path: Path) -> None:
    """The dataset: its manifest, and what the merge prints."""
    root, _ = crawled
    out = tmp_path / "dataset"
    done = run_merge(root, out)
    counts = json.loads((out / "manifest.json").read_bytes())["counts"]
    names = {"failures": "errors"}
    kinds = ("pages", "redirects", "others", "failures", "duplicates")
    assert {name: counts[names.get(name, name)] for name in kinds} == {name: EXPECTED[name] for name in kinds}
    assert counts["records"] == 24
    assert "records: 16 pages, 4 redirects, 4 of other types; failures: 6" in done


def run_merge(root: Path, out: Path) -> str:
    """Merge in this process; give what was printed."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert cli.main(["merge", "--root", str(root), "--out", str(out), "--processes", "1"]) == 0
    return printed.getvalue()


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert cli.main(words) == 0
    return json.loads(capsys.readouterr().out)
