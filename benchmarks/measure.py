"""Measures what a command costs: wall time, CPU and memory of its whole process tree.

    python -m benchmarks.measure COMMAND…      → one JSON line on stdout, the command's own output on stderr

Promise: every process that the command starts is counted, also one that lives longer than its parent, like the
forkserver of multiprocessing, which has the CPU of the workers. So the command runs under a small process that adopts
orphans (PR_SET_CHILD_SUBREAPER) and waits for all of them. Its RUSAGE_CHILDREN is then exactly the process tree.

The memory of all processes together can only be sampled. It is their PSS (proportional set size), in which shared
memory counts once. A peak that is shorter than the time between two samples is missed.
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
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_ORPHANS_S = 20  # for processes that still run when the command has ended


@dataclass(frozen=True, slots=True)
class Cost:
    """`wall_s`: from process start to exit. `cpu_s`: user and system. `peak_bytes`: RSS of the largest process.

    `sum_peak_bytes`: highest sampled PSS of all processes together; 0 if it was not asked for.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    exit_code: int
    message: str = ""
    sum_peak_bytes: int = 0


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path = PROJECT,
    limit_s: float = 3600,
    sample_s: float = 0,
    environment: Mapping[str, str] | None = None,
) -> Cost:
    """Run a command and return its cost; after `limit_s` it is killed. `message`: the end of what it printed.

    `sample_s`: how often to add up the memory of all processes, which takes a core some 2 ms for each; 0: never.
    `environment`: variables that are added to those of this process.
    """
    with tempfile.TemporaryFile() as printed:
        itself = str(PROJECT / "benchmarks" / "measure.py")
        wrapped = [sys.executable, itself, str(limit_s), str(sample_s), *map(os.fspath, command)]
        done = subprocess.run(
            wrapped,
            check=True,
            cwd=cwd,
            env=_environment() | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=-1,
            stderr=printed,
        )
        printed.seek(max(0, printed.tell() - 2000))
        return replace(Cost(**json.loads(done.stdout)), message=printed.read().decode(errors="replace"))


def _environment() -> dict[str, str]:
    """Return the environment without proxies, since a crawler must reach the loopback directly.

    Bytecode may be kept: who installs a crawler has it, and Python would compile each module anew.
    """
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def _measure(command: list[str], limit_s: float, sample_s: float) -> Cost:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=2, start_new_session=True)
    sampler = _Sampler(sample_s)
    limit = threading.Timer(limit_s, os.killpg, (child.pid, signal.SIGKILL))
    limit.start()  # `wait(limit_s)` would look for the end every 50 ms
    code = child.wait()
    wall_s = time.monotonic() - start
    limit.cancel()
    sampler.stop()
    _reap(child.pid)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(wall_s, cpu_s, usage.ru_maxrss * 1024, code, sum_peak_bytes=sampler.peak_bytes)


def _reap(session: int) -> None:
    """Wait for all orphans. Those that do not end are killed, so that they do not disturb later runs."""
    deadline = time.monotonic() + _ORPHANS_S
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0 and time.monotonic() > deadline:
                os.killpg(session, signal.SIGKILL)
                deadline += _ORPHANS_S
            if pid == 0:
                time.sleep(0.01)


class _Sampler:
    """Samples the memory of this process's descendants every `every_s` seconds until it is stopped; 0: never."""

    def __init__(self, every_s: float) -> None:
        self.peak_bytes = 0
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        if every_s:
            self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(self._every_s):
            self.peak_bytes = max(self.peak_bytes, sum(map(pss_bytes, descendants(os.getpid()))))

    def stop(self) -> None:
        self._over.set()
        if self._every_s:
            self._thread.join()


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has just ended
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, path.read_text(encoding="ascii").split()):
                found += [child, *descendants(child)]
    return found


def pss_bytes(pid: int) -> int:
    """Return the proportional set size of a process (proc(5)); 0 if it has just ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    print(json.dumps(asdict(_measure(sys.argv[3:], float(sys.argv[1]), float(sys.argv[2])))))
