"""`fscrawl retry`: recorded failures go back to work."""

from __future__ import annotations

import argparse

from fscrawl.commands.common import Commands, Parser, add_root, open_tree
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, UsageError
from fscrawl.http.answers import CLASSES

_EXAMPLES = f"""\
examples:
  fscrawl retry --root /mnt/shared --class timeout,http-5xx
  fscrawl retry --root /mnt/shared --host '*.example.org'
classes: {", ".join(list(CLASSES)[:8])},
  {", ".join(list(CLASSES)[8:])}
"""


def add(commands: Commands[Parser]) -> None:
    retry = commands.add_parser(
        "retry",
        help="try recorded failures once more, on a running or a finished crawl",
        description="Put recorded failures back to work. Machines that run take them up; else the next crawl does.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    retry.set_defaults(run=run)
    add_root(retry)
    retry.add_argument(
        "--class", dest="classes", action="append", default=[], metavar="C,C", help="only these classes; default all"
    )
    retry.add_argument("--host", action="append", default=[], metavar="GLOB", help="only these hosts; repeatable")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin.retry import retry  # noqa: PLC0415

    classes = [name for text in options.classes for name in text.split(",")]
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"--class {name}: it takes one of {', '.join(CLASSES)}")
    progress = Progress("quiet", verbose=False)
    put = retry(open_tree(options.root), classes, options.host, progress.warn)
    if not put:
        print("there is no such failure")
        return EXIT_OK
    print(f"to be tried again: {put.total()} URLs ({', '.join(f'{n} {name}' for name, n in put.most_common())})")
    print(f"machines that run take them up; where none does:  fscrawl crawl --root {options.root}")
    return EXIT_OK
