"""Runs suites of tests, two at a time, each with a time limit and a log, and prints one table of all at the end.

    python -m tools.suites gate                    what a commit must pass; `.ci/run` does this
    python -m tools.suites all                     every test; `make test-all` does this
    python -m tools.suites all --only nfs,power    some of them
    python -m tools.suites all --part 2/3          the second third of them, by time: three computers share the work

The last line counts all tests. Exit code 1 if a suite has failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[1]
_PYTHON = shlex.quote(sys.executable)
_PYTEST = f"{_PYTHON} -m pytest -q"
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
_OUTCOMES = ("passed", "failed", "skipped")
_AT_ONCE = 2
_LIMIT = 4.0  # times its usual time: then a suite hangs
_SSH = ("openssh-server", "openssh-client", "sshfs")
_MOUNTS = (*_SSH, "fuse3", "iproute2")
_GLUSTER = ("glusterfs-server", "glusterfs-client", "iproute2", "nftables", "strace")
_GUESTS = ("qemu-system-x86", "debootstrap", "busybox-static", "e2fsprogs")
_SLURM = ("slurm-wlm", "slurmctld", "slurmd", "munge")
_CLUSTER = (*_SLURM, "buildah", "runc", "debootstrap", "strace", "systemd", "cloud-init")
_SHELLS = ("make", "python3-venv", "libmagic1", "zsh", "fish", "man-db", "mandoc")
_BROWSER = ("chromium", "chromium-headless-shell")


@dataclass(frozen=True, slots=True)
class Suite:
    """Some tests that one command of a shell runs.

    minutes    that it usually takes on two cores
    packages   of Debian that it needs
    alone      no other suite runs beside it, since it watches the clock or uses all cores
    """

    name: str
    command: str
    minutes: float
    packages: Sequence[str] = ()
    alone: bool = False


class Result(NamedTuple):
    """How a suite ended; the times are in seconds."""

    suite: Suite
    is_right: bool
    counts: dict[str, int]
    elapsed_s: float
    processor_s: float


_CHECKS = Suite("checks", "make --no-print-directory lint types docs", 2)
GATE = (
    Suite("test", "make --no-print-directory test", 2, alone=True),
    _CHECKS,
    Suite(
        "gate",
        f"{_PYTEST} -n 2 tests -m 'gate and not fleet' -k 'not GlusterFS'",
        10,
        (*_SHELLS, *_SSH, *_BROWSER, "fuse3", "iproute2", "wget"),
    ),
    Suite("doctests", f"{_PYTEST} -n 0 --doctest-modules fscrawl tests/support", 1),
    Suite("fleet", f"{_PYTEST} -n 0 tests/system -m 'gate and fleet'", 2, alone=True),
)
ALL = (
    Suite(
        "covered",
        f"FSCRAWL_TESTS=all {_PYTEST} -n 2 --doctest-modules -m 'not render'"
        " fscrawl tests/support tests/unit tests/component tests/harness"
        " tests/system/test_working_directory.py"  # they alone run some of it
        " --cov --cov-report=json:.coverage.json --cov-report="
        f" && {_PYTHON} tests/support/coverage_gate.py .coverage.json",
        25,
        (*_SHELLS, "wget"),
        alone=True,
    ),
    _CHECKS,
    Suite(
        "system",
        f"FSCRAWL_TESTS=all {_PYTEST} -n 2 tests/system/*.py -m 'not fleet'",
        12,
        (*_SHELLS, *_SSH, *_BROWSER, "strace", "fuse3"),
    ),
    Suite("mounts", f"{_PYTEST} -n 3 tests/system/mounts", 15, (*_SSH, *_GLUSTER)),
    Suite("browser", f"{_PYTEST} -n 0 tests/system/browser tests/component/rendering", 8, _BROWSER),
    Suite("faults", f"{_PYTEST} -n 1 tests/faults -m 'not power' --timeout 600", 15, ("fuse3",)),
    Suite("packaging", f"{_PYTEST} -n 0 tests/system/packaging", 6, ("python3-venv",)),
    Suite("nfs", f"{_PYTEST} -n 0 tests/system/nfs", 20, (*_GUESTS, *_SSH, "iproute2")),
    Suite("corpus", f"{_PYTEST} -n 0 tests/system/corpus", 3, ("nginx-light", "python3-doc", "rust-doc", "wget2")),
    Suite("cluster", f"{_PYTEST} -n 2 --dist loadfile tests/system/cluster", 5, _CLUSTER),
    Suite("power", f"{_PYTEST} -n 0 tests/faults/power --timeout 600", 6, ("fuse3",)),
    Suite("schedules", f"{_PYTHON} -m tests.component.schedules --seconds 60", 1.5),
    Suite("install", f"{_PYTEST} -n 0 tests/system/install", 8, ("debootstrap", "iproute2"), alone=True),
    Suite("soak", f"{_PYTHON} -m tests.support.soak --minutes 2", 3, ("fuse3", *_SSH), alone=True),
    Suite("fleet", f"{_PYTEST} -n 0 tests/system -m fleet", 3, alone=True),
)
_PLANS = {"gate": GATE, "all": ALL}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that the command line names; return the exit code."""
    options = _options(arguments)
    chosen = _part(_named(_PLANS[options.plan], options.only), *options.part)
    packages = sorted({package for suite in chosen for package in suite.packages})
    if packages:
        install = [str(CHECKOUT / "tools" / "debian.sh"), *packages]
        subprocess.run(install, check=True)  # before all suites: two cannot install at the same time
    results = Runner().run(chosen)
    print("\n" + table(results))
    totals = {name: sum(each.counts.get(name, 0) for each in results) for name in _OUTCOMES}
    is_right = all(each.is_right for each in results)
    totals["failed"] = totals["failed"] or int(not is_right)  # as of a check, which counts nothing
    print("\n" + ", ".join(f"{count} {name}" for name, count in totals.items()))
    return int(not is_right)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.suites", description="Run suites of tests.")
    parser.add_argument("plan", choices=_PLANS)
    parser.add_argument("--only", type=lambda text: text.replace(",", " ").split(), default=[], metavar="NAME,NAME")
    parser.add_argument("--part", type=_fraction, default=(1, 1), metavar="N/M")
    return parser.parse_args(arguments)


def _fraction(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text}: must be a part of several, such as 2/3")
    return int(number), int(of)


def _named(plan: Sequence[Suite], names: Sequence[str]) -> list[Suite]:
    unknown = set(names) - {suite.name for suite in plan}
    if unknown:
        sys.exit(f"{', '.join(sorted(unknown))}: unknown; there are {', '.join(suite.name for suite in plan)}")
    return [suite for suite in plan if suite.name in names or not names]


def _part(suites: Sequence[Suite], number: int, of: int) -> list[Suite]:
    """Give one of several parts that take about the same time: the longest suites are shared out first."""
    minutes = [0.0] * of
    chosen = []
    for suite in sorted(suites, key=lambda each: -each.minutes):
        least = minutes.index(min(minutes))
        minutes[least] += suite.minutes
        if least == number - 1:
            chosen.append(suite)
    return [suite for suite in suites if suite in chosen]


class Runner:
    """Runs suites; prints the log of each whole when it ends. A signal ends those that run."""

    def __init__(self) -> None:
        self._printing = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        signal.signal(signal.SIGTERM, signal.default_int_handler)

    def run(self, suites: Sequence[Suite]) -> list[Result]:
        """Run those that share the machine two at a time between those that do not, and give all results in order."""
        results = []
        together: list[Suite] = []
        for suite in [*suites, None]:
            if suite is not None and not suite.alone:
                together.append(suite)
                continue
            results += self._run_all(together)
            together = []
            if suite is not None:
                results += self._run_all([suite])
        return results

    def _run_all(self, suites: Sequence[Suite]) -> list[Result]:
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            return list(pool.map(self._run, suites))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in self._running:
                process.terminate()  # `timeout` passes that on to all of its group
            raise
        finally:
            pool.shutdown()

    def _run(self, suite: Suite) -> Result:
        print(f"== {suite.name} begins: {suite.command}", flush=True)
        began = time.monotonic()
        environment = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
        environment["CI"] = "true"  # all is installed that a test may need: one that is skipped is lost
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            words = ["timeout", "--kill-after=30", str(60 * _LIMIT * suite.minutes), "bash", "-c", suite.command]
            process = subprocess.Popen(
                words,
                cwd=CHECKOUT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            self._running.add(process)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = code = os.waitstatus_to_exitcode(status)  # else its destructor would wait for it
            self._running.discard(process)
            log.seek(0)
            text = log.read()
        elapsed_s = time.monotonic() - began
        with self._printing:
            print(f"\n== {suite.name}: exit code {code} after {elapsed_s:.0f} s\n{text}", flush=True)
        return Result(suite, code == 0, counts(text), elapsed_s, usage.ru_utime + usage.ru_stime)


_OF_MAKE = frozenset({"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONDONTWRITEBYTECODE"})


def counts(log: str) -> dict[str, int]:
    """Count what the last line of pytest in a log says.

    >>> counts("...\\n3 failed, 4 passed, 1 skipped, 2 errors in 2.04s\\n")
    {'failed': 5, 'passed': 4, 'skipped': 1}
    """
    lines = [line for line in log.splitlines() if re.search(r" in \d+\.\d+s", line)]
    found: dict[str, int] = {}
    for count, name in _COUNT.findall(lines[-1] if lines else ""):
        outcome = "failed" if name.startswith("error") else name
        found[outcome] = found.get(outcome, 0) + int(count)
    return found


def table(results: Sequence[Result]) -> str:
    """Give a line for each suite."""
    lines = [f"{'suite':<12}{'result':<8}{'passed':>8}{'failed':>8}{'skipped':>8}{'time':>9}{'CPU':>9}"]
    for suite, is_right, found, elapsed_s, processor_s in results:
        cells = "".join(f"{found.get(name, 0):>8,}" for name in _OUTCOMES)
        result = "passed" if is_right else "FAILED"
        lines.append(f"{suite.name:<12}{result:<8}{cells}{elapsed_s:>7,.0f} s{processor_s:>7,.0f} s")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
