"""Keeps the working directory off the path of modules: whoever can write there must not run code as the operator.

So it is with the directory of programs, in which the command `fscrawl` lies: what lies beside it is no module.

Python starts the helpers of multiprocessing as `python -c`, which looks for modules in the working directory first.
"""

from __future__ import annotations

import os
import sys

NO_TRACKER_WARNING = "ignore:resource_tracker"  # for the interpreters of multiprocessing, see `processes`


def protect_children() -> None:
    """Let no process that this one starts look for modules in its working directory.

    The interpreters that multiprocessing starts get the flags of this one. With -E (as pipx starts its commands) or -I
    among them, they ignore the environment: then this program is started again, with what they need as flags.
    """
    if sys.flags.ignore_environment and NO_TRACKER_WARNING not in sys.warnoptions:
        os.execv(sys.executable, [sys.executable, "-P", f"-W{NO_TRACKER_WARNING}", *sys.orig_argv[1:]])  # noqa: S606 - itself
    os.environ["PYTHONSAFEPATH"] = "1"


def forget_working_directory(package: str) -> None:
    """After `python -m`: take the working directory off the path, unless the `package` was loaded from there."""
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(package):  # noqa: PTH120 - it loads modules
        del sys.path[0]


def forget_programs(program: str) -> None:
    """Take the directory of a program, such as `bin`, off the path: a jsonpath.py there is a program, too."""
    if not sys.flags.safe_path and sys.path[0] == os.path.dirname(os.path.realpath(program)):  # noqa: PTH120 - as above
        del sys.path[0]
