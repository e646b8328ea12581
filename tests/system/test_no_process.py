"""A computer that gives no more processes for a while: what runs goes on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, Running, check_tree, command, pages
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.proof

NO_FORK = """
import errno, os

def fork(real=os.fork):
    if os.path.exists({sign!r}):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return real()

os.fork = fork
"""


def test_a_worker_dies_and_none_can_be_forked(root: Path, tmp_path: Path) -> None:
    """The crawl goes on with its other worker, gets another one when it can, and loses nothing.

    What it prints is the traceback of the server of processes, which is Python's.
    """
    sign, site = tmp_path / "no-fork", tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(NO_FORK.format(sign=str(sign)))
    hosts = ["127.0.43.1", "127.0.43.2", "127.0.43.3"]
    with Web(linked_site(40, 5), hosts) as web:
        words = command(
            root, "--workers", "2", seeds=[web.url(host) for host in hosts], settings={"politeness.delay": 0.1}
        )
        with Running(words, env={**os.environ, "PYTHONPATH": str(site)}) as running:
            running.until(lambda: len(web.requests()) > 10, "the crawl is under way")
            sign.touch()
            dead = running.workers()[0]
            os.kill(dead, signal.SIGKILL)
            time.sleep(1.5)
            before = len(web.requests())
            running.until(lambda: len(web.requests()) > before + 5, "the other worker works")
            sign.unlink()
            done = running.wait(60.0)
    assert (done.code, len(pages(root))) == (0, 123), done
    assert f'File "{CHECKOUT}' not in done.err
    assert "Resource temporarily unavailable" in done.err
    assert {url: count for url, count in web.duplicates().items() if count > 2} == {}
    check_tree(root)
