"""A set of fingerprints."""

import pytest

from fscrawl.frontier.seen import SeenSet


@pytest.mark.parametrize("fingerprint", [0, 1, 2**48 - 1, 2**48, 2**64 - 1])
def test_ends_of_the_range(fingerprint):
    """The least and the greatest numbers are numbers like any other."""
    seen = SeenSet()
    assert fingerprint not in seen
    assert seen.add(fingerprint)
    assert fingerprint in seen
    assert not seen.add(fingerprint)
    assert len(seen) == 1


def test_neighbours():
    """Numbers that share a bucket are kept apart, whichever comes first."""
    seen = SeenSet()
    assert [seen.add(number) for number in (5, 3, 4, 5, 2**63)] == [True, True, True, False, True]
    assert [number in seen for number in (2, 3, 4, 5, 6)] == [False, True, True, True, False]
    assert len(seen) == 4


def test_too_large():
    """A number beyond 64 bits is an error, not a wrong answer."""
    with pytest.raises(IndexError):
        SeenSet().add(2**64)


def test_many():
    """What was added stays when the set outgrows its first buckets, and nothing else seems to be there."""
    seen = SeenSet()
    numbers = [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(20_000)]
    assert all(seen.add(number) for number in numbers)
    assert not any(seen.add(number) for number in numbers)
    assert len(seen) == 20_000
    assert not any(number + 1 in seen for number in numbers)
