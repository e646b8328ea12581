"""`fscrawl status`: print what the machines do, once or every two seconds."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

from fscrawl import interrupts
from fscrawl.commands.program import Program, add_root, open_tree
from fscrawl.errors import EXIT_OK, TreeBusyError
from fscrawl.util.terminal import say_json, say_styled, show_cursor

if TYPE_CHECKING:
    from fscrawl.monitor.snapshot import Observer, Snapshot

_EVERY_S = 2.0
_ENDLESS = 1_000_000  # columns

_EXAMPLES = """\
fscrawl status --root /mnt/shared
fscrawl status --root /mnt/shared --watch
fscrawl status --root /mnt/shared --json | jq .pages_per_s
"""


def add(program: Program) -> None:
    status = program.add(
        "status",
        run,
        description="Print what the machines do. Only their heartbeats are read, no page; the crawl is not disturbed.",
        examples=_EXAMPLES,
    )
    add_root(status)
    status.add_argument(
        "--watch", action="store_true", help="repeat every 2 s, until Ctrl-C or until no machine is running"
    )
    status.add_argument("--json", action="store_true", help="print one JSON object; with --watch one per line")


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.snapshot import Observer  # noqa: PLC0415 - a crawl need not load it

    if options.watch:
        interrupts.keeps("nothing was changed", usual_end=True)
    tree = open_tree(options.root)
    looks = _looks(Observer(tree), watch=options.watch)
    _print_json(looks) if options.json else _print_tables(looks, str(options.root), watch=options.watch)
    return EXIT_OK


def _looks(observer: Observer, *, watch: bool) -> Iterator[Snapshot]:
    """Look once; with `watch` every two seconds while a machine is running."""
    view = observer.look()
    yield view
    while watch and view.alive():
        time.sleep(_EVERY_S)
        try:
            view = observer.look()
        except TreeBusyError:  # a passing fault: the view before it stays on the screen
            continue
        yield view


def _print_json(looks: Iterator[Snapshot]) -> None:
    from fscrawl.monitor.status import as_json  # noqa: PLC0415

    for view in looks:
        say_json(as_json(view))


def _print_tables(looks: Iterator[Snapshot], root: str, *, watch: bool) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415

    from fscrawl.monitor.status import as_table  # noqa: PLC0415

    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = None if on_terminal else _ENDLESS  # elsewhere a line stays one, and a command in it can be copied
    console = Console(markup=False, highlight=False, emoji=False, width=width)
    if watch and console.is_terminal:
        interrupts.before_leaving(show_cursor)  # which rich hides
        with Live(console=console, auto_refresh=False) as live:
            for view in looks:
                live.update(as_table(view, root, console.width), refresh=True)
        return
    console.file = StringIO()  # rich flushes its file even when it captures, and only `say_styled` may find it full
    for number, view in enumerate(looks):
        with console.capture() as table:  # rich itself would end the process with exit code 1 when the pipe is closed
            if number:
                console.print()
            console.print(as_table(view, root, console.width))
        say_styled(table.get())
