"""Errors that mean that there are no more processes or threads."""

import threading

import pytest

from fscrawl.errors import FscrawlError
from fscrawl.util.at_limit import ADVICE, as_our_error, beside


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), BlockingIOError(11, "try again")])
def test_it_is_said(error):
    """They become one line that says what helps."""
    with pytest.raises(FscrawlError) as caught, as_our_error():
        raise error
    assert str(caught.value) == ADVICE


@pytest.mark.parametrize(
    "error", [RuntimeError("a mistake"), BlockingIOError(11, "try again", "a file"), ValueError("no")]
)
def test_others_stay(error):
    """What is about something else is not hidden."""
    with pytest.raises(type(error)) as caught, as_our_error():
        raise error
    assert caught.value is error


def test_beside():
    """What may hang is done in a thread of its own, and is waited for only so long."""
    done = []
    beside(lambda: done.append(threading.current_thread()), 20.0)
    assert done[0] is not threading.current_thread()
    beside(threading.Event().wait, 0.01)


def test_beside_without_a_thread(monkeypatch):
    """Without a thread it is done all the same; another error is not hidden."""
    done = []

    def start(_):
        raise RuntimeError(said)

    monkeypatch.setattr(threading.Thread, "start", start)
    said = "can't start new thread"
    beside(lambda: done.append(threading.current_thread()), 20.0)
    assert done == [threading.current_thread()]
    said = "threads can only be started once"
    with pytest.raises(RuntimeError, match="only be started once"):
        beside(lambda: None, 20.0)
