"""A group: its kept rows written to a part of each table in each format, and to a segment of the archive.

.merge/run-<run>/group-<n>.json    the facts of its parts; its existence means "written"
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fscrawl.dataset import tables, warc
from fscrawl.dataset.dedupe import verdicts_of
from fscrawl.dataset.extract import rows_of
from fscrawl.dataset.formats import PLACES, Writer
from fscrawl.dataset.job import Job

Facts = list[dict[str, Any]]


def segment(index: int) -> str:
    return f"group-{index:06}"


def part(run: int, index: int) -> str:
    """Give a part's name: unlike any of another run.

    >>> part(1, 2)
    'part-0001-00002'
    """
    return f"part-{run:04}-{index:05}"


def write(job: Job, index: int, batches: range) -> dict[str, Any]:
    """Do a group, unless an earlier try of the run did it; give its `rows`, its `files`, and its segment's `bytes`."""
    commit = job.scratch(f"{segment(index)}.json")
    done: dict[str, Any] | None = job.shelf.read_json(commit)
    if done is None:
        done = _write(job, index, batches)
        job.shelf.write_json(commit, done)
    return done


def _write(job: Job, index: int, batches: range) -> dict[str, Any]:
    if not any(pc.any(verdicts_of(job, batch)["keep"]).as_py() for batch in batches):
        return {"rows": 0, "files": [], "bytes": 0}
    names = {
        (table, style): PLACES[style][0].format(table=table, part=part(job.run, index))
        for style in job.options.formats
        if style in PLACES
        for table in ("pages", "links")
    }
    rows = 0
    with contextlib.ExitStack() as stack:
        writers = {place: _open(stack, job, name, *place) for place, name in names.items()}
        archive = _open_segment(stack, job, index) if "warc" in job.options.formats else None
        for kept, verdicts in _kept(job, batches):
            rows += kept.num_rows
            _pass_on(job, kept, verdicts, writers)
            if archive is not None:
                archive.write(kept, verdicts)
    files = [job.shelf.facts(name, writers[place].rows) for place, name in names.items()]
    return {"rows": rows, "files": files, "bytes": _segment_bytes(job, index)}


def _open(stack: contextlib.ExitStack, job: Job, name: str, table: str, style: str) -> Writer:
    temporary = stack.enter_context(job.shelf.publish(name))
    writer = PLACES[style][1](temporary, tables.schemas(job)[table])
    stack.callback(writer.close)
    return writer


def _open_segment(stack: contextlib.ExitStack, job: Job, index: int) -> warc.Segment:
    temporary = stack.enter_context(job.shelf.publish(job.scratch(f"{segment(index)}.warc.gz")))
    index_file = stack.enter_context(job.shelf.publish(job.scratch(f"{segment(index)}.arrow")))
    archive = warc.Segment(temporary, job)
    stack.callback(lambda: warc.write_index(index_file, archive.index))
    stack.callback(archive.close)
    return archive


def _segment_bytes(job: Job, index: int) -> int:
    return (
        job.shelf.path(job.scratch(f"{segment(index)}.warc.gz")).stat().st_size if "warc" in job.options.formats else 0
    )


def _kept(job: Job, batches: range) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Give the kept rows of a group and their verdicts."""
    for batch in batches:
        verdicts = verdicts_of(job, batch)
        start = 0
        for rows in rows_of(job, batch):
            mine = verdicts.slice(start, rows.num_rows)
            start += rows.num_rows
            keep = mine["keep"]
            if pc.any(keep).as_py():
                yield rows.filter(keep), mine.filter(keep)


def _pass_on(job: Job, rows: pa.RecordBatch, verdicts: pa.RecordBatch, writers: dict[tuple[str, str], Writer]) -> None:
    if not writers:
        return
    made = {"pages": tables.pages(job, rows, verdicts), "links": tables.links(rows)}
    for (table, _), writer in writers.items():
        writer.write(made[table])


def write_errors(job: Job) -> Facts:
    """Write the failures as they are now, a part of each format."""
    styles = [style for style in job.options.formats if style in PLACES]
    names = {style: PLACES[style][0].format(table="errors", part=part(job.run, 0)) for style in styles}
    with contextlib.ExitStack() as stack:
        writers = {style: _open(stack, job, name, "errors", style) for style, name in names.items()}
        for rows in tables.errors(job) if writers else ():
            for writer in writers.values():
                writer.write(rows)
    return [job.shelf.facts(name, writers[style].rows) for style, name in names.items()]
