"""The `__main__.py` of fscrawl.pyz: looks at the directory into which it unpacks itself, then unpacks and runs.

Whoever can write there could have any code run as this user. It runs before anything else, so it needs only what every
Python 3 has.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path


def end(number: int, _: object) -> None:
    """End at once, with a word: fscrawl itself is not loaded yet."""
    os.write(2, f"fscrawl.pyz: ended by signal {number}; nothing was changed\n".encode())
    os._exit(128 + number)


def main() -> int | None:
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, end)
    root = Path(os.environ.get("SHIV_ROOT") or "~/.shiv").expanduser()
    name = f"{Path(sys.argv[0]).resolve().name}_"
    for said in filter(None, complaints(root, name)):
        line = "".join(c if c.isprintable() else "?" for c in said)
        advice = "chmod or remove it, or set SHIV_ROOT to a directory where only you can write"
        sys.stderr.write(f"fscrawl.pyz: not unpacked: {line}; {advice}\n")
        return 2
    os.environ["SHIV_ROOT"] = str(root.absolute())
    umask = os.umask(0o022)
    os.umask(umask | 0o022)  # for what is unpacked now
    setattr(sys, "fscrawl_umask", umask)  # noqa: B010 - the preamble sets it back

    import _bootstrap  # type: ignore[import-not-found]  # noqa: PLC0415 - shiv's part of the file

    _bootstrap.bootstrap()
    return None


def complaints(root: Path, name: str) -> Iterator[str | None]:
    """Give what is wrong with the directory `root`, and with what is unpacked there under names like `name`."""
    real = root.resolve()
    above = dict.fromkeys(each for path in (root.absolute(), real) for each in (path, *path.parents))
    yield from (complaint(path, inside=path == real) for path in above)
    for unpacked in real.iterdir() if real.is_dir() else ():
        if unpacked.name.startswith((name, f".{name}")):
            yield complaint(unpacked, inside=True)
            for directory, directories, files in os.walk(unpacked):
                yield from (complaint(Path(directory, each), inside=True) for each in (*directories, *files))


def complaint(path: Path, *, inside: bool) -> str | None:
    """Say what is wrong with a path, None if others cannot write there. `inside`: it is not only above the root."""
    try:
        found = path.lstat()
    except OSError:
        return None  # it is not there yet
    if found.st_uid not in (0, os.getuid()):
        return f"{path} belongs to another user"
    if stat.S_ISLNK(found.st_mode) or not found.st_mode & 0o022:
        return None
    is_sticky = stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX)
    return None if is_sticky and not inside else f"others can write to {path}"


if __name__ == "__main__":
    sys.exit(main())
