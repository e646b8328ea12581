"""The crawl as a Scrapy user who wants speed would write it. Its own interpreter runs it.

    python scrapy_spider.py OUT SEED PAGES LINKS      PAGES 0: no limit; LINKS: extractor | xpath

It writes two files per page, as fscrawl does: the body in OUT/htmls/<host>/, the record with its links in
OUT/links/<host>/. Defaults of Scrapy that this crawl does not need are off. Each setting below that differs from a
default makes it faster, or makes the task the same.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

SETTINGS: dict[str, Any] = {
    # the task, as fscrawl is given it
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "AUTOTHROTTLE_ENABLED": False,
    "DOWNLOAD_MAXSIZE": 10 << 20,
    # speed
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "LOG_LEVEL": "ERROR",
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    "DOWNLOADER_STATS": False,
    "HTTPPROXY_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "REFERER_ENABLED": False,
    "WARN_ON_GENERATOR_RETURN_VALUE": False,
}

# Under a limit of pages, breadth first as in Scrapy's FAQ: then both crawlers take the same part of the site. Without
# one the order is Scrapy's own, which is faster.
BREADTH_FIRST: dict[str, Any] = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


class TwoFiles(scrapy.Spider):
    """Stores every page of the seed's host and follows its links."""

    name = "two-files"

    def __init__(self, out: Path, seed: str, links: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [seed]
        self._site = "{0.scheme}://{0.netloc}/".format(urlsplit(seed))
        self._seen = {seed}  # cheaper than a Request for each of the links that the duplicate filter would drop
        self._links_of = {"extractor": _Extractor(), "xpath": _by_xpath}[links]
        host = urlsplit(seed).netloc.replace(":", "_")
        self._bodies, self._records = out / "htmls" / host, out / "links" / host
        self._bodies.mkdir(parents=True)
        self._records.mkdir(parents=True)

    def parse(self, response: Response, **_: Any) -> Iterator[scrapy.Request]:
        html = isinstance(response, HtmlResponse)
        links = self._links_of(response) if html else []
        self._store(response, links, html=html)
        for url in links:
            if url not in self._seen and url.startswith(self._site):
                self._seen.add(url)
                yield scrapy.Request(url, dont_filter=True)

    def _store(self, response: Response, links: list[str], *, html: bool) -> None:
        key = hashlib.sha224(response.url.encode()).hexdigest()[:24]
        record = {
            "url": response.url,
            "key": key,
            "depth": response.meta.get("depth", 0),
            "fetched_at": time.time(),
            "status": response.status,
            "headers": dict(response.headers.to_unicode_dict()),
            "elapsed": response.meta.get("download_latency"),
            "links": links,
        }
        if html:
            record["encoding"] = response.encoding
            record["title"] = response.xpath("//title/text()").get()
            record["bytes"] = len(response.body)
            record["sha256"] = hashlib.sha256(response.body).hexdigest()
            (self._bodies / f"{key}.html").write_bytes(response.body)
        else:
            record["skipped"] = "not HTML"
        (self._records / f"{key}.json").write_text(json.dumps(record), encoding="utf-8")


class _Extractor:
    """Scrapy's own way: the link extractor, which is lxml's."""

    def __init__(self) -> None:
        self._extractor = LinkExtractor(process_value=_without_fragment)

    def __call__(self, response: HtmlResponse) -> list[str]:
        return [link.url for link in self._extractor.extract_links(response)]


def _by_xpath(response: HtmlResponse) -> list[str]:
    """The shortest way there is: it joins a reference once, cleans no URL, looks at no extension and keeps no text."""
    references = dict.fromkeys(map(_without_fragment, response.xpath("//a/@href").getall()))
    return list(dict.fromkeys(map(response.urljoin, references)))


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def main() -> None:
    out, seed, pages, links = sys.argv[1:]
    limit = BREADTH_FIRST | {"CLOSESPIDER_PAGECOUNT": int(pages)} if int(pages) else {}
    process = CrawlerProcess(SETTINGS | limit)
    process.crawl(TwoFiles, out=Path(out), seed=seed, links=links)
    process.start()


if __name__ == "__main__":
    main()
