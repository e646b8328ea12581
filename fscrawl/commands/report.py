"""`fscrawl report`: write the views of the dashboard into one HTML file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fscrawl import interrupts
from fscrawl.commands.common import Program, add_command, add_root, file, open_tree
from fscrawl.errors import EXIT_OK, UsageError, tree_error
from fscrawl.util.humanize import number_of
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say


def add(program: Program) -> None:
    report = add_command(
        program,
        "report",
        run,
        description="Write the views of the dashboard into one HTML file: curves of the whole crawl, machines, labels,"
        " failures, hosts. It opens in a browser from the disk. The tree is not changed; machines may be crawling.",
        examples="fscrawl report --root /mnt/shared --out report.html\n",
    )
    add_root(report)
    report.add_argument(
        "--out", required=True, type=file, metavar="FILE", help="the file to write; an existing file is replaced"
    )


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.report import gather, render  # noqa: PLC0415 - a crawl need not load it
    from fscrawl.storage.atomic import publish  # noqa: PLC0415
    from fscrawl.storage.inside import is_of_crawl  # noqa: PLC0415

    out: Path = options.out
    place = _place(out)
    if is_of_crawl(options.root, out):
        raise UsageError(f"--out {out}: the tree {options.root} has its own files there; name another file")
    tree = open_tree(options.root)
    with ProgressLine() as line:
        answers = gather(tree, line)
    data = render(answers).encode()
    with interrupts.later():
        publish(place, data, tree.machine)
        interrupts.keeps("the report is written")
    totals, hosts = answers["state"]["totals"], answers["hosts"]["hosts"]
    pages = f"{number_of(totals['pages'], 'page')} of {number_of(hosts, 'host')}"
    say(f"{out}: {pages}, {number_of(totals['errors'], 'failure')}{line.in_time()}")
    return EXIT_OK


def _place(out: Path) -> Path:
    """Give the file to write: a link stays, and what it names is replaced."""
    try:
        if out.is_dir() or not out.parent.is_dir():
            raise UsageError(f"--out {out}: must be a file name in an existing directory")
        if out.exists() and not out.is_file():  # such as /dev/stdout: root would put a file in the place of the device
            raise UsageError(f"--out {out}: it is a device, a pipe or a socket; name a file, for example report.html")
    except OSError as error:
        raise tree_error(error, out) from None
    return Path(os.path.realpath(out))
