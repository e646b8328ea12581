"""What the tests of a worker share: a tree, and workers of a crawl in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import store
from fscrawl.config.settings import Settings, render
from fscrawl.fleet.heartbeat import Permit
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.storage.records import FORMAT, TreeRecord, timestamp
from fscrawl.worker import Worker
from tests.support.workers import GENERATION, HOST, SETTINGS, ObeyedWorker, Work


@pytest.fixture
def tree(root: Path) -> store.Tree:
    record = TreeRecord(FORMAT, "test", timestamp(0), 512, "host", "ab" * 16)
    store.create(root, record, render(Settings()), "")
    return store.Tree(root, "machine-1-abcdef")


@pytest.fixture
def work(tree: store.Tree) -> Work:
    """Make a worker of a crawl whose seed is on HOST."""

    def worker(settings: Settings = SETTINGS, permit: Permit | None = None, **more: Callable[[], None]) -> Worker:
        return ObeyedWorker(tree, CrawlConfig(settings, frozenset({f"http://{HOST}/"}), GENERATION), 1, permit, **more)

    return worker
