"""What a command costs: wall time, CPU and memory of its whole process tree.

    python -m benchmarks.measure COMMAND…      → one JSON line on stdout, the command's own output on stderr

Promise: every process that the command starts is counted, also those that outlive their parent (multiprocessing's
forkserver does, and the workers' CPU is accounted to it). So the command runs under a small process of its own that
adopts orphans (PR_SET_CHILD_SUBREAPER) and waits for all of them; its RUSAGE_CHILDREN is then the tree and nothing
else.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_ORPHANS_S = 20  # for what is still running when the command has ended


@dataclass(frozen=True, slots=True)
class Cost:
    """`wall_s`: from process start to exit. `cpu_s`: user and system. `peak_bytes`: RSS of the largest process."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    exit_code: int
    message: str = ""

    def plus(self, message: str) -> Cost:
        return Cost(self.wall_s, self.cpu_s, self.peak_bytes, self.exit_code, message)


def run(command: Sequence[str | os.PathLike[str]], *, cwd: Path = PROJECT, limit_s: float = 3600) -> Cost:
    """Run a command and give its cost; after `limit_s` it is stopped. `message`: the end of what it printed."""
    with tempfile.TemporaryFile() as printed:
        wrapped = [sys.executable, str(PROJECT / "benchmarks" / "measure.py"), str(limit_s), *map(os.fspath, command)]
        done = subprocess.run(
            wrapped, check=True, cwd=cwd, env=_environment(), stdin=subprocess.DEVNULL, stdout=-1, stderr=printed
        )
        printed.seek(max(0, printed.tell() - 2000))
        return Cost(**json.loads(done.stdout)).plus(printed.read().decode(errors="replace"))


def _environment() -> dict[str, str]:
    """Everything but proxies: nothing may stand between a crawler and the loopback."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def _measure(command: list[str], limit_s: float) -> Cost:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=2, start_new_session=True)
    try:
        code = child.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        code = child.wait()
    wall_s = time.monotonic() - start
    _reap(child.pid)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, code)


def _reap(session: int) -> None:
    """Wait for all orphans; those that do not end are killed, so that they disturb no later run."""
    deadline = time.monotonic() + _ORPHANS_S
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0 and time.monotonic() > deadline:
                os.killpg(session, signal.SIGKILL)
                deadline += _ORPHANS_S
            if pid == 0:
                time.sleep(0.01)


if __name__ == "__main__":
    print(json.dumps(asdict(_measure(sys.argv[2:], float(sys.argv[1])))))
