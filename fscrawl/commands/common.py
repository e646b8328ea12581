"""What commands have in common."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from fscrawl.config import settings
from fscrawl.errors import UsageError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.store import Tree


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, as everything else does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


Commands = argparse._SubParsersAction  # noqa: SLF001 - it has no public name


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", required=True, type=Path, metavar="DIR", help="the shared directory")


def positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: it takes a whole number, 1 or more")
    return int(text)


def open_tree(root: Path) -> Tree:
    """Open a tree as a command that takes no part in the crawl; NotATreeError if there is none."""
    return Tree(root, new_machine_id())


def settings_of(tree: Tree) -> settings.Settings:
    """Read a tree's settings; SettingsError if they are wrong."""
    return settings.parse(tree.settings_text(), f"{tree.root}/{settings.FILE}")
