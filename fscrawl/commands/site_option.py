"""The option `--site FILE`: the file is read here, and run where its rules are needed (see `sites.code`)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fscrawl.commands.common import file
from fscrawl.errors import UsageError, reason
from fscrawl.util.own_code import check_site_file
from fscrawl.util.time_limit import time_limit
from fscrawl.util.user_text import decode

if TYPE_CHECKING:
    from fscrawl.config.settings import Settings
    from fscrawl.sites.rules import SiteFile

MAX_FILE_BYTES = 1024 * 1024
MOST_LOADING_S = 30.0


def add_site(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--site",
        type=file,
        metavar="FILE",
        help="a Python file of rules; the same on all machines",
    )


def with_site(chosen: Settings, path: Path | None, root: Path | None) -> Settings:
    """Give the settings with the classes of a site file, which is run here; UsageError if it has a mistake.

    One that does not end is such a mistake. `root`: as for `read_file`.
    """
    if path is None:
        return chosen
    from fscrawl.sites.code import load  # noqa: PLC0415 - it loads the parsers

    file = read_file(path, root)
    with time_limit(MOST_LOADING_S):
        return chosen.with_code(load(file))


def read_file(path: Path, root: Path | None) -> SiteFile:
    """Read a site file; UsageError if that is not possible, or if others may change it. It is not run.

    `root`: of the tree, if there is one.
    """
    from fscrawl.sites.rules import SiteFile  # noqa: PLC0415 - as above

    check_site_file(path, root)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--site {path}: cannot be read: {reason(error)}") from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"--site {path}: must be a Python file of at most {MAX_FILE_BYTES:,} bytes")
    return SiteFile(str(path), decode(data))
