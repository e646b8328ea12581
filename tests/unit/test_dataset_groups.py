"""Batches of pages are put together to groups, each of which is written by one process."""

import pytest

from fscrawl.dataset import write
from fscrawl.dataset.extract import BatchResult

LEAST, MOST = write._LEAST_GROUP_BYTES, write._GROUP_BYTES


@pytest.mark.parametrize(
    ("batches", "groups"),
    [
        ([], 0),
        ([LEAST // 8] * 8, 1),
        ([LEAST // 2] * 32, 8),
        ([LEAST] * 100, 8),
        ([MOST // 4] * 40, 10),
        ([1, 20 * MOST, 1], 3),
    ],
)
def test_sizes_of_groups(batches, groups):
    """A small dataset has one part, a larger one eight of the same size, a large one parts of the most."""
    results = [BatchResult(rows=1, bytes=size) for size in batches]
    found = write.cut_into_groups(results)
    assert len(found) == groups
    assert [number for group in found for number in group] == [*range(len(batches))]


def test_rows_of_groups():
    """However small they are, there are not too many rows in a group."""
    results = [BatchResult(rows=write._GROUP_ROWS // 2, bytes=1)] * 8
    assert write.cut_into_groups(results) == [range(2), range(2, 4), range(4, 6), range(6, 8)]
