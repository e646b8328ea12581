"""How often a machine beats, and looks at others, where machines are many."""

from types import SimpleNamespace

import pytest

from fscrawl.config.settings import FleetSettings
from fscrawl.fleet.hearing import Hearing


def _hearing(live):
    peer = SimpleNamespace(machine="m", last=lambda: SimpleNamespace(pending=1, log=None))
    fleet = SimpleNamespace(live_peers=lambda now: [peer] * live, peers={}, dead_after_s=60)
    ledger = SimpleNamespace(hear=lambda ends: None, machines=list, doubted=())
    hearing = Hearing(fleet, ledger, SimpleNamespace(expect=int), 0.0)
    hearing.hear(0.0, starved=False)
    return hearing


@pytest.mark.parametrize(("live", "beat_s"), [(0, 10), (100, 10), (600, 12), (1000, 20), (5000, 20)])
def test_beats_of_many_machines(live, beat_s):
    """A heartbeat is read by all others, so many machines beat more slowly; but three times in `dead_after`."""
    assert _hearing(live).beat_s(FleetSettings(beat=10, dead_after=60)) == beat_s


def test_slow_beats_stay():
    """Settings that ask for slower beats are heeded."""
    assert _hearing(1000).beat_s(FleetSettings(beat=25, dead_after=60)) == 25
