"""A group: its kept rows become a part of each table as JSON lines or CSV, and segments of Parquet files and archives.

.merge/run-<run>/group-<n>.<table>.parquet    a segment of a table; `parquet_files` joins them
.merge/run-<run>/group-<n>.done.json          GroupResult; when this file exists, the group is done
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fscrawl.dataset import parquet_join, tables, warc
from fscrawl.dataset.dedupe import Group, verdicts_of
from fscrawl.dataset.extract import ARROW_END, rows_of
from fscrawl.dataset.formats import JOINED, TABLE_FORMATS, TableWriter
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Part
from fscrawl.dataset.tally import pages_done
from fscrawl.util.progress import ProgressLine


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What a group has made: its number of kept rows, its parts, and the bytes of its segment (0 without one).

    `redirects`, `others`: rows of these kinds; all others are pages. `batches`: which ones it is made of. `tables`:
    rows and bytes of its segments of Parquet, by table.
    """

    rows: int
    parts: tuple[Part, ...]
    segment_bytes: int
    redirects: int = 0
    others: int = 0
    batches: range = range(0)
    tables: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> GroupResult:
        parts = tuple(Part(**each) for each in values["files"])
        kinds = values["redirects"], values["others"]
        found = {name: (rows, size) for name, (rows, size) in values["tables"].items()}
        return cls(values["rows"], parts, values["bytes"], *kinds, range(*values["batches"]), found)

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "redirects": self.redirects,
            "others": self.others,
            "files": [asdict(part) for part in self.parts],
            "bytes": self.segment_bytes,
            "batches": [self.batches.start, self.batches.stop],
            "tables": self.tables,
        }


def segment_name(index: int) -> str:
    return f"group-{index:06}"


def table_segment(index: int, table: str) -> str:
    return f"{segment_name(index)}.{table}.parquet"


def part_name(run: int, index: int) -> str:
    """Return the name of a part. No part of another run has the same name.

    >>> part_name(1, 2)
    'part-0001-00002'
    """
    return f"part-{run:04}-{index:05}"


def write_group(job: Job, index: int, group: Group) -> GroupResult:
    """Do a group, unless it was done before the run was interrupted."""
    name = job.scratch(f"{segment_name(index)}.done.json")
    done = job.directory.read_scratch(name)
    begin, end = group.batches.start, group.batches.stop
    if done is not None and done["batches"] == [begin, end]:  # another version may cut them otherwise
        result = GroupResult.from_json(done)
        if _is_whole(job, index, result):
            pages_done(result.rows)
            return result
    result = _write(job, index, group)
    job.directory.write_json(name, result.as_json())
    return result


def _is_whole(job: Job, index: int, result: GroupResult) -> bool:
    """Tell whether what a group has made is there. After a power failure, files that had their names may be short."""
    directory = job.directory
    tables_there = (
        directory.ends_with(job.scratch(table_segment(index, table)), parquet_join.MAGIC)
        and directory.size(job.scratch(table_segment(index, table))) == size
        for table, (_, size) in result.tables.items()
    )
    return all(map(directory.is_whole, result.parts)) and all(tables_there) and _has_segment(job, index, result)


def _has_segment(job: Job, index: int, result: GroupResult) -> bool:
    if not result.segment_bytes:
        return True
    name = job.scratch(segment_name(index))
    has_pages = "wacz" not in job.options.formats or job.directory.size(f"{name}.pages.jsonl") is not None
    is_there = job.directory.size(f"{name}.warc.gz") == result.segment_bytes
    return is_there and has_pages and job.directory.ends_with(f"{name}.arrow", ARROW_END)


def _write(job: Job, index: int, group: Group) -> GroupResult:
    batches = group.batches
    if not any(pc.any(verdicts_of(job, batch)["keep"]).as_py() for batch in batches):
        pages_done(sum(verdicts_of(job, batch).num_rows for batch in batches))
        return GroupResult(0, (), 0, batches=batches)
    names = {
        (table, style): job.scratch(table_segment(index, table))
        if style == JOINED
        else TABLE_FORMATS[style].path.format(table=table, part=part_name(job.run, index))
        for style in job.options.formats
        if style in TABLE_FORMATS
        for table in tables.of_pages(job)
    }
    rows = redirects = others = 0
    with contextlib.ExitStack() as stack:
        writers = {key: _open(stack, job, name, *key, in_order=group.in_order) for key, name in names.items()}
        segment = _open_segment(stack, job, index) if job.options.archives else None
        for kept, verdicts in _kept(job, batches):
            rows += kept.num_rows
            moved = pc.is_valid(kept["redirect"])
            redirects += pc.sum(moved).as_py()
            others += pc.sum(pc.and_not(pc.is_valid(kept["skipped"]), moved)).as_py()
            _write_tables(job, kept, verdicts, writers)
            if segment is not None:
                segment.write(kept, verdicts)
    parts = tuple(job.directory.part(name, writers[key].rows) for key, name in names.items() if key[1] != JOINED)
    segments = {
        key[0]: (writers[key].rows, job.directory.size(name) or 0) for key, name in names.items() if key[1] == JOINED
    }
    return GroupResult(rows, parts, _segment_bytes(job, index), redirects, others, batches, segments)


def _open(
    stack: contextlib.ExitStack, job: Job, name: str, table: str, style: str, *, in_order: bool = False
) -> TableWriter:
    temporary = stack.enter_context(job.directory.publish(name))
    sorted_by = tables.SORTED_BY.get(table, ()) if in_order else ()
    writer = TABLE_FORMATS[style].writer(temporary, tables.schemas(job)[table], sorted_by)
    stack.callback(writer.close)
    return writer


def _open_segment(stack: contextlib.ExitStack, job: Job, index: int) -> warc.SegmentWriter:
    temporary = stack.enter_context(job.directory.publish(job.scratch(f"{segment_name(index)}.warc.gz")))
    index_file = stack.enter_context(job.directory.publish(job.scratch(f"{segment_name(index)}.arrow")))
    pages = None
    if "wacz" in job.options.formats:
        pages = stack.enter_context(job.directory.publish(job.scratch(f"{segment_name(index)}.pages.jsonl")))
    segment = warc.SegmentWriter(temporary, index_file, job, pages)
    stack.callback(segment.close)
    return segment


def _segment_bytes(job: Job, index: int) -> int:
    if not job.options.archives:
        return 0
    return job.directory.size(job.scratch(f"{segment_name(index)}.warc.gz")) or 0


def _kept(job: Job, batches: range) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield the kept rows of a group, and their verdicts."""
    for batch in batches:
        verdicts = verdicts_of(job, batch)
        start = 0
        for rows in rows_of(job, batch):
            verdicts_here = verdicts.slice(start, rows.num_rows)
            start += rows.num_rows
            keep = verdicts_here["keep"]
            if pc.any(keep).as_py():
                yield rows.filter(keep), verdicts_here.filter(keep)
            pages_done(rows.num_rows)


def _write_tables(
    job: Job, rows: pa.RecordBatch, verdicts: pa.RecordBatch, writers: dict[tuple[str, str], TableWriter]
) -> None:
    if not writers:
        return
    made = {"pages": tables.pages(job, rows, verdicts), "links": tables.links(rows)}
    if job.item_columns:
        made["items"] = tables.items(job, rows)
    for (table, _), writer in writers.items():
        writer.write(made[table])


def write_failures(job: Job, line: ProgressLine, about: int = 0) -> list[Part]:
    """Write the current failures, one part in each format. `about`: so many, or more; 0: it is not known."""
    styles = [style for style in job.options.formats if style in TABLE_FORMATS]
    part = part_name(job.run, 0)
    names = {style: TABLE_FORMATS[style].path.format(table="errors", part=part) for style in styles}
    line.begin("writing failures", about, "failures", about=True)
    with contextlib.ExitStack() as stack:
        writers = {style: _open(stack, job, name, "errors", style) for style, name in names.items()}
        for rows in tables.errors(job, line.advance) if writers else ():
            for writer in writers.values():
                writer.write(rows)
    return [job.directory.part(name, writers[style].rows) for style, name in names.items()]
