"""The crawl as a user of Crawlee for Python who wants speed would write it. Its own interpreter runs it.

    python crawlee_crawler.py OUT SEED PAGES REQUESTS      PAGES 0: no limit; REQUESTS: at a time

The parser is Parsel and the queue is in memory: of what its documentation offers, the fastest. It stores bodies only.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def crawl(out: Path, seed: str, pages: int, requests: int) -> None:
    crawler = ParselCrawler(
        # as many from the start to the end: without `min_concurrency` it asks less while others use the machine
        concurrency_settings=ConcurrencySettings(requests, requests, desired_concurrency=requests),
        max_requests_per_crawl=pages or None,
        respect_robots_txt_file=True,
        storage_client=MemoryStorageClient(),
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def store(context: ParselCrawlingContext) -> None:
        key = hashlib.sha224(context.request.url.encode()).hexdigest()[:24]
        (out / f"{key}.html").write_bytes(await context.http_response.read())
        await context.enqueue_links(strategy="same-origin")

    await crawler.run([seed])


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True)
    asyncio.run(crawl(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
