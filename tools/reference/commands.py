"""The commands: how each one is called, and its options, from the parsers of the command line."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence

from fscrawl.commands.program import Program
from tools.reference.markdown import cell, code, table

_WIDTH = 100
_DEFAULT = re.compile(r" \(default:? ([^)]+)\)|(?<=\w)( \(default\))")


def synopsis(commands: Sequence[str]) -> str:
    """Say how commands are called, in a block of code."""
    return "```text\n" + "".join(_usage(command) for command in commands) + "```\n"


def _usage(command: str) -> str:
    words = [_bracketed(action) for action in _actions(command)]
    return _wrapped(f"fscrawl {command} ", words)


def _wrapped(begins: str, words: Sequence[str]) -> str:
    """Break lines between words only, which may have blanks."""
    kept = " ".join(word.replace(" ", "\0") for word in words)
    lines = textwrap.wrap(
        kept, _WIDTH, initial_indent=begins, subsequent_indent=" " * len(begins), break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ") + "\n"


def _actions(command: str) -> list[argparse.Action]:
    """Give what can be given, in the order of --help. --help itself is said once for all commands."""
    actions = [each for each in Program([command]).commands[command].arguments if "--help" not in each.option_strings]
    return sorted(actions, key=lambda action: bool(action.option_strings))


def _called(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return value
    name = max(action.option_strings, key=len)
    return name if action.nargs == 0 else f"{name} {value}"


def _bracketed(action: argparse.Action) -> str:
    if action.required:
        return _called(action)
    more = "…" if action.nargs == "*" or "repeatable" in (action.help or "") else ""
    return f"[{_called(action)}]{more}"


def options(commands: Sequence[str]) -> str:
    """Give the table of the options that commands have in common, and of those that only some of them have."""
    rows: dict[str, list[str]] = {}
    has: dict[str, list[str]] = {}
    for command in commands:
        for action in _actions(command):
            has.setdefault(_called(action), []).append(command)
            rows[_called(action)] = [_names(action), _default(action), cell(_meaning(action))]
    for name, of in has.items():
        if len(of) < len(commands):
            rows[name][-1] += f" (only {', '.join(map(code, of))})"
    return table(["option", "default", "meaning"], rows.values())


def _names(action: argparse.Action) -> str:
    short = [name for name in action.option_strings if not name.startswith("--")]
    return ", ".join(map(code, [_called(action), *short]))


def _meaning(action: argparse.Action) -> str:
    return _DEFAULT.sub("", action.help or "")


def _default(action: argparse.Action) -> str:
    """Give the default; the help says it where the parser does not know it."""
    if action.required:
        return "required"
    if action.nargs == 0:
        return "off"
    if action.default not in (None, []):
        return code(str(action.default))
    said = re.search(r"\(default:? ([^)]+)\)|([\w.]+) \(default\)", action.help or "")
    if said is None:
        return "all" if (action.help or "").startswith("only ") else "none"
    return code(said[2]) if said[2] else cell(said[1])
