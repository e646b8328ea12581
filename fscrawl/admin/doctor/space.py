"""Whether the pages that `crawl.max_pages` allows fit onto the file system, in files and in bytes.

A page takes two files, its body and its record. One that scripts made has its DOM and perhaps a picture, too
(docs/design/tree-format.md). What the directories and robots.txt of a host take is not counted.

statvfs shows what is free. Servers of NFS and the clients of CephFS fill it with a quota of the exported directory, and
ext4 and XFS with that of a project. A quota of a user or group is not in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fscrawl.admin.doctor.check_result import OK, WARNING, CheckResult
from fscrawl.config.settings import Settings
from fscrawl.errors import tree_error
from fscrawl.util.humanize import number_of, size

LITTLE_BYTES = 1 << 30  # less is worth a warning, whatever the crawl needs
FEW_FILES = 100_000  # 50,000 pages
_ADVICE = "lower it, get a larger quota, or use another file system: a full one ends the crawl, and nothing is lost"
_FILES = 2
_FILES_RENDERED = 4
_BLOCK_BYTES = 4096  # of which a file leaves a part empty
_TYPICAL = 100  # so many pages show how large the others are


class Need(NamedTuple):
    """What is still to come. `pages`: which; `bytes`: None while too few pages show how large they are."""

    pages: str
    files: int
    bytes: int | None


def need(chosen: Settings, pages: int, stored_bytes: int) -> Need | None:
    """Give what the pages take that may still come; None: no number of pages is set, or it is reached.

    `pages`, `stored_bytes`: what the tree has already.
    """
    missing = max(0, (chosen.crawl.max_pages or 0) - pages)
    if not missing:
        return None
    per_page = _FILES_RENDERED if chosen.render.is_on else _FILES
    return Need(
        f"crawl.max_pages = {chosen.crawl.max_pages:,} allows {number_of(missing, 'more page')}",
        missing * per_page,
        missing * (stored_bytes // pages + per_page * _BLOCK_BYTES) if pages >= _TYPICAL else None,
    )


def compare(directory: Path, wanted: Need | None) -> Iterator[CheckResult]:
    """Compare what is free with what is still to come."""
    if wanted is None:
        return
    try:
        there = os.statvfs(directory)
    except OSError as error:
        yield CheckResult(WARNING, str(tree_error(error, directory)))
        return
    pages, files, needed = wanted
    if there.f_files:
        yield _judged(pages, number_of(files, "file"), there.f_favail >= files, f"{there.f_favail:,}")
    if needed is not None:
        free = there.f_bavail * there.f_frsize
        yield _judged(pages, f"about {size(needed)}", free >= needed, size(free))


def _judged(pages: str, needed: str, fits: bool, free: str) -> CheckResult:
    if fits:
        return CheckResult(OK, f"{pages}; there is room for their {needed}")
    return CheckResult(WARNING, f"{pages}, which need {needed}; {free} are free", _ADVICE)
