"""Finds texts that are nearly the same, by MinHash.

Vocabulary:
  shingle     three words in a row. The similarity J of two texts is the share of their shingles that both have
  signature   16 bands of 4 bytes. A band is a hash of 8 of 128 MinHash values, so two texts have the same band
              with the probability J^8
  candidate   the first page that shares a band with a page
  near        at least 4 shared bands: so are 97 of 100 pairs with J = 0.9, and 1 of 100 with J = 0.7

Promise: the result depends only on the pages and their order. It takes some 100 bytes of memory per page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from rensa import RMinHash

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PERMUTATIONS = 128
BANDS = 16
SIGNATURE_BYTES = 4 * BANDS
_SHARED = 4
_ROUNDS = 10
_SEED = 0x5F5C  # any number, but it must never change: signatures are kept
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, Knuth's multiplicative hashing


def values(text: str) -> NDArray[np.uint32] | None:
    """Return a text's 128 MinHash values; None if it has no word."""
    words = text.split()
    if not words:
        return None
    hashes = RMinHash(num_perm=_PERMUTATIONS, seed=_SEED)
    hashes.update(_shingles(words))
    return np.array(hashes.digest(), dtype=np.uint32)


def signatures(texts: Sequence[NDArray[np.uint32] | None]) -> list[bytes | None]:
    """Return the signatures of texts, given their MinHash values. For many at once this takes a tenth of the time.

    >>> one, two, none = signatures([values("a b c"), values("a  b\\nc"), values(" ")])
    >>> one == two, none is None
    (True, True)
    """
    there = [each for each in texts if each is not None]
    if not there:
        return [None] * len(texts)
    columns = np.stack(there).astype(np.uint64).reshape(len(there), BANDS, -1)
    mixed = np.zeros((len(there), BANDS), dtype=np.uint64)
    for number in range(columns.shape[2]):
        mixed = (mixed ^ columns[:, :, number]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    made = iter((mixed >> np.uint64(32)).astype("<u4"))
    return [None if each is None else next(made).tobytes() for each in texts]


def _shingles(words: list[str]) -> Iterator[str]:
    """Return the shingles of a text. A text with fewer than three words is one shingle.

    >>> [*_shingles(["a", "b", "c", "d"])], [*_shingles(["a", "b"])]
    (['a b c', 'b c d'], ['a b'])
    """
    if len(words) < 3:
        return iter([" ".join(words)])
    return map(" ".join, zip(words, islice(words, 1, None), islice(words, 2, None), strict=False))


def exact_originals(digests: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """Return for each digest the number of the first that is equal to it. It may be its own.

    >>> exact_originals(np.array([b"one", b"two", b"one"])).tolist()
    [0, 1, 0]
    """
    _, first, which = np.unique(digests, return_index=True, return_inverse=True)
    return first[which]


def near_originals(signatures: NDArray[np.uint32], valid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each row its original: the first row near to it that is no near-duplicate itself; -1 without one.

    `signatures`: n × BANDS. Rows that are not `valid` are ignored.
    """
    nearest = np.full(len(signatures), -1, dtype=np.int64)
    done = ~valid  # known to be an original or a near-duplicate, or ignored
    pool = valid.copy()  # rows that may be originals
    for _ in range(_ROUNDS):
        candidate = _candidates(signatures, pool, np.flatnonzero(~done))
        open_rows = np.flatnonzero(~done)
        alone = candidate < 0
        done[open_rows[alone]] = True
        sure = ~alone & done[candidate] & (nearest[candidate] < 0)
        nearest[open_rows[sure]] = candidate[sure]
        done[open_rows[sure]] = True
        pool[open_rows[sure]] = False
        if done.all():
            break
    else:  # a long chain of pages, each near to the next
        _one_by_one(signatures, nearest, np.flatnonzero(~done), np.flatnonzero(done & valid & (nearest < 0)))
    return nearest


def _one_by_one(
    signatures: NDArray[np.uint32], nearest: NDArray[np.int64], rows: NDArray[np.int64], originals: NDArray[np.int64]
) -> None:
    """Settle the rest of the rows in order, given the known originals. A long chain would need too many rounds."""
    first: list[dict[int, int]] = []  # for each band, value → first original that has it
    for band in range(BANDS):
        mine = originals[np.isin(signatures[originals, band], signatures[rows, band])]
        first.append(dict(zip(signatures[mine[::-1], band].tolist(), mine[::-1].tolist(), strict=True)))
    for row in rows.tolist():
        values = signatures[row].tolist()
        candidates = sorted({each.get(value, row) for each, value in zip(first, values, strict=True)})
        near = (n for n in candidates if n < row and (signatures[n] == signatures[row]).sum() >= _SHARED)
        nearest[row] = next(near, -1)
        if nearest[row] < 0:
            for each, value in zip(first, values, strict=True):
                each[value] = min(row, each.get(value, row))


def _candidates(signatures: NDArray[np.uint32], pool: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of `rows` the first row of the pool that is before it and near to it; -1 without one."""
    best = np.full(len(rows), -1, dtype=np.int64)
    members = np.flatnonzero(pool)
    for band in range(BANDS):
        values, first = np.unique(signatures[members, band], return_index=True)  # the first of each value
        wanted = signatures[rows, band]
        place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
        found = members[first[place]]
        hit = (values[place] == wanted) & (found < rows) & ((best < 0) | (found < best))
        hit[hit] = _shared(signatures, rows[hit], found[hit]) >= _SHARED
        best[hit] = found[hit]
    return best


def _shared(signatures: NDArray[np.uint32], one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    shared = np.zeros(len(one), dtype=np.int64)
    for band in range(BANDS):
        shared += signatures[one, band] == signatures[other, band]
    return shared
