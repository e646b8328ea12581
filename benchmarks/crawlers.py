"""The crawlers that are compared, and the command line of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scrapy_venv
from benchmarks.corpus import Site
from benchmarks.measure import PROJECT

WORKERS, THREADS = 2, 8  # 16 requests at a time, in every crawler
CLASSICAL_PAGES = 600  # it is slow: the whole of python3-doc, and a part of rust-doc

Command = Callable[[Site, Path, int], list[str]]


@dataclass(frozen=True, slots=True)
class Crawler:
    """`command(site, out, pages)`: pages 0 means all. `wanted`: how many times as fast fscrawl should be."""

    name: str
    command: Command
    wanted: float | None = None
    good_exits: tuple[int, ...] = (0,)


def _fscrawl(site: Site, out: Path, pages: int) -> list[str]:
    settings = {
        "politeness.delay": "0",
        "politeness.per_host": str(WORKERS * THREADS),
        "politeness.robots": "true",
        "fetch.allow_private_addresses": "true",
        "crawl.scope": "host",
    }
    if pages:
        settings["crawl.max_pages"] = str(pages)
    command = [sys.executable, str(PROJECT / "crawl.py"), "--root", str(out), "--seed", site.url, "--quiet"]
    command += ["--workers", str(WORKERS), "--threads", str(THREADS)]
    return command + [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def _scrapy(links: str) -> Command:
    spider = str(PROJECT / "benchmarks" / "scrapy_spider.py")
    return lambda site, out, pages: [str(scrapy_venv.PYTHON), spider, str(out), site.url, str(pages), links]


def _classical(site: Site, out: Path, pages: int) -> list[str]:
    limit = min(pages or CLASSICAL_PAGES, CLASSICAL_PAGES)
    return [sys.executable, "-m", "benchmarks.classical", str(out), site.url, str(limit)]


def _wget2(site: Site, out: Path, pages: int) -> list[str]:
    del pages  # wget2 has no such limit
    threads = f"--max-threads={WORKERS * THREADS}"
    return ["wget2", "-q", "-r", "-l", "inf", threads, "-P", str(out), site.url]


CRAWLERS = (
    Crawler("fscrawl", _fscrawl),
    Crawler("scrapy", _scrapy("extractor"), wanted=5),
    Crawler("scrapy-xpath", _scrapy("xpath")),
    Crawler("classical", _classical, wanted=25),
    Crawler("wget2", _wget2, good_exits=(0, 8)),  # 8: some link was a 404, and some are
)
