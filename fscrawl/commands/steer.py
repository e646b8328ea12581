"""`fscrawl pause | resume | stop`: signs that all machines obey."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from fscrawl.admin import signs
from fscrawl.commands.common import Commands, Parser, add_root, open_tree, settings_of
from fscrawl.errors import EXIT_OK, SettingsError
from fscrawl.store import Tree
from fscrawl.util.terminal import plain

_HELP = {
    "pause": "let all machines fetch nothing, or leave a host alone, until resumed",
    "resume": "take back pause and stop",
    "stop": "let all machines leave: what is in flight is finished, and nothing is lost",
}
_EXAMPLES = {
    "pause": ("", " --host www.example.org --host localhost:8080"),
    "resume": ("", " --host www.example.org"),
    "stop": ("",),
}


def add(commands: Commands[Parser]) -> None:
    for name, help_ in _HELP.items():
        command = commands.add_parser(
            name,
            help=help_,
            description=f"{help_[0].upper()}{help_[1:]}.",
            epilog="\n".join(
                ["examples:", *(f"  fscrawl {name} --root /mnt/shared{more}" for more in _EXAMPLES[name])]
            ),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.set_defaults(run=run, verb=name)
        add_root(command)
        if name != "stop":
            command.add_argument(
                "--host", action="append", default=[], metavar="HOST", help="this host only; repeatable"
            )


def run(options: argparse.Namespace) -> int:
    tree = open_tree(options.root)
    if options.verb == "resume":
        gone = signs.resume(tree, options.host)
        print(f"removed: {_listed(gone)}" if gone else "nothing was paused or stopped")
        if left := tree.signs() - {*gone}:  # a listing may be old and show what is gone
            print(f"still there: {_listed(left)}")
        return EXIT_OK
    names = [signs.stop(tree)] if options.verb == "stop" else signs.pause(tree, options.host)
    print(f"created: {_listed(names)}; machines obey within {_soon(tree)}")
    print(f"to go on:  fscrawl resume --root {options.root}")
    return EXIT_OK


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(plain, sorted(names)))


def _soon(tree: Tree) -> str:
    """Say how long two heartbeats take, for a crawl.toml that is wrong keeps nobody from stopping the machines."""
    try:
        return f"{2 * settings_of(tree).fleet.beat:g} s"
    except SettingsError:
        return "two heartbeats"
