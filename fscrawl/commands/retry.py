"""`fscrawl retry`: fetch URLs again that have failed."""

from __future__ import annotations

import argparse

from fscrawl.commands.common import Commands, Parser, add_command, add_root, open_tree
from fscrawl.config.watcher import settings_of
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, UsageError
from fscrawl.http.answers import CLASSES
from fscrawl.util.terminal import say

_EXAMPLES = """\
fscrawl retry --root /mnt/shared --class timeout,http-5xx
fscrawl retry --root /mnt/shared --host '*.example.org'
"""
_CLASSES = f"""\
classes: {", ".join(list(CLASSES)[:8])},
  {", ".join(list(CLASSES)[8:])}
"""


def add(commands: Commands[Parser]) -> None:
    retry = add_command(
        commands,
        "retry",
        run,
        summary="try failed URLs once more, in a running or a finished crawl",
        description="Put failed URLs back on the to-do list. Running machines fetch them; otherwise the next crawl"
        " does.",
        examples=_EXAMPLES,
        notes=_CLASSES,
    )
    add_root(retry)
    retry.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="C,C",
        help="only these classes (default all)",
    )
    retry.add_argument("--host", action="append", default=[], metavar="GLOB", help="only these hosts; repeatable")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin.retry import retry  # noqa: PLC0415

    classes = [name for text in options.classes for name in text.split(",")]
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"--class {name}: must be one of {', '.join(CLASSES)}")
    progress = Progress("quiet", verbose=False)
    tree = open_tree(options.root, writing=True)
    settings_of(tree)  # wrong settings are told now, not by the next crawl
    marked = retry(tree, classes, options.host, progress.warn)
    if not marked:
        say("no failed URL matches")
        return EXIT_OK
    say(f"will be tried again: {marked.total()} URLs ({', '.join(f'{n} {name}' for name, n in marked.most_common())})")
    say(f"running machines fetch them; if none is running:  fscrawl crawl --root {options.root}")
    return EXIT_OK
