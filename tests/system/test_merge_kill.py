"""A merge that is killed again and again, at any moment, ends with the very files of one that was not.

FSCRAWL_KILLS in the environment says how often (3 without it), FSCRAWL_SEED chooses the
moments.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support.crawling import Done, Running, lines_of
from tests.support.sessions import await_end
from tests.support.trees import ALL, Grown, Made, check, inline, lasting

KILLS = int(os.environ.get("FSCRAWL_KILLS", "3"))
HOSTS, PAGES = 6, 250  # before the first run, and as many again before the second
DEAD = "fscrawl: a process of the merge died"
# Cut small, so that a few thousand pages are many batches and some groups.
_SMALL = """\
import sys
from fscrawl.dataset import plan, write
plan.BATCH_PAGES, write._GROUP_ROWS = 120, 600
from fscrawl.cli import main
sys.exit(main())
"""


def small(words: list[str]) -> list[str]:
    """Have a command cut the work into small pieces."""
    return [sys.executable, "-c", _SMALL, *words[words.index("merge") :]]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Grown, Path]:
    """Make a tree, a dataset of its first half, and then its second half; failures have healed meanwhile."""
    place = tmp_path_factory.mktemp("grown")
    tree = Grown(place / "tree")
    tree.many(HOSTS, PAGES)
    for number in range(40):
        tree.fail(f"http://h0.example/gone{number}")
        tree.page(f"http://h1.example/copy{number}", tree.bodies[f"http://h0.example/{number}"])
    with inline():
        tree.merge(place / "first", formats=ALL)
    for number in range(20):
        tree.heal(f"http://h0.example/gone{number}", b"<p>healed %d" % number)
    for host in range(3, HOSTS + 3):
        for number in range(PAGES):
            body = f"<title>{number}</title><p>{host} {number} of the second half of {host * number}".encode()
            tree.page(f"http://h{host}.example/later/{number}", body)
    tree.file("htmls", "http://h4.example/later/7").unlink()
    return tree, place / "first"


class Target:
    """A dataset that merges are killed in; `begin` puts it where it starts: at nothing, or at the first half."""

    def __init__(self, tree: Grown, first: Path | None, out: Path) -> None:
        self._first = first
        self.out = out
        flags = [word for style in ALL for word in ("--format", style)] + ["--index"]
        self.words = small(tree.command(out, *flags))
        self.begin()
        began = time.monotonic()
        with Running(self.words) as running:
            running.until(
                lambda: (out / ".merge" / "run-0001").exists() or (out / ".merge" / "run-0002").exists(), "a run"
            )
            self.startup_s = time.monotonic() - began
            done = running.wait()
            await_end(running.process.pid)
        self.duration_s = done.elapsed_s
        assert done.code == 0, done
        check(Made(out))
        self.wanted = lasting(out)
        self.begin()

    def begin(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        if self._first is not None:
            shutil.copytree(self._first, self.out)
        self.left_s = getattr(self, "duration_s", 0.0)  # what a run has before it, as far as is known

    def survived(self, delay_s: float) -> None:
        """Note that a run was killed after so long: the next has that much less before it."""
        self.left_s = max(self.left_s - max(0.0, delay_s - self.startup_s), self.startup_s + 0.2)

    def check(self) -> None:
        found = lasting(self.out)
        assert {name for name in found if found[name] != self.wanted.get(name)} == set()
        assert set(found) == set(self.wanted)
        check(Made(self.out))


def kill(running: Running, how: str) -> None:
    """Kill the whole session, its first process alone, or one of the pool's processes."""
    workers = running.workers()
    if how == "worker" and workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(workers[-1], signal.SIGKILL)
    else:
        running.signal(signal.SIGKILL, group=how != "parent")


def ended(running: Running, how: str) -> Done | None:
    """Wait for the end of a run that was killed; give it if it came to its end all the same."""
    done = running.wait()
    assert "Traceback" not in done.err, done
    if done.code == 1:
        assert how == "worker", done
        assert lines_of(done.err)[-1].startswith(DEAD), done
    else:
        assert done.code in (0, -signal.SIGKILL), done
    return done if done.code == 0 else None


@pytest.mark.timeout(90 + 12 * KILLS)
def test_kills_change_nothing(grown: tuple[Grown, Path], tmp_path: Path) -> None:
    """After any kills at any moments, the dataset is byte for byte that of an undisturbed run, and nobody is left."""
    tree, first = grown
    rng = random.Random(int(os.environ.get("FSCRAWL_SEED", "1")))
    targets = [Target(tree, None, tmp_path / "new"), Target(tree, first, tmp_path / "more")]
    phases = []
    for number in range(KILLS):
        target, how = targets[number % 2], rng.choice(["session", "parent", "worker"])
        with Running(target.words) as running:
            delay_s = rng.uniform(0.0, target.left_s)
            wait_until(running, running.began + delay_s)
            phases.append(f"{how} in {phase(target.out)}")
            if running.process.poll() is None:
                kill(running, how)
            done = ended(running, how)
            if how == "parent" and rng.random() < 0.5:
                done = finish(target)  # at once, while processes of the one that is gone may live
            await_end(running.process.pid)
        if done is not None:
            target.check()
            target.begin()
        else:
            target.survived(delay_s)
    print(f"{len(phases)} kills: {', '.join(phases)}")
    for target in targets:
        finish(target)


def wait_until(running: Running, moment: float) -> None:
    while time.monotonic() < moment and running.process.poll() is None:
        time.sleep(0.005)


def phase(out: Path) -> str:
    """Tell by its files how far a run is."""
    runs = sorted(out.glob(".merge/run-*"))
    if not runs:
        return "no run"
    names = [path.name for path in runs[-1].iterdir()] if runs[-1].exists() else []
    for step in ("group-", "verdicts", "batch-", "plan"):
        if any(name.startswith(step) for name in names):
            return step.rstrip("-")
    return "plan"


def finish(target: Target) -> Done:
    """Run to the end, and check what is there then."""
    with Running(target.words) as running:
        done = running.wait()
        await_end(running.process.pid)
    assert done.code == 0, done
    target.check()
    return done


def test_pool_ends_with_its_parent(grown: tuple[Grown, Path], tmp_path: Path) -> None:
    """When a merge is killed, the processes of its pool end within a few seconds, busy or not."""
    tree, _ = grown
    with Running(small(tree.command(tmp_path / "out"))) as running:
        running.until(lambda: len(running.workers()) == 2, "two workers")
        running.signal(signal.SIGKILL)
        running.process.wait()
        await_end(running.process.pid)
