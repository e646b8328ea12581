"""Is a dataset as its last merge left it? Somebody may have edited, cut or removed its files.

Promise: what would make the next run wrong is refused, in a line that says what helps. What is only missing is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from fscrawl.dataset.dataset_dir import MANIFEST, STATE, DatasetDir
from fscrawl.dataset.formats import TABLE_FORMATS
from fscrawl.dataset.manifest import Manifest
from fscrawl.dataset.options import Options
from fscrawl.errors import UsageError
from fscrawl.util.humanize import number_of

OPTIONS = f"{STATE}/options.json"
_SEEN = re.compile(r"seen-(\d+)\.parquet")


def check_runs(directory: DatasetDir, before: Manifest | None) -> None:
    """Raise UsageError if there were more runs than the manifest names: it is an old copy, or was removed.

    The next run would write over the files of the second one, and beside those of later ones: pages would come twice.
    """
    named = len(before.runs) if before else 0
    found = map(_SEEN.fullmatch, directory.names(STATE))
    last = max((int(name[1]) for name in found if name), default=0)
    if last > named + 1:  # one more may have been under way
        what = "an old copy" if before else "missing"
        raise UsageError(
            f"{directory.path(MANIFEST)}: {what}: there were {number_of(last, 'run')}, or one fewer; put back what the"
            " last one has written, or start again with --rebuild"
        )


def options_of(directory: DatasetDir, before: Manifest | None) -> tuple[str, Options] | None:
    """Give the crawl and the options that a dataset was made with; None if it is new. UsageError if they are torn."""
    path = directory.path(OPTIONS)
    found = directory.read_json(OPTIONS)
    if found is None and before is not None:  # somebody has removed the file
        path, found = directory.path(MANIFEST), {"crawl": before.crawl, "options": before.options}
    if found is None:
        return None
    try:
        return str(found["crawl"]), Options.from_values(found["options"])
    except (KeyError, TypeError, AttributeError, UsageError) as error:
        raise UsageError(
            f"{path}: not the options of a merge ({error}); if a newer fscrawl has written it, update this one;"
            " else start again with --rebuild"
        ) from error


def checked(directory: DatasetDir, before: Manifest, warn: Callable[[str], None]) -> Manifest:
    """Name files that are missing or cut; return the manifest without the failures among them: they are made anew."""
    spoilt = [part for part in before.parts if not directory.is_whole(part)]
    lost = [part for part in spoilt if not part.has_failures]
    if lost:
        more = len(lost) - 1
        others = f", as {'is' if more == 1 else 'are'} {number_of(more, 'other file')}" if more else ""
        what = f"missing, or not as long as {MANIFEST} says{others}"
        warn(f"{directory.path(lost[0].path)}: {what}; to make all files anew, add --rebuild")
    gone = {part.path for part in spoilt if part.has_failures}
    return replace(before, parts=tuple(part for part in before.parts if part.path not in gone)) if gone else before


def has_failures(before: Manifest, options: Options) -> bool:
    """Tell whether the failures are there in each format that has them, for a manifest that was checked."""
    there = sum(part.has_failures for part in before.parts)
    return there >= sum(style in TABLE_FORMATS for style in options.formats)
