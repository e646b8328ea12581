"""One crawl of `benchmarks.parent`: the command `fscrawl crawl` whose workers do not fetch anything.

    python -m benchmarks.parent_process JSON

It writes what it cost the parent to `report.json` in the root that is named there.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGINT
from types import SimpleNamespace
from typing import Any, NamedTuple

from fscrawl import cli
from fscrawl.engine import machine, outcomes, pool, worker_entry, worker_process
from fscrawl.fleet import ledger, log_writer, membership
from fscrawl.frontier import frontier
from fscrawl.frontier.task import RobotsTask, Task
from fscrawl.handlers.fresh_links import FreshLinks
from fscrawl.handlers.outcome import Exchange, Outcome, RobotsKnown, Stored
from fscrawl.worker import CrawlConfig

_FIRST_PART = 0.2  # of the pages: memories are empty then, and each link is new
_SEEDS = 500
_OWN_LINKS, _FOREIGN_LINKS = 30, 10  # of a page: to its own host, and to others
_MENU = 15  # of the links to its own host these are the same on each of its pages
_GIVEN = "FSCRAWL_BENCHMARK_PARENT"
_LOOK = "_look_around"  # of a machine; it is called every 10 ms


# -- in a worker process


class MadeUpWorker:
    """Does tasks as `worker.Worker` does, without asking anybody."""

    def __init__(self, tree: object, config: CrawlConfig, *_: object, **__: object) -> None:  # noqa: ARG002
        row = json.loads(os.environ[_GIVEN])["row"]
        self._hosts, self._pages, self._latency_s = row["hosts"], row["pages_a_host"], row["latency_s"]
        self._generation = config.generation
        self._fresh = FreshLinks(config.link_rules(), config.link_rules().scope())

    def tidy(self) -> None:
        """Do nothing: no connection waits."""

    def do(self, task: Task) -> Outcome:
        latency_s = random.uniform(0, 2 * self._latency_s)
        asked_at = time.monotonic()
        time.sleep(latency_s)
        number = int(task.host[8 : task.host.index(".", 8)])
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        exchange = Exchange(asked_at, "answered", latency_s, address=address)
        if isinstance(task, RobotsTask):
            return RobotsKnown(task, exchange)
        links = _links(task.url, number, self._hosts, self._pages)
        record: Any = SimpleNamespace(label="", skipped="", links_to=lambda nofollow: links)  # noqa: ARG005
        fresh, cut = self._fresh.of(record, task.depth)
        return Stored(task, exchange, "page", 200, 20_000, fresh, cut, generation=self._generation)


def _url(host: int, page: int) -> str:
    return f"http://www.site{host}.example/articles/2024/some-words-of-its-title-{page}.html"


def _links(url: str, host: int, hosts: int, pages: int) -> tuple[str, ...]:
    """Give the links of a page, always the same: the menu of its host, others of its host, and others."""
    rng = random.Random(url)
    own = [_url(host, page) for page in range(min(_MENU, pages))]
    own += [_url(host, int(rng.random() * pages)) for _ in range(_OWN_LINKS - _MENU)]
    foreign = [_url(int(hosts ** rng.random()) % hosts, int(pages ** rng.random()) - 1) for _ in range(_FOREIGN_LINKS)]
    return tuple(dict.fromkeys(own + foreign))


def serve(number: int, workers: int) -> None:
    """Run the real worker process with the made-up worker."""
    worker_process.Worker = MadeUpWorker  # type: ignore[misc,assignment]
    worker_process.serve(number, workers)


# -- in the parent


class _Sample(NamedTuple):
    pages: int
    wall_s: float
    thread_s: float
    process_s: float
    sent: int
    new: int
    parts: dict[str, float]


class _Stopwatch:
    """The CPU time of the main thread by part. A part that calls another one does not get its time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[str] = []
        self._since = time.thread_time()

    def begin(self, name: str) -> None:
        self._count()
        self._stack.append(name)

    def end(self) -> None:
        self._count()
        self._stack.pop()

    def _count(self) -> None:
        now = time.thread_time()
        name = self._stack[-1] if self._stack else "loop"
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Give the calls of a method to a part."""
        real = getattr(owner, method)

        def timed(*args: Any, **named: Any) -> Any:
            self.begin(name)
            try:
                return real(*args, **named)
            finally:
                self.end()

        setattr(owner, method, timed)

    def watch_items(self, owner: Any, method: str, name: str) -> None:
        """The same for a method that yields."""
        real = getattr(owner, method)

        def timed(*args: Any, **named: Any) -> Iterator[Any]:
            items = real(*args, **named)
            while True:
                self.begin(name)
                try:
                    item = next(items)
                except StopIteration:
                    return
                finally:
                    self.end()
                yield item

        setattr(owner, method, timed)


def _watch_parts(stopwatch: _Stopwatch) -> None:
    stopwatch.watch(machine.Machine, _LOOK, "look around")
    stopwatch.watch(frontier.Frontier, "take", "choose tasks")
    stopwatch.watch(pool.Pool, "submit", "hand to workers")
    stopwatch.watch_items(pool.Pool, "wait", "pipes and pickles")
    stopwatch.watch(outcomes.Bookkeeper, "take", "bookkeeping")
    stopwatch.watch(membership.Membership, "discover", "links")
    stopwatch.watch(frontier.Frontier, "finish", "finish tasks")
    stopwatch.watch(ledger.Ledger, "tell", "log")
    stopwatch.watch(log_writer.LogWriter, "add", "log")


class _Observer:
    """Takes samples while the main loop goes on, and ends the crawl."""

    def __init__(self, pages: int, stopwatch: _Stopwatch | None) -> None:
        self.samples: list[_Sample] = []
        self._pages = pages
        self._sent = 0
        self._is_over = False
        self._stopwatch = stopwatch

    def look(self, made: machine.Machine) -> None:
        parts = dict(self._stopwatch.seconds) if self._stopwatch else {}
        times = time.monotonic(), time.thread_time(), time.process_time()
        counts = made.counts
        links = self._sent, counts.pages + counts.in_flight + counts.pending
        self.samples.append(_Sample(counts.pages, *times, *links, parts))
        if counts.pages >= self._pages and not self._is_over:
            self._is_over = True
            os.kill(os.getpid(), SIGINT)

    def watch(self) -> None:
        look_around: Callable[[machine.Machine], None] = getattr(machine.Machine, _LOOK)
        take: Callable[..., object] = outcomes.Bookkeeper.take

        def look(made: machine.Machine) -> None:
            look_around(made)
            self.look(made)

        def count(bookkeeper: outcomes.Bookkeeper, answer: Any) -> object:
            self._sent += len(answer.links) if isinstance(answer, Stored) else 0
            return take(bookkeeper, answer)

        setattr(machine.Machine, _LOOK, look)
        outcomes.Bookkeeper.take = count  # type: ignore[method-assign,assignment]

    def report(self) -> dict[str, Any]:
        """Give the figures of `parent.Cost`."""
        busy = [each for each in self.samples if _FIRST_PART * self._pages <= each.pages <= self._pages]
        first, last = busy[0], busy[-1]
        pages = last.pages - first.pages
        return {
            "rate": pages / (last.wall_s - first.wall_s),
            "thread_s": (last.thread_s - first.thread_s) / pages,
            "process_s": (last.process_s - first.process_s) / pages,
            "sent": (last.sent - first.sent) / pages,
            "new": (last.new - first.new) / pages,
            "parts": {name: (last.parts[name] - first.parts.get(name, 0.0)) / pages for name in last.parts},
        }


def main() -> None:
    os.environ[_GIVEN] = sys.argv[1]
    given = json.loads(sys.argv[1])
    root, row = Path(given["root"]), given["row"]
    seeds = root / "seeds.txt"
    seeds.write_text("".join(f"{_url(host, 0)}\n" for host in range(min(_SEEDS, row["hosts"]))), encoding="ascii")
    stopwatch = _Stopwatch() if given["with_parts"] else None
    if stopwatch:
        _watch_parts(stopwatch)
    observer = _Observer(given["pages"], stopwatch)
    observer.watch()
    worker_entry.serve = serve
    per_host = max(1, row["workers"] * row["threads"] // row["hosts"])
    settings = ("politeness.delay=0", f"politeness.per_host={per_host}", "crawl.scope=any")
    words = ["crawl", "--root", str(root / "tree"), "--seeds", str(seeds), "--quiet"]
    words += ["--workers", str(row["workers"]), "--threads", str(row["threads"])]
    for setting in settings:
        words += ["--set", setting]
    try:
        cli.main(words)
    finally:
        if observer.samples:
            (root / "report.json").write_text(json.dumps(observer.report()), encoding="ascii")


if __name__ == "__main__":
    main()
