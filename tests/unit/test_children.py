"""The server that processes are forked from: what is said if it cannot be started."""

import multiprocessing
import signal
import time
from pathlib import Path

import pytest

from fscrawl.errors import UsageError
from fscrawl.util import children


def test_a_path_that_is_too_long_for_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no socket can be made, one line names the directory and the variable to set; signals are as before."""

    def fails() -> None:
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(children.forkserver, "ensure_running", fails)
    monkeypatch.setattr(children.interrupts, "before_leaving", lambda act: None)
    before = children.signal.pthread_sigmask(children.signal.SIG_BLOCK, [])
    with pytest.raises(UsageError, match=r"no socket can be made there \(AF_UNIX path too long\); set TMPDIR"):
        children.start_server(["fscrawl.errors"])
    assert children.signal.pthread_sigmask(children.signal.SIG_BLOCK, []) == before


def test_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Children are killed, and the directory of the server's socket is removed."""
    (tmp_path / "pymp-x").mkdir()
    monkeypatch.setattr(children.util, "get_temp_dir", lambda: str(tmp_path / "pymp-x"))
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    children._end()
    child.join(20)
    assert child.exitcode == -signal.SIGKILL
    assert not (tmp_path / "pymp-x").exists()


def test_a_server_that_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is ended; if there is none, nothing is."""
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    monkeypatch.setattr(children.forkserver._forkserver, "_forkserver_pid", child.pid)
    children.end_server()
    child.join(20)
    assert child.exitcode == -signal.SIGKILL
    monkeypatch.setattr(children.forkserver._forkserver, "_forkserver_pid", None)
    children.end_server()
