"""What messages ask the user to type: the command that was typed here, and the one that adds an extra to this copy."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def command(verb: str = "", root: str | Path = "") -> str:
    """Give the words that call fscrawl, as the user has called it: "fscrawl", ".venv/bin/fscrawl", "python -m fscrawl".

    With `verb` and `root`, these follow: "fscrawl resume --root '/mnt/my crawl'".
    """
    program = Path(sys.argv[0])
    if program.name == "fscrawl":
        words = "fscrawl" if program.is_absolute() else shlex.quote(sys.argv[0])  # found by PATH
    elif program.suffix == ".pyz":
        words = f"{_python()} {shlex.quote(sys.argv[0])}"
    else:
        script = Path(sys.executable).with_name("fscrawl")
        words = _shown(script) if script.exists() else f"{_python()} -m fscrawl"
    return words + (f" {verb} --root {path_word(root)}" if verb else "")


def path_word(path: str | Path) -> str:
    """Give a path as a word of a command line, of any program: one that begins with "-" would be an option.

    >>> path_word("/mnt/my crawl"), path_word("-x")
    ("'/mnt/my crawl'", './-x')
    """
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def to_install(*extras: str) -> str:
    """Give what to do to get extras, such as "merge": a command, or why this copy cannot have them."""
    named = ",".join(extras)
    if sys.argv[0].endswith(".pyz"):
        return f"use a checkout, or the wheel: {Path(sys.argv[0]).name} cannot have [{named}]"
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - a tenth of a command's start
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    try:
        distribution("fscrawl")
    except PackageNotFoundError:  # a checkout that nobody has installed
        return f"make setup EXTRAS={named}"
    if find_spec("pip") is None:  # as where uv has made the environment
        return f"uv tool install --force 'fscrawl[{named}]'"
    return f"{_python()} -m pip install 'fscrawl[{named}]'"


def _python() -> str:
    return _shown(Path(sys.executable))


def _shown(path: Path) -> str:
    """Give a path for a command line: short if it is in the working directory, as of .venv/bin/python."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
