"""A packed table beside a dictionary."""

import random

from hypothesis import given
from hypothesis import strategies as st

from fscrawl.frontier import hosts as module
from fscrawl.frontier.hosts import Rows

KEYS = st.integers(0, 2**64 - 1) | st.integers(0, 5)


@given(st.lists(st.tuples(st.sampled_from(["put", "take", "get"]), KEYS, st.binary(min_size=3, max_size=3))))
def test_like_a_dictionary(steps):
    """Rows are put, replaced, got and taken as in a dictionary."""
    rows, expected = Rows(3), {}
    for what, key, row in steps:
        if what == "put":
            rows.put(key, row)
            expected[key] = row
        elif what == "take":
            assert rows.take(key) == expected.pop(key, None)
        else:
            assert rows.get(key) == expected.get(key)
        assert len(rows) == len(expected)
    assert list(rows) == [expected[key] for key in sorted(expected)]


def test_many(monkeypatch):
    """However many rows there are, in however many buckets, each is found."""
    monkeypatch.setattr(module, "_CROWDED", 4)
    rows, rng = Rows(8), random.Random(1)
    keys = [rng.getrandbits(64) for _ in range(3000)]
    for key in keys:
        rows.put(key, key.to_bytes(8))
    assert len(rows._buckets) == 4096
    assert all(rows.get(key) == key.to_bytes(8) for key in keys)
    assert [int.from_bytes(row) for row in rows] == sorted(keys)
    assert all(rows.take(key) == key.to_bytes(8) for key in keys)
    assert len(rows) == 0
