"""`fscrawl dashboard`: serve a web page that shows a crawl while it runs."""

from __future__ import annotations

import argparse
import shlex

from fscrawl import interrupts
from fscrawl.commands.common import Program, add_command, add_root, open_tree
from fscrawl.errors import UsageError
from fscrawl.util.installed import to_install
from fscrawl.util.user_text import shown

_PORT = 8712
_EXAMPLES = """\
fscrawl dashboard --root /mnt/shared                 watch, at http://127.0.0.1:8712/
fscrawl dashboard --root /mnt/shared --control       watch; pause, resume, stop, add seeds
ssh -L 8712:127.0.0.1:8712 server                    watch from another machine
"""


def add(program: Program) -> None:
    dashboard = add_command(
        program,
        "dashboard",
        run,
        description="Serve a web page that shows the crawl: live curves, machines, hosts, pages, failures.",
        examples=_EXAMPLES,
    )
    add_root(dashboard)
    dashboard.add_argument(
        "--port", type=_port, default=_PORT, metavar="N", help=f"port (default {_PORT}); 0: any free port"
    )
    dashboard.add_argument(
        "--bind", type=_address, default="127.0.0.1", metavar="A", help="address to listen on (default 127.0.0.1)"
    )
    dashboard.add_argument(
        "--control",
        action="store_true",
        help="allow everyone who has the printed URL to pause, stop and seed the crawl",
    )


def run(options: argparse.Namespace) -> int:
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


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) < 65536):
        typed = shlex.quote(shown(text))
        raise argparse.ArgumentTypeError(f"{typed}: must be a number from 0 to 65535, for example 8712")
    return int(text)
