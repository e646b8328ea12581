"""The command line, called by `__main__`. `crawl.py` at the top of a checkout is `fscrawl crawl`.

An error of the user is one line on standard error, and the exit code that `errors` gives it.
If a reader closes the pipe early (`| head`), the command ends silently, with the exit code of `cat` and git then: what
it was to do is perhaps not done, and a script must not go on. If standard output cannot be written for another reason,
such as a full disk, that is an error of the user, too.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fscrawl import __version__, interrupts
from fscrawl.commands import modules
from fscrawl.commands.warm_up import warm_up
from fscrawl.errors import EXIT_UNREAD, FscrawlError, OutputError, UsageError
from fscrawl.util.at_limit import as_our_error
from fscrawl.util.own_code import check_program
from fscrawl.util.safe_path import forget_programs, protect_children
from fscrawl.util.terminal import discard_output, flush_output, say_error

if TYPE_CHECKING:
    from fscrawl.commands.parser import Program

_OPEN_FILES = "/proc/self/fd"  # see `storage.safe_open`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if arguments is None:  # the command of an installation before `__main__` was the entry calls this
        interrupts.catch()
    try:
        return _printed(arguments)
    except BrokenPipeError:
        return EXIT_UNREAD
    finally:
        discard_output()


def _printed(arguments: Sequence[str] | None) -> int:
    try:
        try:
            return _run(arguments)
        finally:  # also after --help, which ends by SystemExit
            flush_output()
    except OutputError as error:  # only now it is seen: standard output has a buffer
        return _failed(error)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        if arguments is None:
            forget_programs(sys.argv[0])
        protect_children()
        if not os.access(_OPEN_FILES, os.X_OK):
            raise UsageError(f"{_OPEN_FILES} is not there; fscrawl opens files by it, so /proc must be mounted")
        words = sys.argv[1:] if arguments is None else arguments
        with as_our_error():
            with warm_up(list(words)):
                options = parser(words).parse_args(words)
                check_program(getattr(options, "root", None))
            return int(options.run(options))
    except FscrawlError as error:
        return _failed(error)


def _failed(error: FscrawlError) -> int:
    with contextlib.suppress(BrokenPipeError):  # then the exit code says it alone
        say_error(f"fscrawl: {error}")
    return error.exit_code


def parser(words: Sequence[str] = ()) -> Program:
    """Return the parser of the command that `words` begin with; of all commands if they begin with none."""
    from fscrawl.commands.parser import Program  # noqa: PLC0415 - loaded while the server of workers loads

    whole = Program(
        prog="fscrawl",
        description="A web crawler for a few machines that share a directory.",
        epilog="fscrawl help COMMAND, or fscrawl COMMAND --help, describes a command.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"fscrawl {__version__}")
    commands = whole.add_commands()
    for command in modules(words):
        command.add(commands)
    return whole
