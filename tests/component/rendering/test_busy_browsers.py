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
HONEST, HOSTILE = "127.0.66.2", [f"127.0.66.{n}" for n in range(11, 19)]
BUSY = b"<body><script>for (const end = Date.now() + 1000; Date.now() < end;);</script>"


def _answer(request: Request) -> Response:
    return Response(200, HTML, BUSY if request.host.startswith("127.0.67.") else b"<p>a plain page")


def _settings(port: int) -> dict[str, str]:
    return {
        "render.hosts": json.dumps([f"{host}:{port}" for host in SLOW]),
        "render.browsers": "1",
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


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "script", ["for (;;);", "for (let n = 0; n < 500; n++) fetch('/never' + n)"], ids=["scripts", "loads"]
)
def test_a_quick_host_beside_hosts_that_hang(root: Path, script: str) -> None:
    """It does not wait for a page of each of them before each of its own; and those are given up as ever."""

    def answer(request: Request) -> Response:
        if request.path.startswith("/never"):
            return Response(200, HTML, b"", delay_s=60.0)
        hangs = request.host != HONEST
        return Response(200, HTML, f"<body><script>{script if hangs else 'document.title = 1'}</script>".encode())

    with Web(answer, [HONEST, *HOSTILE]) as web:
        hosts = [f"{host}:{web.port}" for host in [*HOSTILE, HONEST]]
        seeds = [f"http://{host}/{n}" for n in range(15) for host in hosts]
        settings = {
            **_settings(web.port),
            "render.hosts": json.dumps(hosts),
            "render.browsers": "4",
            "render.timeout": "10",
        }
        crawl = command(root, "--workers", "1", "--threads", "2", seeds=seeds, settings=settings)
        with Running(crawl) as running:
            running.until(lambda: sum(f"//{HONEST}:" in url for url in pages(root)) == 15, "its pages are stored", 120)
            running.process.send_signal(signal.SIGTERM)
            running.wait(60)
