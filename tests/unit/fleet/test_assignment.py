"""Which machine should hold which shard."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.fleet.assignment import assign, most_shards
from tests.support.effort import tries


def fleet(count: int, first: int = 0) -> list[str]:
    return [f"host-{number}-ab{number * 7919:x}" for number in range(first, first + count)]


def moved(before: list[str], after: list[str]) -> int:
    return sum(one != other for one, other in zip(before, after, strict=True))


@given(
    st.integers(0, 300),
    st.sets(st.text(max_size=8).filter(lambda name: name.isprintable()), min_size=1, max_size=40),
    st.randoms(),
)
@settings(deadline=None, max_examples=tries(200))
def test_loads_are_bounded(shards, machines, rng):
    """Each shard has a machine, none has more than a quarter above its part, and the order of machines is nothing."""
    assigned = assign(shards, machines)
    assert len(assigned) == shards
    assert set(assigned) <= machines
    assert max(Counter(assigned).values(), default=0) <= most_shards(shards, len(machines))
    shuffled = [*machines, *machines]
    rng.shuffle(shuffled)
    assert assign(shards, shuffled) == assigned


def test_every_machine_has_work():
    """Of 512 shards each of 100 machines has its part: none has 1.5 times as many as the mean."""
    loads = Counter(assign(512, fleet(100)))
    assert max(loads.values()) <= 7
    assert len(loads) >= 97


@pytest.mark.parametrize(("shards", "count"), [(256, 3), (512, 10), (512, 40), (512, 100)])
def test_few_shards_move_on_a_join(shards, count):
    """When a machine joins, it gets its part, and few other shards move; when it leaves, all is as it was before."""
    total = 0
    for each in range(8):
        before = assign(shards, fleet(count, each * 1000))
        joined = [*fleet(count, each * 1000), f"new-{each}"]
        after = assign(shards, joined)
        total += moved(before, after)
        assert assign(shards, joined[:-1]) == before
    assert total / 8 <= 2 * shards / (count + 1) + 2


def test_two_machines_share_alike():
    """Two machines have nearly the same: at most five eighths each."""
    loads = Counter(assign(512, fleet(2)))
    assert min(loads.values()) >= 512 * 3 // 8


def test_it_is_cheap():
    """512 shards and 100 machines take milliseconds."""
    assign(8, fleet(2))
    began = time.process_time()
    assign(512, fleet(100))
    assert time.process_time() - began < 0.1
