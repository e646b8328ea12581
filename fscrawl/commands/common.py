"""What all commands share: how a command is declared, the options that several have, how a tree is opened."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fscrawl import urls
from fscrawl.commands.parser import Parser
from fscrawl.config.credentials import is_name
from fscrawl.errors import UsageError
from fscrawl.request import METHODS
from fscrawl.util.text_lines import parted
from fscrawl.util.user_text import shown

if TYPE_CHECKING:
    from fscrawl.storage.records import PageRecord
    from fscrawl.store import Tree

__all__ = [
    "Commands",
    "Parser",
    "add_allow_env",
    "add_command",
    "add_root",
    "add_workers",
    "directory",
    "file",
    "no_body",
    "open_tree",
    "positive",
]

_DIGITS = 18  # of a number; Python reads at most 4,300
_HELP_COLUMNS = 79  # the formatter below prints description, examples and notes as they are


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
    command.examples = examples
    command.set_defaults(run=run)
    return command


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", required=True, type=directory, metavar="DIR", help="the shared directory that holds the crawl"
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=not_negative,
        default=4,
        metavar="N",
        help="number of worker processes (default 4); 0: one worker, in this process",
    )
    parser.add_argument(
        "--threads",
        type=positive,
        default=8,
        metavar="N",
        help="fetches at the same time in each worker, at most 1000 (default 8)",
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
        raise argparse.ArgumentTypeError("must be the name of an environment variable, without $ and value")
    return text


def directory(text: str) -> Path:
    """Read the path of a directory. An empty one is a mistake: `Path` takes it for the working directory."""
    return _path(text, "directory")


def file(text: str) -> Path:
    """Read the path of a file. `Path` forgets a slash at its end, and what is written would be a file all the same."""
    if text.endswith("/"):
        raise argparse.ArgumentTypeError(f"{text}: ends with a slash, as directories do; name a file")
    return _path(text, "file")


def _path(text: str, what: str) -> Path:
    if not text:  # as of --root "$ROOT", where ROOT is not set
        raise argparse.ArgumentTypeError(f"is empty; name a {what}")
    if text == "~" or text.startswith("~/"):  # as of --root=~/tree: most shells replace ~ only where a word begins
        meant = shown(text[1:])
        raise argparse.ArgumentTypeError(
            f"~{meant}: the shell has not replaced ~; write $HOME{meant}, or ./~{meant} for what has that name"
        )
    return Path(text)


def positive(text: str) -> int:
    return _whole_number(text, 1)


def not_negative(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    typed = shlex.quote(shown(text))
    is_whole = text.isascii() and text.isdecimal()
    if is_whole and len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"{typed}: must be below 1e{_DIGITS}, for example 8")
    if not (is_whole and int(text) >= least):
        raise argparse.ArgumentTypeError(f"{typed}: must be a whole number, {least} or more, for example 8")
    return int(text)


def open_tree(root: Path, *, writing: bool = False) -> Tree:
    """Open a tree for a command that takes no part in the crawl; NotATreeError if there is none.

    `writing`: the command makes files there. Then this process makes files that are as open as the tree's root.
    """
    from fscrawl.fleet.heartbeat import new_machine_id  # noqa: PLC0415 - --help need not load it
    from fscrawl.store import Tree  # noqa: PLC0415

    tree = Tree(root, new_machine_id())
    if writing:
        tree.files.take_umask()
    return tree


def asked_for(words: list[str]) -> str:
    """Give what was asked for: a request need not be quoted, if the shell leaves its words alone. A line of `seeds.txt`
    may be given with its comment.
    """
    if len(words) > 1 and words[0].upper() not in METHODS:
        second = urls.without_login(words[1])
        raise UsageError(f"{second}: there must be one URL, or a request like POST https://example.org/ a=1")
    return parted(" ".join(words))[0]


def no_body(record: PageRecord) -> str:
    """Say why a record has no body, which setting decided that, and what would change it."""
    skipped = record.skipped or ""
    if not skipped.startswith("type "):
        return skipped
    but = ", but it begins like HTML" if record.like_html else ""
    adds = f'add "{skipped.removeprefix("type ")}" to fetch.accept, then crawl with --refresh 0s'
    return f"{skipped}, which fetch.accept does not name{but}; to store it, {adds}"
