"""What `status` says of a crawl in its first seconds, and after it was interrupted or killed: the truth."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fscrawl import cli
from tests.support.crawling import Running, command
from tests.support.web import Web, linked_site, slowly

A = "127.0.45.1"
BEAT_S = 30
SETTINGS = {"politeness.delay": 0.2, "fleet.beat": BEAT_S, "fleet.dead_after": 3 * BEAT_S}


@pytest.fixture
def look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Give what a command prints about the tree, as an object."""

    def look(name: str = "status") -> Any:
        capsys.readouterr()
        cli.main([name, "--root", str(tmp_path / "tree"), "--json"])
        return json.loads(capsys.readouterr().out)

    return look


def running(root: Path, web: Web) -> Running:
    return Running(command(root, seeds=[web.url(A)], settings=SETTINGS, workers=1))


def has_pending(root: Path, look: Callable[..., Any]) -> Callable[[], bool]:
    return lambda: (root / ".fscrawl/tree.json").exists() and (look()["pending"] or 0) > 10


def test_the_first_seconds(tmp_path: Path, look: Callable[..., Any]) -> None:
    """Long before the second heartbeat is due, the look shows what is pending and how fast it goes."""
    root = tmp_path / "tree"
    with Web(slowly(linked_site(300, 50), 0.01), [A]) as web, running(root, web) as crawl:
        began = time.monotonic()
        crawl.until(has_pending(root, look), "URLs that are pending")
        crawl.until(lambda: look()["pages_per_s"]["1 min"] > 0, "a rate")
        assert time.monotonic() - began < BEAT_S, "the first beats come at shorter intervals"
        assert (look()["state"], look()["alive"], look()["hosts"]) == ("running", 1, 1)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_after_the_end(tmp_path: Path, look: Callable[..., Any], how: signal.Signals) -> None:
    """What an interrupted crawl has left is pending, as the audit finds it; that of a killed one at least."""
    root = tmp_path / "tree"
    with Web(slowly(linked_site(300, 50), 0.01), [A]) as web, running(root, web) as crawl:
        crawl.until(has_pending(root, look), "URLs that are pending")
        if how == signal.SIGKILL:
            crawl.kill()
        else:
            crawl.signal(how)
            crawl.wait()
        told, found = look(), look("audit")
    assert told["state"] == "stopped"
    assert told["exact"] == (how != signal.SIGKILL)
    if how == signal.SIGINT:
        assert (told["pages"], told["pending"]) == (found["pages"], found["pending"])
    else:
        assert told["pages"] <= found["pages"]
        assert told["pending"] > 10
