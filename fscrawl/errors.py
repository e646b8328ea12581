"""The exceptions of fscrawl, each with what it means for the one who catches it.

    FscrawlError
    ├── UsageError            the command line or its input is wrong                 exit 2
    │   └── SettingsError     crawl.toml or --set: an unknown key, a bad value       exit 2
    ├── TreeError             the tree cannot be used; the machine stops             exit 75
    │   ├── NotATreeError     no tree there, and nothing to make one from            exit 75
    │   └── TreeBusyError     a fault of the file system that may pass, and has not  exit 75
    └── RecordError           a file of the tree does not say what it should         exit 1

`retry`: the same call may succeed later. `stop`: the machine must not go on.
What a web server does (404, time-out, robots refusal, an unwanted type) is never an exception: it is a record.
"""

from __future__ import annotations

import errno
import os

EXIT_OK = 0
EXIT_UNUSABLE_RESULT = 1
EXIT_USAGE = 2
EXIT_TREE = 75  # EX_TEMPFAIL of sysexits.h: mend the mount and run again
EXIT_INTERRUPTED = 130  # 128 + SIGINT, what a shell reports for Ctrl-C


class FscrawlError(Exception):
    """Base of all; its text is the one line that a user sees."""

    exit_code = EXIT_UNUSABLE_RESULT
    retry = False
    stop = False


class UsageError(FscrawlError):
    exit_code = EXIT_USAGE
    stop = True


class SettingsError(UsageError):
    """A setting is unknown or has a bad value; the text names file, key and what would be right."""


class TreeError(FscrawlError):
    exit_code = EXIT_TREE
    stop = True

    @property
    def is_missing(self) -> bool:
        """What was asked for is not there: gone meanwhile, or the share is."""
        return isinstance(self.__cause__, FileNotFoundError)


class NotATreeError(TreeError):
    """The root is not a crawl tree, and nothing says that it should become one."""


class TreeBusyError(TreeError):
    """A fault of the file system that may pass, as of a server that is being restarted; `Retrying` waits for that."""

    retry = True
    stop = False


class RecordError(FscrawlError):
    """A file of the tree could not be parsed; the text names what is wrong in it."""


# What says "not now" or "I cannot reach it": a server that is restarted, a network that is cut, a handle that has to be
# looked up again. EIO is what sshfs and soft mounts answer then; EBADFD what GlusterFS does, of a file that was open.
# All else says that somebody has to do something.
_PASSING = frozenset(
    {
        *(errno.EAGAIN, errno.EBADFD, errno.EBUSY, errno.EINTR, errno.EIO, errno.EREMOTEIO, errno.ESTALE),
        *(errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOLINK, errno.ENOTCONN, errno.EPIPE),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ESHUTDOWN, errno.ETIMEDOUT),
    }
)
_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space and run the same command again",
    errno.EROFS: "the file system is mounted read-only; mount it read-write",
    errno.EACCES: "permission denied; the crawl needs to read and write there",
    errno.EPERM: "not permitted; the crawl needs to read and write there",
    errno.ENOENT: "it is not there; is the share mounted, and the path right?",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.ENOTCONN: "the mount has lost its server; mount it again",
    errno.EIO: "the file system reports an input/output error; see to its server, or to the disk",
    errno.ESTALE: "the server has forgotten the file (stale handle); mount it again if that stays so",
}


def tree_error(error: OSError, path: str | os.PathLike[str]) -> TreeError:
    """Translate what the operating system said of `path` into the error and the advice that go with it.

    >>> tree_error(OSError(errno.ENOSPC, "No space left on device"), "/mnt/shared").args[0]
    '/mnt/shared: the disk is full; free some space and run the same command again'
    >>> tree_error(OSError(errno.ESTALE, "Stale file handle"), "/mnt/shared").retry
    True
    """
    code = error.errno or 0
    reason = _ADVICE.get(code) or (error.strerror or str(error)).lower()
    kind = TreeBusyError if may_pass(error) else TreeError
    return kind(f"{os.fspath(path)}: {reason}")


def may_pass(error: OSError) -> bool:
    """Tell whether a fault of the file system may be over in a moment."""
    return error.errno in _PASSING
