"""A book shop, as `examples/books` crawls it day by day: sitemaps, an RSS feed of what is new, prices that change.

    /robots.txt            names the sitemap
    /sitemap.xml           an index of two compressed sitemaps, with all books but the new ones of this day
    /new.rss               the new books of this day
    /book/<n>              a book; 404 or 410 when it is sold out
    /                      links to the feed

Pages have an ETag, and "not modified" is answered where that is so.
"""

from __future__ import annotations

import gzip
import hashlib
from typing import Any

from demo.server import Request, Response
from tests.imitations.frame import answer, missing

FIRST_BOOKS, A_DAY = 60, 6
COLUMNS = ("heading", "price")


class Books:
    """`day`: 1 at first; whoever sets it changes the shop."""

    host = "127.0.80.5"
    port = 8805
    is_ill = False

    def __init__(self) -> None:
        self.day = 1
        self.base = f"http://{self.host}:{self.port}"

    # -- what it answers

    def __call__(self, request: Request) -> Response:
        self.base = f"http://{request.headers['host']}"
        path = request.path
        if path.startswith("/book/") and path[6:].isdecimal() and int(path[6:]) in self._added(self.day):
            number = int(path[6:])
            if self._is_gone(number, self.day):
                return answer("<h1>sold out</h1>", status=410 if number % 2 else 404)
            return self._page(request, self._book(number))
        pages = {"/": self._home, "/new.rss": self._feed, "/about": lambda: answer("<h1>About us</h1>")}
        pages |= {"/robots.txt": self._robots, "/sitemap.xml": self._index}
        pages |= {f"/sitemap-{part}.xml.gz": lambda part=part: self._sitemap(part) for part in (0, 1)}
        return self._page(request, pages[path]()) if path in pages else missing()

    def _page(self, request: Request, found: Response) -> Response:
        etag = f'"{hashlib.sha256(found.body).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == etag:
            return Response(304, {"ETag": etag})
        return Response(found.status, {**found.headers, "ETag": etag}, found.body)

    def _robots(self) -> Response:
        return answer(f"User-agent: *\nSitemap: {self.base}/sitemap.xml\n", "text/plain")

    def _home(self) -> Response:
        return answer('<h1>Books</h1><a href="/new.rss">new</a><a href="/about">about us</a>')

    def _feed(self) -> Response:
        new = sorted(self._added(self.day) - self._added(self.day - 1))
        items = "".join(f"<item><title>{n}</title><link>{self.base}/book/{n}</link></item>" for n in new)
        return answer(f'<rss version="2.0"><channel><title>new</title>{items}</channel></rss>', "application/rss+xml")

    def _index(self) -> Response:
        parts = "".join(f"<sitemap><loc>{self.base}/sitemap-{n}.xml.gz</loc></sitemap>" for n in (0, 1))
        return answer(f"<sitemapindex>{parts}</sitemapindex>", "application/xml")

    def _sitemap(self, part: int) -> Response:
        books = [n for n in sorted(self._added(self.day - 1)) if n % 2 == part and not self._is_gone(n, self.day)]
        entries = "".join(
            f"<url><loc>{self.base}/book/{n}</loc><lastmod>2024-01-{self.day:02}</lastmod></url>" for n in books
        )
        return answer(gzip.compress(f"<urlset>{entries}</urlset>".encode(), mtime=0), "application/gzip")

    def _book(self, number: int) -> Response:
        row = self._row(number, self.day)
        return answer(f"<h1>{row['heading']}</h1><p class=price>{row['price']}</p><a href=/>all</a>")

    # -- the truth

    def _added(self, day: int) -> set[int]:
        """Give the books that the shop has had until a day, those of the day included."""
        return set(range(1, FIRST_BOOKS + A_DAY * day + 1))

    def _is_gone(self, number: int, day: int) -> bool:
        return any((number + each) % 23 == 0 and number in self._added(each - 1) for each in range(2, day + 1))

    def _row(self, number: int, day: int) -> dict[str, Any]:
        rises = sum((number + each) % 7 == 0 for each in range(2, day + 1))
        heading = f"Book {number}" + (", second edition" if number % 11 == 0 and day >= 3 else "")
        return {"number": number, "heading": heading, "price": number + rises * 0.5}

    def stored(self) -> set[tuple[str, str]]:
        paths = ["/", "/new.rss", "/about", "/sitemap.xml", "/sitemap-0.xml.gz", "/sitemap-1.xml.gz"]
        paths += [f"/book/{number}" for number in self._added(1)]
        return {(path, "") for path in paths}

    def rows(self) -> list[dict[str, Any]]:
        return [self._row(number, 1) for number in sorted(self._added(1))]

    def differences(self, day: int) -> set[tuple[str, int, str, str | None, str | None]]:
        """Give what differs from the day before: kind, number of the book, column, value before, value after."""
        found = set()
        for number in self._added(day):
            old, new = self._row(number, day - 1), self._row(number, day)
            for column in COLUMNS:
                before, after = str(old[column]), str(new[column])
                if number not in self._added(day - 1):
                    found.add(("added", number, column, None, after))
                elif self._is_gone(number, day):
                    if not self._is_gone(number, day - 1):
                        found.add(("removed", number, column, before, None))
                elif before != after:
                    found.add(("changed", number, column, before, after))
        return found
