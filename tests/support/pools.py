"""Pools of worker processes over a new tree, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fscrawl import store, urls
from fscrawl.config.settings import FetchSettings, PolitenessSettings, Settings, render
from fscrawl.engine.messages import WorkerSetup
from fscrawl.engine.pool import Pool
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.storage.records import FORMAT, TreeRecord, timestamp
from tests.support.crawling import USER_AGENT
from tests.support.workers import GENERATION

HOSTS = ["127.0.4.1", "127.0.4.2", "127.0.4.3"]
SETTINGS = Settings(
    politeness=PolitenessSettings(delay=0.0, user_agent=USER_AGENT, robots=False),
    fetch=FetchSettings(allow_addresses=("127.0.0.0/8",), timeout=30.0),
)

Start = Callable[..., Pool]


@contextmanager
def pools(root: Path) -> Iterator[Start]:
    """Start pools over a new tree; what is left of them is killed in the end."""
    record = TreeRecord(FORMAT, "test", timestamp(0), 512, "host", "ab" * 16)
    store.create(root, record, render(Settings()), "")
    started: list[Pool] = []

    def pool(
        workers: int = 1,
        threads: int = 2,
        settings: Settings = SETTINGS,
        hung_after_s: float = 60.0,
        delay_s: float = 0.0,
    ) -> Pool:
        config = CrawlConfig(settings, frozenset(f"http://{host}/" for host in HOSTS), GENERATION)
        setup = WorkerSetup(root, record, "machine-1-abcdef", False, threads)
        started.append(Pool(workers, setup, config, hung_after_s=hung_after_s, delay_s=lambda host: delay_s))
        return started[-1]

    yield pool
    for each in started:
        each.kill()
        each.close()


def task(url: str) -> PageTask:
    return PageTask(url, urls.host(url), urls.key(url), 0, "", 1)
