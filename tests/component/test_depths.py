"""With max_depth every page is found that is near enough to a seed, in whatever order the hosts answer."""

from __future__ import annotations

import io
import random
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fscrawl import store
from fscrawl.config.settings import apply, render
from fscrawl.engine.outcomes import Bookkeeper
from fscrawl.engine.progress import Progress
from fscrawl.fleet.membership import Membership
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.politeness.outage import Outage
from fscrawl.storage.records import FORMAT, TreeRecord, timestamp
from fscrawl.worker import Worker
from tests.support.crawling import pages
from tests.support.web import Web
from tests.support.workers import GENERATION, HOST, SETTINGS, page, site


def crawl_late(tree: store.Tree, web: Web, late: str) -> None:
    """Crawl with max_depth 3. The page with the path `late` is fetched when there is nothing else to fetch."""
    settings = apply(SETTINGS, ["crawl.max_depth=3", "politeness.robots=false", "politeness.per_host=9"])
    seed = web.url(HOST, "/")
    frontier = Frontier(settings)
    worker = Worker(tree, CrawlConfig(settings, frozenset({seed}), GENERATION), 1)

    def discover(links: tuple[str, ...], depth: int, referrer: str, *_: Any) -> None:
        for url in links:
            frontier.add(url, depth, referrer)

    membership = SimpleNamespace(
        discover=discover, tell=lambda task, failed_at: None, rules=SimpleNamespace(generation=GENERATION)
    )
    progress = Progress("json", verbose=False, stream=io.StringIO())
    of_fleet, rng = cast("Membership", membership), random.Random(1)
    books = Bookkeeper(tree, frontier, of_fleet, Outage(), progress, lambda: settings, lambda _: False, rng)
    frontier.add(seed, 0, "")
    put_off: list[PageTask] = []
    while not frontier.idle:
        task = frontier.take(time.monotonic())
        if isinstance(task, PageTask) and task.url.endswith(late) and not put_off:
            put_off.append(task)
        elif task is not None:
            books.take(worker.do(task))
        elif put_off:
            books.take(worker.do(put_off.pop()))
            late = "no more"
    frontier.close()


@pytest.mark.parametrize("path", ["ab", "abc"])
def test_a_short_way_is_found_late(root: Path, path: str) -> None:
    """A page that was told, or cut, for its depth is told again when a shorter way to it is found."""
    answers = {
        "/": page('<a href="/slow"><a href="/a">'),
        "/slow": page('<a href="/x">'),
        "/x": page('<a href="/y">'),
        "/y": page('<a href="/too-deep">'),
    }
    for name, following in zip(path, [*path[1:], "x"], strict=True):
        answers[f"/{name}"] = page(f'<a href="/{following}">')
    store.create(root, TreeRecord(FORMAT, "test", timestamp(0), 512, "host", "ab" * 16), render(SETTINGS), "")
    with Web(site(answers), [HOST]) as web:
        crawl_late(store.Tree(root, "machine-1"), web, "/slow")
        assert {url.rpartition("/")[2] for url in pages(root)} == {"", "slow", "x", "y", *path}
        assert max(web.counts().values()) == 1, "nothing is fetched twice"
