"""What all commands share: how a command is declared, the options that several have, how a tree is found and opened."""

from __future__ import annotations

import argparse
import os
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fscrawl.commands.program import Parser, Program, without_secrets
from fscrawl.config.credentials import is_name
from fscrawl.errors import UsageError
from fscrawl.request import METHODS
from fscrawl.util.installed import command
from fscrawl.util.user_text import parted, shown, to_toml

if TYPE_CHECKING:
    from fscrawl.storage.records import PageRecord
    from fscrawl.store import Tree

__all__ = [
    "Parser",
    "Program",
    "add_allow_env",
    "add_command",
    "add_root",
    "add_settings",
    "add_workers",
    "assignments",
    "directory",
    "file",
    "find_root",
    "no_body",
    "open_tree",
    "positive",
    "root_of",
]

ROOT = "FSCRAWL_ROOT"
_DIGITS = 18  # of a number; Python reads at most 4,300
_HELP_COLUMNS = 79  # the formatter below prints description, examples and notes as they are

# flag → setting, value, help: those that people turn first
_FLAGS = {
    "--delay": ("politeness.delay", "S", "seconds between two requests to a host"),
    "--depth": ("crawl.max_depth", "N", "follow links so far from a seed, which has depth 0"),
    "--max-pages": ("crawl.max_pages", "N", "end when the tree has so many pages"),
    "--scope": ("crawl.scope", "SCOPE", "which links are followed: host, domain or any"),
    "--allow": ("crawl.allow", "RE", "only URLs that match; repeatable"),
    "--deny": ("crawl.deny", "RE", "no URLs that match; repeatable"),
    "--user-agent": ("politeness.user_agent", "TEXT", "what robots.txt and web servers know the crawl by"),
    "--render": ("render.hosts", "HOST", "open this host's pages in a browser, for JavaScript; repeatable"),
}


def add_command(
    program: Program,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    description: str,
    examples: str,
    notes: str = "",
) -> Parser:
    """Declare a command; its line in `fscrawl --help` is in COMMANDS.

    `examples` and `notes` are printed as they are: one example a line, then the notes.
    """
    indented = "".join(f"  {line}\n" for line in examples.splitlines())
    command = program.add(
        name,
        description=textwrap.fill(description, _HELP_COLUMNS),
        epilog=f"examples:\n{indented}{notes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run, command=name)
    return command


def add_root(parser: Parser, *, has_words: bool = False) -> None:
    """Declare --root, and the argument that may name the tree in its place. `has_words`: the command declares it."""
    parser.add_argument(
        "--root",
        type=directory,
        metavar="DIR",
        help=f"the shared directory that holds the crawl (default: ${ROOT}, or the tree that you are in)",
    )
    if not has_words:
        parser.add_argument("tree", nargs="?", type=directory, metavar="DIR", help="the same as --root DIR")


def find_root(options: argparse.Namespace) -> Path | None:
    """Find the tree of a command: --root, else an argument, else $FSCRAWL_ROOT, else the tree that we are in.

    The first of several words counts if it is a tree, and is removed from them. None if no tree is named.
    """
    from fscrawl.storage.inside import is_tree, tree_around  # noqa: PLC0415 - --help need not load it

    tree, words = getattr(options, "tree", None), getattr(options, "words", [])
    if options.root is not None:
        if tree is not None:
            raise UsageError(f"unexpected argument {shown(without_secrets(str(tree)))}; --root names the tree")
        return Path(options.root)
    if tree is not None:
        return Path(tree)
    if words and is_tree(Path(words[0])):
        return Path(words.pop(0))
    if given := os.environ.get(ROOT):
        try:
            return directory(given)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{ROOT}: {error}") from None
    return tree_around()


def root_of(options: argparse.Namespace) -> Path:
    """Find the tree as `find_root` does; UsageError if none is named."""
    root = find_root(options)
    if root is None:
        typed = f"{command()} {options.command} --root DIR"
        raise UsageError(f"which tree? type:  {typed}    (or set {ROOT}=DIR, or change into the tree)")
    return root


def add_settings(parser: Parser, help_: str) -> None:
    """Declare --set, and the flags of single settings that stand for it. `help_`: of --set."""
    for flag, (name, value, meaning) in _FLAGS.items():
        how = {"action": "append"} if meaning.endswith("repeatable") else {}
        parser.add_argument(flag, metavar=value, help=f"{meaning}: --set {name}=...", **how)
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help=help_)


def assignments(options: argparse.Namespace) -> list[str]:
    """Give what --set and the flags say, as arguments of --set."""
    flags = {name: getattr(options, flag[2:].replace("-", "_")) for flag, (name, _, _) in _FLAGS.items()}
    return [*(f"{name}={_as_toml(name, given)}" for name, given in flags.items() if given is not None), *options.set]


def _as_toml(name: str, given: str | list[str]) -> str:
    from fscrawl.config.settings import Settings  # noqa: PLC0415 - --help need not load it

    section, _, setting = name.partition(".")
    is_text = isinstance(getattr(getattr(Settings(), section), setting), str)
    return to_toml(given) if is_text or isinstance(given, list) else given


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
        help="allow settings to use this environment variable, as they may use $FSCRAWL_...; repeatable",
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
        tree.files.adopt_umask()
    return tree


def asked_for(words: list[str]) -> str:
    """Give what was asked for: a request need not be quoted, if the shell leaves its words alone. A line of `seeds.txt`
    may be given with its comment.
    """
    if not words:
        raise UsageError("which URL? give one, or a request like POST https://example.org/ a=1")
    if len(words) > 1 and words[0].upper() not in METHODS:
        second = without_secrets(words[1])
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
