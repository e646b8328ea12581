"""`fscrawl pack`, `unpack` and `compact`: in which files the pages of a tree are."""

from __future__ import annotations

import argparse

from fscrawl import interrupts
from fscrawl.commands.program import Program, add_root
from fscrawl.errors import EXIT_OK
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say

_SAME = (
    " No machine may run meanwhile, and none starts. The command may be killed: the same one goes on. It needs room for"
    " a copy of all pages, until they are copied and compared."
)
_DESCRIPTIONS = {
    "pack": "Put all pages of a tree into packs: a few large files, in place of one or more for each page." + _SAME,
    "unpack": "Give each page of a tree files of its own again. Only its last version is kept; the command says how"
    " many older ones there were." + _SAME,
    "compact": "Rewrite the packs of a tree: those of all past processes become few large ones, without what was"
    " removed or replaced, and without older versions beyond store.versions." + _SAME,
}
_NOTES = {
    "pack": "fscrawl unpack undoes it, also when it is half done\n",
    "unpack": "fscrawl pack undoes it, also when it is half done; older versions do not come back\n",
    "compact": "",
}


def add(program: Program) -> None:
    for name, description in _DESCRIPTIONS.items():
        examples = f"fscrawl {name} --root /mnt/shared\n"
        add_root(program.add(name, _run, description=description, examples=examples, notes=_NOTES[name]))


def _run(options: argparse.Namespace) -> int:
    from fscrawl.admin.packing import convert  # noqa: PLC0415 - --help need not load it

    interrupts.keeps("no page is lost; the same command goes on")
    with ProgressLine() as line:
        first, *more = convert(options.root, options.command, line.print_line, line).lines()
    say(first + line.in_time(), *more)
    return EXIT_OK
