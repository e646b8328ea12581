"""Decides about each row when all rows of a run are known: is it kept, and which page is it a duplicate of?

    .merge/run-<run>/verdicts.arrow   VERDICTS, one record batch for each batch of rows
    .merge/seen-<run>.parquet         SEEN: what later runs must know about every page of the plan that was not broken

An exact duplicate has the same body as an earlier page, and if scripts were run on it the same DOM, since all pages of
an application may have one body; a near-duplicate has nearly the same text (`similar`). Earlier
means: in an earlier run, or before it in the plan. A duplicate always points to an original, never to a duplicate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fscrawl.dataset import similar
from fscrawl.dataset.extract import BatchResult, result_name, rows_of
from fscrawl.dataset.job import Job
from fscrawl.dataset.plan import Batch, batches, key_of, number_of, seen, seen_name, versioned
from fscrawl.dataset.schema import SEEN, TIME
from fscrawl.util.progress import ProgressLine

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEY = "S24"
# Columns of rows that SEEN is made of.
_REMEMBERED = frozenset({"key", "version", "identity", "signature", "url", "fetched_at"})

VERDICTS = pa.schema(
    [
        ("keep", pa.bool_()),
        ("duplicate_of", pa.string()),
        ("near_duplicate_of", pa.string()),
        ("original_url", pa.string()),
        ("original_time", TIME),
    ]
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of a run: kept `records`, how many of these are duplicates; `dropped`: removed by --dedupe."""

    records: int
    duplicates: int
    near_duplicates: int
    dropped: int


def mark_duplicates(
    job: Job, results: Sequence[BatchResult], earlier: Sequence[int], most: int | None, line: ProgressLine, about: int
) -> Counts:
    """Write the verdicts and the table of seen pages.

    `most`: rows that --limit still allows, None without it. `about`: so many pages earlier runs have seen.
    """
    rows = sum(each.rows for each in results)
    line.begin("reading signatures", about + rows, "pages")
    known = _KnownRows(job, earlier, len(results), line.advance)
    line.begin("finding duplicates", unit="")
    exact, near = known.originals()
    keep = np.ones(len(known), dtype=bool)
    if job.options.dedupe:
        keep &= (exact < 0) & (near < 0)
    dropped = int((~keep[known.begin :]).sum())
    if most is not None:
        of_this_run = keep[known.begin :]
        of_this_run[np.flatnonzero(of_this_run)[most:]] = False
    line.begin("remembering pages", 2 * rows, "rows")
    _write_verdicts(job, known, results, keep, exact, near, line.advance)
    _write_seen(job, results, line.advance)
    kept = keep[known.begin :]
    return Counts(
        records=int(kept.sum()),
        duplicates=int((kept & (exact[known.begin :] >= 0)).sum()),
        near_duplicates=int((kept & (near[known.begin :] >= 0)).sum()),
        dropped=dropped,
    )


def verdicts_of(job: Job, index: int) -> pa.RecordBatch:
    """Read the verdicts of a batch's rows."""
    with (
        job.directory.reading(job.scratch("verdicts.arrow")) as path,
        pa.OSFile(str(path)) as source,
        pa.ipc.open_file(source) as reader,
    ):
        return reader.get_batch(index)


class _KnownRows:
    """Keys, digests and signatures of all rows: first those of earlier runs, and from `begin` on those of this run."""

    def __init__(self, job: Job, earlier: Sequence[int], count: int, read: Callable[[int], object]) -> None:
        """`count`: of batches of this run. `read(n)`: n more rows have been read."""
        self._job = job
        self._earlier = earlier
        parts = []
        for rows in self._seen(["key", "digest", "signature"]):
            parts.append(_columns(rows, rows["digest"]))
            read(rows.num_rows)
        self.begin = sum(len(keys) for keys, _, _, _ in parts)
        for index in range(count):
            for rows in rows_of(job, index, ["key", "identity", "signature"]):
                parts.append(_columns(rows, rows["identity"]))
                read(rows.num_rows)
        empty = _columns(SEEN.empty_table(), SEEN.empty_table()["digest"])
        self.keys, digests, signatures, stored = (np.concatenate(each) for each in zip(empty, *parts, strict=True))
        self._digests = np.ascontiguousarray(digests)
        self._signatures = np.ascontiguousarray(signatures)
        self._stored = stored

    def __len__(self) -> int:
        return len(self.keys)

    def _seen(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for run in self._earlier:
            yield from seen(self._job.directory, run, columns)

    def originals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each row the number of its exact original, and of its near original; -1 if it has none."""
        exact = np.full(len(self), -1, dtype=np.int64)
        stored = np.flatnonzero(self._stored & (self._digests != 0).any(axis=1))
        first = stored[similar.exact_originals(self._digests[stored])]
        exact[stored] = np.where(first == stored, -1, first)
        near = similar.near_originals(self._signatures, (exact < 0) & (self._signatures != 0).any(axis=1))
        return exact, near

    def describe(self, numbers: Iterable[int]) -> dict[int, tuple[str, Any]]:
        """Return URL and time of the rows with these numbers."""
        wanted = deque(sorted(set(numbers)))
        found: dict[int, tuple[str, Any]] = {}
        position = 0
        sources = (self._seen(["url", "fetched_at"]), _urls(self._job))
        for rows in (rows for source in sources for rows in source):
            end = position + rows.num_rows
            while wanted and wanted[0] < end:
                number = wanted.popleft()
                found[number] = rows["url"][number - position].as_py(), rows["fetched_at"][number - position].as_py()
            position = end
        return found


def _urls(job: Job) -> Iterator[pa.RecordBatch]:
    for batch in batches(job.directory, job.run):
        if job.directory.size(job.scratch(result_name(batch.index))) is not None:
            yield from rows_of(job, batch.index, ["url", "fetched_at"])


def _columns(rows: Any, digests: Any) -> tuple[NDArray[Any], ...]:
    """Return keys, digests (n × 2; 0 without a body), signatures (0 without text), and which rows have a body."""
    keys = np.array(list(map(key_of, rows["key"].to_pylist())), dtype=_KEY)
    values = digests.to_pylist()
    raw = b"".join(bytes(16) if v is None else v if isinstance(v, bytes) else bytes.fromhex(v[:32]) for v in values)
    signs = b"".join(v or bytes(similar.SIGNATURE_BYTES) for v in rows["signature"].to_pylist())
    stored = np.array([value is not None for value in values], dtype=bool)
    return (
        keys,
        np.frombuffer(raw, dtype="<u8").reshape(-1, 2),
        np.frombuffer(signs, dtype="<u4").reshape(-1, similar.BANDS),
        stored,
    )


def _write_verdicts(
    job: Job,
    known: _KnownRows,
    results: Sequence[BatchResult],
    keep: NDArray[np.bool_],
    exact: NDArray[np.int64],
    near: NDArray[np.int64],
    written: Callable[[int], object],
) -> None:
    archived = job.options.archives
    originals = known.describe(exact[known.begin :][exact[known.begin :] >= 0].tolist()) if archived else {}
    with (
        job.directory.publish(job.scratch("verdicts.arrow")) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, VERDICTS) as writer,
    ):
        start = known.begin
        for each in results:
            rows = slice(start, start + each.rows)
            start += each.rows
            described = [originals.get(number, (None, None)) for number in exact[rows].tolist()]
            writer.write_batch(
                pa.record_batch(
                    [
                        pa.array(keep[rows]),
                        _names(known, exact[rows]),
                        _names(known, near[rows]),
                        pa.array([url for url, _ in described], pa.string()),
                        pa.array([time for _, time in described], TIME),
                    ],
                    schema=VERDICTS,
                )
            )
            written(each.rows)


def _names(known: _KnownRows, numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array([known.keys[n].decode() if n >= 0 else None for n in numbers.tolist()], pa.string())


def _write_seen(job: Job, results: Sequence[BatchResult], written: Callable[[int], object]) -> None:
    with (
        job.directory.publish(seen_name(job.run)) as temporary,
        pq.ParquetWriter(temporary, SEEN, compression="zstd", use_dictionary=["host"]) as writer,
    ):
        for batch, each in zip(batches(job.directory, job.run), results, strict=False):
            writer.write_table(_seen_table(job, batch, {(host, key) for host, key, _ in each.broken}))
            written(each.rows)


def _seen_table(job: Job, batch: Batch, broken: set[tuple[str, str]]) -> pa.Table:
    """Return what later runs must know about a batch. Broken pages are not in it: the next run tries them again."""
    names = [name for name in batch.names() if name not in broken]
    keys = pa.array([key for _, key in names], pa.string())
    wanted = pa.schema([each for each in job.rows if each.name in _REMEMBERED])
    rows = pa.Table.from_batches(rows_of(job, batch.index, wanted.names), wanted)
    named = rows["key"]
    if names and number_of(names[0][1]) is not None:
        named = pa.array(map(versioned, named.to_pylist(), rows["version"].to_pylist()), pa.string(), size=len(named))
    rows = rows.take(pc.index_in(keys, value_set=named))  # nulls for a page that has no row
    digests = [digest and bytes.fromhex(digest[:32]) for digest in rows["identity"].to_pylist()]
    made = {
        "host": pa.array([host for host, _ in names], pa.string()),
        "key": keys,
        "digest": pa.array(digests, SEEN.field("digest").type),
    }
    return pa.table([made[name] if name in made else rows[name] for name in SEEN.names], schema=SEEN)
