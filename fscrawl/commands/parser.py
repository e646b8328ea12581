"""How the command line is read, and what is said of a mistake in it: one line, as all other errors of fscrawl.

Promise: a message names the option, what is right, and the page of --help that describes it. It shows no password.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from fscrawl import urls
from fscrawl.errors import EXIT_USAGE, UsageError
from fscrawl.util.installed import command
from fscrawl.util.terminal import write

_SECRET_VALUE = re.compile(r"(\bfetch\.\w+).*", re.DOTALL)  # these settings may have passwords
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_EMPTY = "''"  # as a shell reads an argument that is empty
_NAME = r"(?:\S*/)?(\S+)"  # as argparse writes it: of "-v/--verbose" the last one
_ARGUMENT = rf"argument {_NAME}"


class Parser(argparse.ArgumentParser):
    """The parser of a command. `examples`: of its use, one a line.

    `dashed_words`: -word is no option, but one of the words that the command takes.
    """

    examples = ""
    dashed_words = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments. What is not known is an error here, since only this parser knows what was meant."""
        words = list(sys.argv[1:] if args is None else args)
        if self.dashed_words:  # for argparse, what has a blank is no option
            words = [f" {word}" if self._is_dashed_word(word) else word for word in words]
        for word in self._options_of(words):
            if word not in self._option_string_actions:
                self._unknown(word)
        known, rest = super().parse_known_args(words, namespace)
        if rest:
            self._unexpected(next((word for word in rest if word != "--"), "--"))
        return known, rest

    def error(self, message: str, hint: str = "") -> NoReturn:
        """Raise a UsageError. `message`: of argparse or of this class; `hint`: follows it, and has no secret."""
        said = _SECRET_VALUE.sub(r"\1…", urls.without_login(self._in_our_words(message)))
        said += hint or self._hint(message)
        raise UsageError(f"{said}{'' if said.endswith('?') else ';'} see {self._page()} --help")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print what --help and --version say."""
        if message:
            write(message, file)

    def _page(self) -> str:
        """Name the program and the command as they are called on this machine."""
        return command() + self.prog.removeprefix("fscrawl")

    def _options_of(self, words: Sequence[str]) -> Iterator[str]:
        """Give the names of the options among the arguments."""
        before = ""
        for word in words:
            if word == "--":
                return
            if self._is_option(word) and not (self._takes_value(before) and not word.startswith("--")):
                yield word.partition("=")[0]
            before = word

    def _is_option(self, word: str) -> bool:
        if " " in word or not _OPTION.match(word):  # as argparse sees it
            return False
        return word.startswith("--") or word[:2] not in self._option_string_actions

    def _is_dashed_word(self, word: str) -> bool:
        return word.startswith("-") and not word.startswith("--") and word not in self._option_string_actions

    def _takes_value(self, word: str) -> bool:
        action = self._option_string_actions.get(word)
        return action is not None and action.nargs != 0

    def _unknown(self, option: str) -> NoReturn:
        name = _OPTION.match(option)
        if name is not None and name[0] != option:
            self.error(f"unknown option {name[0]}…")  # the rest may be a password
        near = difflib.get_close_matches(f"--{option.lstrip('-')}", self._option_string_actions, 1)
        self.error(f"unknown option {option}", f"; did you mean {near[0]}?" if near else "")

    def _unexpected(self, word: str) -> NoReturn:
        for option, mark in (("--seed", "://"), ("--root", "/")):
            if option in self._option_string_actions and mark in word:
                self.error(f"unexpected argument {word}", f"; did you mean {option} {urls.without_login(word)}?")
        self.error(f"unexpected argument {word or _EMPTY}")

    def _in_our_words(self, message: str) -> str:
        """Say what argparse says in words of this program."""
        for pattern, words in (
            (rf"{_ARGUMENT}: expected .*", r"\1 needs a value"),
            (rf"{_ARGUMENT}: not allowed with argument {_NAME}", r"\1 and \2 cannot be given together"),
            (rf"{_ARGUMENT}: ignored explicit argument .*", r"\1 takes no value"),
            (rf"{_ARGUMENT}: invalid choice: '?(.*?)'? \(choose from (.*)\)", r"\1 \2: must be one of \3"),
            (rf"{_ARGUMENT}: (.*)", r"\1 \2"),
            (r"the following arguments are required: (.*)", r"missing: \1"),
        ):
            found = re.fullmatch(pattern, message, re.DOTALL)
            if found is not None:
                said = found.expand(words)
                return said.replace("'", "") if "must be one of" in words else said
        return message

    def _hint(self, message: str) -> str:
        """Give an example of what is missing."""
        value = re.fullmatch(rf"{_ARGUMENT}: expected .*", message)
        if value is not None and value[1] in self._option_string_actions:
            name = self._option_string_actions[value[1]].metavar
            example = re.search(rf"{value[1]} ([^\s']\S*|'[^']*')", self.examples)
            return f": {value[1]} {name}" + (f", for example {value[1]} {example[1]}" if example else "")
        if message.startswith("the following arguments are required") and self.examples:
            line = re.split("  +", self.examples.splitlines()[0])[0]
            return f"; for example:  {command()}{line.removeprefix('fscrawl')}"
        return ""


class Program(Parser):
    """The parser of `fscrawl` itself: the command, and what stands before it."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._commands: dict[str, Parser] = {}

    def add_commands(self) -> argparse._SubParsersAction[Parser]:
        """Return what commands are added to."""
        added = self.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
        self._commands = added.choices  # a dictionary, which grows
        return added

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments. Without any, the commands are printed, as by `help`; `help COMMAND` is its --help."""
        words = list(sys.argv[1:] if args is None else args)
        if not words:
            self.print_help(sys.stderr)
            raise SystemExit(EXIT_USAGE)
        if words[0] == "help":
            words = [*(word for word in words[1:2] if word != "help"), "--help"]
        at = next((number for number, word in enumerate(words) if not word.startswith("-")), len(words))
        for word in words[:at]:
            name = word.partition("=")[0]
            if name not in self._option_string_actions and any(
                name in each._option_string_actions  # noqa: SLF001
                for each in self._commands.values()
            ):
                self.error(f"{name} stands behind the command", f": fscrawl COMMAND {name}")
        if at < len(words) and words[at] not in self._commands:
            near = difflib.get_close_matches(words[at], self._commands, 1)
            said = f"; did you mean {near[0]}?" if near else f"; the commands are {', '.join(self._commands)}"
            self.error(f"unknown command {words[at] or _EMPTY}", said)
        return super().parse_known_args(words, namespace)

    def _options_of(self, words: Sequence[str]) -> Iterator[str]:
        at = next((number for number, word in enumerate(words) if not word.startswith("-")), len(words))
        return super()._options_of(words[:at])
