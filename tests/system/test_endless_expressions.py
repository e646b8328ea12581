"""Crawls with an expression for which `re` takes for ever at some URLs, beside pages that link to such URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.crawling import Running, command, pages
from tests.support.web import HTML, Request, Response, Web

pytestmark = pytest.mark.proof

A, B = "127.0.93.1", "127.0.93.2"
ENDLESS = "(a+)+$"
HOSTILE = ["/" + "a" * 40 + f"!{n}" for n in range(8)]
SETTINGS = """\
[crawl]
scope = "host"
deny = {deny}
[politeness]
delay = {delay}
user_agent = "fscrawl-tests/1 (+mailto:tests@example.org)"
[fetch]
allow_addresses = ['127.0.0.0/8']
[fleet]
beat = 0.2
dead_after = 20
shards = 16
# end of settings (leave this line: it shows that the file was read to its end)
"""
IN_TIME_S = 40.0  # `re` would take an hour for each URL


def write(root: Path, delay: float, *deny: str) -> None:
    """Write a `crawl.toml`, whole at once."""
    root.mkdir(exist_ok=True)
    new = root / "crawl.toml.new"
    new.write_text(SETTINGS.format(deny=list(deny), delay=delay))
    new.rename(root / "crawl.toml")


def linking(*paths: str) -> Web:
    """Make a web in which the first page of A links to paths, and all other pages to nothing."""
    links = "".join(f"<a href={path}>x</a>" for path in paths).encode()

    def serve(request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(404, {"Content-Type": "text/plain"})
        return Response(200, HTML, links if (request.host.partition(":")[0], request.path) == (A, "/") else b"<p>")

    return Web(serve, [A, B])


def test_a_page_with_links_on_which_an_expression_never_ends(root: Path) -> None:
    """Its links are judged like others: those that do not match are fetched, and no host waits."""
    with linking("/aaa", *HOSTILE) as web:
        write(root, 0, ENDLESS)
        with Running(command(root, seeds=[web.url(A), web.url(B)])) as running:
            done = running.wait(IN_TIME_S)
        assert done.code == 0, done
        assert set(pages(root)) == {web.url(A), web.url(B), *(web.url(A, path) for path in HOSTILE)}


def test_an_edit_that_brings_such_an_expression(root: Path) -> None:
    """A machine that judges its pending URLs anew, by an expression that never ends for some, goes on at once."""
    with linking(*(f"/later/{n}" for n in range(400)), *HOSTILE) as web:
        write(root, 0.2)
        with Running(command(root, seeds=[web.url(A), web.url(B)])) as running:
            running.until(lambda: len(pages(root)) > 3, "some pages are stored")
            write(root, 0.2, ENDLESS, "/later/")
            done = running.wait(IN_TIME_S)
        assert done.code == 0, done
        stored = set(pages(root))
        assert {web.url(A, path) for path in HOSTILE} <= stored
        assert len(stored) < 200  # the edit was in force
