"""Crawls whose `crawl.toml` has [[site]] tables, against a local web."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.neighbours import customised
from tests.support.web import HTML, Request, Response, Web, site

A, B = "127.0.91.1", "127.0.91.2"
BASE = """\
[crawl]
scope = "host"
[politeness]
delay = 0
user_agent = "fscrawl-tests/1 (+mailto:tests@example.org)"
[fetch]
allow_addresses = ['127.0.0.0/8']
accept = ["text/html", "application/json"]
retries = 1
[fleet]
beat = 0.2
dead_after = 20
shards = 16
"""
JSON = {"Content-Type": "application/json"}
NONE = Response(404, {"Content-Type": "text/plain"})
END = "\n# end of settings (leave this line: it shows that the file was read to its end)\n"


def write(root: Path, *tables: str) -> None:
    """Write a `crawl.toml`, whole at once."""
    root.mkdir(exist_ok=True)
    new = root / "crawl.toml.new"
    new.write_text(BASE + "\n".join(tables) + END)
    new.rename(root / "crawl.toml")


def paths(root: Path) -> set[str]:
    return {"/" + url.split("/", 3)[3] for url in pages(root)}


def test_a_json_list_with_pages(root: Path) -> None:
    """Seeds by a range of dates, the URLs of a JSON list, a link in it; no other link is followed."""

    def serve(request: Request) -> Response:
        if request.path.startswith("/list"):
            day = request.path.partition("day=")[2].partition("&")[0]
            found = {"result": [{"url": f"/item/{day}/{n}"} for n in range(2)], "more": "/last"}
            return Response(200, JSON, json.dumps(found).encode())
        return (
            Response(200, HTML, b"<title>x</title><a href=/other>other</a>") if "robots" not in request.path else NONE
        )

    with Web(serve, [A]) as web:
        write(
            root,
            f"[[site]]\nhosts = ['{A}']",
            f"seeds = ['{web.url(A, '/list?day={2024-02-28..2024-03-01}')}']",
            "follow = ['json:$.result[*].url', 'json:$.more']",
        )
        done = crawl(root)
        assert done.code == 0, done
        days = ["2024-02-28", "2024-02-29", "2024-03-01"]
        items = {f"/item/{day}/{n}" for day in days for n in range(2)}
        assert paths(root) == {*(f"/list?day={day}" for day in days), *items, "/last"}
        assert web.duplicates() == {}
        record = pages(root)[web.url(A, "/list?day=2024-02-28")]
        assert len(record.requests or ()) == 3
        assert (record.rules or "") != ""
        assert errors(root) == {}
        again = crawl(root)
        assert again.code == 0, again
        assert web.duplicates() == {}
    check_tree(root)


def test_a_captcha_with_status_200(root: Path) -> None:
    """A page that is not what is expected is not stored; it is tried again, and stored if it is right then."""
    asked: dict[str, int] = {}

    def serve(request: Request) -> Response:
        asked[request.path] = asked.get(request.path, 0) + 1
        if request.path == "/robots.txt":
            return NONE
        if request.path == "/always" or (request.path == "/once" and asked["/once"] == 1):
            return Response(200, HTML, b"are you a robot? <a href=/trap>a captcha</a>")
        if request.path == "/login":
            return Response(302, {"Location": "/account/login?back=1"})
        return Response(200, HTML, b"<table class=result><a href=/once>1</a><a href=/always>2</a><a href=/login>3</a>")

    with Web(serve, [A]) as web:
        write(
            root,
            f"[[site]]\nhosts = ['{A}']\nseeds = ['{web.url(A)}']",
            "expect = ['css:table.result', '!re:captcha', '!redirect:/login']",
        )
        done = crawl(root)
        assert done.code == 0, done
        assert paths(root) == {"/", "/once"}
        failed = {url.split("/", 3)[3]: (error.class_, error.attempts) for url, error in errors(root).items()}
        assert failed == {"always": ("unexpected", 2), "login": ("unexpected", 2)}
        messages = {url.split("/", 3)[3]: error.message for url, error in errors(root).items()}
        assert messages["always"] == "expect = css:table.result: it was not found"
        assert messages["login"].startswith("expect = !redirect:/login: it redirects to http://127.0.91.1:")
        assert (asked["/once"], asked["/always"], web.count(A, "/trap")) == (2, 2, 0)
    check_tree(root)


CHAIN: dict[str, str | Response] = {
    "/": "<a class=next href=/1>1</a><a class=side href=/s0>s</a>",
    **{f"/{n}": f"<a class=next href=/{n + 1}>n</a><a class=side href=/s{n}>s</a>" for n in range(1, 6)},
    "/6": "end",
    **{f"/s{n}": "side" for n in range(6)},
}


def table(web: Web, follow: str) -> str:
    return f"[[site]]\nhosts = ['{A}']\nseeds = ['{web.url(A)}']\nfollow = {follow}\n"


@pytest.mark.gate
def test_an_edit_that_widens_finds_links_in_stored_pages(root: Path) -> None:
    """While machines run, links that `follow` did not find are found in stored pages, which are not fetched again."""
    with Web(site(CHAIN), [A]) as web:
        write(root, table(web, "['css:a.next']"))
        with Running(command(root, "--wait")) as running:
            running.until(lambda: len(pages(root)) == 7, "the chain is stored")
            assert not any(path.startswith("/s") for path in paths(root))
            write(root, table(web, "['css:a.next', 'css:a.side']"))
            running.until(lambda: len(pages(root)) == 13, "the side pages are stored")
        assert web.duplicates() == {}
        assert pages(root)[web.url(A)].requests == (web.url(A, "/1"), web.url(A, "/s0"))
    check_tree(root)


def test_an_edit_between_two_runs(root: Path) -> None:
    """Rules that are edited or removed between two runs hold for stored pages, and nothing is fetched again."""
    with Web(site(CHAIN), [A]) as web:
        write(root, table(web, "[]"))
        assert crawl(root).code == 0
        assert paths(root) == {"/"}
        write(root, table(web, "['css:a.next']"))
        assert crawl(root).code == 0
        assert len(pages(root)) == 7
        write(root, table(web, "['re:nothing']"))
        assert crawl(root).code == 0
        assert len(pages(root)) == 7
        write(root, f"[[site]]\nhosts = ['other.example']\nseeds = ['{web.url(A)}']\nfollow = []\n")
        assert crawl(root).code == 0
        assert len(pages(root)) == 13
        assert web.duplicates() == {}
    check_tree(root)


@pytest.mark.gate
def test_a_list_that_grows(root: Path) -> None:
    """Lines that are added to a list of values become seeds while machines run, and only new ones are fetched."""
    with Web(site({f"/c/{name}": "x" for name in ("a", "b%2F1", "c")}), [A]) as web:
        write(root, f"[[site]]\nhosts = ['{A}']\nseeds = ['{web.url(A, '/c/')}{{classes.txt}}']\n")
        (root / "classes.txt").write_text("# classes\na\n")
        with Running(command(root, "--wait")) as running:
            running.until(lambda: paths(root) == {"/c/a"}, "the first line is fetched")
            with (root / "classes.txt").open("a") as file:
                file.write("b/1\nc # a comment\n")
            running.until(lambda: paths(root) == {"/c/a", "/c/b%2F1", "/c/c"}, "the new lines are fetched")
        assert web.duplicates() == {}


def test_what_is_wrong_is_said_in_one_line(root: Path) -> None:
    """Too many seeds, a list that is missing and a selector that does not exist are usage errors, with the place."""
    for lines, said in (
        (["seeds = ['http://a.example/{1..1000000000}']"], "they give 1,000,000,000 URLs (most by"),
        (["seeds = ['http://a.example/{names.txt}']"], "names.txt does not exist; write it there, one value a line"),
        (["follow = ['css:a[']"], "follow: css:a[: must be a CSS selector: its brackets or quotes do not match"),
        (["expect = ['!re:(']"], "expect: !re:(: must be a regular expression: missing )"),
        (["follow = ['json:a']"], "follow: json:a: must be a JSON path: a path begins with $"),
    ):
        write(root, "[[site]]\nhosts = ['a.example']", *lines)
        done = crawl(root, seeds=["http://a.example/"])
        assert done.code == 2, done
        assert said in done.err, done.err
        assert len(done.err.splitlines()) == 1
        assert "crawl.toml" in done.err


@pytest.mark.gate
def test_killed_in_the_middle(root: Path) -> None:
    """A crawl of ranges that is killed goes on where it was: all is stored, and hardly anything fetched twice."""
    with Web(site({f"/{n}": "x" for n in range(120)}), [A, B]) as web:
        seeds = [web.url(host) + "{0..119}" for host in (A, B)]
        write(root, f"[[site]]\nhosts = ['{A}', '{B}']\nseeds = {seeds}\n")
        for stored in (20, 90):
            with Running(command(root)) as running:
                running.until(lambda least=stored: len(pages(root)) >= least, f"{stored} pages are stored")
        done = crawl(root)
        assert done.code == 0, done
        assert len(pages(root)) == 240
        assert len(web.duplicates()) <= 2 * 8  # what was in flight when it was killed
    check_tree(root)


@pytest.mark.gate
def test_headers(root: Path) -> None:
    """Headers of a table go to its hosts only, with secrets of the environment, and no file of the tree has them."""
    with Web(lambda request: NONE if "robots" in request.path else Response(200, HTML, b"x"), [A, B]) as web:
        write(
            root,
            f"[[site]]\nhosts = ['{A}']\nheaders = {{X-Key = 'key $FSCRAWL_KEY', Accept-Language = 'en'}}",
            f"[[site]]\nhosts = ['{B}']\nheaders = {{X-Other = 'b'}}",
        )
        words = command(root, seeds=[web.url(A), web.url(B)])
        with Running(words, env={**os.environ}) as running:
            done = running.wait()
        assert done.code == 2, done
        assert done.err.endswith(
            f"[[site]] 1 ({A}) headers: the environment variable FSCRAWL_KEY is not set on this machine\n"
        )
        with Running(words, env={**os.environ, "FSCRAWL_KEY": "s3cret"}) as running:
            done = running.wait()
        assert done.code == 0, done
        for host, key, other in ((A, "key s3cret", None), (B, None, "b")):
            assert {each.headers.get("x-key") for each in web.requests(host)} == {key}
            assert {each.headers.get("x-other") for each in web.requests(host)} == {other}
    kept = (root / ".fscrawl/settings.toml").read_text()
    assert "FSCRAWL_KEY" not in kept
    assert "[[site]]" in kept
    assert not any(b"s3cret" in path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_a_list_with_bytes_that_are_no_text(root: Path) -> None:
    """Such a line is named with its place and left out; all others are taken."""
    with Web(site({f"/{name}": "x" for name in "abc"}), [A]) as web:
        port = web.url(A).rpartition(":")[2].rstrip("/")
        write(root, f"[[site]]\nhosts = ['{A}']\nseeds = ['http://{A}:{port}/{{classes.txt}}']\n")
        (root / "classes.txt").write_bytes(b"a\nb\xff\nc\0\nc\n")
        done = crawl(root)
        assert done.code == 0, done
        assert set(pages(root)) == {web.url(A, "/a"), web.url(A, "/c")}
        assert "classes.txt:2:2: byte 0xff is not UTF-8; save the file as UTF-8, skipped" in done.err
        assert "classes.txt:3:2: a NUL byte is no text" in done.err


@pytest.mark.gate
def test_an_edit_that_names_a_list_before_it_is_there(root: Path, tmp_path: Path) -> None:
    """The edit is refused in one line, and taken in when the list has come."""
    with Web(site({f"/{name}": "x" for name in "abc"}), [A]) as web:
        port = web.url(A).rpartition(":")[2].rstrip("/")
        seeds = f"[[site]]\nhosts = ['{A}']\nseeds = ['http://{A}:{port}/%s']\n"
        write(root, seeds % "a")
        said = tmp_path / "said"
        with said.open("wb") as stderr, Running(command(root, "--wait"), stderr=stderr) as running:
            running.until(lambda: len(pages(root)) == 1, "the first page")
            text = (root / "crawl.toml").read_text()
            (root / "crawl.toml").write_text(text.replace(f"{port}/a'", f"{port}/{{late.txt}}'"))
            running.until(lambda: "late.txt does not exist; write it there" in said.read_text(), "a word")
            (root / "late.txt").write_text("b\nc\n")
            running.until(lambda: len(pages(root)) == 3, "the pages of the list")
            running.signal(signal.SIGINT)
            running.wait()
        assert said.read_text().count("late.txt does not exist; write it there") == 1


FEW = "import fscrawl.parse.links\nfscrawl.parse.links.MAX_LINKS = 2\n"


@pytest.mark.gate
def test_a_list_with_more_than_is_kept(root: Path, tmp_path: Path) -> None:
    """Of a list of too many items its record says so, also if the rules that find them are written later."""
    ids = Response(200, JSON, b'["1", "2", "3"]')
    with Web(lambda request: NONE if "robots" in request.path else ids, [A]) as web:
        for follow, truncated in (("[]", None), ("['json:$[*]']", True)):
            write(root, f"[[site]]\nhosts = ['{A}']\nfollow = {follow}\n")
            seeds = [] if truncated else [web.url(A)]
            with Running(command(root, seeds=seeds), env=customised(tmp_path, FEW)) as running:
                done = running.wait()
            assert done.code == 0, done
            record = pages(root)[web.url(A)]
            assert (len(record.requests or ()), record.truncated) == (2 if truncated else 0, truncated)
        words = [sys.executable, "-m", "fscrawl", "try", "--root", str(root), "--stored", web.url(A)]
        with Running(words, env=customised(tmp_path, FEW)) as running:
            assert "2 requests to follow, 0 not; it has more than are kept" in running.wait().out
