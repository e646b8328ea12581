"""`fscrawl pause | resume | stop`: create or remove the sign files that all machines obey."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator

from fscrawl import interrupts
from fscrawl.admin import control
from fscrawl.commands import COMMANDS
from fscrawl.commands.common import Program, add_command, add_root, open_tree
from fscrawl.config.watcher import settings_of
from fscrawl.errors import EXIT_OK, FscrawlError
from fscrawl.monitor.advice import to_go_on
from fscrawl.store import Tree
from fscrawl.util.terminal import say

_MORE = {"resume": " Hosts that were paused by --host stay so until --host names them."}
_EXAMPLES = {
    "pause": ("", " --host www.example.org --host localhost:8080"),
    "resume": ("", " --host www.example.org"),
    "stop": ("",),
}


def add(program: Program) -> None:
    for name, flags in _EXAMPLES.items():
        summary = COMMANDS[name][1]
        command = add_command(
            program,
            name,
            run,
            description=f"{summary[0].upper()}{summary[1:]}.{_MORE.get(name, '')}",
            examples="".join(f"fscrawl {name} --root /mnt/shared{each}\n" for each in flags),
        )
        add_root(command)
        if name != "stop":
            command.add_argument(
                "--host",
                action="append",
                default=[],
                metavar="HOST",
                help="only this host; repeatable (default: the whole crawl)",
            )


def run(options: argparse.Namespace) -> int:
    tree = open_tree(options.root, writing=True)
    if options.command == "resume":
        _resume(tree, options.host)
        return EXIT_OK
    with _whole(options.command):
        names = [control.stop(tree)] if options.command == "stop" else control.pause(tree, options.host)
    say(f"{control.created(names)}; machines obey within {_delay(tree)}")
    say(*to_go_on(options.root, names))
    for line in control.unknown(tree, options.host) if options.command == "pause" and options.host else []:
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


def _delay(tree: Tree) -> str:
    """Say how long two heartbeats take. The signs are there: a `crawl.toml` that is wrong or gone is no failure."""
    try:
        return f"{2 * settings_of(tree).fleet.beat:g} s"
    except FscrawlError:
        return "two heartbeats"
