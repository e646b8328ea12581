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


def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started, one line says what may help; signals are as before."""

    def fails() -> None:
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(processes.forkserver, "ensure_running", fails)
    monkeypatch.setattr(processes.interrupts, "before_leaving", lambda act: None)
    before = processes.signal.pthread_sigmask(processes.signal.SIG_BLOCK, [])
    with pytest.raises(UsageError, match=r"no process can be started \(AF_UNIX path too long\); .* TMPDIR must"):
        processes.start_server(["fscrawl.errors"])
    assert processes.signal.pthread_sigmask(processes.signal.SIG_BLOCK, []) == before


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
