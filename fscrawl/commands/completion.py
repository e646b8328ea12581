"""`fscrawl completion`: print a script with which a shell completes commands, options and paths."""

from __future__ import annotations

import argparse

from fscrawl.commands import COMMANDS
from fscrawl.commands.program import Program
from fscrawl.errors import EXIT_OK
from fscrawl.util.terminal import write

SHELLS = ("bash", "zsh", "fish")
_EXAMPLES = """\
fscrawl completion bash > ~/.local/share/bash-completion/completions/fscrawl
fscrawl completion zsh > ~/.zfunc/_fscrawl          with  fpath+=~/.zfunc  before compinit in ~/.zshrc
fscrawl completion fish > ~/.config/fish/completions/fscrawl.fish
"""


def add(program: Program) -> None:
    completion = program.add(
        "completion",
        run,
        description="Print a completion script for a shell. It completes commands, options, files and directories.",
        examples=_EXAMPLES,
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415 - nothing else needs it

    write(f"{shtab.complete(_parser(), options.shell)}\n")
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, with what the shells cannot know otherwise.

    These are paths, also where a tree may stand in the place of a URL, and the names that `merge` checks itself. A
    command is described by its line in `fscrawl --help`.
    """
    import shtab  # noqa: PLC0415

    from fscrawl.dataset.options import FORMATS, TEXTS, VERSIONS  # noqa: PLC0415

    names = {"--format": FORMATS, "--text": TEXTS, "--versions": VERSIONS}
    program = Program()
    for name, parser in program.commands.items():
        parser.description = COMMANDS[name][1]
        for action in parser.arguments:
            if action.metavar in ("DIR", "FILE", "URL"):
                action.complete = shtab.FILE if action.metavar == "FILE" else shtab.DIRECTORY  # type: ignore[attr-defined]
            action.choices = names.get(action.option_strings[0] if action.option_strings else "", action.choices)
    return program.parser
