"""The command line. `crawl.py` at the top of a checkout is `fscrawl crawl`.

Whatever is wrong with what a user gave is said in one line on standard error, with the exit code of `errors`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fscrawl import __version__
from fscrawl.commands import ALL
from fscrawl.commands.common import Parser
from fscrawl.errors import EXIT_INTERRUPTED, EXIT_OK, FscrawlError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; give its exit code."""
    try:
        options = parser().parse_args(arguments)
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except FscrawlError as error:
        print(f"fscrawl: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # as by `| head`: what is left in the buffer has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def parser() -> Parser:
    """Give the parser of all commands."""
    whole = Parser(
        prog="fscrawl", description="A crawler for a few machines and a shared directory.", allow_abbrev=False
    )
    whole.add_argument("--version", action="version", version=f"fscrawl {__version__}")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    for command in ALL:
        command.add(commands)
    return whole
