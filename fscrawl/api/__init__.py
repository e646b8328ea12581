"""What `import fscrawl` offers: a tree is read, and a crawl is run, from Python.

    crawl      `open` and `Crawl`: a tree, to be read; its `Failure`s, its `Link`s, its `Status`
    pages      `Pages`: the iterator of the wanted pages: filters, reading ahead, and what was left out
    page       `Page`: one page, whose parts are read when they are asked for
    tables     rows, Arrow and pandas: the columns of the dataset
    running    `crawl`: one machine, in a process of its own, and its `CrawlResult`
    child      that process
    paths      paths that the user gives

Promise: reading never writes into the tree, and is safe while machines work on it.
"""

from __future__ import annotations

import importlib

_MODULES = {
    **dict.fromkeys(("Crawl", "Failure", "Link", "Status", "open"), "fscrawl.api.crawl"),
    "Page": "fscrawl.api.page",
    "Pages": "fscrawl.api.pages",
    **dict.fromkeys(("CrawlResult", "crawl"), "fscrawl.api.running"),
    "FscrawlError": "fscrawl.errors",
    "Site": "fscrawl.sites.site",
}


def load(name: str) -> object:
    """Give what a name of `fscrawl.__all__` means: all but `site`, which is a module, are taken from one."""
    module = importlib.import_module(_MODULES.get(name, f"fscrawl.{name}"))
    return getattr(module, name) if name in _MODULES else module
