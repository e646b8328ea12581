"""Each run leaves a log of heartbeats and one of URLs; after weeks there are thousands."""

import pytest

from fscrawl.errors import TreeBusyError
from fscrawl.fleet import ledger
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.machinery import Machinery
from tests.support.members import MINE, url
from tests.support.slow import Slow

RUNS = 30


@pytest.fixture
def weeks(world):
    """Give a world in which many machines have found a page each, and left."""
    world.create(url(MINE[0]))
    for number in range(RUNS):
        member = world.join(f"night-{number:02}")
        member.settle()
        member.membership.discover([url(MINE[0], f"{number}")], 1, "")
        member.leave()
    return world


class Phases:
    """How many logs of URLs were read at the same time: their heads at first, and then their lines."""

    def __init__(self, monkeypatch):
        self._logs, self.heads = Slow(monkeypatch, UrlLogs, "open_view"), None
        lines_of = ledger.Ledger.lines_of

        def noted(*args):
            self.heads, self._logs.most_at_once = self._logs.most_at_once, 0
            yield from lines_of(*args)

        monkeypatch.setattr(ledger.Ledger, "lines_of", noted)

    @property
    def lines(self):
        return self._logs.most_at_once


@pytest.mark.gate
def test_what_they_left_is_read_at_the_same_time(weeks, monkeypatch):
    """On a slow share a start waited for one file after the other: for a minute after a few hundred runs."""
    beats = Slow(monkeypatch, Machinery, "read_newest_heartbeats")
    phases = Phases(monkeypatch)
    member = weeks.join("a")
    member.settle()
    assert beats.most_at_once > 1
    assert phases.heads > 1
    assert phases.lines > 1
    assert member.membership.fleet.pages_elsewhere == 7 * RUNS
    assert member.frontier.pending == RUNS + 1


@pytest.mark.gate
def test_a_long_log_is_not_in_memory(weeks, monkeypatch):
    """It is read line by line, also on a slow share, and all the same nothing is missing."""
    monkeypatch.setattr(ledger, "_SHORT_BYTES", 10)
    phases = Phases(monkeypatch)
    member = weeks.join("a")
    member.settle()
    assert phases.lines == 1
    assert member.frontier.pending == RUNS + 1


@pytest.mark.gate
def test_one_of_them_cannot_be_read_at_first(weeks, monkeypatch):
    """What was read of the others meanwhile counts once."""
    member = weeks.join("a")
    fleet = member.membership.fleet
    fleet.peers.clear()
    fleet.pages_elsewhere = 0
    Slow(monkeypatch, Machinery, "read_newest_heartbeats")
    read = Machinery.read_newest_heartbeats

    def stale(self, machine, offset, *more):
        if machine == "night-17":
            raise TreeBusyError("stale")
        return read(self, machine, offset, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Machinery, "read_newest_heartbeats", stale)
        with pytest.raises(TreeBusyError):
            fleet.observe(member.now)
    fleet.observe(member.now + 100)
    assert fleet.pages_elsewhere == 7 * RUNS


@pytest.mark.gate
def test_places_are_hashed_once(weeks, monkeypatch):
    """An idle machine tells how far it has read all logs. It works that out anew only when it has read more."""
    a = weeks.join("a")
    a.settle()
    a.crawl()
    hashed = []
    hash_of = ledger.hash_of_places
    monkeypatch.setattr(ledger, "hash_of_places", lambda places: hashed.append(places) or hash_of(places))
    for _ in range(20):
        a.tick()
    assert len(hashed) <= 1
    before = a.membership.ledger.vector_hash()
    a.membership.ledger._reader.places["night-00"] = 1
    assert a.membership.ledger.vector_hash() != before


@pytest.mark.gate
def test_who_has_left_is_not_asked_for(weeks, monkeypatch):
    """A round costs next to nothing for each machine that has said goodbye and whose log was read."""
    a = weeks.join("a")
    a.settle()
    a.crawl()
    fleet, asked = a.membership.fleet, []
    is_live = fleet.is_live
    monkeypatch.setattr(fleet, "is_live", lambda machine, now: asked.append(machine) or is_live(machine, now))
    a.membership._round(weeks.clock.now, starved=True)
    assert asked.count("night-07") <= 1
