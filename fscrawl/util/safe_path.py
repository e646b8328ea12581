"""Keeps the working directory off the path of modules: whoever can write there must not run code as the operator.

Python starts the helpers of multiprocessing as `python -c`, which looks for modules in the working directory first.
"""

from __future__ import annotations

import os
import sys

from fscrawl.errors import UsageError
from fscrawl.util.ignored_environment import pass_on


def protect_children() -> None:
    """Let no process that this one starts look for modules in its working directory.

    Raises UsageError if Python was told to ignore its environment, and cannot tell its children otherwise.
    """
    if not sys.flags.safe_path and not pass_on("-P"):  # -I is -E and -P
        raise UsageError("Python was started with -E, so its children would run code from this directory; add -P")
    os.environ["PYTHONSAFEPATH"] = "1"


def forget_working_directory(package: str) -> None:
    """After `python -m`: take the working directory off the path, unless the `package` was loaded from there."""
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(package):  # noqa: PTH120 - it loads modules
        del sys.path[0]
