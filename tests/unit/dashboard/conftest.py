"""A small tree and the dashboard that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.admin import control
from fscrawl.monitor.dashboard.app import Dashboard
from fscrawl.monitor.dashboard.guard import Guard, names_for
from tests.support.dashboards import call, write_log
from tests.support.dashboards_in_process import BEATS, PORT, A, Ask
from tests.support.trees import Grown


@pytest.fixture
def grown(tmp_path: Path) -> Grown:
    grown = Grown(tmp_path / "tree")
    front = grown.page(
        A, b"<title>Front</title><a href=b>b</a><a href=/c rel=nofollow>c</a><a href=http://p.example:8080/>p</a>"
    )
    grown.page(A + "b", "<meta charset=shift_jis><title>表</title><p>表".encode("shift_jis"), referrer=front.key)
    grown.redirect(A + "old", A + "b", referrer=front.key)
    grown.skipped(A + "doc.pdf")
    grown.page(PORT, b"<link rel=canonical href='http://a.example/b'><a href=x>x</a>", referrer=front.key)
    grown.fail(A + "gone", referrer=front.key)
    grown.fail(A + "dns", "dns", None)
    write_log(grown.root, "old-1-aa", *BEATS)
    return grown


@pytest.fixture
def dashboard(grown: Grown) -> Iterator[Dashboard]:
    made = Dashboard(grown.root, control.VERBS)
    yield made
    made.close()


@pytest.fixture
def ask(dashboard: Dashboard) -> Ask:
    guard = Guard(dashboard.app, names_for("127.0.0.1", "box"), "tok")
    return lambda path, *args, **more: call(guard, path, *args, **more)
