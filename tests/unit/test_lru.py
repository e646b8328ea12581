"""A memory of limited weight."""

from fscrawl.util.lru import Lru


def test_the_least_recently_used_is_forgotten():
    """When it is full, what was not used for longest goes first; being read counts as use."""
    lru = Lru(3)
    for name in "abc":
        lru.put(name, name.upper())
    assert lru.get("a") == "A"
    lru.put("d", "D")
    assert [lru.get(name) for name in "abcd"] == ["A", None, "C", "D"]


def test_made_once():
    """What is not there is made; what is there is given, and counts as used."""
    lru, made = Lru(2), []
    for name in "abac":
        assert lru.get_or_make(name, lambda name=name: made.append(name) or name) == name
    assert made == ["a", "b", "c"]
    assert [lru.get(name) for name in "abc"] == ["a", None, "c"]


def test_weights():
    """Items count by their weights: a heavy one pushes several others out."""
    lru = Lru(10)
    for name in "abc":
        lru.put(name, 0, 3)
    lru.put("d", 0, 6)
    assert [lru.get(name) for name in "abcd"] == [None, None, 0, 0]
    assert (len(lru), lru.weight) == (2, 9)


def test_an_item_heavier_than_the_limit():
    """An item heavier than the limit is kept alone, so that it is not made again for each use."""
    lru = Lru(10)
    lru.put("a", 0, 3)
    lru.put("b", 0, 100)
    assert (lru.get("a"), lru.get("b"), lru.weight) == (None, 0, 100)
    lru.put("c", 0, 3)
    assert (lru.get("b"), lru.get("c"), lru.weight) == (None, 0, 3)


def test_replacing():
    """An item that is put again has its new value, and counts once."""
    lru = Lru(10)
    lru.put("a", 1, 3)
    lru.put("a", 2, 4)
    assert (lru.get("a"), lru.weight, len(lru)) == (2, 4, 1)


def test_many():
    """However many items come, memory has a limit."""
    lru = Lru(100)
    for n in range(10_000):
        lru.put(n, n)
    assert (len(lru), lru.weight) == (100, 100)


def test_taking_out():
    """What is taken out is not there any more, and weighs nothing."""
    lru = Lru(10)
    lru.put("a", 1, 3)
    lru.put("b", 2, 4)
    assert (lru.pop("a"), lru.pop("a"), lru.get("a"), lru.weight, len(lru)) == (1, None, None, 4, 1)
