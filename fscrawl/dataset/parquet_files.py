"""Segments of tables (`write`) become the Parquet files of the dataset, each of a good size to download and to scan.

pages/<part>.parquet, links/<part>.parquet, items/<part>.parquet: consecutive segments, joined by `parquet_join`

Segments are small, so that all processes have one to write until the end, whatever the number of files is.
"""

from __future__ import annotations

from collections.abc import Sequence

from fscrawl.dataset import parquet_join
from fscrawl.dataset.formats import JOINED, TABLE_FORMATS
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Part
from fscrawl.dataset.tally import pages_done
from fscrawl.dataset.write import GroupResult, table_segment

PAGES = "pages"  # the table whose rows are counted while they are joined
# Of the largest table. Where there is so much, files have two thirds of it to 1.5 times as much.
FILE_BYTES = 256_000_000


def cut_into_files(groups: Sequence[GroupResult]) -> list[list[int]]:
    """Choose the segments of each file, in order: a list of the numbers of their groups.

    >>> large, small = (GroupResult(1, (), 0, tables={"pages": (1, size)}) for size in (200_000_000, 1000))
    >>> cut_into_files([small, large, large, GroupResult(0, (), 0)]), cut_into_files([small, small]), cut_into_files([])
    ([[0, 1], [2]], [[0, 1]], [])
    """
    with_rows = [number for number, group in enumerate(groups) if group.tables]
    if not with_rows:
        return []
    names = groups[with_rows[0]].tables
    sizes = max(([groups[number].tables[name][1] for number in with_rows] for name in names), key=sum)
    total, before = sum(sizes), 0
    count = max(1, round(total / FILE_BYTES))
    found: dict[int, list[int]] = {}
    for number, size in zip(with_rows, sizes, strict=True):
        found.setdefault(int((before + size / 2) * count / total), []).append(number)
        before += size
    return list(found.values())


def join_table(job: Job, table: str, part: str, groups: Sequence[int], rows: int, *, in_order: bool) -> Part:
    """Make one file of a table. `groups`: the numbers of its segments; `rows`: of all of them.

    `in_order`: all rows of pages in these groups are sorted.
    """
    name = TABLE_FORMATS[JOINED].path.format(table=table, part=part)
    sources = (job.scratch(table_segment(number, table)) for number in groups)
    with job.directory.publish(name) as temporary:
        parquet_join.join(job.directory.each(sources), temporary, in_order=in_order)
    if table == PAGES:
        pages_done(rows)
    return job.directory.part(name, rows)
