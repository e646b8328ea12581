"""Browsers that have too much to do: pages that need none do not wait, and what waits is not lost."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.support.crawling import Running, command, errors, pages
from tests.support.web import HTML, Request, Response, Web

PLAIN, SLOW = "127.0.66.1", [f"127.0.67.{n}" for n in range(1, 121)]
BUSY = b"<body><script>for (const end = Date.now() + 1000; Date.now() < end;);</script>"


def _answer(request: Request) -> Response:
    return Response(200, HTML, BUSY if request.host.startswith("127.0.67.") else b"<p>a plain page")


def _settings(port: int) -> dict[str, str]:
    return {
        "render.hosts": json.dumps([f"{host}:{port}" for host in SLOW]),
        "render.pages": "1",
        "crawl.max_depth": "0",
        "politeness.delay": "0.01",
    }


@pytest.mark.timeout(180)
def test_other_hosts_do_not_wait(root: Path) -> None:
    """A hundred hosts wait for one browser: a plain host goes on at its pace, and nobody takes a worker for hung."""
    with Web(_answer, [PLAIN, *SLOW]) as web:
        seeds = [web.url(host) for host in SLOW] + [web.url(PLAIN, f"/{n}") for n in range(300)]
        crawl = command(root, "--workers", "1", "--threads", "2", seeds=seeds, settings=_settings(web.port))
        with Running(crawl) as running:
            running.until(lambda: _plain(root) == 300, "all plain pages are stored", 60)
            rendered = len(pages(root)) - 300
            os_signal_at = time.monotonic()
            running.process.send_signal(signal.SIGTERM)
            running.wait(60)
            took_s = time.monotonic() - os_signal_at
    assert rendered < 60
    assert took_s < 20
    assert errors(root) == {}


def _plain(root: Path) -> int:
    return sum(f"//{PLAIN}:" in url for url in pages(root))
