"""Machines without a browser, in a crawl in which pages are to be rendered."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.support.crawling import Running, command, crawl, errors, pages
from tests.support.web import HTML, Response, Web

HOST = "127.0.96.1"
NOWHERE = {**os.environ, "FSCRAWL_BROWSER": "/nowhere/chromium"}


def test_an_edit_that_wants_pages_to_be_rendered(root: Path) -> None:
    """A machine without a browser leaves, as it would not begin. It says why, and frees its hosts for the others."""
    links = "".join(f"<a href=/{number}>x</a>" for number in range(1000))
    with Web(lambda _: Response(200, HTML, links.encode(), delay_s=0.02), [HOST]) as web:
        words = command(root, seeds=[web.url(HOST)], settings={"fleet.beat": 0.2})
        with Running(words, env=NOWHERE) as running:
            running.until(lambda: len(pages(root)) > 3, "some pages are stored")
            file, new = root / "crawl.toml", root / "crawl.toml.new"
            new.write_text(file.read_text().replace('when = "never"', 'when = "always"'))
            new.rename(file)
            done = running.wait()
        assert done.code == 2, done
        assert done.warnings[-1].startswith("fscrawl: render: FSCRAWL_BROWSER=/nowhere/chromium: there is no such")
        stored = len(pages(root))
        assert stored < 1000
    with Running([sys.executable, "-m", "fscrawl", "status", "--root", str(root), "--json"]) as running:
        status = json.loads(running.wait().out)
    assert (status["left"], status["dead"], status["pages"]) == (1, 0, stored)


def test_a_browser_that_does_not_start(root: Path) -> None:
    """The machine leaves, and its pages are no failures: another machine may render them."""
    with Web(lambda asked: Response(404 if asked.path == "/robots.txt" else 200, HTML, b"x"), [HOST]) as web:
        seeds = [web.url(HOST, f"/{number}") for number in range(40)]
        broken = {**os.environ, "FSCRAWL_BROWSER": "/bin/false"}
        done = crawl(root, seeds=seeds, settings={"render.when": "always"}, env=broken)
    assert done.code == 2, done
    assert done.warnings[-1:] == [  # as root, another one comes before
        "fscrawl: render: the browser /bin/false does not start, so this machine leaves; doctor says why; install"
        " another one, or name it in FSCRAWL_BROWSER"
    ]
    assert (pages(root), errors(root)) == ({}, {})
