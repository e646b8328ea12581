"""Waiting for a file system: what is tried again, for how long, and what is said meanwhile."""

import errno
import os
from types import SimpleNamespace

import pytest

from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.storage import retrying as module
from fscrawl.storage.retrying import Retrying


def fault(code):
    return OSError(code, os.strerror(code))


class Call:
    """Fails with the faults it is given, one a call, then gives 7; `tried_at`: when it was called."""

    def __init__(self, clock, *faults):
        self.faults, self.clock, self.tried_at = list(faults), clock, []

    def __call__(self):
        self.tried_at.append(self.clock.now)
        if self.faults:
            raise self.faults.pop(0)
        return 7


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)

    def sleep(seconds):
        assert seconds > 0
        clock.now += seconds

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    return clock


def test_success(clock):
    """A call that succeeds is made once."""
    call = Call(clock)
    assert (Retrying(5)("/t", call), Retrying(5).find("/t", call, None), call.tried_at) == (7, 7, [100.0, 100.0])


def test_passing(clock):
    """Faults that pass are waited out, with pauses that grow to two seconds."""
    call = Call(clock, *[fault(errno.EIO)] * 12)
    assert Retrying(60)("/t", call) == 7
    pauses = [b - a for a, b in zip(call.tried_at, call.tried_at[1:], strict=False)]
    assert (pauses[0], pauses[-1]) == (pytest.approx(0.02), pytest.approx(2))
    assert pauses == sorted(pauses)


def test_in_vain(clock):
    """A fault that outlasts the limit is an error that names path, fault and how long it was tried."""
    call = Call(clock, *[fault(errno.EIO)] * 1000)
    with pytest.raises(TreeBusyError, match=r"/t: the file system reports an input/output error.* \(tried for 5 s\)"):
        Retrying(5)("/t", call)
    assert clock.now == pytest.approx(105)


def test_no_retrying(clock):
    """With a limit of zero a passing fault is an error at once."""
    call = Call(clock, fault(errno.ESTALE))
    with pytest.raises(TreeBusyError, match=r"stale handle.*again"):
        Retrying(0)("/t", call)
    assert (len(call.tried_at), clock.now) == (1, 100)


@pytest.mark.parametrize("before", [0, 2])
def test_not_passing(clock, before):
    """What somebody has to mend is an error at once, also when it comes after a fault that passes."""
    for ask in (lambda call: Retrying(9)("/t", call), lambda call: Retrying(9).find("/t", call, None)):
        call = Call(clock, *[fault(errno.EIO)] * before, fault(errno.ENOSPC))
        with pytest.raises(TreeError, match="disk is full") as caught:
            ask(call)
        assert (type(caught.value), len(call.tried_at)) == (TreeError, before + 1)


@pytest.mark.parametrize("before", [0, 1, 2])
def test_missing(clock, before):
    """A file that is not there is told as it was asked for, also after a fault; elsewhere it is an error."""
    faults = [*[fault(errno.ESTALE)] * before, fault(errno.ENOENT)]
    assert Retrying(9).find("/t", Call(clock, *faults), "none") == "none"
    with pytest.raises(TreeError) as caught:
        Retrying(9)("/t", Call(clock, *faults))
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_not_worth_waiting(clock):
    """Who wants to leave, or may not go on, waits no longer."""
    asked = []

    def may_wait():
        asked.append(clock.now)
        return clock.now < 101

    with pytest.raises(TreeBusyError):
        Retrying(60, may_wait)("/t", Call(clock, *[fault(errno.EIO)] * 1000))
    assert 101 <= clock.now < 101.3
    assert len(asked) >= 5


def test_what_is_said(clock):
    """A long wait is told when it begins and when it is over, once each; a hiccup is not worth a word."""
    told = []
    Retrying(60, warn=told.append)("/t", Call(clock, *[fault(errno.ESTALE)] * 3))
    assert told == []
    Retrying(60, warn=told.append)("/t", Call(clock, *[fault(errno.EIO)] * 15))
    assert len(told) == 2
    assert "input/output error" in told[0]
    assert "trying again, for 60 s" in told[0]
    assert "answers again" in told[1]


def test_a_word_for_all_threads(clock):
    """Of calls that wait at the same time one is told of, and the end of the last."""
    told = []
    retrying = Retrying(60, warn=told.append)
    inner = Call(clock, *[fault(errno.EIO)] * 12)
    outer = Call(clock, *[fault(errno.EIO)] * 12)

    def call():
        if len(outer.tried_at) == 8:
            retrying("/inner", inner)
        return outer()

    assert retrying("/outer", call) == 7
    assert [text.partition(":")[0] for text in told] == ["/outer", "the tree answers again, after 25 s"]
