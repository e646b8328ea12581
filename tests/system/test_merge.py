"""`fscrawl merge` with several processes: the same dataset, interruptions, lost processes and a full disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.crawling import Running, lines_of
from tests.support.trees import ALL, Grown, Made, check, contents

EVERY = [word for style in ALL for word in ("--format", style)]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """Make a tree that several processes are busy with for a while; no test changes it."""
    grown = Grown(tmp_path_factory.mktemp("crowd") / "tree")
    grown.many(3, 500)
    return grown


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_same_bytes(crowd: Grown, out: Path, tmp_path: Path) -> None:
    """Two datasets of one tree are the same, byte for byte, whoever made them: one process, two, another directory."""
    crowd.merge(out, formats=ALL)
    with Running(crowd.command(tmp_path / "second", *EVERY)) as running:
        done = running.wait()
    assert (done.code, done.warnings) == (0, []), done
    assert contents(tmp_path / "second") == contents(out)


def test_limit_by_processes(crowd: Grown, out: Path) -> None:
    """A limit that ends the reading early leaves nothing behind, with processes that have read ahead."""
    with Running(crowd.command(out, "--limit", "10")) as running:
        done = running.wait()
    assert (done.code, done.warnings) == (0, []), done
    check(Made(out))
    assert len(Made(out).keys()) == 10


@pytest.mark.root
def test_full_disk_of_processes(root: Path, mount: Callable[[str], Path]) -> None:
    """A disk that is full is one line with exit code 75 also where it was another process that found out."""
    tree = Grown(root)
    tree.many(1, 600, words=60)
    point = mount("size=200k")
    with Running(tree.command(point / "ds", *EVERY)) as running:
        done = running.wait()
    assert (done.code, done.out) == (75, ""), done
    (line,) = lines_of(done.err)
    assert "the disk is full" in line


def test_interrupted(crowd: Grown, out: Path) -> None:
    """Ctrl-C ends a merge at once with exit code 130 and one line; the same command goes on."""
    with Running(crowd.command(out)) as running:
        running.until(lambda: list(out.glob(".merge/run-0001/batch-*.json")), "a batch")
        running.signal(signal.SIGINT, group=True)
        done = running.wait(10)
    assert (done.code, done.out) == (130, ""), done
    assert done.err == "interrupted: finished parts are kept; the same command goes on\n"
    with Running(crowd.command(out)) as running:
        done = running.wait()
    assert done.code == 0, done
    check(Made(out))
    assert Made(out).keys() == crowd.keys()


def test_dead_worker(crowd: Grown, out: Path) -> None:
    """A worker process that dies ends the merge with one clear line and exit code 1; the same command goes on."""
    with Running(crowd.command(out)) as running:
        running.until(lambda: list(out.glob(".merge/run-0001/batch-*.json")), "a batch")
        os.kill(running.workers()[0], signal.SIGKILL)
        done = running.wait(20)
    assert (done.code, done.out) == (1, ""), done
    (line,) = lines_of(done.err)
    assert line.startswith("fscrawl: a process of the merge died")
    with Running(crowd.command(out)) as running:
        done = running.wait()
    assert done.code == 0, done
    check(Made(out))
    assert Made(out).keys() == crowd.keys()
