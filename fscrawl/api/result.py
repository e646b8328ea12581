"""How a crawl that was run from Python ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What one run of one machine did, and why it ended.

    root        the tree
    reason      "finished": nothing is left to fetch; "stopped": STOP is in the tree; "max_pages": `crawl.max_pages` is
                reached; "interrupted": somebody has sent the process a signal
    pages       stored by this run, and so `redirects`, `others` (of other types, without a body); `unchanged` are pages
                that were checked again and stay as they are
    bytes       of the stored bodies
    errors      failures recorded by this run, by class
    kept        of the unchanged pages, those that could not be fetched anew, by the class of the failure
    left_out    links of pages that this run read and that belong to no page of the crawl, by the setting against them
    seconds     that it took
    pending     URLs that this machine knows, and that are neither done nor a failure
    fault       the mistake in the site file because of which seeds are missing; "" without one
    warnings    what was printed while it ran
    """

    root: Path
    reason: Literal["finished", "stopped", "max_pages", "interrupted"]
    pages: int
    redirects: int
    others: int
    unchanged: int
    bytes: int
    errors: dict[str, int]
    kept: dict[str, int]
    left_out: dict[str, int]
    seconds: float
    pending: int
    fault: str = ""
    warnings: tuple[str, ...] = ()
