"""What is known of URLs, by fingerprint: known, told, there, settled."""

from array import array

import pytest

from fscrawl.frontier.url_table import UrlState, UrlTable


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("fingerprint", [0, 1, 15, 16, 2**60 - 1, 2**60, 2**64 - 1])
def test_ends_of_the_range(fingerprint, deep):
    """The least and the greatest numbers are numbers like any other."""
    table = UrlTable(deep=deep)
    assert table.state(fingerprint) == UrlState(None, None, there=False)
    assert table.known(fingerprint, 0)
    assert not table.known(fingerprint, 0)
    assert table.state(fingerprint) == UrlState(0, None, there=False)
    assert len(table) == 1


def test_neighbours():
    """Numbers that share a bucket are kept apart, whichever comes first."""
    table = UrlTable()
    numbers = (5, 3, 4, 5, 2**63, 5 + 2**60)
    assert [table.known(number, 0) for number in numbers] == [True, True, True, False, True, True]
    assert [table.state(number).known for number in (2, 3, 4, 5, 6)] == [None, 0, 0, 0, None]
    assert len(table) == 5


def test_too_large():
    """A number beyond 64 bits is an error, not a wrong answer."""
    with pytest.raises(IndexError):
        UrlTable().known(2**64, 0)


@pytest.mark.parametrize("deep", [False, True])
def test_many(deep):
    """What was added stays when the table outgrows its first buckets, and nothing else seems to be there."""
    table = UrlTable(deep=deep)
    numbers = [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(10_000)]
    assert all(table.known(number, number % 7) for number in numbers)
    assert not any(table.known(number, 7) for number in numbers)
    assert len(table) == 10_000
    assert all(table.state(number).known == (number % 7 if deep else 0) for number in numbers)
    assert not any(table.state(number + 1).known is not None for number in numbers)


@pytest.mark.parametrize("deep", [False, True])
def test_many_that_are_learned(deep):
    """So does what is learned on the way into the frontier; each is wanted once."""
    table = UrlTable(deep=deep)
    numbers = [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(10_000)]
    assert all(table.learn(number, 3, wanted_again=False) == (True, True) for number in numbers)
    assert not any(any(table.learn(number, 3, wanted_again=False)) for number in numbers)
    assert len(table) == 10_000


def test_each_state_alone():
    """Known, told and there are learned apart, in any order."""
    table = UrlTable()
    table.mark_there(1)
    table.told(2, 0)
    assert table.state(1) == UrlState(None, None, there=True)
    assert table.state(2) == UrlState(None, 0, there=False)
    assert (table.known(1, 0), table.known(2, 0)) == (True, True)
    assert (table.settled(1), table.settled(2), table.settled(3)) == (False, True, False)
    assert len(table) == 2


def test_a_shallow_table_keeps_no_depths():
    """Without max_depth a shorter way is no news, and what was told stays settled."""
    table = UrlTable()
    table.known(1, 5)
    table.told(1, 5)
    assert (table.known(1, 2), table.settled(1), table.settled(1, 0)) == (False, True, True)


def test_a_deep_table_lowers_depths():
    """Known and told depths only fall. What was told too deep is not settled."""
    table = UrlTable(deep=True)
    assert [table.known(1, depth) for depth in (5, 6, 4)] == [True, False, True]
    table.told(1, 5)
    assert (table.state(1), table.settled(1)) == (UrlState(4, 5, there=False), False)
    table.told(1, 4)
    table.told(1, 9)
    assert (table.state(1), table.settled(1)) == (UrlState(4, 4, there=False), True)
    assert (table.settled(1, 4), table.settled(1, 3)) == (True, False)


def test_told_before_it_is_known():
    """A log may say that a URL was told before another one says that it is known."""
    table = UrlTable(deep=True)
    table.told(1, 3)
    assert table.settled(1)
    table.known(1, 4)
    assert table.settled(1)
    table.known(1, 2)
    assert not table.settled(1)


def test_absurd_depths():
    """A depth that does not fit counts as the greatest that does: a line of a log cannot stop the crawl."""
    table = UrlTable(deep=True)
    assert table.known(1, 10**9)
    table.told(1, 10**9)
    table.told(2, 10**9)
    assert (table.settled(1), table.known(1, 3), table.settled(1)) == (True, True, False)


@pytest.mark.parametrize("deep", [False, True])
def test_load(deep):
    """Many URLs are taken in at once, into an empty table or into one that knows some of them or others."""
    numbers = sorted(n * 0x9E3779B97F4A7C15 % 2**64 for n in range(9_000))
    table = UrlTable(deep=deep)
    half = len(numbers) // 2
    for part in (numbers[:half], numbers[half:], numbers[100:200]):
        table.load(array("Q", part), array("H", [4] * len(part)), array("H", [5] * len(part)))
    assert len(table) == len(numbers)
    assert table.state(numbers[0]) == (UrlState(4, 5, there=False) if deep else UrlState(0, 0, there=False))
    assert all(table.settled(number) != deep for number in numbers)
    table.mark_there(7)
    table.load(array("Q", [7, 8]), array("H", [0, 0]), array("H", [0, 0]))
    assert (table.state(7), table.settled(8)) == (UrlState(0, 0, there=True), True)


@pytest.mark.parametrize("fingerprints", [[1, 1], [2, 1]])
def test_load_in_disorder(fingerprints):
    """What does not ascend is refused: the table would not find it again."""
    table = UrlTable()
    with pytest.raises(ValueError, match="ascend"):
        table.load(array("Q", fingerprints))
    assert len(table) == 0


@pytest.mark.parametrize("deep", [True, False])
def test_learn(deep):
    """What is told before it is known is news, but nothing is left to do; what is wanted again is both."""
    table = UrlTable(deep=deep)
    table.told(1, 2)
    assert table.learn(1, 2, wanted_again=False) == (True, False)
    assert table.learn(1, 2, wanted_again=False) == (False, False)
    assert table.learn(1, 2, wanted_again=True) == (True, True)
    assert table.learn(2, 2, wanted_again=False) == (True, True)
    assert table.learn(2, 2, wanted_again=False) == (False, False)


@pytest.mark.parametrize("deep", [True, False])
def test_failed(deep):
    """A failure settles a URL at any depth, until its links are told, or were told at a depth that is too great."""
    table = UrlTable(deep=deep)
    table.known(1, 3)
    table.failed(1)
    assert (table.settled(1), table.settled(1, 0), table.state(1).is_settled) == (True, True, True)
    assert (table.told_enough(1), table.settled(2), len(table)) == (False, False, 1)
    table.known(1, 1)
    assert table.settled(1)
    table.told(1, 2)
    assert table.settled(1) is table.state(1).is_settled is table.told_enough(1) is not deep
    table.told(1, 1)
    assert table.told_enough(1)
