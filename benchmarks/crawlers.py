"""The crawlers that are compared, and the command line of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.corpus import Site
from benchmarks.measure import PROJECT
from benchmarks.peers import CRAWLEE, SCRAPY, SPIDER_RS, Peer

WORKERS, THREADS = 2, 8  # 16 requests at a time, in every crawler
_QUOTA_BYTES = 77_000  # a page: then wget2 fetches about as many pages of rust-doc as the others, and the same ones
CLASSICAL_PAGES = 600  # it is slow: the whole of python3-doc, and a part of rust-doc

Command = Callable[[Site, Path, int], list[str]]


@dataclass(frozen=True, slots=True)
class Crawler:
    """`command(site, out, pages)`: pages 0 means all. `wanted`: how many times as fast fscrawl should be, by site.

    `directory`: where it runs; an older fscrawl looks for its modules there. `peer`: what must be installed for it.
    """

    name: str
    command: Command
    wanted: Mapping[str, float] = field(default_factory=dict)
    good_exits: tuple[int, ...] = (0,)
    directory: Path = PROJECT
    peer: Peer | None = None


def fscrawl(checkout: Path) -> Command:
    """Give the command of a checkout's crawl."""
    return partial(_fscrawl, checkout)


def base(checkout: Path) -> Crawler:
    """Give the crawler of another checkout, which an older version stands in."""
    return Crawler("base", fscrawl(checkout), wanted={"python3-doc": 1.7, "rust-doc": 1.5}, directory=checkout)


def _fscrawl(checkout: Path, site: Site, out: Path, pages: int) -> list[str]:
    settings = {
        "politeness.delay": "0",
        "politeness.per_host": str(WORKERS * THREADS),
        "politeness.robots": "true",
        "fetch.allow_addresses": '["127.0.0.0/8"]',
        "crawl.scope": "host",
    }
    if pages:
        settings["crawl.max_pages"] = str(pages)
    command = [sys.executable, str(checkout / "crawl.py"), "--root", str(out), "--seed", site.url, "--quiet"]
    command += ["--workers", str(WORKERS), "--threads", str(THREADS)]
    return command + [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def _scrapy(links: str) -> Command:
    spider = str(PROJECT / "benchmarks" / "scrapy_spider.py")
    return lambda site, out, pages: [SCRAPY.interpreter, spider, str(out), site.url, str(pages), links]


def _crawlee(site: Site, out: Path, pages: int) -> list[str]:
    program = str(PROJECT / "benchmarks" / "crawlee_crawler.py")
    return [CRAWLEE.interpreter, program, str(out), site.url, str(pages), str(WORKERS * THREADS)]


def _spider_rs(site: Site, out: Path, pages: int) -> list[str]:
    program = str(PROJECT / "benchmarks" / "spider_rs.cjs")
    return [SPIDER_RS.interpreter, program, str(SPIDER_RS.home), str(out), site.url, str(pages)]


def _classical(site: Site, out: Path, pages: int) -> list[str]:
    limit = min(pages or CLASSICAL_PAGES, CLASSICAL_PAGES)
    return [sys.executable, "-m", "benchmarks.classical", str(out), site.url, str(limit)]


def _wget2(site: Site, out: Path, pages: int) -> list[str]:
    """Let wget2 fetch a site with its images and styles. It has no limit of pages, but one of bytes."""
    threads = f"--max-threads={WORKERS * THREADS}"
    quota = [f"--quota={pages * _QUOTA_BYTES}"] if pages else []
    return ["wget2", "-q", "-r", "-l", "inf", threads, *quota, "-P", str(out), site.url]


def _on_both(times: float) -> dict[str, float]:
    return {"python3-doc": times, "rust-doc": times}


CRAWLERS = (
    Crawler("fscrawl", fscrawl(PROJECT)),
    Crawler("scrapy", _scrapy("extractor"), wanted=_on_both(15), peer=SCRAPY),
    Crawler("scrapy-xpath", _scrapy("xpath"), wanted=_on_both(7), peer=SCRAPY),
    Crawler("crawlee", _crawlee, peer=CRAWLEE),
    Crawler("spider-rs", _spider_rs, peer=SPIDER_RS),
    Crawler("classical", _classical, wanted=_on_both(25)),
    Crawler("wget2", _wget2, wanted={"rust-doc": 0.35}, good_exits=(0, 8)),  # 8: some link was a 404, and some are
)
