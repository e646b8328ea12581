"""The classical recipe for a crawler in Python: requests, Beautiful Soup with html5lib, and a process pool over waves.

    python -m benchmarks.classical OUT SEED PAGES [PROCESSES]

A wave is the set of URLs that the wave before linked to. For each URL: hash it, skip it if its file exists, fetch,
parse, write page and links into folders. It is written as people usually write it, and measured on a limited number of
pages.
"""

from __future__ import annotations

import hashlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import requests
from bs4 import BeautifulSoup

# Parsing is all CPU: on 2 cores 2 to 16 processes give the same rate (README.md), fewer take less memory.
PROCESSES = 4


def page(out: Path, url: str) -> list[str]:
    """Do one page; give its links."""
    host = urlsplit(url).netloc.replace(":", "_")
    key = hashlib.sha224(url.encode()).hexdigest()[:24]
    record = out / "links" / host / f"{key}.json"
    if record.exists():
        return list(json.loads(record.read_text(encoding="utf-8"))["links"])
    response = requests.get(url, timeout=30)
    if not response.ok or not response.headers.get("content-type", "").startswith("text/html"):
        return []
    soup = BeautifulSoup(response.content, "html5lib")
    links = list(dict.fromkeys(urldefrag(urljoin(url, a["href"])).url for a in soup.find_all("a", href=True)))
    body = out / "htmls" / host / f"{key}.html"
    for file in (body, record):
        file.parent.mkdir(parents=True, exist_ok=True)
    body.write_bytes(response.content)
    record.write_text(json.dumps({"url": url, "links": links}), encoding="utf-8")
    return links


def crawl(out: Path, seed: str, pages: int, processes: int) -> None:
    """Crawl the seed's host breadth first, at most so many pages."""
    site = seed[: seed.find("/", 8) + 1]
    known = {seed}
    wave = [seed]
    asked = 0
    with ProcessPoolExecutor(processes) as exe:
        while wave := wave[: pages - asked]:
            asked += len(wave)
            found: dict[str, None] = {}
            for links in exe.map(partial(page, out), wave):
                found |= dict.fromkeys(link for link in links if link.startswith(site) and link not in known)
            known |= found.keys()
            wave = list(found)


if __name__ == "__main__":
    crawl(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else PROCESSES)
