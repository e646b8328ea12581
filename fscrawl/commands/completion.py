"""`fscrawl completion`: print a script with which a shell completes commands, options and paths."""

from __future__ import annotations

import argparse

from fscrawl.commands import modules
from fscrawl.commands.common import Commands, add_command
from fscrawl.commands.parser import Parser, Program
from fscrawl.errors import EXIT_OK
from fscrawl.util.terminal import write

SHELLS = ("bash", "zsh", "fish")
# How the script for zsh finds out that it is no function of $fpath. shtab forgets that `source` reads it, too.
_EVALUATED = "[[ $zsh_eval_context[-1] == eval ]]"
_READ = "[[ $zsh_eval_context[-1] == (eval|file) ]]"
_EXAMPLES = """\
fscrawl completion bash > ~/.local/share/bash-completion/completions/fscrawl
fscrawl completion zsh > ~/.zfunc/_fscrawl          with  fpath+=~/.zfunc  before compinit in ~/.zshrc
fscrawl completion fish > ~/.config/fish/completions/fscrawl.fish
"""


def add(commands: Commands[Parser]) -> None:
    completion = add_command(
        commands,
        "completion",
        run,
        summary="print a script that completes commands and options in your shell",
        description="Print a completion script for a shell. It completes commands, options, files and directories.",
        examples=_EXAMPLES,
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415 - nothing else needs it

    script = shtab.complete(_parser(), options.shell)
    write(f"{script.replace(_EVALUATED, _READ)}\n")
    return EXIT_OK


def _parser() -> Program:
    """Return the parser of all commands, as `cli` has it, with what the shells cannot know otherwise.

    These are paths, and the names that `merge` checks itself. A command is described by its line in `fscrawl --help`.
    """
    import shtab  # noqa: PLC0415

    from fscrawl.dataset.options import FORMATS, TEXTS  # noqa: PLC0415

    names = {"--format": FORMATS, "--text": TEXTS}
    whole = Program(prog="fscrawl", allow_abbrev=False)
    whole.add_argument("--version", action="store_true", help="print the version")
    all_ = whole.add_commands()
    for command in modules():
        command.add(all_)
    for action in all_._choices_actions:  # noqa: SLF001 - it has no public name
        all_.choices[action.dest].description = action.help
    for parser in all_.choices.values():
        for action in parser._actions:  # noqa: SLF001 - it has no public name
            if action.metavar in ("DIR", "FILE"):
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
            action.choices = names.get(action.option_strings[0] if action.option_strings else "", action.choices)
    return whole
