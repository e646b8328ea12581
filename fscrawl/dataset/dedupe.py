"""What becomes of each row, once all rows of a run are known: kept or not, and a duplicate of what.

    .merge/run-<run>/verdicts.arrow   VERDICTS, a record batch for each batch of rows
    .merge/seen-<run>.parquet         SEEN, of every page of the plan that was not broken: what later runs must know

An exact duplicate has the body of an earlier page, a near-duplicate nearly its text (`similar`). Earlier means in an
earlier run, or before it in the plan. A page is a duplicate of an original only, never of another duplicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fscrawl.dataset import similar
from fscrawl.dataset.extract import Gathered, rows_of
from fscrawl.dataset.job import Job
from fscrawl.dataset.plan import Batch, batches, seen, seen_name
from fscrawl.dataset.schema import TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUP_BYTES = 128 << 20  # of bodies: some 20 MB of Parquet
_GROUP_ROWS = 10_000
_KEY = "S24"

VERDICTS = pa.schema(
    [
        ("keep", pa.bool_()),
        ("duplicate_of", pa.string()),
        ("near_duplicate_of", pa.string()),
        ("original_url", pa.string()),
        ("original_time", TIME),
    ]
)
SEEN = pa.schema(
    [
        ("host", pa.string()),
        ("key", pa.string()),
        ("digest", pa.binary(16)),
        ("signature", pa.binary(similar.SIGNATURE_BYTES)),
        ("url", pa.string()),
        ("fetched_at", TIME),
    ]
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of a run: `pages` kept; of these `duplicates` and `near_duplicates`; `dropped` for being one."""

    pages: int
    duplicates: int
    near_duplicates: int
    dropped: int

    def values(self) -> dict[str, int]:
        return {"pages": self.pages, "duplicates": self.duplicates, "near_duplicates": self.near_duplicates}


def groups(facts: Sequence[Gathered]) -> list[range]:
    """Cut a run's batches into groups: ranges of their numbers.

    >>> groups([Gathered(6000, 1), Gathered(3000, 1), Gathered(3000, 1)])
    [range(0, 2), range(2, 3)]
    """
    found: list[range] = []
    begin = rows = raw = 0
    for index, each in enumerate(facts):
        if index > begin and (rows + each.rows > _GROUP_ROWS or raw + each.raw_bytes > _GROUP_BYTES):
            found.append(range(begin, index))
            begin, rows, raw = index, 0, 0
        rows += each.rows
        raw += each.raw_bytes
    return [*found, range(begin, len(facts))] if facts else found


def judge(job: Job, facts: Sequence[Gathered], earlier: Sequence[int], room: int | None) -> Counts:
    """Write verdicts and what was seen; `room`: rows that a limit leaves, None without one."""
    known = _Known(job, earlier, len(facts))
    exact, near = known.originals()
    keep = np.ones(len(known), dtype=bool)
    if job.options.dedupe:
        keep &= (exact < 0) & (near < 0)
    dropped = int((~keep[known.begin :]).sum())
    if room is not None:
        mine = keep[known.begin :]
        mine[np.flatnonzero(mine)[room:]] = False
    _write_verdicts(job, known, facts, keep, exact, near)
    _write_seen(job, facts)
    kept = keep[known.begin :]
    return Counts(
        pages=int(kept.sum()),
        duplicates=int((kept & (exact[known.begin :] >= 0)).sum()),
        near_duplicates=int((kept & (near[known.begin :] >= 0)).sum()),
        dropped=dropped,
    )


def verdicts_of(job: Job, index: int) -> pa.RecordBatch:
    """Read the verdicts of a batch's rows."""
    path = job.shelf.path(job.scratch("verdicts.arrow"))
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as reader:
        return reader.get_batch(index)


class _Known:
    """Keys, digests and signatures of all rows: those of earlier runs first, from `begin` on those of this one."""

    def __init__(self, job: Job, earlier: Sequence[int], count: int) -> None:
        self._job = job
        self._earlier = earlier
        parts = [_columns(rows, rows["digest"]) for rows in self._seen(["key", "digest", "signature"])]
        self.begin = sum(len(keys) for keys, _, _, _ in parts)
        for index in range(count):
            found = rows_of(job, index, ["key", "sha256", "signature"])
            parts.extend(_columns(rows, rows["sha256"]) for rows in found)
        empty = _columns(SEEN.empty_table(), SEEN.empty_table()["digest"])
        self.keys, digests, signatures, stored = (np.concatenate(each) for each in zip(empty, *parts, strict=True))
        self._digests = np.ascontiguousarray(digests)
        self._signatures = np.ascontiguousarray(signatures)
        self._stored = stored

    def __len__(self) -> int:
        return len(self.keys)

    def _seen(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for run in self._earlier:
            with seen(self._job.shelf, run) as file:
                yield from file.iter_batches(columns=columns)

    def originals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give for each row the number of the row it is an exact, and a near, duplicate of; -1 if of none."""
        exact = np.full(len(self), -1, dtype=np.int64)
        stored = np.flatnonzero(self._stored & (self._digests != 0).any(axis=1))
        first = stored[similar.exact_originals(self._digests[stored])]
        exact[stored] = np.where(first == stored, -1, first)
        near = similar.near_originals(self._signatures, (exact < 0) & (self._signatures != 0).any(axis=1))
        return exact, near

    def describe(self, numbers: Iterable[int]) -> dict[int, tuple[str, Any]]:
        """Give URL and time of rows by number: of originals, so of few."""
        wanted = sorted(set(numbers))
        found: dict[int, tuple[str, Any]] = {}
        position = 0
        sources = (self._seen(["url", "fetched_at"]), _urls(self._job))
        for rows in (rows for source in sources for rows in source):
            here = [number - position for number in wanted if position <= number < position + rows.num_rows]
            for number in here:
                found[number + position] = rows["url"][number].as_py(), rows["fetched_at"][number].as_py()
            position += rows.num_rows
        return found


def _urls(job: Job) -> Iterator[pa.RecordBatch]:
    for batch in batches(job.shelf, job.run):
        if job.shelf.path(job.scratch(f"batch-{batch.index:06}.json")).exists():
            yield from rows_of(job, batch.index, ["url", "fetched_at"])


def _columns(rows: Any, digests: Any) -> tuple[NDArray[Any], ...]:
    """Give keys, digests (n × 2; 0 where there is no body), signatures (0: no text), and which rows have a body."""
    keys = np.array(rows["key"].to_pylist(), dtype=_KEY)
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
    known: _Known,
    facts: Sequence[Gathered],
    keep: NDArray[np.bool_],
    exact: NDArray[np.int64],
    near: NDArray[np.int64],
) -> None:
    archived = "warc" in job.options.formats
    originals = known.describe(exact[known.begin :][exact[known.begin :] >= 0].tolist()) if archived else {}
    with (
        job.shelf.publish(job.scratch("verdicts.arrow")) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, VERDICTS) as writer,
    ):
        start = known.begin
        for each in facts:
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


def _names(known: _Known, numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array([known.keys[n].decode() if n >= 0 else None for n in numbers.tolist()], pa.string())


def _write_seen(job: Job, facts: Sequence[Gathered]) -> None:
    with (
        job.shelf.publish(seen_name(job.run)) as temporary,
        pq.ParquetWriter(temporary, SEEN, compression="zstd", use_dictionary=["host"]) as writer,
    ):
        for batch, each in zip(batches(job.shelf, job.run), facts, strict=False):
            writer.write_batch(_seen_batch(job, batch, {(host, key) for host, key, _ in each.broken}))


def _seen_batch(job: Job, batch: Batch, broken: set[tuple[str, str]]) -> pa.RecordBatch:
    """Give what is to be remembered of a batch; what was broken may be mended, and comes again."""
    rows = {}
    for part in rows_of(job, batch.index, ["key", "sha256", "signature", "url", "fetched_at"]):
        for row in part.to_pylist():
            rows[row["key"]] = row
    nothing = dict.fromkeys(("sha256", "signature", "url", "fetched_at"))
    remembered = [
        {**(row := rows.get(key, nothing)), "host": host, "key": key, "digest": row["sha256"]}
        for host, key in batch.names()
        if (host, key) not in broken
    ]
    for row in remembered:
        row["digest"] = row["digest"] and bytes.fromhex(row["digest"][:32])
    return pa.RecordBatch.from_pylist(remembered, schema=SEEN)
