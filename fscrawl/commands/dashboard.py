"""`fscrawl dashboard` and `fscrawl report`: a web page that shows a crawl, and its views in one HTML file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fscrawl import interrupts
from fscrawl.commands.program import Program, add_root, file, not_negative, open_tree
from fscrawl.errors import EXIT_OK, UsageError, tree_error
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import to_install
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say

_PORT = 8712
_EXAMPLES = """\
fscrawl dashboard --root /mnt/shared                 watch, at http://127.0.0.1:8712/
fscrawl dashboard --root /mnt/shared --control       watch; pause, resume, stop, add seeds
ssh -L 8712:127.0.0.1:8712 server                    watch from another machine
"""


def add(program: Program) -> None:
    dashboard = program.add(
        "dashboard",
        _dashboard,
        description="Serve a web page that shows the crawl: live curves, machines, hosts, pages, failures.",
        examples=_EXAMPLES,
    )
    add_root(dashboard)
    dashboard.add_argument(
        "--port", type=not_negative, default=_PORT, metavar="N", help=f"port (default {_PORT}); 0: any free port"
    )
    dashboard.add_argument(
        "--bind", type=_address, default="127.0.0.1", metavar="A", help="address to listen on (default 127.0.0.1)"
    )
    dashboard.add_argument(
        "--control",
        action="store_true",
        help="allow everyone who has the printed URL to pause, stop and seed the crawl",
    )

    report = program.add(
        "report",
        _report,
        description="Write the views of the dashboard into one HTML file: curves of the whole crawl, machines, labels,"
        " failures, hosts. It opens in a browser from the disk. The tree is not changed; machines may be crawling.",
        examples="fscrawl report --root /mnt/shared --out report.html\n",
    )
    add_root(report)
    report.add_argument(
        "--out", required=True, type=file, metavar="FILE", help="the file to write; an existing file is replaced"
    )


def _dashboard(options: argparse.Namespace) -> int:
    interrupts.keeps("the dashboard has ended, the crawl has not", usual_end=True)
    from fscrawl.admin.control import VERBS  # noqa: PLC0415 - a crawl need not load it

    try:
        from fscrawl.monitor.dashboard.serve import serve  # noqa: PLC0415 - a crawl need not load it
    except ModuleNotFoundError as error:
        raise UsageError(f"dashboard needs {error.name}: {to_install('dashboard')}") from error
    if options.control:
        open_tree(options.root, writing=True)
    return serve(options.root, options.bind, options.port, VERBS if options.control else {})


def _address(text: str) -> str:
    """Take the brackets off an IPv6 address, which it has in URLs."""
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


# -- the views in one file


def _report(options: argparse.Namespace) -> int:
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
    state, hosts = answers["state"], answers["hosts"]["hosts"]
    pages = f"{number_of(state['pages'], 'page')} of {number_of(hosts, 'host')}"
    say(f"{out}: {pages}, {number_of(sum(state['errors'].values()), 'failure')}{line.in_time()}")
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
