"""Runs of a target: in this process for so many inputs, or in a child that may die, for so many seconds."""

from __future__ import annotations

import mmap
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.support.fuzz.judge import GROWTH_BYTES, Findings, held_bytes, judge
from tests.support.fuzz.mutator import MAX_BYTES, Mutator, compositions, repetitions
from tests.support.fuzz.target import Target
from tests.support.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[3]
CORPORA = Path(os.environ.get("FSCRAWL_CORPORA") or ROOT / ".." / "shared" / "data")
_MAX_SEEDS = 600
_MAX_DEATHS = 10
_HEAD_BYTES = 16  # of the file with the last input: its length, and how many there were
_HANG_S = 20.0  # of CPU time, after which the kernel ends a child, be it in C
_MEMORY_BYTES = 6 << 30  # of a child's addresses
_REPEATING = 0.4  # of the time goes to repetitions


def inputs(target: Target, rng: random.Random, seeds: tuple[bytes, ...] = ()) -> Iterator[bytes]:
    """Give inputs for ever; with more than one way of running, any of them is chosen."""
    for made in Mutator(rng, target.fragments, target.seeds + seeds):
        yield _chosen(target, rng, made)


def _chosen(target: Target, rng: random.Random, made: bytes) -> bytes:
    return bytes([rng.randrange(target.options)]) + made if target.options > 1 else made


def corpus(target: Target) -> tuple[bytes, ...]:
    """Read the real files that are there."""
    found: list[Path] = []
    for pattern in target.corpus:
        base = Path("/") if pattern.startswith("/") else CORPORA
        found += sorted(base.glob(pattern.lstrip("/")))
    return tuple(path.read_bytes()[:65_536] for path in found[:_MAX_SEEDS] if path.is_file())


def fixed(target: Target, count: int, size: int, strict: float) -> list[str]:
    """Run `count` inputs, always the same, and repetitions of each fragment to `size` bytes; give what is wrong."""
    rng = random.Random(target.name)
    rows = [*repetitions(target.fragments, size), *islice(inputs(target, rng), count)]
    wrong = [(judge(target, row, strict), row) for row in rows]
    return [f"{what}: {row[:200]!r}" for what, row in wrong if what]


def supervise(target: Target, seconds: float, folder: Path, *, guided: bool) -> None:
    """Run a target in children until the time is over; a child that dies by a signal leaves its input."""
    deadline = time.monotonic() + seconds
    deaths = 0
    with tempfile.TemporaryDirectory(prefix="fscrawl-fuzz-") as scratch:
        path = Path(scratch) / "last"
        while (left := deadline - time.monotonic()) > 1 and deaths < _MAX_DEATHS:
            path.write_bytes(bytes(_HEAD_BYTES + MAX_BYTES))
            arguments = ["--child", target.name, str(left), str(folder), str(path), *(["--guided"] if guided else [])]
            command = [sys.executable, "-m", "tests.support.fuzz", *arguments]
            child = subprocess.run(command, cwd=ROOT, check=False)
            last = Last(path)
            if guided:
                print(f"{target.name}: {last.count:,} inputs guided by coverage", flush=True)
            if child.returncode == 0:
                return
            deaths += 1
            Findings(folder, target).add(last.get(), f"the process died with {child.returncode}")


class Last:
    """The input that is being run and the number of those before it, in a file that outlives the process."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def put(self, data: bytes) -> None:
        data = data[:MAX_BYTES]
        self._map[:_HEAD_BYTES] = struct.pack("QQ", len(data), self.count + 1)
        self._map[_HEAD_BYTES : _HEAD_BYTES + len(data)] = data

    def get(self) -> bytes:
        return self._map[_HEAD_BYTES : _HEAD_BYTES + struct.unpack_from("QQ", self._map)[0]]

    @property
    def count(self) -> int:
        return int(struct.unpack_from("QQ", self._map)[1])


def child(target: Target, seconds: float, folder: Path, last: Last) -> None:
    """Run repetitions, then mutations; say what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    rng = random.Random(f"{target.name} {os.getpid()}")
    run = _Run(target, folder, last)
    run.until(time.monotonic() + _REPEATING * seconds, _repeating(target, rng))
    rows = inputs(target, rng, corpus(target))
    run.until(time.monotonic() + 0.15 * seconds, rows)
    warm = held_bytes()
    run.until(time.monotonic() + 0.45 * seconds, rows)
    grown = held_bytes() - warm
    found = run.findings.summary()
    print(f"{target.name}: {run.count:,} inputs, grown by {grown / 2**20:.1f} MiB, found {found}", flush=True)
    if grown > GROWTH_BYTES:
        run.findings.note(f"grown by more than {GROWTH_BYTES / 2**20:.0f} MiB in {run.count:,} inputs")


def _repeating(target: Target, rng: random.Random) -> Iterator[bytes]:
    for size in (target.reach // 4, target.reach):
        for made in repetitions(target.fragments, size):
            yield _chosen(target, rng, made)
    for made in compositions(rng, target.fragments, target.reach):
        yield _chosen(target, rng, made)


class _Run:
    def __init__(self, target: Target, folder: Path, last: Last) -> None:
        self.count = 0
        self.findings = Findings(folder, target)
        self._target = target
        self._last = last

    def until(self, deadline: float, rows: Iterator[bytes]) -> None:
        while time.monotonic() < deadline:
            self.one(next(rows))

    def one(self, data: bytes) -> None:
        self._last.put(data)
        signal.setitimer(signal.ITIMER_VIRTUAL, _HANG_S)
        wrong = judge(self._target, data)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.count += 1
        if wrong is not None:
            self.findings.add(data, wrong)


def run(names: list[str], seconds: float, folder: Path, *, with_atheris: bool) -> None:
    """Run targets one after the other, each for `seconds`; with atheris, half of them guided by it."""
    for name in names:
        share = seconds / 2 if with_atheris else seconds
        supervise(TARGETS[name], share, folder, guided=False)
        if with_atheris:
            supervise(TARGETS[name], share, folder, guided=True)
