"""A command that goes on when the memory of the fleet is lost under it."""

import io
import json
import shutil
from collections import Counter

import pytest

from fscrawl import store
from fscrawl.commands import crawling as crawl
from fscrawl.engine.progress import Counts, Progress
from fscrawl.engine.rejoin import run_until_over
from fscrawl.engine.run import Options, Result
from fscrawl.errors import MemoryGone, NotATreeError

GONE = MemoryGone("/t/.fscrawl: it was made anew")


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Run:
    """A run that stores some pages in some time, and then ends in some way."""

    def __init__(self, clock, progress, counts, takes_s, ends=None):
        self.clock, self.progress, self.counts, self.takes_s, self.ends = clock, progress, counts, takes_s, ends

    def run(self):
        self.clock.now += self.takes_s
        self.progress.show(self.counts)
        if self.ends is not None:
            raise self.ends
        self.progress.close(self.counts)
        return Result(self.counts, 0, self.takes_s)


class Command:
    def __init__(self, *endings, takes_s=100.0):
        """`endings`: what ends each run, None for the last one."""
        self.clock, self.out = Clock(), io.StringIO()
        self.progress = Progress("json", verbose=False, stream=self.out)
        runs = [Run(self.clock, self.progress, self.counts(n), takes_s, end) for n, end in enumerate(endings)]
        self.first, *self.rest = runs

    def counts(self, n):
        return Counts(pages=10 + n, bytes=1, pending=n, errors=Counter(dns=1), cut=Counter(scope=n))

    def rejoin(self):
        return self.rest.pop(0)

    def run(self):
        return run_until_over(lambda: self.first, self.rejoin, self.progress, self.clock)

    @property
    def events(self):
        return [json.loads(line) for line in self.out.getvalue().splitlines()]

    @property
    def warnings(self):
        return [event["message"] for event in self.events if event["event"] == "warning"]


def test_one_run():
    """Where nothing happens, the result is that of the run."""
    command = Command(None)
    assert command.run() == Result(command.counts(0), 0, 100)
    assert [event["event"] for event in command.events] == ["end"]


def test_goes_on():
    """A run that has lost the memory of the fleet is followed by another; a line says why, and counts go on."""
    command = Command(GONE, GONE, None)
    result = command.run()
    assert result == Result(
        Counts(10 + 11 + 12, bytes=3, pending=2, errors=Counter(dns=3), cut=Counter(scope=3)), 0, 300
    )
    assert command.warnings == [f"{GONE}; joining anew, what is stored stays"] * 2
    ends = [event for event in command.events if event["event"] == "end"]
    assert [(end["pages"], end["pending"]) for end in ends] == [(33, 2)]


def test_too_often():
    """After five new runs within an hour a person must look."""
    command = Command(*[GONE] * 6, None)
    with pytest.raises(MemoryGone, match=r"6 times within an hour: find out what .*, then run the same command again"):
        command.run()
    assert len(command.rest) == 1
    assert len(command.warnings) == 5
    assert [event["pages"] for event in command.events if event["event"] == "end"] == [sum(range(10, 16))]


def test_seldom():
    """Once in a while it may happen for ever."""
    command = Command(*[GONE] * 20, None, takes_s=721)
    assert command.run().counts.pages == sum(range(10, 31))


def test_lost_before_a_run_begins():
    """It may also be lost while the next run is made."""
    command = Command(GONE, None)
    runs = iter([GONE, command.rest[0]])

    def rejoin():
        run = next(runs)
        if run is GONE:
            raise GONE
        return run

    command.rejoin = rejoin
    assert command.run().counts.pages == 10 + 11
    assert len(command.warnings) == 2


def test_other_errors():
    """A run that ends in another way ends the command, and so does a tree that cannot be opened again."""
    command = Command(NotATreeError("no disk"))
    with pytest.raises(NotATreeError, match="no disk"):
        command.run()
    command = Command(GONE)
    command.rejoin = lambda: (_ for _ in ()).throw(NotATreeError("is the share mounted?"))
    with pytest.raises(NotATreeError, match="mounted"):
        command.run()
    assert command.events[-1]["pages"] == 10


class Begun:
    """A machine that was begun."""

    def __init__(self, tree, *others):
        self.tree = tree


def test_the_next_machine(tmp_path, monkeypatch):
    """It has an id of its own, and joins what is there then."""
    monkeypatch.setattr(crawl, "Machine", Begun)
    monkeypatch.setattr(store, "wait_for_deletion", lambda root: None)
    root = tmp_path / "root"
    machines = crawl.Machines(root, Progress("quiet", verbose=False, stream=io.StringIO()), Options(1, 1))
    machines.prepare([], {"http://a.example/": ""})
    first = machines.first()
    shutil.rmtree(root / ".fscrawl")
    again = machines.next()
    assert again.tree.machine != first.tree.machine
    assert again.tree.record.machinery != first.tree.record.machinery
