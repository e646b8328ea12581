"""What the frontier hands out and the workers do: a page, or a host's robots.txt.

Tasks are named tuples: one is made for each page, and it crosses a pipe between processes.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from fscrawl import urls
from fscrawl.frontier.flags import NO_FLAGS, Flags


class PageTask(NamedTuple):
    """Fetch and store one URL: a page or a sitemap.

    host       the name of the host's directory in the tree
    key        the URL's key: the name of its files
    depth      how many links it is away from a seed
    referrer   key of the page that links here, "" for a seed
    attempt    1 the first time
    check      look into the tree first: the page may be stored already
    flags      what is special about it (see `flags.py`)
    """

    url: str
    host: str
    key: str
    depth: int
    referrer: str
    attempt: int
    check: bool = True
    flags: Flags = NO_FLAGS

    @property
    def fingerprint(self) -> int:
        """The first 64 bits of its key, by which the frontier knows it."""
        return urls.fingerprint(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the flags if there are none: measured, less time than the default, which looks them up."""
        return PageTask, self[:-1] if self.flags is NO_FLAGS else tuple(self)


class RobotsTask(NamedTuple):
    """Learn the rules in a host's robots.txt. `url`: any URL of the host.

    `attempt`: 1 the first time; 0: a probe of the network, for which only the answer counts (`politeness.outage`).
    """

    url: str
    host: str
    attempt: int

    @property
    def is_probe(self) -> bool:
        return not self.attempt


Task = PageTask | RobotsTask


class End(Enum):
    """How a task ended.

    TOLD    the links of its page are in the logs, by the depth of the task
    FAILED  its failure is in the logs
    AGAIN   it is tried once more later, as the next attempt
    BACK    it was not done: it is pending again as the same attempt
    OPEN    none of these: what becomes of its page is told otherwise
    """

    TOLD = "told"
    FAILED = "failed"
    AGAIN = "again"
    BACK = "back"
    OPEN = "open"
