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

from fscrawl.commands.program import find_root, parse, root_of
from fscrawl.errors import EXIT_UNREAD, FscrawlError, OutputError, UsageError, as_our_error
from fscrawl.util.own_code import check_program
from fscrawl.util.safe_path import forget_programs, protect_children
from fscrawl.util.terminal import discard_output, flush_output, say_error

_OPEN_FILES = "/proc/self/fd"  # see `storage.safe_open`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
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
            options = parse(words)
            if hasattr(options, "root"):
                options.root = find_root(options) if options.command == "try" else root_of(options)
            check_program(getattr(options, "root", None))
            return int(options.run(options))
    except FscrawlError as error:
        return _failed(error)


def _failed(error: FscrawlError) -> int:
    with contextlib.suppress(BrokenPipeError):  # then the exit code says it alone
        say_error(f"fscrawl: {error}")
    return error.exit_code
