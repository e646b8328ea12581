"""The same crawl with scrapy-playwright, as its documentation advises. The interpreter of scrapy_venv runs it.

    python scrapy_playwright_spider.py BROWSER SEED PAGES AT_A_TIME

It prints how many pages it opened, and how many of them had their text.

A page is waited for as a user of it would: until the network is idle, since otherwise every third page is empty.
"""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy_playwright.page import PageMethod

BROWSER, SEED, PAGES, AT_A_TIME = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
found = []


def unwanted(request):
    return request.resource_type in ("image", "font", "media")


class Spider(scrapy.Spider):
    name = "pages"
    custom_settings = {  # noqa: RUF012 - as its users write it
        "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": BROWSER, "args": ["--no-sandbox", "--disable-gpu"]},
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": AT_A_TIME,
        "PLAYWRIGHT_ABORT_REQUEST": unwanted,
        "CONCURRENT_REQUESTS": AT_A_TIME,
        "CONCURRENT_REQUESTS_PER_DOMAIN": AT_A_TIME,
        "CLOSESPIDER_PAGECOUNT": PAGES,
        "LOG_LEVEL": "ERROR",
    }

    async def start(self):
        yield self.asked(SEED)

    def asked(self, url):
        wait = PageMethod("wait_for_load_state", "networkidle")
        return scrapy.Request(url, meta={"playwright": True, "playwright_page_methods": [wait]})

    def parse(self, response):
        found.append("<h1>" in response.text)
        for link in response.css("a::attr(href)").getall():
            yield self.asked(response.urljoin(link))


process = CrawlerProcess()
process.crawl(Spider)
process.start()
print(len(found), sum(found))
