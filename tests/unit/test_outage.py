"""Whether it is the hosts or the network. Time is an argument, so no test waits."""

import itertools

import pytest

from fscrawl.politeness.outage import Outage


def silence(outage, failures, hosts, now=0.0, took=1.0):
    """Let so many exchanges of so many hosts get no answer; give at which of them an outage began (from 1), or None."""
    for n in range(failures):
        name = f"dead{n % hosts}"
        if outage.unanswered(name, now - took, now):
            return n + 1
    return None


def answered(outage, host="live", at=-1.0):
    return outage.answered(host, f"http://{host}.example/", at)


def whom(outage, now, may_ask=lambda host: True):
    """Give whom the probe asks that is due; None if none is. `may_ask`: tells it of a host, "any" for any other."""
    return outage.probe(now, lambda proven: name if may_ask(name := proven.host if proven else "any") else None)


@pytest.mark.parametrize(("failures", "hosts", "began"), [(9, 9, None), (99, 4, None), (10, 5, 10), (99, 20, 10)])
def test_beginning(failures, hosts, began):
    """An outage begins with the tenth failure in a row, if five hosts or more are silent."""
    outage = Outage()
    assert silence(outage, failures, hosts) == began
    assert outage.is_on == (began is not None)


def test_five_hosts():
    """Where the fifth host falls silent late, the outage begins with it."""
    outage = Outage()
    assert silence(outage, 50, 4) is None
    assert outage.unanswered("dead5", 0.0, 1.0)
    assert sorted(outage.silent_hosts) == ["dead0", "dead1", "dead2", "dead3", "dead5"]


def test_an_answer_in_between():
    """Failures with an answer in between are the hosts' own."""
    outage = Outage()
    for _ in range(20):
        assert silence(outage, 9, 9) is None
        assert answered(outage) is False
        assert outage.silent_hosts == []


def test_timeouts_beside_answers():
    """Dead hosts that time out together, beside others that answer, are no silence however many they are."""
    outage = Outage()
    answered(outage, at=7.99)
    assert silence(outage, 100, 100, now=8.0, took=8.0) is None
    assert (outage.is_on, outage.silent_hosts) == (False, [])


def test_what_was_asked_before_the_network_went():
    """Timeouts of what was asked before the last answer count, if since then nobody has answered for long enough."""
    outage = Outage()
    answered(outage, at=0.9)
    assert silence(outage, 100, 100, now=8.0, took=8.0) == 10


@pytest.mark.parametrize(("at", "began"), [(4.1, None), (4.0, None), (3.9, 10)])
def test_latter_half(at, began):
    """The latter half of a failure's time is what counts; answers are taken in in any order."""
    outage = Outage()
    answered(outage, at=at)
    answered(outage, at=1.0)
    assert silence(outage, 10, 10, now=8.0, took=8.0) == began


def test_refusals_beside_answers():
    """Hosts that refuse within a second of an answer are no silence; with the next after it one begins."""
    outage = Outage()
    answered(outage, at=0.0)
    assert silence(outage, 100, 100, now=0.9) is None
    assert silence(outage, 1, 1, now=1.0) == 1
    assert len(outage.silent_hosts) == 100


def test_many_dead_hosts_raise_the_threshold_slowly():
    """However often dead hosts stand between two answers: what an outage takes grows with the longest row of them."""
    outage = Outage()
    for second in range(1000):
        answered(outage, at=float(second))
        assert silence(outage, 15, 15, now=second + 0.5, took=0.0) is None
    answered(outage, at=1000.0)
    assert silence(outage, 100, 100, now=1005.0) == 20


def test_refusals_of_who_answered():
    """Where a host that answered a moment ago is among those that refuse, nobody waits for a second to pass."""
    outage = Outage()
    answered(outage, at=0.0)
    assert silence(outage, 9, 9, now=0.1, took=0.0) is None
    assert outage.unanswered("live", 0.1, 0.1)


def test_end():
    """The first answer ends an outage, whoever gives it, and says so once."""
    outage = Outage()
    silence(outage, 10, 5)
    assert answered(outage, "dead3") is True
    assert (outage.is_on, outage.silent_hosts, whom(outage, 1e9)) == (False, [], None)
    assert answered(outage, "dead3") is False


def test_it_begins_once():
    """Failures during an outage do not begin another."""
    outage = Outage()
    silence(outage, 10, 5)
    assert silence(outage, 30, 10) is None


def test_probes():
    """The first probe is due at once, the others 2, 4, 8 … s apart, at most a minute."""
    outage = Outage()
    answered(outage)
    silence(outage, 10, 5, now=100.0)
    due = [now for now in range(100, 400) if whom(outage, float(now))]
    assert [b - a for a, b in itertools.pairwise(due)] == [2, 4, 8, 16, 32, 60, 60, 60]
    assert due[0] == 100


def test_nobody_to_ask():
    """Where nobody can be asked, the probe stays due."""
    outage = Outage()
    silence(outage, 10, 5, now=100.0)
    assert [whom(outage, now, lambda host: False) for now in (100.0, 100.1)] == [None, None]
    assert [whom(outage, now) for now in (100.2, 102.1, 102.3)] == ["any", None, "any"]


def test_next_outage_is_probed_as_often():
    """The pauses between probes begin anew with each outage."""
    outage = Outage()
    for start in (0.0, 1000.0):
        answered(outage)
        silence(outage, 10, 5, now=start)
        assert [bool(whom(outage, start + s)) for s in (0, 1, 2, 5, 6)] == [True, False, True, False, True]
        outage.unanswered("live", start, start)


def test_whom_a_probe_asks():
    """Hosts that have answered are asked, one after the other, the latest first; and after each, any host."""
    outage = Outage()
    for host in "abc":
        answered(outage, host)
        answered(outage, host)
    silence(outage, 10, 5)
    asked = [whom(outage, 100.0 * number) for number in range(8)]
    assert asked == ["c", "any", "b", "any", "a", "any", "c", "any"]


def test_hosts_that_may_not_be_asked_now():
    """A proven host that rests is passed by, and so is its turn; so is that of any host, if none waits."""
    outage = Outage()
    for host in "abc":
        answered(outage, host)
    silence(outage, 10, 5)
    assert whom(outage, 0.0, lambda host: host == "a") == "a"
    assert whom(outage, 100.0, lambda host: host != "any") == "c"
    assert [whom(outage, at, lambda host: host == "any") for at in (200.0, 300.0)] == ["any", "any"]
    assert whom(outage, 400.0) == "b"


@pytest.mark.parametrize("hosts", ["", "abc"])
def test_unproven(hosts):
    """Where no host that answered can be asked, an outage ends with the sixth probe, a minute after its begin.

    The next one takes far more failures.
    """
    outage = Outage()
    for host in hosts:
        answered(outage, host)
    silence(outage, 10, 5, now=0.0)
    for now in (0.0, 2.0, 6.0, 14.0, 30.0, 62.0):
        assert not outage.ends_unproven()
        assert whom(outage, now, lambda host: host == "any") == "any"
    assert [outage.ends_unproven(), outage.ends_unproven()] == [True, False]
    assert not outage.is_on
    assert silence(outage, 109, 100) is None
    assert silence(outage, 1, 1) == 1


def test_a_second_of_silence():
    """Hosts that refuse in the first second of a crawl are no silence, though no host has answered yet."""
    outage = Outage()
    assert silence(outage, 100, 100, now=0.9, took=0.9) is None
    assert silence(outage, 1, 1, now=1.1, took=0.1) == 1


def test_proven():
    """Where one can be asked again, it lasts until somebody answers."""
    outage = Outage()
    answered(outage)
    silence(outage, 10, 5, now=0.0)
    for now in (0.0, 2.0, 6.0, 14.0, 30.0):
        assert whom(outage, now, lambda host: host == "any") == "any"
    assert whom(outage, 62.0) == "live"
    for number in range(2, 20):
        assert whom(outage, 100.0 * number) in ("live", "any")
        assert not outage.ends_unproven()
    assert outage.is_on


def test_false_alarm():
    """An outage that no proven host confirms was none: the next takes twice as many failures of twice as many hosts."""
    outage = Outage()
    answered(outage)
    began = []
    for _ in range(4):
        began.append(silence(outage, 1000, 200))
        assert answered(outage)
    assert began == [10, 20, 40, 80]
    assert silence(outage, 1000, 79) is None


@pytest.mark.parametrize(("apart_s", "began"), [(1000.0, [10, 10, 10, 10]), (500.0, [10, 10, 20, 40])])
def test_true_alarm(apart_s, began):
    """One in which a proven host is silent, too, leaves the threshold as it was; but not if they come often."""
    outage = Outage()
    answered(outage)
    for number, failures in enumerate(began):
        now = number * apart_s
        assert silence(outage, 1000, 200, now) == failures
        outage.unanswered("live", now + 1.0, now + 1.0)
        assert answered(outage, at=now + 2.0)


def test_a_network_that_comes_and_goes():
    """If many hosts answer between, each outage is one, however soon it comes."""
    outage = Outage()
    for number in range(6):
        for host in "abcde":
            answered(outage, host, at=10.0 * number)
        assert silence(outage, 10, 5, now=10.0 * number + 5.0) == 10
        outage.unanswered("e", 10.0 * number + 6.0, 10.0 * number + 6.0)
        assert answered(outage, "e", at=10.0 * number + 7.0)


def test_dead_hosts_beside_a_live_one():
    """Failures that would have been enough but for the number of hosts raise the threshold when an answer comes."""
    outage = Outage()
    assert silence(outage, 10, 4) is None
    answered(outage)
    assert silence(outage, 19, 10) is None
    assert silence(outage, 1, 1) == 1
