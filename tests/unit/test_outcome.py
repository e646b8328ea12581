"""Outcomes cross a pipe: what is sent is what arrives."""

import pickle

import pytest

from fscrawl.frontier.flags import NO_FLAGS, SITEMAP, Flags
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.handlers.outcome import (
    Exchange,
    FailedForGood,
    FailedForNow,
    Known,
    Returned,
    RobotsKnown,
    Stored,
    Unchanged,
)

PAGE = PageTask("http://a.example/x", "a.example", "0" * 24, 2, "f" * 24, 1, check=False, flags=Flags(SITEMAP))
ROBOTS = RobotsTask("http://a.example/x", "a.example", 2)
EXCHANGE = Exchange(5.0, "failing", 0.25, 7.0, 4.0)


@pytest.mark.parametrize(
    "outcome",
    [
        Stored(PAGE, EXCHANGE, "other", 200, 99, ("http://a.example/y",), {"scope": 2}, ("http://a.example/s",)),
        Stored(PAGE, EXCHANGE, "page", 200),
        Stored(PAGE, EXCHANGE, "page", 200, generation=1),
        Unchanged(PAGE, EXCHANGE, 304, links=("http://a.example/y",), generation=1),
        Known(PAGE),
        Known(PAGE, ("http://a.example/y",), generation=1),
        Known(PAGE, failed_at="2026-01-02T03:04:05.678Z"),
        Known(PAGE._replace(flags=NO_FLAGS)),
        FailedForGood(PAGE, None, "robots", "not allowed", failed_at="2026-01-02T03:04:05.678Z"),
        FailedForNow(ROBOTS, EXCHANGE, "dns", "no such host"),
        RobotsKnown(ROBOTS, EXCHANGE, 2.5),
        Returned(PAGE, 5.0),
    ],
)
def test_an_outcome_arrives_as_it_was_sent(outcome):
    """Type and fields are the same after pickling, also those of the task and the exchange in it."""
    arrived = pickle.loads(pickle.dumps([outcome]))[0]
    assert arrived == outcome
    assert [type(field) for field in (arrived, *arrived)] == [type(field) for field in (outcome, *outcome)]
