"""The numbers in names of files: epochs, segments, generations, snapshots, packs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, takewhile

LONGEST_STEP = 10**9  # from one number to the next: machines make them one by one, and seldom


def believable(numbers: Iterable[int]) -> list[int]:
    """Give the numbers in names of files, in order, up to the first that is far above all before: it was made up.

    Behind the highest number that a name can have, there would be none for the next file. Lower ones do no harm.

    >>> believable([7, 999_999_999_999_999, 1, 30])
    [1, 7, 30]
    """
    found = sorted(numbers)
    if not found or found[-1] <= LONGEST_STEP:
        return found
    steps = pairwise([0, *found])
    return [number for _, number in takewhile(lambda step: step[1] - step[0] <= LONGEST_STEP, steps)]
