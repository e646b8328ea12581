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
NAME = "fscrawl.pyz_0123"
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


def unpacked(tmp_path: Path) -> Path:
    """Make what an earlier start has unpacked."""
    there = tmp_path / ".shiv" / NAME / "site-packages"
    there.mkdir(parents=True)
    (there / "fscrawl.py").write_text("")
    return there


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
    """It unpacks so that others cannot write, whatever the umask is, and tells the umask on."""
    done = start()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path}/.shiv 0o22 0o2\n"
    unpacked(tmp_path)
    assert start().returncode == 0
    (tmp_path / "link").symlink_to(tmp_path / ".shiv")
    assert start(SHIV_ROOT=str(tmp_path / "link")).returncode == 0


@pytest.mark.parametrize(
    "path", [".", ".shiv", f".shiv/{NAME}", f".shiv/{NAME}/site-packages", f".shiv/{NAME}/site-packages/fscrawl.py"]
)
@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_others_can_write(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, path: str, mode: int
) -> None:
    """Where a group or all can write, at any level, nothing is unpacked and nothing run; one line says where."""
    unpacked(tmp_path)
    (tmp_path / path).chmod(mode)
    done = start()
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert f"others can write to {(tmp_path / path).resolve()}; chmod" in line


def test_a_place_for_all(start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """A directory like /tmp, where everybody may make files, is no place; a directory of one's own in it is."""
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    assert start(SHIV_ROOT=str(tmp_path / "all")).returncode == 2
    assert start(SHIV_ROOT=str(tmp_path / "all/mine")).returncode == 0


@root_only
@pytest.mark.parametrize("path", [".shiv", f".shiv/{NAME}/site-packages/fscrawl.py"])
def test_it_belongs_to_somebody_else(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, path: str
) -> None:
    """What another user has put there is not run."""
    unpacked(tmp_path)
    os.chown(tmp_path / path, 12345, -1)
    done = start()
    assert done.returncode == 2
    assert "belongs to another user" in done.stderr
