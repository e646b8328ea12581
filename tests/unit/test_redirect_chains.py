"""How many redirects in a row a worker follows, by what it remembers of them."""

from __future__ import annotations

import pytest

from fscrawl import urls
from fscrawl.frontier.task import PageTask
from fscrawl.handlers import redirect_chains
from fscrawl.handlers.redirect_chains import MOST_IN_A_ROW, RedirectChains
from fscrawl.http.answers import Failed, Fetched

MOVED = Fetched(302, {"location": "/"}, None, 0.0, 0.0)


def url(number: int, host: str = "a.example") -> str:
    return f"http://{host}/r?{number}"


def add(chains: RedirectChains, source: str, target: str) -> Failed | None:
    return chains.add(PageTask(source, urls.host(source), urls.key(source), 0, "", 1), MOVED, target)


@pytest.fixture
def chains() -> RedirectChains:
    """A chain of as many redirects as may be, from page 0 on."""
    chains = RedirectChains()
    assert [add(chains, url(n), url(n + 1)) for n in range(MOST_IN_A_ROW)] == [None] * MOST_IN_A_ROW
    return chains


def test_one_redirect_too_many(chains: RedirectChains) -> None:
    """The next one is a failure that no other try mends, and says where it would lead."""
    failure = add(chains, url(MOST_IN_A_ROW), url(99))
    assert failure is not None
    assert (failure.class_, failure.retry, failure.status, failure.headers) == ("redirects", False, 302, MOVED.headers)
    assert failure.message == f"more than 20 redirects in a row: 20 have led here, and it redirects to {url(99)}"


def test_the_shortest_way_counts(chains: RedirectChains) -> None:
    """A page to which a shorter chain leads, too, may lead on."""
    assert add(chains, url(500), url(MOST_IN_A_ROW)) is None
    assert add(chains, url(MOST_IN_A_ROW), url(99)) is None


def test_a_loop_does_not_grow() -> None:
    """Pages that redirect to each other stay redirects, however often they are asked again."""
    chains = RedirectChains()
    assert {add(chains, url(n % 2), url((n + 1) % 2)) for n in range(100)} == {None}


def test_other_pages_are_not_concerned(chains: RedirectChains) -> None:
    """A chain bounds no other one."""
    assert add(chains, url(MOST_IN_A_ROW, "b.example"), url(99, "b.example")) is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not remembered any more counts as a beginning."""
    monkeypatch.setattr(redirect_chains, "MOST_TARGETS", 8)
    chains = RedirectChains()
    for number in range(MOST_IN_A_ROW + 2):
        assert add(chains, url(number), url(number + 1)) is None
        for other in range(20):
            assert add(chains, url(other, f"h{number}.example"), url(99 + other, f"h{number}.example")) is None
