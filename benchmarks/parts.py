"""CPU per page by part, for both sites: where the time of a page goes, and how little it could be.

    python -m benchmarks.parts [--pages N]

A whole crawl gives the CPU of all processes, and one of a single page that of the start. Then the pages are done again
in this one process, each part in a pass of its own, measured with `time.process_time`. The rest of the crawl's CPU is
the parent's bookkeeping, the messages between processes and the contention of threads.

The *floor* of a part is the least that does the same without any care: a loop over one socket that is kept open, for
fetching; the HTML parser alone, which finds no links; two bare files, for storing; an interpreter that does nothing,
for each of a crawl's processes. No part can go below it with these tools.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from benchmarks import corpus, measure
from benchmarks.crawlers import CRAWLERS, THREADS, WORKERS
from fscrawl import store, urls, worker
from fscrawl.config import settings
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.handlers.outcome import Stored
from fscrawl.http.answers import Fetched
from fscrawl.http.fetch import Fetcher
from fscrawl.parse import links
from fscrawl.storage import records
from fscrawl.util.processes import keep_freed_memory, look_for_cycles_rarely

_SETTINGS = settings.apply(settings.Settings(), ["fetch.allow_addresses=['127.0.0.0/8']", "crawl.scope=host"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts", description="CPU per page by part.")
    parser.add_argument("--pages", type=int, default=1500, help="of rust-doc (default 1500)")
    arguments = parser.parse_args()
    corpus.exit_on_terminate()
    corpus.install()
    keep_freed_memory()  # as worker processes do
    look_for_cycles_rarely()
    with corpus.serve() as served:
        for site, pages in ((served.python, 0), (served.rust, arguments.pages)):
            directory = Path(tempfile.mkdtemp(prefix="fscrawl-parts-"))
            try:
                _print(site, *_site(site, pages, directory))
            finally:
                shutil.rmtree(directory, ignore_errors=True)


class Part(NamedTuple):
    """CPU seconds of all pages. `floor`: None if nothing can be compared."""

    seconds: float
    floor: float | None = None


def _site(site: corpus.Site, pages: int, directory: Path) -> tuple[int, dict[str, Part]]:
    """Give the number of pages, and what each part of them takes."""
    whole, first = (_crawl(site, directory / name, count) for name, count in (("crawl", pages), ("first", 1)))
    tasks = _tasks(directory / "crawl", site)
    fetch, answers = _fetch(tasks)
    extract, found = _extract(tasks, answers)
    put = _store(tasks, answers, found, directory / "store")
    worker_s = _worker(tasks, site, directory / "worker")
    floors = _floors(tasks, answers, found, directory)
    start = first - worker_s / len(tasks)
    return len(tasks), {
        "fetch": Part(fetch, floors["fetch"]),
        "encoding, parse, links": Part(extract, floors["parse"]),
        "record and store": Part(put, floors["store"]),
        "the worker's rest": Part(worker_s - fetch - extract - put),
        "parent and talk": Part(whole - worker_s - start),
        "start": Part(start, floors["start"]),
        "whole crawl": Part(whole),
    }


def _crawl(site: corpus.Site, root: Path, pages: int) -> float:
    cost = measure.run(CRAWLERS[0].command(site, root, pages))
    if cost.exit_code:
        sys.exit(f"fscrawl ended with {cost.exit_code} on {site.name}:\n{cost.message}")
    return cost.cpu_s


def _floors(
    tasks: list[PageTask], answers: list[Fetched], found: list[links.ParsedPage], directory: Path
) -> dict[str, float]:
    parts = urlsplit(tasks[0].url)
    with socket.create_connection((parts.hostname, parts.port)) as sock, sock.makefile("rb") as reader:
        fetch, _ = _timed(lambda task: _bare_get(sock, reader, task.url), tasks)
    parse, _ = _timed(lambda answer: LexborHTMLParser(answer.body).root is None, answers)  # no tree is kept
    place = directory / "bare"
    place.mkdir()
    files = [_files(*each) for each in zip(tasks, answers, found, strict=True)]
    store_s, _ = _timed(lambda each: [(place / name).write_bytes(data) for name, data in each.items()], files)
    command = [sys.executable, "-c", "pass"]
    begin = _children_s()
    for _ in range(10):
        subprocess.run(command, check=True)
    processes = 3  # the machine, the server of workers, the tracker of semaphores; workers are forks
    return {"fetch": fetch, "parse": parse, "store": store_s, "start": processes * (_children_s() - begin) / 10}


def _bare_get(sock: socket.socket, reader: Any, url: str) -> bytes:
    """Get a page as a server sends it that says how long it is."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    length = 0
    while (line := reader.readline()) != b"\r\n":
        if line[:15].lower() == b"content-length:":
            length = int(line[15:])
    body: bytes = reader.read(length)
    return body


def _files(task: PageTask, answer: Fetched, page: links.ParsedPage) -> dict[str, bytes]:
    """Give the names and contents of two files as large as those of a page."""
    record = json.dumps({"url": task.url, "key": task.key, "headers": answer.headers, "links": page.links})
    return {f"{task.key}.html": answer.body or b"", f"{task.key}.json": record.encode()}


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _tasks(tree: Path, site: corpus.Site) -> list[PageTask]:
    """Return the pages that the crawl stored, in the same order, so that caches of URLs work as they did."""
    stored = [json.loads(path.read_bytes()) for path in (tree / "links" / site.host).iterdir()]
    stored.sort(key=lambda record: record["fetched_at"])
    return [
        PageTask(r["url"], site.host, r["key"], r["depth"], r["referrer"], 1, check=False)
        for r in stored
        if r["sha256"]
    ]


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
    record = records.TreeRecord(records.FORMAT, "parts", records.timestamp(0), 512, "host", records.new_machinery())
    store.create(root, record, settings.render(_SETTINGS), "")
    return store.Tree(root, "parts")


def _print(site: corpus.Site, pages: int, parts: dict[str, Part]) -> None:
    print(f"{site.name}, {pages} pages, {WORKERS} workers, CPU ms/page")
    for name, (seconds, floor) in parts.items():
        share = seconds / parts["whole crawl"].seconds
        beside = "" if floor is None else f"  floor {1000 * floor / pages:6.2f}"
        print(f"  {name:24}{1000 * seconds / pages:8.2f}  {share:6.1%}{beside}")
    print(flush=True)


if __name__ == "__main__":
    main()
