"""`python crawl.py` against a web that counts: what is asked for, when, and what the tree holds afterwards."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import cli
from tests.support.crawling import (
    Running,
    body,
    check_tree,
    command,
    crawl,
    errors,
    events,
    lines_of,
    pages,
    run,
)
from tests.support.web import HTML, Request, Response, Web, linked_site, site, slowly

HOSTS = [f"127.0.5.{n}" for n in range(1, 7)]
A, B = HOSTS[:2]


def paths(root: Path, web: Web, host: str = A) -> set[str]:
    """Give the paths of a host's stored pages."""
    start = web.url(host, "")
    return {url.removeprefix(start) for url in pages(root) if url.startswith(start + "/")}


# -- all of it, once


def test_site_is_crawled_once(root: Path) -> None:
    """Every page of two linked sites is stored, and none is asked for twice."""
    with Web(linked_site(120, 7), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A), web.url(B)])
        assert done.code == 0, done
        assert web.duplicates() == {}
        for host in (A, B):
            assert paths(root, web, host) == {"/", *(f"/{n}" for n in range(120))}
        assert web.count(HOSTS[2]) == 0
    assert done.out.startswith("finished: nothing is left to fetch\nthis machine  242 pages (")
    assert errors(root) == {}
    check_tree(root)


def test_second_run_fetches_nothing(root: Path) -> None:
    """A second run over a finished tree asks for no page, neither stored nor failed."""
    with Web(site({"/": '<a href="/a"><a href="/gone">', "/a": ""}), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        before = web.counts()
        again = crawl(root)
        assert (again.code, web.counts()) == (0, before), again
    assert "this machine  0 pages" in again.out
    assert "the tree      2 pages (" in again.out
    check_tree(root)


def test_seed_is_added(root: Path) -> None:
    """A further --seed on an existing tree is crawled too, and is in seeds.txt from then on."""
    with Web(site({"/": '<a href="/a">', "/a": ""}), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        assert crawl(root, seeds=[web.url(B), web.url(A)]).code == 0
        assert web.duplicates() == {}
        assert set(pages(root)) == {web.url(host, path) for host in (A, B) for path in ("/", "/a")}
        seeds = [line for line in lines_of((root / "seeds.txt").read_text()) if not line.startswith("#")]
        assert seeds == [web.url(A), web.url(B)]


def test_seeds_file(root: Path, tmp_path: Path) -> None:
    """A seeds file may have comments, blank lines and a byte order mark; a line that is no URL is warned of."""
    with Web(site({"/1": "", "/2": ""}), HOSTS) as web:
        text = f"\ufeff# seeds\n\n  {web.url(A, '/1')}  \r\nmailto:me@example.org\nnonsense\n# end\n{web.url(B, '/2')}"
        (tmp_path / "seeds").write_text(text, encoding="utf-8")
        done = crawl(root, "--seeds", str(tmp_path / "seeds"))
        assert done.code == 0, done
        assert set(pages(root)) == {web.url(A, "/1"), web.url(B, "/2")}
    warned = lines_of(done.err)
    assert len(warned) == 2
    assert "seeds:4:1: not an http or https URL, skipped: mailto:me@example.org" in warned[0]
    assert "seeds:5:1: not an http or https URL, skipped: nonsense" in warned[1]


def test_redirect_chain_is_followed(root: Path) -> None:
    """A page that only a chain of redirects leads to is found; each hop is a record of its own."""
    answers: dict[str, str | Response] = {"/": '<a href="/r1">', "/end": "<title>End</title>"}
    for n, to in enumerate(["/r2", "r3", "end"], 1):
        answers[f"/r{n}"] = Response(302, {"Location": to})
    with Web(site(answers), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A)])
        stored = pages(root)
        assert [stored[web.url(A, f"/r{n}")].redirect for n in (1, 2, 3)] == [
            web.url(A, path) for path in ("/r2", "/r3", "/end")
        ]
        assert (stored[web.url(A, "/end")].title, stored[web.url(A, "/end")].depth) == ("End", 4)
    assert "2 pages" in done.out
    assert "3 redirects" in done.out


def test_redirect_loop_ends(root: Path) -> None:
    """Redirects that lead in a circle are each asked for once."""
    with Web(site({"/": Response(301, {"Location": "/b"}), "/b": Response(301, {"Location": "/"})}), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A)])
        assert web.duplicates() == {}
    assert done.code == 1  # nothing of use was stored
    assert len(pages(root)) == 2


def test_html5lib_stores_the_same(root: Path, tmp_path: Path) -> None:
    """The reference parser leads to the same pages with the same links."""
    with Web(linked_site(25, 4), HOSTS) as web:
        seeds = [web.url(A)]
        assert crawl(root, seeds=seeds).code == 0
        reference = tmp_path / "reference"
        assert crawl(reference, seeds=seeds, settings={"parse.parser": "html5lib"}).code == 0
    ours, theirs = pages(root), pages(reference)
    assert ours.keys() == theirs.keys()
    assert all((ours[url].links, ours[url].sha256) == (theirs[url].links, theirs[url].sha256) for url in ours)


def test_bodies_are_what_was_served(root: Path) -> None:
    """Bodies are stored as they came, whatever bytes they are."""
    bodies = {"/": b'<a href="/1">\r\n\0\xff\xfe', "/1": bytes(range(256)) * 200}
    with Web(lambda request: Response(200, HTML, bodies.get(request.path, b"")), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        assert {path: body(root, web.url(A, path)) for path in bodies} == bodies


def test_errors_are_written_and_counted(root: Path) -> None:
    """Pages that cannot be had are error records, and the summary counts them by class."""
    answers: dict[str, str | Response] = {"/": '<a href="/gone"><a href="/private"><a href="/large">'}
    answers["/large"] = "." * 3000
    answers["/robots.txt"] = Response(200, {}, b"User-agent: *\nDisallow: /private")
    with Web(site(answers), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A)], settings={"fetch.max_bytes": 2000})
        assert done.code == 0, done
        found = {url.removeprefix(web.url(A, "")): record.class_ for url, record in errors(root).items()}
    assert found == {"/gone": "http-4xx", "/private": "robots", "/large": "too-large"}
    said = [line.split()[:2] for line in lines_of(done.out) if line.startswith("     ")][:3]
    assert sorted(said) == [["1", "http-4xx"], ["1", "robots"], ["1", "too-large"]]
    assert f"fscrawl retry --root {root} --class too-large" in done.out
    check_tree(root)


# -- limits and choices


def test_max_pages(root: Path) -> None:
    """crawl.max_pages is the number of pages stored, over all runs."""
    with Web(linked_site(60, 10), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A), web.url(B)], settings={"crawl.max_pages": 10})
        assert (done.code, len(pages(root))) == (0, 10), done
        again = crawl(root)
        assert (again.code, len(pages(root))) == (0, 10), again
    assert "crawl.max_pages is reached" in done.out
    check_tree(root)


def test_max_depth(root: Path) -> None:
    """crawl.max_depth is the number of links followed from a seed."""
    with Web(linked_site(100, 3), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A)], settings={"crawl.max_depth": 2})
        assert done.code == 0
        assert paths(root, web) == {"/", *(f"/{n}" for n in range(1, 13))}
    assert {record.depth for record in pages(root).values()} == {0, 1, 2}
    assert "links by crawl.max_depth" in done.out


def test_allow_and_deny(root: Path) -> None:
    """What matches no crawl.allow, or a crawl.deny, is not asked for."""
    answers: dict[str, str | Response] = dict.fromkeys(["/docs/1", "/docs/2", "/docs/old/3", "/blog"], "")
    answers["/docs/"] = "".join(f'<a href="{path}">' for path in answers)
    with Web(site(answers), HOSTS) as web:
        options = {"crawl.allow": '["/docs/"]', "crawl.deny": '["/old/", "2$"]'}
        done = crawl(root, seeds=[web.url(A, "/docs/")], settings=options)
        assert done.code == 0
        assert paths(root, web) == {"/docs/", "/docs/1"}
        assert {path for _, path in web.counts()} == {"/robots.txt", "/docs/", "/docs/1"}
    assert "not followed  1 link by crawl.allow, 2 links by crawl.deny" in done.out


@pytest.mark.gate
@pytest.mark.parametrize(
    ("scope", "stored"),
    [
        ("host", {"www.example.com"}),
        ("domain", {"www.example.com", "blog.example.com", "example.com"}),
        ("any", {"www.example.com", "blog.example.com", "example.com", "www.example.co.uk"}),
    ],
)
def test_scope(root: Path, names: Callable[..., dict[str, str]], scope: str, stored: set[str]) -> None:
    """crawl.scope says which hosts belong to the crawl: the seeds' own, their domain's, or any."""
    hosts = ["www.example.com", "blog.example.com", "example.com", "www.example.co.uk"]
    ways = dict(zip(hosts, HOSTS, strict=False))

    def serve(request: Request) -> Response:
        port = request.headers["host"].rpartition(":")[2]
        links = "".join(f'<a href="http://{host}:{port}/">' for host in hosts)
        return Response(404 if request.path == "/robots.txt" else 200, HTML, links.encode())

    with Web(serve, HOSTS) as web:
        seed = f"http://{hosts[0]}:{web.port}/"
        done = crawl(root, seeds=[seed], settings={"crawl.scope": scope}, env=names(ways))
        assert done.code == 0, done
        assert {name for name, address in ways.items() if web.count(address)} == stored
        assert set(pages(root)) == {f"http://{name}:{web.port}/" for name in stored}


@pytest.mark.gate
def test_breadth_first(root: Path) -> None:
    """crawl.order = "breadth" takes a host's pages in the order in which they were found."""
    with Web(linked_site(40, 3), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)], workers=1).code == 0
        asked = [e.path for e in web.requests(A)]
    assert asked == ["/robots.txt", "/", *(f"/{n}" for n in range(1, 40)), "/0"]


@pytest.mark.gate
def test_depth_first(root: Path) -> None:
    """crawl.order = "depth" takes the page that was found last."""
    with Web(linked_site(40, 3), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)], settings={"crawl.order": "depth"}, workers=1).code == 0
        asked = [e.path for e in web.requests(A)]
        assert asked[:5] == ["/robots.txt", "/", "/3", "/12", "/39"]
        assert len(paths(root, web)) == 41


def test_private_addresses_are_blocked_by_default(root: Path) -> None:
    """Without fetch.allow_addresses nothing on loopback is asked for."""
    with Web(linked_site(5, 4), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A)], settings={"fetch.allow_addresses": "[]", "fetch.retries": 0})
        assert web.exchanges == []
        assert errors(root)[web.url(A)].class_ == "blocked-address"
    assert done.code == 1


# -- what is said


def test_json_lines(root: Path) -> None:
    """With --log-json every line on standard error is a JSON object: one per URL with -v, and one at the end."""
    with Web(site({"/": '<a href="/gone"><a href="/r">', "/r": Response(302, {"Location": "/"})}), HOSTS) as web:
        done = crawl(root, "--log-json", "-v", seeds=[web.url(A)])
        assert done.code == 0
        said = events(done.err)
        by_url = {each["url"]: each["event"] for each in said if "url" in each}
        assert by_url == {web.url(A): "page", web.url(A, "/gone"): "failed", web.url(A, "/r"): "redirect"}
    assert said[-1]["event"] == "end"
    assert (said[-1]["pages"], said[-1]["errors"]) == (1, {"http-4xx": 1})


@pytest.mark.gate
def test_the_same_command_again(root: Path) -> None:
    """The same command with the same settings and seeds goes on; another value is named."""
    with Web(linked_site(60, 10), HOSTS) as web:
        words = command(root, seeds=[web.url(A)], settings={"crawl.max_pages": 10})
        first, again = run(words[2:]), run(words[2:])
        assert (first.code, again.code, len(pages(root))) == (0, 0, 10), again
        other = run([*words[2:], "--set", "crawl.max_pages=20"])
    told = f"crawl.max_pages: the tree has 10; edit {root}/crawl.toml"
    assert (other.code, other.err) == (2, f"fscrawl: {told}\n")


def test_quiet(root: Path) -> None:
    """With --quiet nothing is printed when all is well; without it, that a tree of any version gives no contact."""
    with Web(linked_site(10, 5), HOSTS) as web:
        settings = {"politeness.user_agent": "fscrawl/0.1.0 (no contact given)"}
        done = crawl(root, "--quiet", seeds=[web.url(A)], settings=settings)
        told = crawl(root)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert "politeness.user_agent has no contact address" in told.out + told.err


def test_quiet_without_a_page(root: Path) -> None:
    """With --quiet a crawl that stored nothing says so."""
    with Web(site({}), HOSTS) as web:
        done = crawl(root, "--quiet", seeds=[web.url(A, "/gone")])
    assert done.code == 1
    (line,) = (line for line in done.out.splitlines() if line.startswith("next  "))
    assert line.endswith(f"show --root {root} {web.url(A, '/gone')}    says why it is not stored")


@pytest.mark.gate
def test_unnamed_user_agent_is_warned_of(root: Path) -> None:
    """A crawl under the program's own name is told to give an address, once."""
    with Web(linked_site(1, 0), HOSTS) as web:
        words = command(root, seeds=[web.url(A)])
        at = next(index for index, word in enumerate(words) if word.startswith("politeness.user_agent"))
        with Running(words[: at - 1] + words[at + 1 :]) as running:
            done = running.wait()
    (line,) = lines_of(done.err)
    assert line.startswith("politeness.user_agent has no contact address")


@pytest.mark.gate
def test_progress_on_a_terminal(root: Path) -> None:
    """On a terminal one line is drawn over and over, with pages, rate and what is pending."""
    with Web(slowly(linked_site(20, 5), 0.1), HOSTS) as web:
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 100))
        try:
            words = command(root, seeds=[web.url(A)])
            with Running(words, stderr=theirs, stdout=subprocess.DEVNULL) as running:
                os.close(theirs)
                drawn = b""
                with contextlib.suppress(OSError):  # EIO: the other end is closed
                    while more := os.read(ours, 65536):
                        drawn += more
                assert running.wait().code == 0
        finally:
            os.close(ours)
    text = drawn.decode()
    assert text.count("\r") > 2
    assert " pending, 1 host, 0 failures]" in text
    assert "\r21 pages" in text


class Head(io.StringIO):
    """What is read up to a number of lines, as by `head`."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._left = lines

    def write(self, text: str) -> int:
        self._left -= 1
        if self._left < 0:
            raise BrokenPipeError
        return len(text)


@pytest.mark.parametrize("flags", [("-v",), ("-v", "--log-json"), ("-v", "--quiet")])
@pytest.mark.parametrize("lines", [0, 5])
def test_messages_that_nobody_reads_any_more(flags: tuple[str, ...], lines: int, root: Path) -> None:
    """A crawl whose messages nobody reads any more ends in order, with the code of SIGPIPE; the next one goes on."""
    with Web(linked_site(60, 3), [A]) as web:
        words = command(root, *flags, seeds=[web.url(A, "/0")], workers=0, threads=1)[2:]
        with contextlib.redirect_stderr(Head(lines)), contextlib.redirect_stdout(Head(0)):
            assert cli.main(["crawl", *words]) == 141
        assert len(pages(root)) < 60
        assert crawl(root, "--quiet").code == 0
    assert len(pages(root)) == 60
    assert not web.duplicates()


def test_a_summary_that_nobody_reads(root: Path) -> None:
    """The exit code says how a crawl went that has only its summary left to print."""
    with Web(linked_site(3, 1), [A]) as web, contextlib.redirect_stdout(Head(0)):
        assert cli.main(["crawl", *command(root, seeds=[web.url(A, "/0")], workers=0)[2:]]) == 0
    assert len(pages(root)) == 3
