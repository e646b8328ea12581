"""The `__main__.py` of fscrawl.pyz: makes the directory into which it unpacks itself, then unpacks and runs.

Whoever can write there could have any code run as this user. So the directory is one that only this user can enter, in
directories whose names nobody else can change. It runs before anything else, so it needs only what every Python 3 has.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path

NAME = "fscrawl"


def end(number: int, _: object) -> None:
    """End at once, with a word: fscrawl itself is not loaded yet."""
    os.write(2, f"fscrawl.pyz: ended by signal {number}; nothing was changed\n".encode())
    os._exit(128 + number)


def main() -> int | None:
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, end)
    umask = os.umask(0o022)
    os.umask(umask | 0o022)  # for what is made now
    setattr(sys, "fscrawl_umask", umask)  # noqa: B010 - the preamble sets it back
    root = Path(os.environ.get("SHIV_ROOT") or "~/.shiv").expanduser() / NAME
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root = root.resolve()  # no link counts that is changed later
        said = complaint(root)
    except OSError as error:
        said = f"{root}: {error.strerror or error}"
    if said:
        line = "".join(c if c.isprintable() else "?" for c in said)
        advice = "mend or remove it, or set SHIV_ROOT to a directory of yours"
        sys.stderr.write(f"fscrawl.pyz: not unpacked: {line}; {advice}\n")
        return 2
    os.environ["SHIV_ROOT"] = str(root)

    import _bootstrap  # type: ignore[import-not-found]  # noqa: PLC0415 - shiv's part of the file

    _bootstrap.bootstrap()
    return None


def complaint(root: Path) -> str:
    """Say what lets others into the directory `root`, a path without links, or lets them put another in its place."""
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return f"{root} must be a directory of yours with the mode 0700"
    for path in root.parents:
        found = path.lstat()
        if found.st_uid not in (0, os.getuid()):
            return f"{path} belongs to another user"
        if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
            return f"others can write to {path}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
