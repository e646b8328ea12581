"""What a machine says when it has little to do: once for each reason, and after a while."""

import re

import pytest

from fscrawl.config.settings import PolitenessSettings
from fscrawl.engine.idleness import Idleness, why_paced
from fscrawl.frontier.host_scheduler import Fails

NOTHING = {"could_take_more": True, "has_work": False}
WAITING = {"could_take_more": True, "has_work": True}
FULL = {"could_take_more": False, "has_work": True}
PAUSED = {"could_take_more": False, "has_work": False}


def noticed(*looks):
    idleness = Idleness(0.0, "host", waits=False)
    return [(now, reason) for now, load in looks if (reason := idleness.look(now, **load))]


def test_idle_is_said_once():
    """A machine with nothing to do says so after ten seconds, and not again."""
    assert noticed(*((float(now), NOTHING) for now in range(60))) == [(10.0, "idle")]


def test_a_busy_machine_says_nothing():
    """While the workers have all that they can take, or the state says why nothing is fetched, there is no word."""
    for load in (FULL, PAUSED):
        assert noticed(*((float(now), load) for now in range(300))) == []


def test_the_pace():
    """Where URLs wait for the turn of their hosts all the time, that is said after half a minute."""
    assert noticed(*((float(now), WAITING) for now in range(200))) == [(30.0, "paced")]
    mixed = [(float(now), FULL if now % 20 == 0 else WAITING) for now in range(200)]
    assert noticed(*mixed) == []


def test_work_in_between():
    """The time without work counts from the last work on."""
    looks = [*((float(now), NOTHING) for now in range(9)), (9.0, WAITING), *((now, NOTHING) for now in (10.0, 18.0))]
    assert noticed(*looks, (19.5, NOTHING)) == [(19.5, "idle")]


@pytest.mark.parametrize(
    ("others", "partition", "waits", "said"),
    [
        (1, "host", False, 'idle: each host belongs to one machine, and all are taken.*"url"'),
        (2, "url", False, "idle: each URL belongs to one machine"),
        (0, "host", True, "waiting for new seeds"),
        (0, "host", False, "waiting until that is certain"),
    ],
)
def test_why(others, partition, waits, said):
    """The line says what the machine waits for, and what would change that."""
    assert re.search(said, Idleness(0.0, partition, waits=waits).why_idle(others))


class Hosts:
    """All hosts with pending URLs: those that are paused, and those that fail."""

    def __init__(self, failing=None, paused=()):
        self._failing, self._paused = failing or {}, set(paused)

    def all_fail(self, now):
        return self._failing

    def all_paused(self):
        return self._paused


def test_why_paced():
    """The line names the setting; without a delay there is nothing to say."""
    assert "one request per host every 0.5 s (politeness.delay)" in why_paced(PolitenessSettings(delay=0.5), Hosts(), 0)
    assert why_paced(PolitenessSettings(delay=0), Hosts(), 0) == ""


def test_why_paced_where_all_hosts_fail():
    """It is not the pace: the line names a host, what is wrong with it, and when that ends."""
    said = why_paced(PolitenessSettings(), Hosts({"a.example_8080": Fails(5, "dns")}), 0)
    assert said.startswith("a.example:8080 has failed 5 times in a row (dns); ")
    assert said.endswith("failing for 60 s is given up (politeness.give_up_after)")
    said = why_paced(
        PolitenessSettings(delay=0), Hosts({"a.example": Fails(1, "connect"), "b.example": Fails(2, "timeout")}), 0
    )
    assert said.startswith("all 2 hosts that are left fail: b.example has failed 2 times in a row (timeout); ")


def test_why_paced_where_all_hosts_are_paused():
    """It is not the pace, and not the failures of hosts that nobody asks: the line names the signs, a few of many."""
    said = why_paced(PolitenessSettings(), Hosts({"a.example": Fails(1, "dns")}, ["b.example", "a.example_8080"]), 0)
    assert said.startswith("all hosts that are left are paused: PAUSE.a.example_8080, PAUSE.b.example in the root; ")
    assert said.endswith(" resume")
    said = why_paced(PolitenessSettings(delay=0), Hosts(paused=[f"{n}.example" for n in range(7)]), 0)
    assert "PAUSE.4.example and 2 more in the root" in said


def test_why_paced_where_a_host_asks_for_a_pause():
    """It is not given up after `give_up_after`: the line says when it is asked again, and by which setting."""
    failing = {
        "a.example": Fails(9, "dns"),
        "b.example": Fails(1, "http-4xx", 3540.0),
    }
    assert why_paced(PolitenessSettings(max_rest=7200), Hosts(failing), 0) == (
        "all 2 hosts that are left fail: b.example has failed 1 time in a row (http-4xx) and asked for a pause"
        " (Retry-After): it is asked again in 59 min; no pause is longer than 7200 s (politeness.max_rest)"
    )
