"""What tests of `fscrawl.crawl` share: its settings for a web on loopback, and scripts that call it."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.web import Web

SETTINGS = {
    "politeness": {"delay": 0.0, "user_agent": "fscrawl-tests/1"},
    "fetch": {"allow_addresses": ["127.0.0.0/8"]},
}
DEADLINE_S = 60.0


def seed(web: Web) -> str:
    return f"http://127.0.0.1:{web.port}/"


def script(path: Path, text: str) -> list[str]:
    path.write_text(textwrap.dedent(text).replace("SETTINGS", f"**{SETTINGS!r}"), encoding="utf-8")
    return [sys.executable, str(path)]


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)
