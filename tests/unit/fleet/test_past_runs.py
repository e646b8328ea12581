"""What one process knows of packs: which there are, what is lost, and what threads see of it."""

import sys
import threading

import pytest

from fscrawl.errors import PlantedError
from fscrawl.fleet import past_runs
from fscrawl.fleet.pack import Run, pack
from fscrawl.fleet.past_runs import PastRuns
from tests.support.slow import Slow


class Share:
    """Files by their names, and how often each was read."""

    def __init__(self):
        self.files, self.reads, self.now = {}, [], 0.0
        self.before_read = lambda name: None

    def names(self, path):
        return list(self.files)

    def read(self, path, most):
        name = path.rpartition("/")[2]
        self.reads.append(name)
        self.before_read(name)
        if self.files.get(name) is PlantedError:
            raise PlantedError(path, "a link")
        return self.files.get(name)

    def put(self, number, *machines, log=b"said\n"):
        log = None if log is None else {0: log}
        self.files[f"past.{number}"] = pack({machine: Run(b'{"bye":true}\n', 13, log) for machine in machines})


@pytest.fixture
def share():
    return Share()


@pytest.fixture
def past(share):
    return PastRuns(share, lambda: share.now)


def test_packs_that_come_while_all_runs_are_gone_through(share, past):
    """Housekeeping finds a pack while the main loop lists the logs: that is no error in either thread."""
    for number in range(1, 200):
        share.put(number, *(f"m-{number}-{each}" for each in range(20)))
    late, share.files = share.files, {}
    errors = []

    def list_all():
        try:
            while len(past.packs) < len(late):
                past.with_logs()
                past.machines_of(1)
        except RuntimeError as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread = threading.Thread(target=list_all)
        thread.start()
        for name, data in late.items():
            share.files = {name: data}
            past.look()
        thread.join(20)
    finally:
        sys.setswitchinterval(before)
    assert not thread.is_alive()
    assert errors == []


def test_nobody_waits_for_a_pack_that_he_does_not_need(share, past):
    """A thread reads a pack from a slow share. Who beats, or reads what is not packed, goes on."""
    share.put(1, "a")
    past.look()
    reading, goes_on = threading.Event(), threading.Event()
    share.before_read = lambda _: (reading.set(), goes_on.wait(20))
    thread = threading.Thread(target=past.read_again, args=[1])
    thread.start()
    assert reading.wait(20)
    answers = []
    other = threading.Thread(
        target=lambda: answers.extend(
            [past.run("b"), past.segments_by_now("b"), past.newest, past.look(), past.with_logs(), past.segments("a")]
        )
    )
    other.start()
    other.join(2)
    found = list(answers)
    goes_on.set()
    thread.join(20)
    other.join(20)
    assert found == [None, None, 1, ["past.1"], ["a"], {0: 5}]


def test_two_that_miss_a_file_at_the_same_moment(share, past):
    """The second one waits for the look of the first, and goes by what it has found."""
    past.look()
    share.now += 60
    share.put(1, "a", "b")
    looking, goes_on = threading.Event(), threading.Event()
    share.before_read = lambda _: (looking.set(), goes_on.wait(20))
    found = {}
    threads = [
        threading.Thread(target=lambda each=each: found.update({each: past.segments_by_now(each)})) for each in "ab"
    ]
    threads[0].start()
    assert looking.wait(20)
    threads[1].start()
    threads[1].join(0.2)
    goes_on.set()
    for thread in threads:
        thread.join(20)
    assert found == {"a": {0: 5}, "b": {0: 5}}


def test_a_process_that_is_stopped_between_a_listing_and_its_use(share, past):
    """What it has listed is old by then: the next file that is missing is looked for in newer packs."""
    listed = share.names

    def slow_names(path):
        names = listed(path)
        share.now += 100
        return names

    share.names = slow_names
    past.look()
    share.names = listed
    share.put(1, "a")
    assert past.segments_by_now("a") == {0: 5}


@pytest.mark.parametrize("damaged", [b"", PlantedError])
def test_a_pack_that_cannot_be_read_is_tried_again_and_again(share, past, damaged):
    """At first often, since it may be an old view of it; later seldom. It may be put back after days."""
    share.put(1, "a")
    data = share.files["past.1"]
    share.files["past.1"] = damaged
    for _ in range(1000):
        past.look()
        share.now += 10
    assert past.lost == [1]
    assert 15 < len(share.reads) < 60
    share.files["past.1"] = data
    share.now += 10_000
    past.look()
    assert past.lost == []
    assert past.segments("a") == {0: 5}


def test_a_pack_that_was_read_before(share, past):
    """It may be lost and come back: a view of a share may be old for a moment."""
    share.put(1, "a")
    past.look()
    data = share.files["past.1"]
    share.files["past.1"] = b""
    assert past.read_again(1) == {}
    assert past.lost == [1]
    share.files["past.1"] = data
    past.look()
    assert past.lost == []


def test_a_number_that_somebody_has_made_up(share, past):
    """One file that is no pack is one that is lost. Others need not believe that there are as many."""
    share.put(1, "a")
    share.files["past.999999999"] = b""
    share.files["past.2"] = b""
    past.look()
    assert past.lost == [2, 999_999_999]
    assert past.newest == 1
    assert past.next_number == 3
    past.expect(4)
    assert past.next_number == 5


def test_small_packs_are_read_once(share, past):
    """Whoever goes through all runs again and again, in the order of packs or not, reads each pack once."""
    machines = [f"m-{number}" for number in range(1, 100)]
    for number, machine in enumerate(machines, 1):
        share.put(number, machine)
    past.look()
    for machine in sorted(machines) + machines:
        assert past.run(machine) is not None
    assert len(share.reads) == len(machines)


def test_memory_for_packs_is_limited(share, past, monkeypatch):
    """What was not asked for lately is read again."""
    monkeypatch.setattr(past_runs, "_KEPT_BYTES", 1)
    share.put(1, "a")
    share.put(2, "b")
    past.look()
    assert past.run("b") is not None
    assert share.reads == ["past.1", "past.2"]
    assert past.run("a") is not None
    assert share.reads == ["past.1", "past.2", "past.1"]


@pytest.mark.parametrize("order", [[1, 2], [2, 1]])
def test_a_run_that_is_in_two_packs(share, past, order):
    """Its log counts, whichever of the packs has it: the file may be gone."""
    share.put(1, "a", "b", log=None)
    share.put(2, "a")
    files, share.files = share.files, {}
    for number in order:
        share.files = {f"past.{number}": files[f"past.{number}"]}
        past.look()
    share.files = files
    assert past.segments("a") == {0: 5}
    assert past.run("a").log == {0: b"said\n"}
    assert past.machines_of(1) == ["b"]
    assert past.machines_of(2) == ["a"]


def test_packs_are_read_at_the_same_time(share, past, monkeypatch):
    """After weeks there are many of them. On a slow share a start waited for one after the other."""
    slow = Slow(monkeypatch, Share, "read")
    machines = [f"m-{number}" for number in range(1, 60)]
    for number, machine in enumerate(machines, 1):
        share.put(number, machine)
    share.files["past.30"] = b"torn"
    past.look()
    assert slow.most_at_once > 1
    assert past.machines() == [machine for machine in machines if machine != "m-30"]
    assert past.lost == [30]
