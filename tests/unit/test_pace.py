"""How fast a host may be asked. Time is an argument, so no test waits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.config.settings import PolitenessSettings
from fscrawl.politeness.pace import Pace


def polite(**settings) -> PolitenessSettings:
    return PolitenessSettings(**{"delay": 1.0, "max_delay": 60.0, **settings})


def failing(pace, times, settings, now=0.0, every_s=0.0):
    """Let a host fail so many times; give what it rests after each."""
    return [pace.failed(now + n * every_s, settings) for n in range(times)]


def test_delay_of_a_host_that_does_well():
    """A host that answers at once is asked as often as the settings say."""
    pace = Pace()
    for _ in range(50):
        pace.answered(0.01)
    assert pace.delay_s(polite()) == 1.0


@pytest.mark.parametrize(("asked_s", "delay_s"), [(0.5, 2.0), (7.0, 7.0), (9999.0, 60.0), (math.inf, 60.0)])
def test_delay_that_robots_asks_for(asked_s, delay_s):
    """robots.txt may ask for more than the settings, up to max_delay, and never for less."""
    pace = Pace()
    pace.robots_delay_s = asked_s
    assert pace.delay_s(polite(delay=2.0)) == delay_s
    assert pace.delay_s(polite(delay=2.0, adaptive=False)) == delay_s


def test_delay_that_is_longer_than_max_delay():
    """max_delay bounds what is added, not the delay that somebody has set."""
    pace = Pace()
    failing(pace, 20, polite())
    assert pace.delay_s(polite(delay=90.0)) == 90.0


def test_each_failure_doubles():
    """Each failure doubles the delay, up to max_delay."""
    pace, delays = Pace(), []
    for _ in range(8):
        delays.append(pace.delay_s(polite()))
        pace.failed(0.0, polite())
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


def test_doubling_has_an_end():
    """A host is never slowed down by more than 64 times, so that it comes back within two dozen answers."""
    pace = Pace()
    failing(pace, 1000, polite())
    assert pace.delay_s(polite(max_delay=1e9)) == 64


def test_answers_bring_the_delay_back_slowly():
    """Four answers take back what one failure has added, bit by bit."""
    pace = Pace()
    failing(pace, 2, polite())
    delays = []
    for _ in range(8):
        pace.answered(0.0)
        delays.append(pace.delay_s(polite()))
    assert delays == sorted(delays, reverse=True)
    assert (delays[3], delays[7]) == (2.0, 1.0)


def test_slow_host():
    """A host that takes longer to answer than the delay is asked no faster than it answers, on average."""
    pace = Pace()
    pace.answered(3.0)
    assert pace.delay_s(polite()) == 3.0
    pace.answered(8.0)
    assert pace.delay_s(polite()) == pytest.approx(4.0)
    for _ in range(60):
        pace.answered(0.1)
    assert pace.delay_s(polite()) == 1.0


def test_no_delay_stays_none():
    """With a delay of 0 (a site of one's own) neither failures nor latency make one."""
    pace = Pace()
    pace.answered(5.0)
    failing(pace, 5, polite(delay=0.0))
    assert pace.delay_s(polite(delay=0.0)) == 0.0


def test_not_adaptive():
    """Without adaptive the delay is what settings and robots.txt say, whatever happens."""
    pace = Pace()
    pace.answered(5.0)
    failing(pace, 5, polite())
    assert pace.delay_s(polite(adaptive=False)) == 1.0


# -- the circuit breaker


def test_breaker():
    """After ten failures in a row a host rests, and each further one doubles that, up to max_rest."""
    settings = polite(give_up_after=1e9, max_rest=100.0)
    assert failing(Pace(), 15, settings) == [0.0] * 9 + [10.0, 20.0, 40.0, 80.0, 100.0, 100.0]


def test_success_resets_the_breaker():
    """One answer, and it takes ten failures again."""
    settings = polite(give_up_after=1e9)
    pace = Pace()
    failing(pace, 12, settings)
    pace.answered(0.1)
    assert pace.failures == 0
    assert failing(pace, 10, settings) == [0.0] * 9 + [10.0]


def test_failures_that_were_not_its_own():
    """What failed because the network was gone is forgotten, but not how slow the host was."""
    pace = Pace()
    failing(pace, 12, polite())
    pace.forget_failures()
    assert (pace.failures, pace.should_give_up(1e9, polite())) == (0, False)
    assert pace.delay_s(polite()) == 60.0


def test_at_once():
    """A host whose robots.txt cannot be had rests at the first failure: there is nothing else to ask it for."""
    assert Pace().failed(0.0, polite(), at_once=True) == 10.0


def test_rest_ends_when_hope_does():
    """A pause is no longer than what is left until the host is given up."""
    settings = polite(give_up_after=15.0)
    pace = Pace()
    assert failing(pace, 10, settings)[-1] == 10.0
    assert pace.failed(10.0, settings) == 5.0
    assert not pace.should_give_up(10.0, settings)
    pace.failed(15.0, settings)
    assert pace.should_give_up(15.0, settings)


def test_failures_without_a_pause_are_not_hopeless():
    """However long a host has been failing, it is not given up before it was let rest and failed once more."""
    settings = polite(give_up_after=60.0)
    pace = Pace()
    failing(pace, 9, settings, every_s=100.0)
    assert not pace.should_give_up(10_000.0, settings)
    pace.failed(10_000.0, settings)
    assert pace.should_give_up(10_000.0, settings)


def test_host_that_says_later_for_ever():
    """A host that asks for a rest after each is not asked ten times: it has had the longest rest that there is."""
    settings = polite(give_up_after=60.0, max_rest=3600.0)
    pace = Pace()
    failing(pace, 1, settings)
    assert not pace.should_give_up(3599.0, settings, asks_for_rest=True)
    assert pace.should_give_up(3600.0, settings, asks_for_rest=True)
    assert not pace.should_give_up(3600.0, settings)
    patient = polite(give_up_after=7200.0, max_rest=3600.0)
    assert not pace.should_give_up(7199.0, patient, asks_for_rest=True)
    assert pace.should_give_up(7200.0, patient, asks_for_rest=True)


def test_answer_brings_hope():
    """A host that answered is not hopeless; the time counts from its next failure."""
    settings = polite(give_up_after=60.0)
    pace = Pace()
    failing(pace, 10, settings)
    pace.answered(0.1)
    pace.failed(100.0, settings)
    assert not pace.should_give_up(159.0, settings)


def test_host_that_is_waited_for_for_ever():
    """With a give_up_after that never comes, thousands of pauses are each max_rest."""
    settings = polite(give_up_after=1e9, max_rest=1.0)
    assert set(failing(Pace(), 3000, settings)[10:]) == {1.0}


@given(
    st.floats(0, 100),
    st.floats(0, 1000),
    st.floats(0, 1e6),
    st.booleans(),
    st.lists(st.one_of(st.floats(0, 100), st.none()), max_size=60),
)
def test_bounds(delay_s, max_delay_s, asked_s, adaptive, history):
    """Whatever a host does, its delay is between what was asked for and max_delay, and its pauses within max_rest."""
    settings = polite(delay=delay_s, max_delay=max_delay_s, adaptive=adaptive, max_rest=50.0, give_up_after=200.0)
    pace, now = Pace(), 0.0
    pace.robots_delay_s = asked_s
    least = max(delay_s, min(asked_s, max_delay_s))
    for latency_s in history:  # None: a failure
        now += 3.0
        if latency_s is None:
            assert 0 <= pace.failed(now, settings) <= 50.0
        else:
            pace.answered(latency_s)
            assert not pace.should_give_up(now, settings)
        assert least <= pace.delay_s(settings) <= max(least, max_delay_s)
        assert pace.delay_s(settings) == least or (adaptive and least > 0)
