"""What the frontier hands out and the workers do."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """One thing for a worker to do. `kind`: "page", or "robots" for the host's robots.txt (then `url` is any of it).

    `attempt`: 1 the first time. `referrer`: key of the page that linked here, "" for a seed. `check`: ask the tree by
    name whether it is done. `mark`: what is special about it (`marks.py`).
    """

    url: str
    host: str
    key: str
    depth: int
    referrer: str
    attempt: int
    kind: str = "page"
    check: bool = True
    mark: str = ""
