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
    from fscrawl.cli import main  # noqa: PLC0415 - it loads modules

    return main(arguments)


if __name__ == "__main__":
    interrupts.catch()
    from fscrawl.util.safe_path import forget_working_directory

    forget_working_directory(os.path.dirname(__file__))  # noqa: PTH120 - pathlib loads modules
    sys.exit(main())
