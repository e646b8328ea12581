"""`fscrawl dashboard`: a web page that shows a crawl while it runs."""

from __future__ import annotations

import argparse

from fscrawl.commands.common import Commands, Parser, add_root
from fscrawl.errors import UsageError

_PORT = 8712
_EXAMPLES = """\
examples:
  fscrawl dashboard --root /mnt/shared                 look, at http://127.0.0.1:8712/
  fscrawl dashboard --root /mnt/shared --control       and pause, resume, stop, add seeds
  ssh -L 8712:127.0.0.1:8712 server                    look from another machine
"""


def add(commands: Commands[Parser]) -> None:
    dashboard = commands.add_parser(
        "dashboard",
        help="a web page that shows a crawl while it runs, and its pages",
        description="Serve a web page that shows the crawl at --root: live curves, machines, hosts, pages, failures.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    dashboard.set_defaults(run=run)
    add_root(dashboard)
    dashboard.add_argument("--port", type=_port, default=_PORT, metavar="N", help=f"default {_PORT}; 0: any free one")
    dashboard.add_argument("--host", default="127.0.0.1", metavar="H", help="where to listen (default 127.0.0.1)")
    dashboard.add_argument(
        "--control", action="store_true", help="let whoever has the printed address pause, stop and seed the crawl"
    )


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin.dashboard_control import VERBS  # noqa: PLC0415 - a crawl need not load it

    try:
        from fscrawl.monitor.dashboard.serve import serve  # noqa: PLC0415 - a crawl need not load it
    except ModuleNotFoundError as error:
        raise UsageError(f"dashboard needs {error.name}: pip install 'fscrawl[dashboard]'") from error
    return serve(options.root, options.host, options.port, VERBS if options.control else {})


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r}: it takes a number from 0 to 65535")
    return int(text)
