"""CPU per page by part, for both sites: where the time of a page goes.

    python -m benchmarks.parts [--pages N]

A whole crawl gives the CPU of all processes. Then its pages are done again in this one process, each part in a pass
of its own, measured with `time.process_time`. The rest of the crawl's CPU is the parent's bookkeeping, the messages
between processes, the contention of threads and the start of Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks import corpus, measure
from benchmarks.crawlers import CRAWLERS, THREADS
from fscrawl import store, urls, worker
from fscrawl.config import settings
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.handlers.outcome import Stored
from fscrawl.http.fetch import Fetched, Fetcher
from fscrawl.parse import links
from fscrawl.storage import records

_SETTINGS = settings.apply(settings.Settings(), ["fetch.allow_private_addresses=true", "crawl.scope=host"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts", description="CPU per page by part.")
    parser.add_argument("--pages", type=int, default=1500, help="of rust-doc (default 1500)")
    arguments = parser.parse_args()
    corpus.exit_on_terminate()
    corpus.install()
    with corpus.serve() as served:
        for site, pages in ((served.python, 0), (served.rust, arguments.pages)):
            directory = Path(tempfile.mkdtemp(prefix="fscrawl-parts-"))
            try:
                _print(site, *_site(site, pages, directory))
            finally:
                shutil.rmtree(directory, ignore_errors=True)


def _site(site: corpus.Site, pages: int, directory: Path) -> tuple[int, dict[str, float]]:
    """Give the number of pages, and ms per page by part."""
    cost = measure.run(CRAWLERS[0].command(site, directory / "crawl", pages))
    if cost.exit_code:
        sys.exit(f"fscrawl ended with {cost.exit_code} on {site.name}:\n{cost.message}")
    tasks = _tasks(directory / "crawl", site)
    fetch, answers = _fetch(tasks)
    extract, found = _extract(tasks, answers)
    put = _store(tasks, answers, found, directory / "store")
    whole = _worker(tasks, site, directory / "worker")
    parts = {
        "fetch": fetch,
        "encoding, parse, links": extract,
        "record and store": put,
        "the worker's rest": whole - fetch - extract - put,
        "parent, talk, start": cost.cpu_s - whole,
        "whole crawl": cost.cpu_s,
    }
    return len(tasks), {name: 1000 * seconds / len(tasks) for name, seconds in parts.items()}


def _tasks(tree: Path, site: corpus.Site) -> list[PageTask]:
    """Return the pages that the crawl stored, in the same order, so that caches of URLs work as they did."""
    stored = [json.loads(path.read_bytes()) for path in (tree / "links" / site.host).iterdir()]
    stored.sort(key=lambda record: record["fetched_at"])
    return [PageTask(r["url"], site.host, r["key"], r["depth"], r["referrer"], 1) for r in stored if r["sha256"]]


def _timed(work: Callable[[Any], Any], items: Iterable[Any]) -> tuple[float, list[Any]]:
    """Give the CPU seconds of doing each item, and the results."""
    begin = time.process_time()
    results = [work(item) for item in items]
    return time.process_time() - begin, results


def _fetch(tasks: list[PageTask]) -> tuple[float, list[Fetched]]:
    fetcher = Fetcher(_SETTINGS.fetch, _SETTINGS.politeness, THREADS)
    seconds, answers = _timed(lambda task: fetcher.get(task.url), tasks)
    fetcher.close()
    return seconds, answers


def _extract(tasks: list[PageTask], answers: list[Fetched]) -> tuple[float, list[links.ParsedPage]]:
    joiner = urls.Joiner()

    def extract(pair: tuple[PageTask, Fetched]) -> links.ParsedPage:
        task, answer = pair
        assert answer.body is not None
        return links.extract(answer.body, task.url, joiner, content_type=answer.headers.get("content-type"))

    return _timed(extract, zip(tasks, answers, strict=True))


def _store(tasks: list[PageTask], answers: list[Fetched], found: list[links.ParsedPage], root: Path) -> float:
    tree = _tree(root)

    def put(triple: tuple[PageTask, Fetched, links.ParsedPage]) -> None:
        task, answer, page = triple
        assert answer.body is not None
        record = records.PageRecord(
            url=task.url,
            key=task.key,
            depth=task.depth,
            referrer=task.referrer,
            fetched_at=records.timestamp(time.time()),
            machine=tree.machine,
            status=answer.status,
            headers=answer.headers,
            bytes=len(answer.body),
            sha256=hashlib.sha256(answer.body).hexdigest(),
            elapsed=answer.elapsed_s,
            links=page.links,
            encoding=page.encoding,
            title=page.title,
            canonical=page.canonical,
        )
        tree.put_page(task.host, record, answer.body)

    seconds, _ = _timed(put, zip(tasks, answers, found, strict=True))
    return seconds


def _worker(tasks: list[PageTask], site: corpus.Site, root: Path) -> float:
    config = worker.CrawlConfig(_SETTINGS, frozenset({site.url}), "0" * 16)
    whole = worker.Worker(_tree(root), config, THREADS)
    whole.do(RobotsTask(tasks[0].url, site.host, 1))
    seconds, outcomes = _timed(whole.do, tasks)
    assert all(isinstance(outcome, Stored) and outcome.kind == "page" for outcome in outcomes)
    return seconds


def _tree(root: Path) -> store.Tree:
    record = records.TreeRecord(records.FORMAT, "parts", records.timestamp(0), 512, 0, "host", records.new_machinery())
    store.create(root, record, settings.render(_SETTINGS), "")
    return store.Tree(root, "parts")


def _print(site: corpus.Site, pages: int, parts: dict[str, float]) -> None:
    print(f"{site.name}, {pages} pages, CPU ms/page")
    for name, milliseconds in parts.items():
        print(f"  {name:24}{milliseconds:8.2f}  {milliseconds / parts['whole crawl']:6.1%}")
    print(flush=True)


if __name__ == "__main__":
    main()
