"""Several machines on one tree for the integration tests: each a crawl.py of its own, its output in a file.

with Fleet(root, settings={...}) as fleet:
    first = fleet.start(seeds=[...])
    fleet.start()
    fleet.wait_for_all(60)
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.crawling import CRAWL, Running, command

# A machine that gets no processor for half of `dead_after` fences itself, and may fetch again what was in flight. So it
# is long, unless machines die in a test or lose their tree: these tests go by DYING, or by a time of their own.
QUICK = {"fleet.beat": 0.5, "fleet.dead_after": 30, "politeness.robots": "false"}
DYING = {"fleet.dead_after": 3}


class Place:
    """Where the machines of a fleet find their tree: here one local directory for all of them.

    A share gives each machine a mount of its own; its caches want calmer `settings` than QUICK, and more time.

    root       the tree as the test looks at it
    meeting_s  until machines know of each other at the latest: a crawl that is to be shared must last longer
    slowness   by how much deadlines grow
    caches_s   for how long it may show an old state of a file: a log that seems to be cut is believed only then
    """

    meeting_s = 0.0
    slowness = 1.0
    caches_s = 0.0

    def __init__(self, root: Path, settings: Mapping[str, object] | None = None) -> None:
        self.root = root
        self.settings = settings or {}

    def next(self) -> Path:
        """Give the path at which one more machine finds the tree."""
        return self.root

    def abandon(self) -> None:
        """Let nobody wait for a file system any longer; the test has failed."""


class Member:
    """One machine of a fleet: its process group and what it prints."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str] | None = None, root: Path | None = None, slowness: float = 1
    ) -> None:
        """`root`: where it finds the tree; `slowness`: by how much its deadlines grow."""
        self.root = root
        self._slowness = slowness
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.running = Running(words, stdout=self._output, stderr=self._output, env=env)
        self.stopped_at: float | None = None
        self.resumed_at: list[float] = []

    @property
    def pid(self) -> int:
        return self.running.process.pid

    @property
    def over(self) -> bool:
        return self.running.process.poll() is not None

    @property
    def code(self) -> int | None:
        return self.running.process.poll()

    def until(self, holds: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
        """Wait until `holds()` is true, as `Running.until`; what it has printed is in the failure."""
        try:
            self.running.until(holds, what, timeout_s * self._slowness)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output()[-3000:]}") from None

    def output(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def kill(self) -> None:
        """Pull the plug: all its processes end at once."""
        self.running.kill()

    def pause(self) -> None:
        """Stop all its processes, as a suspended virtual machine is."""
        os.killpg(self.pid, signal.SIGSTOP)
        self.stopped_at = time.monotonic()

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)
        self.resumed_at.append(time.monotonic())
        self.stopped_at = None

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.running.kill()
        self._output.close()


class Fleet:
    """Machines on one tree; leaving the `with` ends what is left of them."""

    def __init__(
        self,
        place: Place | Path,
        settings: Mapping[str, object],
        workers: int = 1,
        threads: int = 4,
        program: Path = CRAWL,
    ) -> None:
        """`program`: takes the arguments of crawl.py."""
        self.place = place if isinstance(place, Place) else Place(place)
        self.root = self.place.root
        self.members: list[Member] = []
        self._settings = {**QUICK, **self.place.settings, **settings}
        self._workers = workers
        self._threads = threads
        self._program = program

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is not None:
            self.place.abandon()
        for member in self.members:
            member.close()

    def start(
        self, *flags: str, seeds: Sequence[str] = (), root: Path | None = None, env: Any = None, new: bool = False
    ) -> Member:
        """Start a machine; the first is given the seeds. `new`: it makes the tree, so it is given the settings."""
        root = root or self.place.next()
        words = command(
            root,
            *("--quiet", *flags),
            seeds=seeds,
            settings=self._settings,
            workers=self._workers,
            threads=self._threads,
            program=self._program,
        )
        if not new and not seeds:
            words = [word for i, word in enumerate(words) if word != "--set" and words[i - 1] != "--set"]
        member = Member(words, env, root, self.place.slowness)
        self.members.append(member)
        return member

    def wait_for_tree(self, timeout_s: float = 20.0) -> None:
        deadline = time.monotonic() + timeout_s * self.place.slowness
        while not (self.root / ".fscrawl" / "tree.json").exists():
            assert time.monotonic() < deadline, "no tree was made"
            time.sleep(0.02)

    def wait_for_all(self, timeout_s: float) -> None:
        """Wait until every machine has left; past the deadline the test fails with what they printed."""
        timeout_s *= self.place.slowness
        deadline = time.monotonic() + timeout_s
        while not all(member.over for member in self.members):
            if time.monotonic() > deadline:
                told = [f"{m.pid}: exit {m.code}\n{m.output()[-1500:]}" for m in self.members if not m.over]
                raise AssertionError(f"not over after {timeout_s} s\n" + "\n".join(told))
            time.sleep(0.02)
