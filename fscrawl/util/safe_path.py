"""Keeps the working directory off the path of modules: whoever can write there must not run code as the operator.

So it is with the directory of programs, in which the command `fscrawl` lies: what lies beside it is no module.

Python starts the helpers of multiprocessing as `python -c`, which looks for modules in the working directory first.
"""

from __future__ import annotations

import os
import sys

from fscrawl.errors import UsageError
from fscrawl.util.ignored_environment import pass_on


def protect_children() -> None:
    """Let no process that this one starts look for modules in its working directory.

    Raises UsageError if Python ignores its environment by an option, and would pass that on to its children.
    """
    if not sys.flags.safe_path and not pass_on("-P"):  # -I is -E and -P
        raise UsageError("Python was started with -E, so its children would run code from this directory; add -P")
    os.environ["PYTHONSAFEPATH"] = "1"


def forget_working_directory(package: str) -> None:
    """After `python -m`: take the working directory off the path, unless the `package` was loaded from there."""
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(package):  # noqa: PTH120 - it loads modules
        del sys.path[0]


def forget_programs(program: str) -> None:
    """Take the directory of a program, such as `bin`, off the path: a jsonpath.py there is a program, too."""
    if not sys.flags.safe_path and sys.path[0] == os.path.dirname(os.path.realpath(program)):  # noqa: PTH120 - as above
        del sys.path[0]
