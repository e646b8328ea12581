"""Makes a shard of the index of searches: an SQLite file with the words of the pages of some parts (`search_shards`).

    pages   one row for each page: what a result shows. Its text is compressed: it is read for snippets only
    sites   one row for each origin
    words   FTS5 without contents: words of titles and texts; rows as in `pages`

The file is written without locks and journal, under a temporary name, and read as one that never changes. So neither
NFS nor sshfs, where locks and shared memory fail, can do it harm. One page at a time is held in memory.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from fscrawl import urls
from fscrawl.dataset.dataset_dir import DatasetDir, unreadable
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.job import pages_done
from fscrawl.dataset.manifest import Part
from fscrawl.dataset.search_shards import FORMAT, Shard, digests_of, file_name
from fscrawl.dataset.search_words import TOKENIZER, separated
from fscrawl.errors import TreeError

_COLUMNS = ("url", "key", "fetch_time", "fetch_redirect", "title", "text")
_ROWS = 50  # that are read at once; the text of one page may have megabytes
_SCHEMA = f"""\
PRAGMA page_size = 8192;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16000;
PRAGMA temp_store = MEMORY;
CREATE TABLE sites (id INTEGER PRIMARY KEY, origin TEXT UNIQUE);
CREATE TABLE pages (id INTEGER PRIMARY KEY, site INTEGER, url TEXT, key TEXT, time TEXT, title TEXT, text BLOB);
CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize="{TOKENIZER}");
"""
_INDEXES = f"CREATE INDEX of_site ON pages (site); PRAGMA user_version = {FORMAT};"


def missing() -> str:
    """Say what this Python lacks for an index; "" if it has all."""
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            database.execute(f'CREATE VIRTUAL TABLE words USING fts5(text, tokenize="{TOKENIZER}")')
    except sqlite3.Error as error:
        return f"SQLite {sqlite3.sqlite_version} of this Python cannot index texts ({error}); use another Python"
    return ""


def build(directory: DatasetDir, parts: Sequence[Part]) -> Shard:
    """Make the shard of these parts, unless a merge that was killed has made it already."""
    made_of = tuple(digests_of(parts).items())
    name = file_name(made_of)
    rows = _rows_of(directory, name)
    if rows is None:
        with directory.publish(name) as temporary:
            try:
                rows = _write(temporary, directory, parts)
            except sqlite3.Error as error:
                raise TreeError(f"{directory.path(name)}: the index cannot be written: {error}") from error
            with temporary.open("rb") as file:
                os.fsync(file.fileno())  # its length must not come to the disk before its contents
    else:
        pages_done(sum(part.rows for part in parts))
    return Shard(name, directory.size(name) or 0, rows, sum(part.rows for part in parts), made_of)


def uri(path: Path, how: str) -> str:
    return f"file:{quote(os.fsencode(path))}?{how}"


def _rows_of(directory: DatasetDir, name: str) -> int | None:
    """Count the pages of a shard; None if there is none, or it is not whole."""
    try:
        with (
            directory.reading(name) as path,
            contextlib.closing(sqlite3.connect(uri(path, "mode=ro&immutable=1"), uri=True)) as database,
        ):
            [version], [pages], [size] = (
                database.execute(f"PRAGMA {each}").fetchone() for each in ("user_version", "page_count", "page_size")
            )
            if version != FORMAT or pages * size != path.stat().st_size:
                return None
            return int(database.execute("SELECT count(*) FROM pages").fetchone()[0])
    except (sqlite3.Error, OSError):
        return None


def _write(path: Path, directory: DatasetDir, parts: Sequence[Part]) -> int:
    """Write a shard; return its number of pages."""
    sites: dict[str, int] = {}
    number = 0
    with contextlib.closing(sqlite3.connect(uri(path, "nolock=1"), uri=True)) as database:
        database.executescript(_SCHEMA)
        database.execute("BEGIN")
        for row in _rows(directory, parts):
            title, text = row["title"] or "", row.get("text") or ""
            if row.get("fetch_redirect") is not None or not (title or text):
                continue
            number += 1
            origin = urls.origin(row["url"])
            site = sites.setdefault(origin, len(sites) + 1)
            time = rfc3339(row["fetch_time"])
            packed = zlib.compress(text.encode())
            page = number, site, row["url"], row["key"], time, title, packed
            database.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)", page)
            database.execute(
                "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", (number, separated(title), separated(text))
            )
        database.executemany("INSERT INTO sites VALUES (?, ?)", ((site, origin) for origin, site in sites.items()))
        database.commit()
        database.executescript(_INDEXES)
    return number


def _rows(directory: DatasetDir, parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    for part in parts:
        for rows in _batches(directory, part.path):
            yield from rows.to_pylist()
            pages_done(rows.num_rows)


def _batches(directory: DatasetDir, name: str) -> Iterator[pa.RecordBatch]:
    try:
        with directory.reading(name) as path, pq.ParquetFile(path) as file:
            columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
            yield from file.iter_batches(batch_size=_ROWS, columns=columns)
    except (OSError, ValueError) as error:
        raise unreadable(directory.path(name), error) from error
