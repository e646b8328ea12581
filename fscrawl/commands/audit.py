"""`fscrawl audit`: check every file of a tree, and repair it."""

from __future__ import annotations

import argparse

from fscrawl import interrupts, store
from fscrawl.commands.common import Program, add_command, add_root, open_tree
from fscrawl.commands.site_option import add_site, with_site
from fscrawl.config.seeds import read_seeds
from fscrawl.config.watcher import settings_of
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say, say_json

_EXAMPLES = """\
fscrawl audit --root /mnt/shared             check; machines may be crawling
fscrawl audit --root /mnt/shared --repair    repair; best while no machine is crawling
"""
_EXIT_CODES = "exit codes: 0 nothing is wrong (any more), 1 something is wrong\n"


def add(program: Program) -> None:
    audit = add_command(
        program,
        "audit",
        run,
        description="Check every file of the tree, and that every linked URL is stored, failed or pending.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    add_root(audit)
    add_site(audit)
    audit.add_argument(
        "--repair", action="store_true", help="remove damaged files; the next crawl fetches their pages again"
    )
    audit.add_argument("--json", action="store_true", help="print the report as one JSON object")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin.audit import audit  # noqa: PLC0415 - a crawl need not load it

    tree = open_tree(options.root, writing=options.repair)
    chosen = with_site(settings_of(tree), options.site, options.root)
    if options.repair:
        interrupts.keeps("what has been repaired stays so; the same command does the rest")
    with ProgressLine() as line:
        seeds = read_seeds(tree.controls.seeds(), f"{tree.root}/{store.SEEDS}", line.print_line)
        report = audit(tree, chosen, seeds, line.print_line, repair=options.repair, line=line)
    if options.json:
        say_json(report.as_json())
    else:
        first, *more = report.lines()
        say(first + line.in_time(), *more)
    return EXIT_OK if report.ok else EXIT_UNUSABLE_RESULT
