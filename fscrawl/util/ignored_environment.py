"""For a Python that was started with -E, as pipx starts its commands: what its children get all the same.

The interpreters that multiprocessing starts get the flags of this one. With -E among them, they ignore the environment.
So what they are to know stands on their command line, too.
"""

from __future__ import annotations

import sys


def pass_on(word: str) -> bool:
    """Give interpreters that multiprocessing starts from now on one more word, if they ignore the environment.

    Returns False if they do, and this Python has no way to give them one.
    """
    if not sys.flags.ignore_environment:
        return True
    from multiprocessing import util  # noqa: PLC0415 - most commands do not load it

    usual = getattr(util, "_args_from_interpreter_flags", None)
    if usual is None:
        return False
    if word not in usual():
        util._args_from_interpreter_flags = lambda: [*usual(), word]  # type: ignore[attr-defined]  # noqa: SLF001
    return True
