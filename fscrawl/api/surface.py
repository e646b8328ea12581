"""Where each name of `fscrawl.__all__` comes from. It is loaded when it is first asked for."""

from __future__ import annotations

import importlib

_MODULES = {
    "fscrawl.api.reader": ("Crawl", "Link", "open"),
    "fscrawl.api.page": ("Page",),
    "fscrawl.api.pages": ("Pages",),
    "fscrawl.api.failures": ("Failure",),
    "fscrawl.api.status": ("Status",),
    "fscrawl.api.running": ("crawl",),
    "fscrawl.api.result": ("CrawlResult",),
    "fscrawl.errors": ("FscrawlError",),
    "fscrawl.site": ("Site",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


def load(name: str) -> object:
    """Give what a name of `fscrawl.__all__` means: all but `site`, which is a module, are taken from one."""
    module = importlib.import_module(_WHERE.get(name, f"fscrawl.{name}"))
    return getattr(module, name) if name in _WHERE else module
