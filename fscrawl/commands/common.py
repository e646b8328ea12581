"""What all commands share: how a command is declared, the options that several have, how a tree is opened."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from fscrawl import urls
from fscrawl.config.credentials import is_name
from fscrawl.errors import UsageError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.store import Tree

_HELP_COLUMNS = 79  # the formatter below prints description, examples and notes as they are


_SECRET_VALUE = re.compile(r"(\bfetch\.\w+).*", re.DOTALL)  # these settings may have passwords


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like all other errors of fscrawl."""

    def error(self, message: str) -> NoReturn:
        said = _SECRET_VALUE.sub(r"\1…", urls.without_login(message))
        raise UsageError(f"{said}; see {self.prog} --help")


Commands = argparse._SubParsersAction  # noqa: SLF001 - it has no public name


def add_command(
    commands: Commands[Parser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    examples: str,
    notes: str = "",
) -> Parser:
    """Declare a command: `summary` is its line in `fscrawl --help`, the rest is what its own --help prints.

    `examples` and `notes` are printed as they are: one example a line, then the notes.
    """
    indented = "".join(f"  {line}\n" for line in examples.splitlines())
    command = commands.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description, _HELP_COLUMNS),
        epilog=f"examples:\n{indented}{notes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    return command


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", required=True, type=Path, metavar="DIR", help="the shared directory that holds the crawl"
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers", type=positive, default=4, metavar="N", help="number of worker processes (default 4)"
    )
    parser.add_argument(
        "--threads", type=positive, default=8, metavar="N", help="fetches at the same time in each worker (default 8)"
    )


def add_allow_env(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-env",
        action="append",
        type=_variable,
        default=[],
        metavar="NAME",
        help="a variable that settings may use besides $FSCRAWL_…; repeatable",
    )


def _variable(text: str) -> str:
    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{text!r}: must be the name of an environment variable, without $ and value")
    return text


def positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: must be a whole number, 1 or more")
    return int(text)


def open_tree(root: Path, *, writing: bool = False) -> Tree:
    """Open a tree for a command that takes no part in the crawl; NotATreeError if there is none.

    `writing`: the command makes files there. Then this process makes files that are as open as the tree's root.
    """
    tree = Tree(root, new_machine_id())
    if writing:
        tree.files.take_umask()
    return tree
