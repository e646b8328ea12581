"""What holds of duplicates, whichever pages there are, against answers found by comparing each page with each."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.dataset import surt
from fscrawl.dataset.formats import cell
from fscrawl.dataset.similar import BANDS, exact_originals, near_originals
from fscrawl.urls import normalise

# Few values, so that bands coincide; a row is a choice of a value for each band.
tangled = st.lists(st.lists(st.integers(0, 3), min_size=BANDS, max_size=BANDS), max_size=12)
digests = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30)


def shared(one, other) -> int:
    return int((one == other).sum())


def by_comparing(signatures, valid) -> list[int]:
    """Go through the rows in their order, and compare each with every original before it."""
    found = []
    for row in range(len(signatures)):
        originals = [n for n in range(row) if valid[n] and found[n] < 0]
        near = [n for n in originals if valid[row] and shared(signatures[n], signatures[row]) >= 4]
        found.append(near[0] if near else -1)
    return found


@given(digests)
def test_exact_originals(pairs):
    """The original of a row is the first that is equal to it."""
    rows = [bytes(pair) for pair in pairs]
    assert exact_originals(np.array(rows, dtype="S16")).tolist() == [rows.index(row) for row in rows]


# Pages of families, whose members are near to each other and to nobody else: as copies with another date are.
families = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**31)), max_size=40)


@given(families, st.data())
def test_near_originals_of_families(pages, data):
    """Where pages fall into families, each names the first of its own that is not left out."""
    signatures = np.zeros((len(pages), BANDS), dtype=np.uint32)
    for row, (family, noise) in enumerate(pages):
        for band in range(BANDS):
            digest = hashlib.sha224(repr((family, band) if band < 4 else (row, band, noise)).encode()).digest()
            signatures[row, band] = int.from_bytes(digest[:4])
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=len(pages), max_size=len(pages))), dtype=bool)
    assert near_originals(signatures, valid).tolist() == by_comparing(signatures, valid)


@given(tangled, st.data())
def test_near_originals_point_to_originals(rows, data):
    """In any tangle, who is near to none before it names none, and who names one names a near original before it."""
    signatures = np.array(rows, dtype=np.uint32).reshape(-1, BANDS)
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    found = near_originals(signatures, valid).tolist()
    for row, original in enumerate(found):
        if original < 0:
            continue
        assert valid[row]
        assert valid[original]
        assert original < row
        assert found[original] < 0
        assert shared(signatures[original], signatures[row]) >= 4


@given(tangled, tangled)
def test_later_pages_change_nothing(rows, more):
    """What is said of a page does not depend on those after it: so further runs agree with earlier ones."""
    both = np.array(rows + more, dtype=np.uint32).reshape(-1, BANDS)
    alone = both[: len(rows)]
    found = near_originals(both, np.ones(len(both), dtype=bool))
    assert found[: len(rows)].tolist() == near_originals(alone, np.ones(len(alone), dtype=bool)).tolist()


@given(st.one_of(st.text(), st.lists(st.text())))
def test_cells(value):
    """No cell of text begins as a formula does, and none has a control character but tab and newline."""
    text = cell(value)
    assert not text.lstrip().startswith(tuple("=+-@"))
    assert not any(c < " " and c not in "\t\n" for c in text)


@given(st.from_regex(r"https?://(www\d?\.)?[a-z]{1,3}(\.[a-z]{2,3}){0,2}(:[0-9]{2,4})?/[ -~]{0,20}", fullmatch=True))
def test_surt(url):
    """A SURT key of any URL has no blank, no scheme and no capital, and a URL without `www.` has the same."""
    normal = normalise(url)
    if normal is None:
        return
    found = surt.surt(normal)
    assert " " not in found
    assert found == found.lower()
    assert ")/" in found
    assert not found.startswith("http")
