"""`fscrawl pause | resume | stop | retry`: the sign files that all machines obey, and failed URLs fetched once more."""

from __future__ import annotations

import argparse
import contextlib
import textwrap
from collections.abc import Iterator

from fscrawl import interrupts
from fscrawl.admin import control
from fscrawl.commands import COMMANDS
from fscrawl.commands.program import Program, add_root, open_tree
from fscrawl.config.watcher import settings_of
from fscrawl.errors import EXIT_OK
from fscrawl.http.answers import CLASSES
from fscrawl.monitor.advice import to_go_on
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say

_MORE = {"resume": " Hosts that were paused by --host stay so until --host names them."}
_EXAMPLES = {
    "pause": ("", " --host www.example.org --host localhost:8080"),
    "resume": ("", " --host www.example.org"),
    "stop": ("",),
}
_RETRY_EXAMPLES = """\
fscrawl retry --root /mnt/shared --class timeout --class http-5xx
fscrawl retry --root /mnt/shared --host '*.example.org'
"""
_CLASSES = textwrap.fill(f"classes: {', '.join(CLASSES)}", 79, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def add(program: Program) -> None:
    for name, flags in _EXAMPLES.items():
        summary = COMMANDS[name][1]
        parser = program.add(
            name,
            _sign,
            description=f"{summary[0].upper()}{summary[1:]}.{_MORE.get(name, '')}",
            examples="".join(f"fscrawl {name} --root /mnt/shared{each}\n" for each in flags),
        )
        add_root(parser)
        if name != "stop":
            parser.add_argument(
                "--host",
                action="append",
                default=[],
                metavar="HOST",
                help="only this host; repeatable (default: the whole crawl)",
            )
    parser = program.add(
        "retry",
        _retry,
        description="Put failed URLs back on the to-do list. Running machines fetch them; otherwise the next crawl"
        " does.",
        examples=_RETRY_EXAMPLES,
        notes=_CLASSES,
    )
    add_root(parser)
    parser.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="C",
        help="only this class, or these: C,C; repeatable (default: all but robots)",
    )
    parser.add_argument("--host", action="append", default=[], metavar="GLOB", help="only these hosts; repeatable")


# -- signs


def _sign(options: argparse.Namespace) -> int:
    tree = open_tree(options.root, writing=True)
    if options.command == "resume":
        _resume(tree, options.host)
        return EXIT_OK
    with _whole(options.command):
        names = [control.stop(tree)] if options.command == "stop" else control.pause(tree, options.host)
    say(f"{control.created(names)}; machines obey within two heartbeats")
    say(*to_go_on(options.root, names))
    for line in control.unknown(tree, options.host) if options.command == "pause" else []:
        say(f"{line}; the sign counts when such a host is met")
    return EXIT_OK


def _resume(tree: Tree, hosts: list[str]) -> None:
    with _whole("resume"):
        gone = control.resume(tree, hosts)
    message, remaining = control.removed(tree, gone)
    say(message)
    for line in [] if gone else control.unknown(tree, hosts):
        say(line)
    if remaining:
        say(f"still there: {', '.join(remaining)}", *to_go_on(tree.root, remaining))


@contextlib.contextmanager
def _whole(verb: str) -> Iterator[None]:
    """Let no signal come between the signs; afterwards, all of them are as they should be."""
    with interrupts.later():
        yield
        interrupts.keeps(f"the machines will {verb}")


# -- failures


def _retry(options: argparse.Namespace) -> int:
    from fscrawl.admin.retry import retry  # noqa: PLC0415 - a pause need not load it

    classes = [name for text in options.classes for name in text.split(",")]
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
        for hint in control.unknown(tree, options.host):
            say(hint)
        return EXIT_OK
    by_class = ", ".join(f"{n:,} {name}" for name, n in marked.most_common())
    say(f"will be tried again: {number_of(marked.total(), 'URL')} ({by_class}){line.in_time()}")
    say(f"running machines fetch them; if none is running:  {command('crawl', options.root)}")
    return EXIT_OK
