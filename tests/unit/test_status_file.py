"""What a machine writes for people, and what others read."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from fscrawl.errors import TreeError
from fscrawl.fleet.status_file import (
    EMPTY,
    Astray,
    Coverage,
    LabelFigure,
    NotStored,
    StatusFile,
    StatusWriter,
    read_status,
)
from fscrawl.frontier.host_figures import Cause, HostFigure

PATH = ".fscrawl/machines/m.status.json"
BEAT_S = 5.0
HOSTS = {
    "a.example": HostFigure(40, 1, 0.5, 2.5, "robots", 35.0, str(Cause.RETRY_AFTER), 2),
    "b.example_8080": HostFigure(cause="turn"),
}


class Files:
    machine = "m"

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.writes = 0
        self.is_full = False

    def publish(self, path: str, data: bytes) -> None:
        if self.is_full:
            raise TreeError("no space")
        self.writes += 1
        self.data[path] = data

    def read_or_torn(self, path: str) -> bytes | None:
        return self.data.get(path)


def status_in(data: bytes) -> StatusFile:
    files = Files()
    files.data[PATH] = data
    return read_status(files, "m")  # type: ignore[arg-type]


class World:
    """A machine whose figures a test sets. Putting them together takes `costs_s`."""

    def __init__(self, costs_s: float = 0.0) -> None:
        self.files = Files()
        self.figures = StatusFile()
        self.ready = self.stored = 0
        self.now = 1000.0
        self.writer = StatusWriter(
            self.files, lambda: self.figures, lambda now, most: HOSTS, lambda: self.now + costs_s
        )

    def store_a_page(self) -> None:
        self.stored += 1
        self.figures = StatusFile(labels={"a": LabelFigure(stored=self.stored)})

    def go_on(self, seconds: float) -> list[float]:
        """Let time pass, a tenth of a second at a time, and store a page in each; give when the file was written."""
        written = []
        for tenth in range(round(10 * seconds)):
            self.now += 0.1
            self.store_a_page()
            before = self.files.writes
            self.writer.write_if_due(self.now, BEAT_S, self.ready)
            written += [round(tenth / 10, 1)] * (self.files.writes - before)
        return written


def test_written_and_read() -> None:
    """What is written is read back; a machine that leaves says nothing of hosts any more."""
    world = World()
    astray = {"http://a.example/": Astray("redirects", "http://b.example/", "scope")}
    left_out = NotStored()
    left_out.seeds = dict(astray)
    world.figures = StatusFile(
        known=Coverage(3, 5), labels={"ü ": LabelFigure(1, 0, 1, 2)}, not_stored=left_out.figures()
    )
    world.writer.write_if_due(world.now, BEAT_S, ready=0)
    found = read_status(world.files, "m")
    assert found.written_at > 1.7e9
    assert (found.known, found.labels, found.hosts) == (world.figures.known, world.figures.labels, HOSTS)
    assert found.not_stored.seeds == astray
    world.writer.write_last()
    assert (read_status(world.files, "m").hosts, read_status(world.files, "m").labels) == ({}, world.figures.labels)
    assert read_status(world.files, "other") == EMPTY


def test_half_of_a_surrogate_pair() -> None:
    """A message of a failure may have what UTF-8 cannot write: the file is written all the same."""
    world = World()
    left_out = NotStored(hosts=lambda: {"a.example": "odd \ud800"})
    world.figures = StatusFile(not_stored=left_out.figures())
    world.writer.write_last()
    assert read_status(world.files, "m").not_stored.hosts == {"a.example": "odd ?"}


def test_as_often_as_a_beat() -> None:
    """Who looks at a crawl that has just begun sees its figures after a second, not those of the run before."""
    assert World().go_on(25) == [0.0, 1.0, 3.0, 7.0, 12.0, 17.0, 22.0]


def test_soon_after_shards_have_come() -> None:
    """Then `status` may count what is pending."""
    world = World()
    world.go_on(14)
    world.ready = 3
    assert world.go_on(4) == [0.0]
    world.ready = 4
    assert world.go_on(1) == [0.0]


def test_a_share_that_is_slow() -> None:
    """Only what the main loop itself does for the file is rationed: not the time that the share takes to write it."""
    world = World()
    publish = world.files.publish

    def slowly(path: str, data: bytes) -> None:
        world.now += 0.05
        publish(path, data)

    world.files.publish = slowly  # type: ignore[method-assign]
    assert [round(each) for each in world.go_on(13)] == [0, 1, 3, 7, 12]


def test_seldom_if_it_costs_much() -> None:
    """What takes a tenth of a second to put together is written every twenty seconds."""
    assert [round(each) for each in World(costs_s=0.1).go_on(61)] == [0, 20, 40, 60]


def test_nothing_new() -> None:
    """A file that would say the same is not written; if it cannot be written, the crawl goes on."""
    world = World()
    world.files.is_full = True
    world.writer.write_if_due(world.now, BEAT_S, ready=0)
    world.files.is_full = False
    for second in range(100):
        world.writer.write_if_due(world.now + second, BEAT_S, ready=0)
    assert world.files.writes == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "[]", "7", "{}", '{"at": 7}', '{"at": "noon"}', "[" * 100_000, "\xff"),
        *('{"labels": {"a": {"stored": "1"}}}', '{"labels": {"a": {"pending": 1180591620717411303424}}}'),
        *('{"hosts": {"a": {"wait_s": 1e18}}}', '{"hosts": {"a": {"wait_s": 1e999}}}'),
        *('{"not_stored": {"types": 1}}', '{"not_stored": {"left_out": {"scope": "?"}}}', '{"known": [-1e999, 1]}'),
    ],
)
def test_what_no_machine_wrote(text: str) -> None:
    """A file of somebody else says nothing."""
    assert status_in(text.encode("latin-1")) == EMPTY


def test_a_file_cut_in_half() -> None:
    """Wherever a file is cut, it says nothing."""
    world = World()
    world.go_on(1)
    whole = world.files.data[PATH].rstrip()
    assert json.loads(whole)["hosts"].keys() == HOSTS.keys()
    for end in range(len(whole)):
        assert status_in(whole[:end]) == EMPTY


def test_what_is_not_stored() -> None:
    """What several machines have left out adds up as sets do."""
    one, other, total = NotStored(), NotStored(), NotStored()
    for number in range(6000):
        (one if number % 2 else other).left_out.add("scope", number * (1 << 64) // 6000)
    one.left_out.add("deny", 1)
    other.left_out.add("deny", 1)
    one.count_type("type a/b", 2)
    other.count_type("type a/b", -1)
    one.note_seed("http://a.example/", Astray("redirects", "http://b.example/", "scope"))
    for each in (one, other):
        world = World()
        world.figures = StatusFile(not_stored=each.figures())
        world.writer.write_last()
        total.add(read_status(world.files, "m").not_stored)
    assert (total.types, total.seeds, total.left_out["deny"]) == (Counter({"type a/b": 1}), one.seeds, 1)
    assert 5900 < total.left_out["scope"] < 6100
