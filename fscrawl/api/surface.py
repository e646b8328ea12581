"""Where each name of `fscrawl.__all__` comes from. It is loaded when it is first asked for."""

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
