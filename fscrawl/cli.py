"""The command line. `crawl.py` at the top of a checkout is `fscrawl crawl`.

An error of the user is one line on standard error, and the exit code that `errors` gives it.
A reader that closes the pipe early (`| head`) is not an error: the command ends silently.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fscrawl import __version__
from fscrawl.commands import ALL
from fscrawl.commands.common import Parser
from fscrawl.errors import EXIT_INTERRUPTED, EXIT_OK, FscrawlError, UsageError
from fscrawl.util.safe_path import protect_children
from fscrawl.util.terminal import say_error

_OPEN_FILES = "/proc/self/fd"  # see `storage.safe_open`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        try:
            return _run(arguments)
        finally:  # also after --help, which ends by SystemExit
            if sys.stdout is not None:  # it is None if the command was started without one
                sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    try:
        protect_children()
        if not os.access(_OPEN_FILES, os.X_OK):
            raise UsageError(f"{_OPEN_FILES} is not there; fscrawl opens files by it, so /proc must be mounted")
        options = parser().parse_args(arguments)
        return int(options.run(options))
    except FscrawlError as error:
        say_error(f"fscrawl: {error}")
        return error.exit_code


def _discard_output() -> None:
    """Send to /dev/null what is still in the buffers of closed pipes: Python flushes them again when it exits."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except BrokenPipeError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def parser() -> Parser:
    """Return the parser of all commands."""
    whole = Parser(
        prog="fscrawl", description="A web crawler for a few machines that share a directory.", allow_abbrev=False
    )
    whole.add_argument("--version", action="version", version=f"fscrawl {__version__}")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    for command in ALL:
        command.add(commands)
    return whole
