"""How often a machine beats, and looks at others, where machines are many."""

from types import SimpleNamespace

import pytest

from fscrawl.config.settings import FleetSettings
from fscrawl.fleet.hearing import Hearing

RULES = SimpleNamespace(generation=1)


def _hearing(live):
    peer = SimpleNamespace(machine="m", last=lambda: SimpleNamespace(pending=1, log=None, generation=1))
    fleet = SimpleNamespace(live_peers=lambda now: [peer] * live, peers={}, dead_after_s=60)
    ledger = SimpleNamespace(hear=lambda ends: None, machines=list, damaged=(), rules=RULES)
    hearing = Hearing(fleet, ledger, 0.0)
    hearing.hear(0.0, starved=False)
    return hearing


@pytest.mark.parametrize(("live", "beat_s"), [(0, 10), (100, 10), (600, 12), (1000, 20), (5000, 20)])
def test_beats_of_many_machines(live, beat_s):
    """A heartbeat is read by all others, so many machines beat more slowly; but three times in `dead_after`."""
    assert _hearing(live).beat_s(FleetSettings(beat=10, dead_after=60)) == beat_s


def test_slow_beats_stay():
    """Settings that ask for slower beats are heeded."""
    assert _hearing(1000).beat_s(FleetSettings(beat=25, dead_after=60)) == 25


def _looked_at(busy, idle, rounds):
    """Let a machine without work hear others; give the logs at whose files it looks in each round."""
    names = [(f"busy-{n}", False) for n in range(busy)] + [(f"idle-{n}", True) for n in range(idle)]
    beats = {name: SimpleNamespace(pending=0, log=9, idle=is_idle, generation=1) for name, is_idle in names}
    live = [SimpleNamespace(machine=name, last=lambda name=name: beats[name]) for name in beats]
    fleet = SimpleNamespace(live_peers=lambda now: live, peers={}, dead_after_s=60)
    looked = []
    ledger = SimpleNamespace(
        hear=lambda ends: looked.append({name for name, end in ends.items() if end is None}),
        has_grown=lambda machine: True,
        machines=list,
        damaged=(),
        rules=RULES,
    )
    hearing = Hearing(fleet, ledger, 0.0)
    for _ in range(rounds):
        hearing.hear(0.0, starved=True)
    return looked


@pytest.mark.parametrize("idle", [16, 64, 256])
def test_many_machines_without_work(idle):
    """However many machines wait for work, each looks at few logs of the others in a round, and in turn at all."""
    looked = _looked_at(1, idle, idle // 8)
    assert {len(each) for each in looked} == {9}
    assert all("busy-0" in each for each in looked)
    assert len(set().union(*looked)) == idle + 1


def test_few_machines_without_work():
    """Of few, it looks at all logs in each round."""
    assert _looked_at(40, 8, 2) == [{*(f"busy-{n}" for n in range(40)), *(f"idle-{n}" for n in range(8))}] * 2


def test_logs_of_this_generation_only():
    """A machine that works in another one says how long its log is there."""
    beats = {name: SimpleNamespace(pending=1, log=9, generation=number) for name, number in (("here", 1), ("old", 0))}
    live = [SimpleNamespace(machine=name, last=lambda name=name: beats[name]) for name in beats]
    fleet = SimpleNamespace(live_peers=lambda now: live, peers={}, dead_after_s=60, is_live=lambda machine, now: True)
    heard = []
    ledger = SimpleNamespace(hear=heard.append, machines=lambda: ["here", "old"], damaged=("old",), rules=RULES)
    ledger.read_to = lambda machine: 0
    Hearing(fleet, ledger, 0.0).hear(0.0, starved=False)
    assert heard == [{"here": 9, "old": None}], "a log that seems damaged is looked at again"
