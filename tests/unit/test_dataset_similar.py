"""How alike two texts are."""

import random
import time

import numpy as np
import pytest

from fscrawl.dataset import similar
from fscrawl.dataset.similar import BANDS, near_originals


def signature(text):
    return similar.signatures([similar.values(text)])[0]


def text(rng, words=300):
    return [f"w{rng.randrange(10**6)}" for _ in range(words)]


def shared(one, other):
    return sum(one[4 * n : 4 * n + 4] == other[4 * n : 4 * n + 4] for n in range(BANDS))


def test_size():
    """A signature has one size, whatever the text."""
    for words in ("a", "a b", "a b c", "a b c d", "ä 日本 \U0001f600", "x " * 10_000):
        assert len(signature(words)) == similar.SIGNATURE_BYTES


@pytest.mark.parametrize("nothing", ["", " ", "\n\t\u00a0"])
def test_no_words(nothing):
    """A text without words has no signature, so that blank pages are not alike."""
    assert signature(nothing) is None


def test_stays_the_same():
    """Signatures are kept in datasets: one of today is that of any later day and machine."""
    assert signature("the quick brown fox jumps over the lazy dog").hex()[:32] == "0eab66865a066f8393930557b5aa82d3"


def test_order_of_words_counts():
    """Texts of the same words in another order are not alike."""
    rng = random.Random(1)
    words = text(rng)
    assert shared(signature(" ".join(words)), signature(" ".join(sorted(words)))) == 0


def alike(similarity, rng):
    """Give the signatures of two texts with this Jaccard similarity of their shingles, roughly."""
    words = text(rng)
    kept = round(2 * similarity / (1 + similarity) * 298)
    return signature(" ".join(words)), signature(" ".join(words[: kept + 2] + text(rng, 298 - kept)))


@pytest.mark.parametrize(("similarity", "least", "most"), [(0.95, 99, 100), (0.9, 92, 100), (0.7, 0, 5), (0.5, 0, 0)])
def test_how_near(similarity, least, most):
    """Of a hundred pairs, nearly all with 0.9 of their shingles in common are near, and hardly any with 0.7."""
    rng = random.Random(int(similarity * 100))
    assert least <= sum(shared(*alike(similarity, rng)) >= 4 for _ in range(100)) <= most


def rows(*patterns):
    """Give signatures: a character for each band."""
    values = [
        [ord(c) for c in pattern] + [1000 + 16 * n + k for k in range(len(pattern), BANDS)]
        for n, pattern in enumerate(patterns)
    ]
    return np.array(values, dtype=np.uint32)


def nearest(signatures):
    return near_originals(signatures, np.ones(len(signatures), dtype=bool)).tolist()


def test_enough_bands():
    """Four bands in common make near, three do not, and they must be the same bands."""
    assert nearest(rows("abcd", "abcd", "abcx", "xabc")) == [-1, 0, -1, -1]


def test_first_of_several():
    """Of several originals the first is named."""
    assert nearest(rows("abcdefgh", "abcxABCD", "abcdABCD")) == [-1, -1, 0]


def test_not_valid():
    """A row that is left out is near to none, and none to it."""
    signatures = rows("abcd", "abcd", "abcd")
    assert near_originals(signatures, np.array([False, True, True])).tolist() == [-1, -1, 1]
    assert near_originals(signatures, np.zeros(3, dtype=bool)).tolist() == [-1, -1, -1]


def test_nothing():
    """No rows have no originals."""
    assert nearest(np.zeros((0, BANDS), dtype=np.uint32)) == []
    assert similar.exact_originals(np.zeros(0, dtype="S16")).tolist() == []


def chain(length):
    """Give rows each of which is near to its neighbours alone."""
    signatures = np.arange(length * BANDS, dtype=np.uint32).reshape(length, BANDS)
    for row in range(1, length):
        bands = slice(0, 4) if row % 2 else slice(4, 8)
        signatures[row, bands] = signatures[row - 1, bands]
    return signatures


@pytest.mark.parametrize("length", [2, 3, 10, 20, 21, 40, 400])
def test_chain(length):
    """Of pages that change a little from one to the next, each second is a near-duplicate, however long the row."""
    assert nearest(chain(length)) == [-1 if n % 2 == 0 else n - 1 for n in range(length)]


@pytest.mark.gate
def test_many_rows():
    """A hundred thousand rows, half of them near to others, cost no quadratic time."""
    rng = np.random.default_rng(1)
    signatures = rng.integers(0, 2**32, (100_000, BANDS), dtype=np.uint32)
    signatures[1::2, :5] = signatures[::2, :5]
    began = time.process_time()
    found = nearest(signatures)
    assert time.process_time() - began < 20
    assert found == [-1 if n % 2 == 0 else n - 1 for n in range(100_000)]


def test_long_chain_costs_little():
    """Nor does one row of near pages, ten thousand long."""
    began = time.process_time()
    nearest(chain(10_000))
    assert time.process_time() - began < 20
