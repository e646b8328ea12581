"""Where fscrawl.pyz unpacks itself: only where nobody else can write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT

BOOTSTRAP = """\
import os, sys
def bootstrap():
    umask = os.umask(0)
    print(os.environ["SHIV_ROOT"], oct(umask), oct(sys.fscrawl_umask))
"""
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run it with a stand-in for shiv, as the file `fscrawl.pyz`."""
    place = tmp_path / "pyz"
    place.mkdir()
    (place / "_bootstrap.py").write_text(BOOTSTRAP)
    (place / "fscrawl.pyz").write_bytes((CHECKOUT / "tools/pyz_main.py").read_bytes())

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, str(place / "fscrawl.pyz")]
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **environment}
        return subprocess.run(
            words, env=environment, umask=0o002, capture_output=True, text=True, timeout=60, check=False
        )

    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_unpacks(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, number: signal.Signals
) -> None:
    """It is one line and no traceback; the next start unpacks what is missing."""
    bootstrap = tmp_path / "pyz" / "_bootstrap.py"
    bootstrap.write_text(f"import os\ndef bootstrap():\n    os.kill(os.getpid(), {number:d})\n")
    done = start()
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert done.stderr == f"fscrawl.pyz: ended by signal {number:d}; nothing was changed\n"
    bootstrap.write_text(BOOTSTRAP)
    assert start().returncode == 0


def test_a_safe_place(start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """It makes a directory that only its user can enter, again and again, and tells the umask on."""
    for _ in range(2):
        done = start()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{tmp_path}/.shiv/fscrawl 0o22 0o2\n"
    assert (tmp_path / ".shiv/fscrawl").stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(tmp_path / ".shiv")
    assert start(SHIV_ROOT=str(tmp_path / "link")).stdout == done.stdout


@pytest.mark.parametrize(
    ("path", "mode"), [(".", 0o775), (".", 0o757), (".shiv", 0o775), (".shiv", 0o757), (".shiv/fscrawl", 0o750)]
)
def test_others_can_write(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, path: str, mode: int
) -> None:
    """Where a group or all can enter the directory, or write above it, nothing is run; one line says where."""
    assert start().returncode == 0
    (tmp_path / path).chmod(mode)
    done = start()
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert str((tmp_path / path).resolve()) in line


@pytest.mark.parametrize("what", ["a file", "a link that leads nowhere", "a link to all", "no place to make it"])
def test_something_else_is_there(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, what: str
) -> None:
    """What is no directory of its own is refused, in one line."""
    place = tmp_path / ".shiv" / "fscrawl"
    place.parent.mkdir()
    if what == "a file":
        place.touch()
    elif what == "no place to make it":
        place.parent.rmdir()
        place.parent.touch()
    else:
        place.symlink_to("/tmp" if what == "a link to all" else "nothing")
    done = start()
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_a_place_for_all(start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """In a directory like /tmp, where everybody may make files, its own directory is safe."""
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    assert start(SHIV_ROOT=str(tmp_path / "all")).returncode == 0


@root_only
@pytest.mark.parametrize("path", [".", ".shiv", ".shiv/fscrawl", "by a link"])
def test_it_belongs_to_somebody_else(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, path: str
) -> None:
    """What another user has made is not used; a link of theirs leads to what is checked as if there were no link."""
    assert start().returncode == 0
    if path != "by a link":
        os.chown(tmp_path / path, 12345, -1)
        done = start()
        assert done.returncode == 2
        return
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "real").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(theirs / "next")
    (theirs / "next").symlink_to(theirs / "real")
    for each in (theirs, theirs / "real"):
        os.chown(each, 12345, -1)
    done = start(SHIV_ROOT=str(tmp_path / "link"))
    assert done.returncode == 2
    assert "belongs to another user" in done.stderr
