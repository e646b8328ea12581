"""Are the rows of two datasets the same? For changes that should make merge faster, and nothing else.

    python -m benchmarks.merge --compare BEFORE AFTER

Parts may be cut otherwise and have other row groups; the order of the rows may differ, too. Columns that only one of
them has are named, and not compared. Memory does not grow with the datasets: of each row only a hash is kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads

TABLES = ("pages", "links", "items", "errors", "warc-index")
_ROWS = 2000  # that become Python values at a time


def compare(before: Path, after: Path) -> int:
    """Print for each table whether the rows are the same; return the exit code."""
    same = True
    for table in TABLES:
        there = [(each / table).is_dir() for each in (before, after)]
        if not any(there):
            continue
        if not all(there):
            print(f"{table}: only in {(before, after)[there.index(True)]}")
            same = False
            continue
        same &= _compare(table, before / table, after / table)
    return 0 if same else 1


def _compare(table: str, before: Path, after: Path) -> bool:
    files = [pads.dataset(each, format="parquet") for each in (before, after)]
    names = [each.schema.names for each in files]
    common = [name for name in names[0] if name in names[1]]
    for folder, mine, others in ((before, *names), (after, *reversed(names))):
        if more := [name for name in mine if name not in others]:
            print(f"{table}: only {folder} has {', '.join(more)}")
    found = [_hashes(each, common) for each in files]
    differ = [column for column in common if found[0][column] != found[1][column]]
    rows = [each.count_rows() for each in files]
    said = f"differ in {', '.join(differ)}" if differ else "are the same"
    print(f"{table}: {rows[0]:,} and {rows[1]:,} rows, which {said}")
    return not differ


def _hashes(dataset: Any, columns: list[str]) -> dict[str, tuple[int, int]]:
    """Give for each column the number of its values, and the sum of the hashes of each with the key of its row.

    Two columns with the same values in another order have the same sum, and nothing else is likely to.
    """
    totals: Counter[str] = Counter()
    rows = 0
    keys = [name for name in ("key", "source_key", "target_key") if name in columns]
    for batch in dataset.to_batches(columns=columns, batch_size=_ROWS):
        named = [repr(key) for key in zip(*(batch[name].to_pylist() for name in keys), strict=True)]
        rows += len(named)
        for name in columns:
            for key, value in zip(named, batch[name].to_pylist(), strict=True):
                totals[name] += int.from_bytes(hashlib.blake2b(f"{key}{value!r}".encode(), digest_size=12).digest())
    return {name: (rows, totals[name]) for name in columns}
