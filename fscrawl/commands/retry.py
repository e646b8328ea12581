"""`fscrawl retry`: fetch URLs again that have failed."""

from __future__ import annotations

import argparse
import textwrap

from fscrawl import hostnames, interrupts
from fscrawl.commands.common import Program, add_command, add_root, open_tree
from fscrawl.config.watcher import settings_of
from fscrawl.errors import EXIT_OK, UsageError
from fscrawl.http.answers import CLASSES
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say

_EXAMPLES = """\
fscrawl retry --root /mnt/shared --class timeout --class http-5xx
fscrawl retry --root /mnt/shared --host '*.example.org'
"""
_CLASSES = textwrap.fill(f"classes: {', '.join(CLASSES)}", 79, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def add(program: Program) -> None:
    retry = add_command(
        program,
        "retry",
        run,
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
        metavar="C",
        help="only this class, or these: C,C; repeatable (default: all but robots)",
    )
    retry.add_argument("--host", action="append", default=[], metavar="GLOB", help="only these hosts; repeatable")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin.retry import retry  # noqa: PLC0415

    classes = [name for text in options.classes for name in text.split(",")]
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"--class {name}: must be one of {', '.join(CLASSES)}")
    tree = open_tree(options.root, writing=True)
    settings_of(tree)  # wrong settings are refused now, not by the next crawl
    interrupts.keeps("some failures may be on the to-do list already; the same command does the rest")
    with ProgressLine() as line:
        marked = retry(tree, classes, options.host, line.print_line, line)
    if marked.left_out:
        left_out = f"{number_of(marked.left_out, 'URL')} that robots.txt does not allow"
        say(f"left out: {left_out}; to ask robots.txt again:  {command('retry', options.root)} --class robots")
    if not marked:
        say("no other failed URL matches" if marked.left_out else "no failed URL matches")
        wanted = [hostnames.option(host, globs=True) for host in options.host]
        for hint in hostnames.unmatched(wanted, {*tree.hosts(ERRS), *tree.hosts(LINKS)}) if wanted else []:
            say(hint)
        return EXIT_OK
    by_class = ", ".join(f"{n:,} {name}" for name, n in marked.most_common())
    say(f"will be tried again: {number_of(marked.total(), 'URL')} ({by_class}){line.in_time()}")
    say(f"running machines fetch them; if none is running:  {command('crawl', options.root)}")
    return EXIT_OK
