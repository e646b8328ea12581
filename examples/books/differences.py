"""What has changed between two datasets: python differences.py BEFORE AFTER OUT.parquet COLUMN…

A row for each value that differs: kind ("added", "changed" or "removed"), url, column, before, after. Each dataset is
made by `fscrawl merge` into a directory of its own. A page is removed if the last refresh found it gone (404 or 410).
"""

import sys
from pathlib import Path

import duckdb

_GONE = "coalesce({0}.check_status, 0) IN (404, 410)"


def differences(before: Path, after: Path, columns: list[str]) -> duckdb.DuckDBPyRelation:
    old_gone, new_gone = _GONE.format("old"), _GONE.format("new")
    parts = [
        f"""SELECT CASE WHEN old.key IS NULL OR ({old_gone} AND NOT {new_gone}) THEN 'added'
                        WHEN {new_gone} THEN 'removed' ELSE 'changed' END AS kind,
                   new.url AS url, '{column}' AS "column",
                   CASE WHEN NOT {old_gone} THEN CAST(old.{column} AS VARCHAR) END AS before,
                   CASE WHEN NOT {new_gone} THEN CAST(new.{column} AS VARCHAR) END AS after
            FROM '{after}/pages/*.parquet' AS new LEFT JOIN '{before}/pages/*.parquet' AS old USING (key)"""
        for column in columns
    ]
    found = " UNION ALL ".join(parts)
    return duckdb.sql(f'SELECT * FROM ({found}) WHERE before IS DISTINCT FROM after ORDER BY url, "column"')


if __name__ == "__main__":
    old, new, out = map(Path, sys.argv[1:4])
    found = differences(old, new, sys.argv[4:])
    found.write_parquet(str(out))
    print(found)
