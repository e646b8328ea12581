"""Webs that are made up on the fly, the same for the same seed."""

from __future__ import annotations

import hashlib
from array import array

_REST = 1 << 32


class ZipfWeb:
    """Hosts of very different sizes: the n-th largest has 1/n of the pages of the largest, and of the links to others.

    links    of a page: half of them to its own host, half to any; to first pages more often than to later ones
    """

    def __init__(self, *, hosts: int = 20_000, largest: int = 1_000_000, links: int = 40, seed: int = 0) -> None:
        self.hosts = hosts
        self._largest = largest
        self._links = links
        self._seed = seed

    def url(self, host: int, page: int) -> str:
        return f"http://www.site-{host}.example/articles/2024/page-{page}.html"

    def front_pages(self, count: int) -> list[str]:
        return [self.url(host, 0) for host in range(min(count, self.hosts))]

    def links(self, url: str) -> tuple[str, ...]:
        host = int(url[16 : url.index(".", 16)])
        numbers = array("I", hashlib.shake_128(f"{self._seed} {url}".encode()).digest(8 * self._links))
        found = []
        for index in range(0, 2 * self._links, 2):
            to = host if index < self._links else int(self.hosts ** (numbers[index] / _REST)) - 1
            pages = max(self._largest // (to + 1), 10)
            found.append(self.url(to, int(pages ** (numbers[index + 1] / _REST)) - 1))
        return tuple(dict.fromkeys(found))


class SmallWeb(ZipfWeb):
    """Few hosts of the same size, with links to all of them alike."""

    def __init__(self, *, hosts: int = 60, pages: int = 40, links: int = 12, seed: int = 0) -> None:
        super().__init__(hosts=hosts, links=links, seed=seed)
        self._pages = pages

    def links(self, url: str) -> tuple[str, ...]:
        numbers = array("I", hashlib.shake_128(f"{self._seed} {url}".encode()).digest(8 * self._links))
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        return tuple(dict.fromkeys(self.url(host % self.hosts, page % self._pages) for host, page in pairs))
