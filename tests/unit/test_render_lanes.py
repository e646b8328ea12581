"""Which lane a page waits in, and which lane gets the next place of a browser."""

from __future__ import annotations

import pytest

from fscrawl.render.lanes import HostTimes, Lane
from fscrawl.render.places import Place, Places, gives_way

HOST = "a.example"


@pytest.mark.parametrize(
    ("seconds", "lane"),
    [([], Lane.NEW), ([0.5], Lane.QUICK), ([3.0], Lane.QUICK), ([3.1], Lane.MIDDLE), ([30.0], Lane.SLOW)],
)
def test_lanes(seconds: list[float], lane: Lane) -> None:
    times = HostTimes()
    for each in seconds:
        times.note(HOST, each)
    assert times.lane(HOST) is lane
    assert times.lane("b.example") is Lane.NEW


def test_a_host_stays_slow_until_several_pages_were_quick() -> None:
    """A hostile page between quick ones does not make its host quick again at once; a host that was slow once may."""
    times = HostTimes()
    times.note(HOST, 30.0)
    lanes = []
    for _ in range(9):
        times.note(HOST, 0.5)
        lanes.append(times.lane(HOST))
    assert lanes == [Lane.SLOW] * 3 + [Lane.MIDDLE] * 3 + [Lane.QUICK] * 3


def test_one_place_is_kept_for_quick_pages() -> None:
    places = Places(4)
    places.leave(places.take(Lane.QUICK, 0.0), 0.5)
    for now in (1.0, 2.0, 3.0):
        assert Lane.SLOW in places.order(now)
        places.take(Lane.SLOW, now)
    assert places.order(4.0) == [Lane.QUICK]
    place = places.take(Lane.QUICK, 4.0)
    assert places.order(5.0) == []
    places.leave(place, 5.0)
    assert places.order(6.0) == [Lane.QUICK]
    assert Lane.SLOW in places.order(64.1)  # there has been no quick page for a minute


def test_nothing_is_kept_if_no_page_is_quick() -> None:
    places = Places(2)
    for now in (1.0, 2.0):
        assert Lane.SLOW in places.order(now)
        places.take(Lane.SLOW, now)
    assert places.order(3.0) == []


def test_a_quick_page_that_turns_out_slow() -> None:
    """Its place does not count as the one for quick pages: the next free one does."""
    places = Places(2)
    places.take(Lane.QUICK, 0.0)
    assert len(places.order(2.0)) == 4
    assert places.order(4.0) == [Lane.QUICK]


def _before(order: list[Lane], one: Lane, other: Lane) -> bool:
    return order.index(one) < order.index(other)


def test_a_single_place_goes_round() -> None:
    """Nothing can be kept of it. After a slow page, quick ones have it for longer than the slow one had."""
    places = Places(1)
    places.leave(places.take(Lane.QUICK, 0.0), 1.0)
    places.leave(places.take(Lane.SLOW, 1.0), 31.0)
    now, quick = 31.0, 0
    while _before(places.order(now), Lane.QUICK, Lane.SLOW):
        places.leave(places.take(Lane.QUICK, now), now + 1.0)
        now, quick = now + 1.0, quick + 1
    assert 60 < quick < 180


def test_all_lanes_have_their_share() -> None:
    """Where pages wait in all of them for an hour, none starves, and the quick ones have the most."""
    places, now = Places(3), 0.0
    takes_s = {Lane.QUICK: 1.0, Lane.NEW: 3.0, Lane.MIDDLE: 8.0, Lane.SLOW: 30.0}
    had_s = dict.fromkeys(Lane, 0.0)
    taken: list[tuple[float, Place]] = []
    while now < 3600:
        while order := places.order(now):
            taken.append((now + takes_s[order[0]], places.take(order[0], now)))
            had_s[order[0]] += takes_s[order[0]]
        now, place = min(taken, key=lambda each: each[0])
        taken.remove((now, place))
        places.leave(place, now)
    whole_s = sum(had_s.values())
    assert had_s[Lane.QUICK] > 0.35 * whole_s
    assert all(0.08 < each / whole_s < 0.4 for lane, each in had_s.items() if lane is not Lane.QUICK)


def test_who_gives_way() -> None:
    """The page that is longest over the time of its lane; a slow one never, or it would never be done."""
    new, quick, slow = Place(Lane.NEW, 0.0), Place(Lane.QUICK, 0.0), Place(Lane.SLOW, 0.0)
    assert gives_way([], 1.0) is None
    assert gives_way([new, quick, slow], 2.9) is None
    assert gives_way([new, quick, slow], 100.0) is new
    assert gives_way([quick, slow], 100.0) is quick
    assert gives_way([slow], 1e9) is None
