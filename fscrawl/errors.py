"""The exceptions of fscrawl, and what each of them means for the code that catches it.

    FscrawlError
    ├── UsageError            the command line or its input is wrong                 exit 2
    │   └── SettingsError     crawl.toml or --set: an unknown key, a bad value       exit 2
    │       └── NoBrowserError    they want pages to be rendered, and no browser is here  exit 2
    ├── TreeError             the tree cannot be used; the machine stops             exit 75
    │   ├── NotATreeError     there is no tree, and nothing says to create one       exit 75
    │   ├── TreeBusyError     a fault of the file system that may pass               exit 75
    │   └── PlantedError      a link, a FIFO, a directory … in place of one file     exit 75; also a RecordError
    ├── MemoryGone            `.fscrawl` was deleted or replaced under a machine     exit 75
    ├── RecordError           a file of the tree cannot be parsed                    exit 1
    └── OutputError           the result of a command cannot be printed              exit 75

`retry`: the same call may succeed later. `stop`: the machine must not go on.
What a web server does (404, timeout, robots refusal, an unwanted type) is never an exception: it becomes a record.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

EXIT_OK = 0
EXIT_UNUSABLE_RESULT = 1
EXIT_USAGE = 2
EXIT_TREE = 75  # EX_TEMPFAIL of sysexits.h: repair the mount and run again
EXIT_BY_SIGNAL = 128  # and the number of the signal, as shells report it: 129 SIGHUP, 130 SIGINT (Ctrl-C), 143 SIGTERM
EXIT_UNREAD = 141  # of SIGPIPE: nobody reads what the command prints any more, so it has ended before its work was done


class FscrawlError(Exception):
    """Base class of all. Its text is the one line that a user sees."""

    exit_code = EXIT_UNUSABLE_RESULT
    retry = False
    stop = False


class UsageError(FscrawlError):
    exit_code = EXIT_USAGE
    stop = True


class SettingsError(UsageError):
    """A setting is unknown or has a bad value.

    problem   what is wrong, and what would be right
    name      of the setting, such as politeness.delay; "" if it is about a whole file
    where     the file; "" if the setting was given by --set or from Python

    >>> print(SettingsError("must be 0 or more", "politeness.delay", "crawl.toml"))
    crawl.toml: politeness.delay: must be 0 or more
    """

    def __init__(self, problem: str, name: str = "", where: str = "") -> None:
        super().__init__(problem, name, where)
        self.problem, self.name, self.where = problem, name, where

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.name, self.problem) if part)


class NoBrowserError(SettingsError):
    """Pages are to be rendered, and this machine has no browser. It must not store them as they are sent."""


class TreeError(FscrawlError):
    exit_code = EXIT_TREE
    stop = True

    @property
    def is_missing(self) -> bool:
        """The file is missing: it was removed meanwhile, or the share is not mounted."""
        return isinstance(self.__cause__, FileNotFoundError)


class NotATreeError(TreeError):
    """The root is not a crawl tree, and nothing says that one should be created there."""


class TreeBusyError(TreeError):
    """A fault of the file system that may pass, for example while its server restarts. `Retrying` waits for that."""

    retry = True
    stop = False


class RecordError(FscrawlError):
    """A file of the tree cannot be parsed. The text says what is wrong in it."""


class OutputError(FscrawlError):
    """Standard output cannot be written, for example because a disk is full. The text says why."""

    exit_code = EXIT_TREE


class PlantedError(TreeError, RecordError):
    """What has a file's name is no file that fscrawl writes. Who reads it, steps over it as over a torn file.

    It is a matter of this one name, and the rest of the tree can be used. `what`: what is there, and what to do.
    `denied`: it may not be read, so it may be whole, and another user's.
    """

    stop = False

    def __init__(self, path: str, what: str, denied: bool = False) -> None:
        super().__init__(f"{path}: {what}")
        self.what = what
        self.denied = denied

    def __reduce__(self) -> tuple[type[PlantedError], tuple[str, str, bool]]:
        return PlantedError, (str(self).removesuffix(f": {self.what}"), self.what, self.denied)


class UnfitFileError(OSError):
    """What becomes a PlantedError: a link, a FIFO, a directory, a file that is too large, or may not be read."""


class UnfitDirectoryError(OSError):
    """A link or a file stands where one of the tree's own directories should be: the tree cannot be used."""


class MemoryGone(FscrawlError):  # noqa: N818 - what has happened, and no mistake: the same command goes on
    """What the machines have written into `.fscrawl` is not there any more, or not what this machine wrote.

    The run ends. Whoever starts the same command again goes on from what is stored.
    """

    exit_code = EXIT_TREE
    stop = True

    @classmethod
    def at(cls, path: str, what: str) -> MemoryGone:
        """Give the one line that a user sees. `what`: has happened to the file at `path`.

        >>> print(MemoryGone.at(".fscrawl/leases/3.1", "it was deleted"))
        .fscrawl/leases/3.1: it was deleted while this machine ran; nothing stored is lost: start the same command again
        """
        return cls(f"{path}: {what} while this machine ran; nothing stored is lost: start the same command again")


# Errors that mean "not now" or "not reachable": a server restarts, the network is cut, a file handle must be looked up
# again. sshfs and soft mounts answer EIO then; GlusterFS answers EBADFD for a file that was open. Descriptors come free
# when other threads close theirs. After all other errors, somebody has to do something.
_PASSING = frozenset(
    {
        *(errno.EAGAIN, errno.EBADFD, errno.EBUSY, errno.EINTR, errno.EIO, errno.EREMOTEIO, errno.ESTALE),
        *(errno.EMFILE, errno.ENFILE),
        *(errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOLINK, errno.ENOTCONN, errno.EPIPE),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ESHUTDOWN, errno.ETIMEDOUT),
    }
)
_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space, then run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space, then run the same command again",
    errno.EROFS: "the file system is mounted read-only; mount it read-write",
    errno.EACCES: "permission denied; fscrawl must be able to read there, and to write if it changes something",
    errno.EPERM: "operation not permitted; fscrawl must be able to read there, and to write if it changes something",
    errno.ENOENT: "it is not there; is the share mounted, and is the path right?",
    errno.ENOTDIR: "a part of the path is a file, not a directory; check the path",
    errno.ENOTCONN: "the mount has lost the connection to its server; mount it again",
    errno.EMFILE: "too many open files; raise the limit (ulimit -n), or use fewer --threads",
    errno.ENFILE: "the system has too many open files; end other programs, or raise fs.file-max",
    errno.EIO: "the file system reports an input/output error; check its server or the disk",
    errno.ESTALE: "the server does not know the file any more (stale handle); mount it again if this goes on",
}


def tree_error(error: OSError, path: str | os.PathLike[str]) -> TreeError:
    """Translate an error of the operating system about `path` into a TreeError with advice.

    >>> tree_error(OSError(errno.ENOSPC, "No space left on device"), "/mnt/shared").args[0]
    '/mnt/shared: the disk is full; free some space, then run the same command again'
    >>> tree_error(OSError(errno.ESTALE, "Stale file handle"), "/mnt/shared").retry
    True
    """
    if isinstance(error, UnfitFileError):
        denied = error.errno == errno.EACCES
        return PlantedError(error.filename or os.fspath(path), str(error.strerror), denied)
    if isinstance(error, UnfitDirectoryError):
        return TreeError(f"{error.filename}: {error.strerror}")
    code = error.errno or 0
    kind = TreeBusyError if may_pass(error) else TreeError
    return kind(f"{os.fspath(path)}: {_ADVICE.get(code) or reason(error)}")


def about(path: str | os.PathLike[str], error: RecordError) -> str:
    """Give one line about a file that cannot be read: its path and the reason. A PlantedError has the path already.

    >>> about("/mnt/links/a", RecordError("not JSON"))
    '/mnt/links/a: not JSON'
    """
    return str(error) if isinstance(error, PlantedError) else f"{os.fspath(path)}: {error}"


def reason(error: OSError) -> str:
    """Say why a file that the user named cannot be read.

    >>> reason(FileNotFoundError(errno.ENOENT, "No such file or directory"))
    'no such file or directory'
    """
    return (error.strerror or str(error)).lower()


def may_pass(error: OSError) -> bool:
    """Return whether a fault of the file system may pass by itself."""
    return error.errno in _PASSING


def _is_at_limit(error: BaseException) -> bool:
    """Tell whether an error means that the system has started no thread, or no process."""
    if isinstance(error, BlockingIOError):
        return error.filename is None  # else it is about a file
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"  # it has no class of its own


@contextlib.contextmanager
def as_our_error() -> Iterator[None]:
    """Turn an error of a system that starts no more processes or threads into FscrawlError, which says so in a line."""
    try:
        yield
    except (RuntimeError, BlockingIOError) as error:
        if not _is_at_limit(error):
            raise
        raise FscrawlError(
            "no more processes or threads can be started; end other programs, or raise the limit (ulimit -u)"
        ) from error
