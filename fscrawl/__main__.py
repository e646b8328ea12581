"""The `fscrawl` command, `python -m fscrawl` and crawl.py begin here: signals are caught before modules are loaded."""

import gc
import os
import sys

from fscrawl import interrupts

_OBJECTS = 50_000  # that are new until the garbage collector looks: what modules make while they are loaded stays


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    gc.set_threshold(_OBJECTS)
    interrupts.catch()
    _open_standard_descriptors()
    from fscrawl.cli import main  # noqa: PLC0415 - it loads modules

    try:
        return main(arguments)
    finally:
        gc.freeze()  # Python would look through all that is loaded before it ends: a seventh of a short command's time


def _open_standard_descriptors() -> None:
    """Open /dev/null as standard input, output and error where they are closed, as by `>&-`.

    Else a pipe between our processes would have such a number, and what is begun with another standard output would
    keep it open: then a process waits for ever for the end of another one.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one


if __name__ == "__main__":
    interrupts.catch()
    from fscrawl.util.safe_path import forget_working_directory

    forget_working_directory(os.path.dirname(__file__))  # noqa: PTH120 - pathlib loads modules
    sys.exit(main())
