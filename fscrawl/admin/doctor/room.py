"""Whether the pages that `crawl.max_pages` allows fit onto the file system, in files and in bytes.

A page takes two files, its body and its record. One that scripts made has its DOM and perhaps a picture, too
(docs/design/tree-format.md). What the directories and robots.txt of a host take is not counted.

statvfs tells what is free. Servers of NFS and the clients of CephFS fill it with a quota of the exported directory, and
ext4 and XFS with that of a project. A quota of a user or group is not in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fscrawl.admin.doctor.check_result import OK, WARNING, CheckResult
from fscrawl.config.settings import Settings
from fscrawl.errors import tree_error
from fscrawl.util.humanize import number_of, size

_FILES = 2
_FILES_RENDERED = 4
_BLOCK_BYTES = 4096  # of which a file leaves a part empty
_TYPICAL = 100  # so many pages tell how large the others are


def compare(directory: Path, chosen: Settings, pages: int, stored_bytes: int) -> Iterator[CheckResult]:
    """Compare what is free with what is still to come. `pages`, `stored_bytes`: what the tree has already."""
    most = chosen.crawl.max_pages
    missing = max(0, (most or 0) - pages)
    if not missing:
        return
    try:
        there = os.statvfs(directory)
    except OSError as error:
        yield CheckResult(WARNING, str(tree_error(error, directory)))
        return
    told = f"crawl.max_pages = {most:,} allows {number_of(missing, 'more page')}"
    per_page = _FILES_RENDERED if chosen.render.is_on else _FILES
    if there.f_files:
        yield _judged(
            told, number_of(missing * per_page, "file"), there.f_favail >= missing * per_page, f"{there.f_favail:,}"
        )
    if pages >= _TYPICAL:
        needed, free = missing * (stored_bytes // pages + per_page * _BLOCK_BYTES), there.f_bavail * there.f_frsize
        yield _judged(told, f"about {size(needed)}", free >= needed, size(free))


def _judged(told: str, needed: str, fits: bool, free: str) -> CheckResult:
    if fits:
        return CheckResult(OK, f"{told}; there is room for their {needed}")
    advice = "lower it, get a larger quota, or use another file system: a full one ends the crawl, and nothing is lost"
    return CheckResult(WARNING, f"{told}, which need {needed}; {free} are free", advice)
