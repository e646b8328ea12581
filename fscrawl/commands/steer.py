"""`fscrawl pause | resume | stop`: signs that all machines obey."""

from __future__ import annotations

import argparse

from fscrawl import steering
from fscrawl.commands.common import Commands, Parser, add_root, open_tree, settings_of
from fscrawl.errors import EXIT_OK

_HELP = {
    "pause": "let all machines fetch nothing, or leave a host alone, until resumed",
    "resume": "take back pause and stop",
    "stop": "let all machines leave: what is in flight is finished, and nothing is lost",
}


def add(commands: Commands[Parser]) -> None:
    for name, help_ in _HELP.items():
        command = commands.add_parser(
            name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.", allow_abbrev=False
        )
        command.set_defaults(run=run, verb=name)
        add_root(command)
        if name != "stop":
            command.add_argument(
                "--host", action="append", default=[], metavar="HOST", help="this host only; repeatable"
            )


def run(options: argparse.Namespace) -> int:
    tree = open_tree(options.root)
    beat_s = settings_of(tree).fleet.beat
    if options.verb == "resume":
        gone = steering.resume(tree, options.host)
        print(f"removed: {', '.join(gone)}" if gone else "nothing was paused or stopped")
        return EXIT_OK
    names = [steering.stop(tree)] if options.verb == "stop" else steering.pause(tree, options.host)
    print(f"created: {', '.join(names)}; machines obey within {2 * beat_s:g} s")
    print(f"to go on:  fscrawl resume --root {options.root}")
    return EXIT_OK
