"""How the command line is read: plain argparse. A mistake in it is one line that says what to type.

Promise: a message repeats no password.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from fscrawl import __version__
from fscrawl.commands import ALIASES, COMMANDS
from fscrawl.commands.other_tools import command_of, option_of
from fscrawl.errors import EXIT_USAGE, UsageError
from fscrawl.util.installed import command
from fscrawl.util.terminal import say, write

_NAME = re.compile(r"--?[A-Za-z][\w-]*")
_SECRET_VALUE = re.compile(r"(\bfetch\.\w+).*", re.DOTALL)  # these settings may have passwords


class Parser(argparse.ArgumentParser):
    """The parser of a command. `arguments`: what was added to it, in this order."""

    def __init__(self, **how: Any) -> None:
        self.arguments: list[argparse.Action] = []
        super().__init__(allow_abbrev=False, **how)

    def add_argument(self, *names: str, **how: Any) -> argparse.Action:
        action = super().add_argument(*names, **how)
        self.arguments.append(action)
        return action

    def print_help(self, file: Any = None) -> None:
        """Print the help as all else is printed: a closed pipe ends the command."""
        write(self.format_help(), file)

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError in place of printing the usage."""
        raise UsageError(f"{without_secrets(message)}; {self.see}")

    @property
    def see(self) -> str:
        """Say where the command is described."""
        return f"see {command()}{self.prog.removeprefix('fscrawl')} --help"

    @property
    def options(self) -> list[str]:
        """All options, such as --root and -v."""
        return [name for action in self.arguments for name in action.option_strings]


class Program:
    """`fscrawl` and its commands."""

    def __init__(self, names: Sequence[str] = tuple(COMMANDS)) -> None:
        """`names`: the commands whose options are declared."""
        self.parser = Parser(
            prog="fscrawl",
            description="A web crawler for a few machines that share a directory.",
            epilog="fscrawl help COMMAND, or fscrawl COMMAND --help, describes a command.",
        )
        self.parser.add_argument("-V", "--version", action="store_true", help="print the version")
        self._added = self.parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
        self.commands: dict[str, Parser] = {}
        modules = dict.fromkeys(module for name, (module, _) in COMMANDS.items() if name in names)
        for module in modules:
            importlib.import_module(f"fscrawl.commands.{module}").add(self)
        if not modules:
            for name in COMMANDS:
                self.add(name)

    def add(self, name: str, **how: Any) -> Parser:
        """Add the parser of a command."""
        aliases = [alias for alias, of in ALIASES.items() if of == name]
        self.commands[name] = self._added.add_parser(name, help=COMMANDS[name][1], aliases=aliases, **how)
        return self.commands[name]


def without_secrets(text: str) -> str:
    """Take the passwords out of what somebody has typed.

    >>> without_secrets("unexpected argument fetch.auth={'a.example' = 'me:pw'}")
    'unexpected argument fetch.auth…'
    """
    from fscrawl.urls import without_login  # noqa: PLC0415 - a tenth of a command's start, for mistakes only

    return _SECRET_VALUE.sub(r"\1…", without_login(text))


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line: its options, the function `run`, and the parser. UsageError if it has a mistake.

    SystemExit after --help and --version; without a word, the help is printed where errors are.
    """
    if words[:1] == ["help"]:
        words = [*(word for word in words[1:2] if word != "help"), "--help"]
    name = ALIASES.get(words[0], words[0]) if words else ""
    program = Program([name])
    if name in COMMANDS:
        parser = program.commands[name]
        options, rest = parser.parse_known_intermixed_args(list(words[1:]))
        if rest:
            raise UsageError(f"{_unexpected(parser, rest)}; {parser.see}")
        return options
    if not words:
        program.parser.print_help(sys.stderr)
        raise SystemExit(EXIT_USAGE)
    if not words[0].startswith("-"):
        program.parser.error(_unknown_command(words[0]))
    if program.parser.parse_known_args(words[:1])[0].version:  # --help ends here, too
        say(f"fscrawl {__version__}")
        raise SystemExit(0)
    crawl = Program(["crawl"]).commands["crawl"]
    _, rest = crawl.parse_known_intermixed_args(list(words))
    more = f"; {_unexpected(crawl, rest)}" if rest else ""
    raise UsageError(f"the command comes first; type:  {command()} crawl --root DIR URL{more}")


def _unknown_command(word: str) -> str:
    if "://" in word:
        return f"the command comes first; type:  {command()} crawl --root DIR {without_secrets(word)}"
    near = difflib.get_close_matches(word, [*COMMANDS, *ALIASES], 1)
    meant = command_of(word) or (near[0] if near else "")
    what = f"type:  {command()} {meant}" if meant else f"the commands are {', '.join(COMMANDS)}"
    return f"unknown command {word or _EMPTY}; {what}"


_EMPTY = "''"  # as a shell reads an argument that is empty


def _unexpected(parser: Parser, rest: Sequence[str]) -> str:
    """Say of each unknown option what to type instead; or of the first argument that nothing takes."""
    end = rest.index("--") if "--" in rest else len(rest)
    unknown = list(dict.fromkeys(found[0] for word in rest[:end] if (found := _NAME.match(word))))
    if not unknown:
        word = next((word for word in rest if word != "--"), "")
        return f"unexpected argument {without_secrets(word) or _EMPTY}"
    return "unknown option " + "; ".join(f"{option}{_instead(parser, option)}" for option in unknown)


def _instead(parser: Parser, option: str) -> str:
    near = difflib.get_close_matches(f"--{option.lstrip('-')}", parser.options, 1, 0.7)
    meant = option_of(option, parser.options) or (f"did you mean {near[0]}?" if near else "")
    return f": {meant}" if meant else ""
