"""Batches of pages are put together to groups, each of which is written by one process."""

import pytest

from fscrawl.dataset import dedupe
from fscrawl.dataset.extract import BatchResult


def test_sizes_of_segments():
    """Groups that become segments only are small, so that all processes have some to write."""
    least, most = dedupe._LEAST_SEGMENT_BYTES, dedupe._SEGMENT_BYTES
    assert len(dedupe.cut_into_groups([BatchResult(1, least // 8)] * 8, joined=True)) == 1
    assert len(dedupe.cut_into_groups([BatchResult(1, least // 2)] * 64, joined=True)) == 16
    assert len(dedupe.cut_into_groups([BatchResult(1, most // 2)] * 100, joined=True)) == 50


def test_sizes_of_groups():
    """A small crawl has eight groups, if these are not too small; those of archives are smaller than others."""
    least = dedupe._LEAST_GROUP_BYTES
    assert len(dedupe.cut_into_groups([BatchResult(1, least // 8)] * 8)) == 1
    assert len(dedupe.cut_into_groups([BatchResult(1, least // 2)] * 32)) == 8
    large = [BatchResult(1, least)] * 100
    assert len(dedupe.cut_into_groups(large)) == 13
    assert len(dedupe.cut_into_groups(large, archived=True)) == 25


@pytest.mark.parametrize(
    ("ends", "in_order"),
    [
        ([[("a", "a"), ("b", "b")], [("b", "b"), ("b", "b")], [("c_80", "c"), ("d", "d")]], True),
        ([[("a", "a"), ("a", "a")], [("a_80", "a"), ("b", "b")]], False),
        ([[("a-b", "a-b"), ("a-b", "a-b")], [("a_80", "a"), ("b", "b")]], False),
        ([[("a", "a"), ("b", "b")], []], False),
    ],
)
def test_groups_in_order(ends, in_order):
    """The rows of a group are sorted if those of each batch are, and each batch begins after the one before it."""
    batches = [BatchResult(2, 2, ends=each) for each in ends]
    (group,) = dedupe.cut_into_groups([*batches, BatchResult(0, 0)])
    assert group.in_order is in_order
