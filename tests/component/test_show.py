"""`fscrawl show` on trees that were really crawled: each kind of page that one may miss, and why it is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fscrawl import cli
from tests.support.crawling import crawl
from tests.support.web import Request, Response, Web

HTML = {"Content-Type": "text/html"}
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
HOME = b"""<title>Home</title>
<a href=/a>a</a> <a href=/old>old</a> <a href=/gone>gone</a> <a href=/private/x>x</a> <a href=/admin/x>x</a>
<a href=/pdf>pdf</a> <a rel=nofollow href=/shunned>s</a> <a href=/noindex>n</a>"""


def site(request: Request) -> Response:
    """Give a home page with a link of each kind; /a leads on to /deep and that to /deeper."""
    pages = {
        "/robots.txt": Response(200, {"Content-Type": "text/plain"}, ROBOTS),
        "/": Response(200, HTML, HOME),
        "/a": Response(200, HTML, b"<a href=/deep>d</a>"),
        "/deep": Response(200, HTML, b"<a href=/deeper>d</a>"),
        "/old": Response(301, {"Location": "/older"}, b""),
        "/older": Response(302, {"Location": "/a"}, b""),
        "/pdf": Response(200, {"Content-Type": "application/pdf"}, b"%PDF-"),
        "/noindex": Response(200, HTML, b"<meta name=robots content=noindex>"),
    }
    return pages.get(request.path, Response(404, {"Content-Type": "text/plain"}, b"nothing here"))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Give a tree of the site, crawled two links deep without /admin, and the site's URL."""
    root = tmp_path_factory.mktemp("show") / "tree"
    with Web(site) as web:
        seed = web.url("127.0.0.1", "/")
        settings = {"crawl.max_depth": "2", "crawl.deny": '["/admin/"]', "crawl.scope": "host"}
        done = crawl(root, "--quiet", seeds=[seed], settings=settings)
        assert done.code == 0, done
    return root, seed.rstrip("/")


def show(capsys: pytest.CaptureFixture[str], root: Path, url: str, *flags: str) -> dict[str, Any]:
    code = cli.main(["show", "--root", str(root), url, "--json", *flags])
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (0 if facts["stored"] else 1)
    return facts


@pytest.mark.parametrize(
    ("path", "reasons"),
    [
        ("/private/x", ["failed"]),
        ("/private/never", ["robots", "not-linked"]),
        ("/gone", ["failed"]),
        ("/admin/x", ["deny", "left-out"]),
        ("/deeper", ["max_depth", "left-out"]),
        ("/shunned", ["nofollow"]),
        ("/never", ["not-linked"]),
        ("/" + "x/" * 40, ["trap", "not-linked"]),
    ],
)
def test_a_missing_page_has_its_reason(
    crawled: tuple[Path, str], capsys: pytest.CaptureFixture[str], path: str, reasons: list[str]
) -> None:
    """A page that is not stored after a crawl gives the reason that really kept it out."""
    root, site_url = crawled
    facts = show(capsys, root, site_url + path, "--inlinks")
    assert [reason["name"] for reason in facts["reasons"]] == reasons


def test_what_robots_txt_forbade_names_the_line(crawled: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A page that robots.txt forbade names the line, and the page that linked to it."""
    root, site_url = crawled
    facts = show(capsys, root, f"{site_url}/private/x")
    assert facts["reasons"][0]["text"] == "robots: robots.txt does not allow it: Disallow: /private/"
    assert facts["found_on"] == f"{site_url}/"


def test_what_is_stored_is_shown_however_it_is(crawled: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Pages, chains of redirects, other types and pages with noindex are stored, and say what they are."""
    root, site_url = crawled
    assert show(capsys, root, site_url)["record"]["title"] == "Home"
    assert [hop["status"] for hop in show(capsys, root, f"{site_url}/old")["redirects"]] == [302, 200]
    assert show(capsys, root, f"{site_url}/pdf")["record"]["skipped"] == "type application/pdf"
    assert show(capsys, root, f"{site_url}/noindex")["record"]["robots"] == ["noindex"]
    inlinks = show(capsys, root, f"{site_url}/a", "--inlinks")["inlinks"]
    assert {(link["url"], link["how"]) for link in inlinks} == {
        (f"{site_url}/", "link"),
        (f"{site_url}/older", "redirect"),
    }


def test_a_key_leads_to_its_page(crawled: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The key of a file leads to the URL that it is of."""
    root, site_url = crawled
    key = show(capsys, root, f"{site_url}/deep")["key"]
    assert show(capsys, root, key)["url"] == f"{site_url}/deep"


def test_what_a_limit_left_waiting_names_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a crawl that max_pages ended, the limit is why a page is missing; that it waits is not said besides."""
    root = tmp_path / "tree"
    with Web(site) as web:
        seed = web.url("127.0.0.1", "/")
        assert crawl(root, "--quiet", seeds=[seed], settings={"crawl.max_pages": "1"}).code == 0
        facts = show(capsys, root, f"{seed}a")
    assert [reason["name"] for reason in facts["reasons"]] == ["max_pages"]
    assert facts["holder_state"] == "left"
    assert "raise crawl.max_pages in " in facts["reasons"][0]["advice"]
    assert facts["lines"][0]["found_on"] == seed


@pytest.mark.gate
def test_a_directory_that_is_no_tree_is_refused(tmp_path: Path) -> None:
    """Without a tree the command says so in one line, with exit code 75."""
    words = [sys.executable, "-m", "fscrawl", "show", "--root", str(tmp_path), "http://a.example/"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (75, "")
    assert "no crawl here" in done.stderr
