"""`fscrawl status`: what machines do, at a look or all the time."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fscrawl.commands.common import Commands, Parser, add_root, open_tree, settings_of
from fscrawl.errors import EXIT_OK, TreeBusyError

if TYPE_CHECKING:
    from fscrawl.monitor.snapshot import Survey, View

_EVERY_S = 2.0

_EXAMPLES = """\
examples:
  fscrawl status --root /mnt/shared
  fscrawl status --root /mnt/shared --watch
  fscrawl status --root /mnt/shared --json | jq .pages_per_s
"""


def add(commands: Commands[Parser]) -> None:
    status = commands.add_parser(
        "status",
        help="what machines do: pages/s, errors, what is pending",
        description="Say what machines do, from their heartbeats. It takes no part in the crawl, and reads no page.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    status.set_defaults(run=run)
    add_root(status)
    status.add_argument(
        "--watch", action="store_true", help="again every 2 s, until Ctrl-C or until no machine is at work"
    )
    status.add_argument("--json", action="store_true", help="one JSON object; with --watch one a line")


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.snapshot import Survey  # noqa: PLC0415 - a crawl need not load it

    tree = open_tree(options.root)
    looks = _looks(Survey(tree, lambda: settings_of(tree)), watch=options.watch)
    try:
        _print_json(looks) if options.json else _print_tables(looks, str(options.root), watch=options.watch)
    except KeyboardInterrupt:
        if not options.watch:
            raise  # and of a watch it is the usual end
    return EXIT_OK


def _looks(survey: Survey, *, watch: bool) -> Iterator[View]:
    """Look once, or every two seconds while a machine is at work."""
    view = survey.look()
    yield view
    while watch and view.alive():
        time.sleep(_EVERY_S)
        try:
            view = survey.look()
        except TreeBusyError:  # a passing fault: what was seen before will do
            continue
        yield view


def _print_json(looks: Iterator[View]) -> None:
    from fscrawl.monitor.status import as_json  # noqa: PLC0415

    for view in looks:
        print(json.dumps(as_json(view)), flush=True)


def _print_tables(looks: Iterator[View], root: str, *, watch: bool) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415

    from fscrawl.monitor.status import as_table  # noqa: PLC0415

    console = Console(markup=False, highlight=False, emoji=False)
    if watch and console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for view in looks:
                live.update(as_table(view, root), refresh=True)
        return
    for number, view in enumerate(looks):
        if number:
            console.print()
        console.print(as_table(view, root))
