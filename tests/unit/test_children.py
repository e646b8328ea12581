"""The server that processes are forked from: what is said if it cannot be started."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fscrawl.errors import UsageError
from fscrawl.util import processes


def test_a_path_that_is_too_long_for_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no socket can be made, one line names the directory and the variable to set; signals are as before."""

    def fails() -> None:
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(processes.forkserver, "ensure_running", fails)
    monkeypatch.setattr(processes.interrupts, "before_leaving", lambda act: None)
    before = processes.signal.pthread_sigmask(processes.signal.SIG_BLOCK, [])
    with pytest.raises(UsageError, match=r"no socket can be made there \(AF_UNIX path too long\); set TMPDIR"):
        processes.start_server(["fscrawl.errors"])
    assert processes.signal.pthread_sigmask(processes.signal.SIG_BLOCK, []) == before


def test_a_working_directory_that_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shell may stand in a directory that was removed. The line says so, and does not blame the place for sockets."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(processes.forkserver, "ensure_running", os.getcwd)
    monkeypatch.setattr(processes.interrupts, "before_leaving", lambda act: None)
    with pytest.raises(UsageError, match="the working directory is not there any more"):
        processes.start_server([])


@pytest.mark.parametrize("given", [None, "", "error::UserWarning", "ignore:resource_tracker"])
def test_the_tracker_of_semaphores_is_silent(monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    """A new interpreter does not print its warnings, whatever others were asked for, and these are not lost."""
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    if given is not None:
        monkeypatch.setenv("PYTHONWARNINGS", given)
    processes._silence_tracker()
    processes._silence_tracker()
    said = os.environ["PYTHONWARNINGS"].split(",")
    assert said == list(dict.fromkeys(filter(None, [given, "ignore:resource_tracker"])))
    ask = "import warnings; warnings.warn('resource_tracker: There appear to be 2')"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Children are killed, and the directory of the server's socket is removed."""
    (tmp_path / "pymp-x").mkdir()
    monkeypatch.setattr(processes.util, "get_temp_dir", lambda: str(tmp_path / "pymp-x"))
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    processes._end()
    child.join(20)
    assert child.exitcode == -signal.SIGKILL
    assert not (tmp_path / "pymp-x").exists()
