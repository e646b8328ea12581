"""The commands: how each one is called, and its options, from the parsers of the command line."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator, Sequence

from fscrawl import cli
from tools.reference.markdown import cell, code, table

_WIDTH = 100
_DEFAULT = re.compile(r" \(default:? ([^)]+)\)|(?<=\w)( \(default\))")


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Give the parser of each command."""
    [choices] = [action.choices for action in cli.parser()._actions if isinstance(action.choices, dict)]  # noqa: SLF001
    return dict(choices)


def synopsis(commands: Sequence[str]) -> str:
    """Say how commands are called, in a block of code."""
    return "```text\n" + "".join(_usage(command) for command in commands) + "```\n"


def _usage(command: str) -> str:
    parser = parsers()[command]
    words = [_bracketed(action) for action in _actions(parser) if not _groups(parser, action)]
    words += [
        "[" + " | ".join(_called(each) for each in group._group_actions) + "]"  # noqa: SLF001
        for group in parser._mutually_exclusive_groups  # noqa: SLF001
    ]
    return _wrapped(f"fscrawl {command} ", words)


def _wrapped(begins: str, words: Sequence[str]) -> str:
    """Break lines between words only, which may have blanks."""
    kept = " ".join(word.replace(" ", "\0") for word in words)
    lines = textwrap.wrap(
        kept, _WIDTH, initial_indent=begins, subsequent_indent=" " * len(begins), break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ") + "\n"


def _groups(parser: argparse.ArgumentParser, action: argparse.Action) -> bool:
    return any(action in group._group_actions for group in parser._mutually_exclusive_groups)  # noqa: SLF001


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Give what can be given, in the order of --help. --help itself is said once for all commands."""
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]  # noqa: SLF001
    yield from sorted(actions, key=lambda action: bool(action.option_strings))


def _called(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return value
    name = max(action.option_strings, key=len)
    return name if action.nargs == 0 else f"{name} {value}"


def _bracketed(action: argparse.Action) -> str:
    if action.required:
        return _called(action)
    more = "…" if isinstance(action, argparse._AppendAction) else ""  # noqa: SLF001
    return f"[{_called(action)}]{more}"


def options(commands: Sequence[str]) -> str:
    """Give the table of the options that commands have in common, and of those that only some of them have."""
    rows: dict[str, list[str]] = {}
    has: dict[str, list[str]] = {}
    for command in commands:
        for action in _actions(parsers()[command]):
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
