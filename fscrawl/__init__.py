"""fscrawl: a crawler for a few machines and a shared directory.

    import fscrawl

    fscrawl.crawl("tree", ["https://example.org/"], politeness={"delay": 0.5})
    for page in fscrawl.open("tree").pages(host="example.org"):
        print(page.url, page.title, len(page.text or ""))

`__all__` names all that is supported, with `fscrawl.site.__all__`; other modules may change at any time. What is named
here is loaded when it is first asked for, so that importing fscrawl costs nothing.
"""

__version__ = "1.0.0rc1"

TYPE_CHECKING = False  # `typing` is not loaded for it
if TYPE_CHECKING:
    from fscrawl import site
    from fscrawl.api.crawl import Crawl, Failure, Link, Status, open  # noqa: A004
    from fscrawl.api.page import Page
    from fscrawl.api.pages import Pages
    from fscrawl.api.running import CrawlResult, crawl
    from fscrawl.errors import FscrawlError
    from fscrawl.sites.site import Site

__all__ = [
    "Crawl",
    "CrawlResult",
    "Failure",
    "FscrawlError",
    "Link",
    "Page",
    "Pages",
    "Site",
    "Status",
    "__version__",
    "crawl",
    "open",
    "site",
]


def __getattr__(name: str) -> object:
    """Load a name of `__all__` when it is first asked for (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fscrawl.api import load  # noqa: PLC0415 - not when fscrawl is imported

    found = globals()[name] = load(name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
