"""A group of batches: its kept rows become one part of each table, in each format, and an archive.

.merge/run-<run>/group-<n>.json    GroupResult; when this file exists, the group is done
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from fscrawl.dataset import tables
from fscrawl.dataset.dedupe import verdicts_of
from fscrawl.dataset.extract import BatchResult, rows_of
from fscrawl.dataset.formats import TABLE_FORMATS, TableWriter
from fscrawl.dataset.job import Job, pages_done
from fscrawl.dataset.manifest import Part
from fscrawl.dataset.warc import ArchiveWriter
from fscrawl.util.progress import ProgressLine

# Of the files of a group's batches, which are compressed by LZ4. So a part has some 300 MB at most as Parquet, and an
# archive of pictures, which cannot be compressed, less than 1 GB. A smaller dataset has up to eight groups, so that all
# processes have some to write.
_GROUP_BYTES = 768 << 20
_LEAST_GROUP_BYTES, _GROUPS = 16 << 20, 8
_GROUP_ROWS = 250_000  # an archive's index is sorted in memory


class GroupResult(msgspec.Struct, frozen=True):
    """What a group has made. `batches`: the numbers of its first batch, and of the one behind its last.

    `rows`: those that were kept; of these `redirects` and `others`.
    """

    batches: tuple[int, int]
    rows: int = 0
    redirects: int = 0
    others: int = 0
    parts: tuple[Part, ...] = ()


def part_name(run: int, index: int) -> str:
    """Return the name of a part. No part of another run has the same name.

    >>> part_name(1, 2)
    'part-0001-00002'
    """
    return f"part-{run:04}-{index:05}"


def cut_into_groups(batches: Sequence[BatchResult]) -> list[range]:
    """Cut a run's batches into groups of about the same size, each of which is written by one process.

    >>> cut_into_groups([BatchResult(rows=200_000, bytes=1), BatchResult(rows=200_000, bytes=1)])
    [range(0, 1), range(1, 2)]
    """
    total = sum(each.bytes for each in batches)
    rows = sum(each.rows for each in batches)
    count = max(-(-total // _GROUP_BYTES), -(-rows // _GROUP_ROWS), min(_GROUPS, total // _LEAST_GROUP_BYTES), 1)
    ends: dict[int, int] = {}
    before = 0
    for number, each in enumerate(batches):
        ends[int((before + each.bytes / 2) * count / total)] = number + 1
        before += each.bytes
    return [range(begin, end) for begin, end in zip([0, *ends.values()], ends.values(), strict=False)]


def write_group(job: Job, index: int, group: range) -> GroupResult:
    """Do a group, unless it was done before the run was interrupted."""
    name = job.scratch(f"group-{index:06}.json")
    result = job.directory.read_scratch(name, GroupResult)
    is_this = result is not None and result.batches == (group.start, group.stop)  # another version may cut otherwise
    if result is not None and is_this and all(map(job.directory.is_same, result.parts)):
        pages_done(result.rows)
        return result
    result = _write(job, part_name(job.run, index), group)
    job.directory.write_json(name, result)
    return result


def _write(job: Job, part: str, group: range) -> GroupResult:
    batches = (group.start, group.stop)
    if not any(pc.any(verdicts_of(job, batch)["keep"]).as_py() for batch in group):
        pages_done(sum(verdicts_of(job, batch).num_rows for batch in group))
        return GroupResult(batches)
    names: dict[tuple[str, str], str] = {
        (table, style): TABLE_FORMATS[style].path.format(table=table, part=part)
        for style in job.options.formats
        if style in TABLE_FORMATS
        for table in tables.of_pages(job)
    }
    archive_names = [f"warc/{part}.warc.gz", f"warc-index/{part}.parquet"] if job.options.archives else []
    rows = redirects = others = 0
    with contextlib.ExitStack() as stack:
        writers = {key: _open(stack, job, name, *key) for key, name in names.items()}
        archive = _open_archive(stack, job, *archive_names) if archive_names else None
        for kept, verdicts in _kept(job, group):
            rows += kept.num_rows
            moved = pc.is_valid(kept["redirect"])
            redirects += pc.sum(moved).as_py()
            others += pc.sum(pc.and_not(pc.is_valid(kept["skipped"]), moved)).as_py()
            _write_tables(job, kept, verdicts, writers)
            if archive is not None:
                archive.write(kept, verdicts)
    parts = [job.directory.part(name, writers[key].rows) for key, name in names.items()]
    parts += [job.directory.part(name, rows) for name in archive_names]
    return GroupResult(batches, rows, redirects, others, tuple(parts))


def _open(stack: contextlib.ExitStack, job: Job, name: str, table: str, style: str) -> TableWriter:
    temporary = stack.enter_context(job.directory.publish(name))
    writer = TABLE_FORMATS[style].writer(temporary, tables.schemas(job)[table])
    stack.callback(writer.close)
    return writer


def _open_archive(stack: contextlib.ExitStack, job: Job, name: str, index: str) -> ArchiveWriter:
    temporary, index_file = (stack.enter_context(job.directory.publish(each)) for each in (name, index))
    archive = ArchiveWriter(temporary, index_file, name, job.crawl)
    stack.callback(archive.close)
    return archive


def _kept(job: Job, group: range) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield the kept rows of a group, and their verdicts."""
    for batch in group:
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
    line.begin("writing failures", about, "failures")
    return _write_alone(job, "errors", tables.errors(job, line.advance))


def write_changes(job: Job, line: ProgressLine) -> list[Part]:
    """Write the changes of all pages, one part in each format, if they are wanted."""
    if not job.options.changes:
        return []
    line.begin("writing changes", 0, "pages")
    return _write_alone(job, "changes", tables.changes(job, line.advance))


def _write_alone(job: Job, table: str, batches: Iterator[pa.RecordBatch]) -> list[Part]:
    styles = [style for style in job.options.formats if style in TABLE_FORMATS]
    part = part_name(job.run, 0)
    names = {style: TABLE_FORMATS[style].path.format(table=table, part=part) for style in styles}
    with contextlib.ExitStack() as stack:
        writers = {style: _open(stack, job, name, table, style) for style, name in names.items()}
        for rows in batches if writers else ():
            for writer in writers.values():
                writer.write(rows)
    return [job.directory.part(name, writers[style].rows) for style, name in names.items()]
