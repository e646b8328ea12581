"""Connections that wait for their next request."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor

import pytest

from fscrawl.http import connections as ways
from fscrawl.http.connections import IDLE_S, Kept


class Connection:
    """Stands in for a connection. `closed`: how often it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(ways.time, "monotonic", lambda: self.now)


def connections(count: int) -> list[Connection]:
    return [Connection() for _ in range(count)]


def test_the_last_one_is_used_first() -> None:
    """A host gets its own connections back, that of the last exchange first, and each once."""
    kept = Kept(per_host=4)
    one, two, other = connections(3)
    kept.put("a", one)
    kept.put("b", other)
    kept.put("a", two)
    assert [kept.pop("a") for _ in range(3)] == [two, one, None]
    assert kept.pop("c") is None
    assert (len(kept), one.closed, other.closed) == (1, 0, 0)


def test_limit_of_a_host() -> None:
    """Beyond its limit a host's further connections are closed."""
    kept = Kept(per_host=2)
    made = connections(3)
    for each in made:
        kept.put("a", each)
    assert [each.closed for each in made] == [0, 0, 1]
    assert [kept.pop("a") for _ in range(3)] == [made[1], made[0], None]


def test_limit_of_all() -> None:
    """Beyond the limit of all, what comes is closed: hosts that take turns find those that were there."""
    kept = Kept(per_host=2, most=3)
    made = connections(5)
    for host, each in enumerate(made):
        kept.put(host, each)
    assert [each.closed for each in made] == [0, 0, 0, 1, 1]
    assert [kept.pop(host) for host in range(5)] == [*made[:3], None, None]
    assert len(kept) == 0


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has waited for too long is closed by the next exchange of any host, and by `expire`."""
    clock = Clock(monkeypatch)
    kept = Kept(per_host=2)
    one, two, three = connections(3)
    kept.put("a", one)
    clock.now += IDLE_S / 2
    kept.put("b", two)
    clock.now += IDLE_S / 2
    assert kept.pop("c") is None
    assert (one.closed, two.closed) == (1, 0)
    kept.put("c", three, 3600.0)
    clock.now += IDLE_S
    kept.expire()
    assert (two.closed, three.closed, len(kept)) == (1, 1, 0)


def test_what_the_server_gives_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that may wait for less is not used after that, even behind others; one that may not is closed."""
    clock = Clock(monkeypatch)
    kept = Kept(per_host=2)
    long, short, none = connections(3)
    kept.put("a", long)
    kept.put("a", short, 4.0)
    kept.put("b", none, 0.0)
    assert none.closed == 1
    clock.now += 4.0
    assert kept.pop("a") is long
    assert (short.closed, long.closed, len(kept)) == (1, 0, 0)


def test_closing() -> None:
    """When all is closed, so is what comes back later."""
    kept = Kept(per_host=2)
    one, late = connections(2)
    kept.put("a", one)
    kept.close()
    kept.put("a", late)
    assert (one.closed, late.closed, kept.pop("a")) == (1, 1, None)


def test_many_hosts() -> None:
    """However many hosts come and go, no more is remembered than the limit says; threads get each connection once."""
    kept = Kept(per_host=2, most=50)
    made = connections(2000)

    def use(number: int) -> None:
        kept.put(number % 97, made[number])
        found = kept.pop(number % 89)
        if found is not None:
            found.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(2000)))
    assert len(kept) <= 50
    assert len(kept._of_way) <= 50
    kept.close()
    assert {each.closed for each in made} == {1}


@pytest.mark.parametrize(("limit", "most"), [(1024, 256), (10**6, ways.MOST), (-1, ways.MOST), (2, 1)])
def test_open_files(monkeypatch: pytest.MonkeyPatch, limit: int, most: int) -> None:
    """A quarter of the files that a process may have open is for connections that wait."""
    assert resource.RLIM_INFINITY == -1
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert ways.most_kept() == most


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, IDLE_S),
        ("", IDLE_S),
        ("max=5", IDLE_S),
        ("timeout=5", 4.0),
        ("max=100, Timeout = 5", 4.0),
        ('timeout="5"', 4.0),
        ("timeout=0", 0.0),
        ("timeout=" + "9" * 5000, IDLE_S),
        ("timeout=-1", IDLE_S),
        ("notimeout=5", IDLE_S),
    ],
)
def test_keep_alive(header: str | None, seconds: float) -> None:
    """The header Keep-Alive may shorten the time, in whatever way it is written; it never lengthens it."""
    assert ways.idle_s(header) == seconds
