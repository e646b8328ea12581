"""What each exception means for the one who catches it."""

import errno
import os
from pathlib import Path

import pytest

from fscrawl import errors
from fscrawl.errors import FscrawlError, TreeBusyError, TreeError, tree_error


@pytest.mark.parametrize(
    ("name", "exit_code", "retry", "stop"),
    [
        ("FscrawlError", 1, False, False),
        ("UsageError", 2, False, True),
        ("SettingsError", 2, False, True),
        ("TreeError", 75, False, True),
        ("NotATreeError", 75, False, True),
        ("TreeBusyError", 75, True, False),
        ("MemoryGone", 75, False, True),
        ("RecordError", 1, False, False),
    ],
)
def test_meaning(name, exit_code, retry, stop):
    """Each exception has its exit code, and says whether to retry and whether to stop the machine."""
    kind = getattr(errors, name)
    assert issubclass(kind, FscrawlError)
    assert (kind.exit_code, kind.retry, kind.stop) == (exit_code, retry, stop)


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EAGAIN, errno.EBADFD, errno.EINTR, errno.ETIMEDOUT, errno.EBUSY])
def test_passing_faults(code):
    """A hiccup of a network file system may be tried again and stops nothing."""
    assert type(tree_error(OSError(code, os.strerror(code)), "/tree")) is TreeBusyError


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, "mount it read-write"),
        (errno.EACCES, "must be able to read there, and to write"),
        (errno.EPERM, "must be able to read there, and to write"),
        (errno.ENOENT, "is the share mounted"),
        (errno.ENOTDIR, "a file, not a directory"),
    ],
)
def test_advice(code, advice):
    """A fault that a person can mend names the path and what to do."""
    error = tree_error(OSError(code, os.strerror(code)), Path("/tree/x"))
    assert type(error) is TreeError
    assert str(error).startswith("/tree/x: ")
    assert advice in str(error)


@pytest.mark.parametrize(
    ("code", "advice"),
    [(errno.ENOTCONN, "mount it again"), (errno.EIO, "check its server"), (errno.ESTALE, "mount it again")],
)
def test_advice_on_passing_faults(code, advice):
    """A fault that did not pass is said with what to do then."""
    assert advice in str(tree_error(OSError(code, os.strerror(code)), Path("/tree/x")))


def test_other_faults():
    """A fault without advice of ours is told in the system's words; one without words, in its own."""
    assert str(tree_error(OSError(errno.EXDEV, "Invalid cross-device link"), "/t")) == "/t: invalid cross-device link"
    assert str(tree_error(OSError("Odd"), "/t")) == "/t: odd"
