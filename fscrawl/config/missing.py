"""What the settings ask for, and this machine cannot do. The crawl goes on without it."""

from __future__ import annotations

from fscrawl.config.settings import Settings
from fscrawl.parse.media_types import PDF, Ranges
from fscrawl.util.installed import to_install


def missing(settings: Settings) -> str:
    """Say in one line what this machine cannot do, and how it can be helped; "" if it can do all."""
    fetch = settings.fetch
    if PDF not in fetch.accept_links or PDF not in Ranges(fetch.accept):
        return ""
    from fscrawl.parse import pdf  # noqa: PLC0415 - it loads the parsers

    if pdf.is_installed():
        return ""
    return f"PDF files are stored, but not searched for links, since pypdf is missing: {to_install(pdf.EXTRA)}"
