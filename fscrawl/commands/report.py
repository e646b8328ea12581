"""`fscrawl report`: write what a crawl has stored as one HTML file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fscrawl.commands.common import Commands, Parser, add_command, add_root, open_tree
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, UsageError
from fscrawl.util.terminal import say


def add(commands: Commands[Parser]) -> None:
    report = add_command(
        commands,
        "report",
        run,
        summary="write statistics of a crawl into one HTML file",
        description="Read all records and write their statistics into one HTML file without scripts. The tree is not"
        " changed; machines may be crawling.",
        examples="fscrawl report --root /mnt/shared --out report.html\n",
    )
    add_root(report)
    report.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="the file to write; an existing file is replaced"
    )


def run(options: argparse.Namespace) -> int:
    from tqdm import tqdm  # noqa: PLC0415 - a crawl need not load it

    from fscrawl.monitor.report import gather, render  # noqa: PLC0415
    from fscrawl.storage.atomic import publish  # noqa: PLC0415

    out: Path = options.out
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"--out {out}: must be a file name in an existing directory")
    progress = Progress("quiet", verbose=False)
    tree = open_tree(options.root)
    with tqdm(unit=" records", dynamic_ncols=True, disable=not sys.stderr.isatty()) as bar:
        report = gather(tree, progress.warn, bar.update)
    publish(out.absolute(), render(report).encode(), tree.machine)
    totals = report.totals
    sums = f"{totals.kinds['page']:,} pages of {len(totals.hosts):,} hosts, {totals.errors.total():,} errors"
    say(f"{out}: {sums}")
    return EXIT_OK
