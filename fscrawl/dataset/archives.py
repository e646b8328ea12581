"""Segments of archives (`warc`) become files: WARC with its indexes, and WACZ (`wacz`).

warc/<part>.warc.gz           a warcinfo record, then consecutive segments unchanged, 1 GB at most
warc/<part>.cdxj.gz, .idx     the index for web archives, in blocks (`cdxj`)
warc-index/<part>.parquet     the same index as a table
wacz/<part>.wacz              the same archive with its index, in one file
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fscrawl.dataset import cdxj, wacz, warc
from fscrawl.dataset.gzip_member import gzip_member
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Part
from fscrawl.dataset.schema import WARC_INDEX
from fscrawl.dataset.tally import pages_done

PART_BYTES = 1_000_000_000
_ORDER = ("url_surtkey", "fetch_time", "warc_record_offset")


def cut_into_parts(sizes: Iterable[int]) -> list[range]:
    """Cut segments into parts of at most PART_BYTES; a single larger segment is a part of its own.

    >>> cut_into_parts([600_000_000, 300_000_000, 600_000_000])
    [range(0, 2), range(2, 3)]
    """
    found: list[range] = []
    begin = total = end = 0
    for end, size in enumerate(sizes, 1):
        if end - 1 > begin and total + size > PART_BYTES:
            found.append(range(begin, end - 1))
            begin, total = end - 1, 0
        total += size
    return [*found, range(begin, end)] if end else found


@dataclass(frozen=True)
class _Archive:
    """An archive that is to be written.

    info       its first record, compressed
    bytes      of all of it
    segments   names without their endings
    rows       its index (WARC_INDEX), sorted
    moment     when its last page was fetched
    """

    part: str
    info: bytes
    bytes: int
    segments: list[str]
    rows: pa.Table
    moment: datetime

    @property
    def file(self) -> str:
        return f"{self.part}.warc.gz"

    def names(self, ending: str) -> list[str]:
        return [f"{name}{ending}" for name in self.segments]


def join_segments(job: Job, part: str, segments: list[str]) -> list[Part]:
    """Make one archive of segments (names, in order), in each format of archives that is wanted."""
    archive = _archive(job, part, segments)
    lines = cdxj.lines(archive.rows)
    parts = _write_warc(job, archive, lines) if "warc" in job.options.formats else []
    if "wacz" in job.options.formats:
        parts.append(_write_wacz(job, archive, lines))
    pages_done(len(archive.rows))
    return parts


def _archive(job: Job, part: str, segments: list[str]) -> _Archive:
    file = f"{part}.warc.gz"
    indexes = [_read_index(job, segment) for segment in segments]
    latest = max(pc.max(index["fetch_time"]).as_py() for index in indexes)
    names = [job.scratch(segment) for segment in segments]
    info = gzip_member(warc.warcinfo(job.crawl, file, latest))
    offset, moved = len(info), []
    for name, index in zip(names, indexes, strict=True):
        moved.append(_moved(index, f"warc/{file}", offset))
        offset += job.directory.size(f"{name}.warc.gz") or 0
    rows = pa.concat_tables(moved).sort_by([(name, "ascending") for name in _ORDER]).combine_chunks()
    return _Archive(part, info, offset, names, rows, latest)


def _write_warc(job: Job, archive: _Archive, lines: list[str]) -> list[Part]:
    part = archive.part
    names = [f"warc/{archive.file}", f"warc/{part}.cdxj.gz", f"warc/{part}.idx", f"warc-index/{part}.parquet"]
    with job.directory.publish(names[0]) as temporary, temporary.open("wb") as file:
        file.write(archive.info)
        for path in job.directory.each(archive.names(".warc.gz")):
            _copy(path, file)
    idx = []
    with job.directory.publish(names[1]) as temporary, temporary.open("wb") as file:
        for number, block in enumerate(cdxj.blocks(lines), 1):
            file.write(block.data)
            idx.append(cdxj.idx_line(block, number, f"{part}.cdxj.gz"))
    job.directory.write(names[2], "".join(idx))
    with job.directory.publish(names[3]) as temporary:
        pq.write_table(archive.rows, temporary, compression="zstd")
    return [job.directory.part(name, len(archive.rows)) for name in names]


def _write_wacz(job: Job, archive: _Archive, lines: list[str]) -> Part:
    name = f"{wacz.FOLDER}/{archive.part}.wacz"
    title = f"crawl {job.crawl}, {archive.part}"
    with job.directory.publish(name) as temporary, wacz.Package(temporary, title, archive.moment) as package:
        archived = job.directory.each(archive.names(".warc.gz"))
        wacz.add_archive(package, archive.file, archive.bytes, archive.info, archived)
        wacz.add_index(package, lines)
        wacz.add_pages(package, job.directory.each(archive.names(".pages.jsonl")))
    return job.directory.part(name, len(archive.rows))


def _read_index(job: Job, segment: str) -> pa.Table:
    with job.directory.reading(job.scratch(f"{segment}.arrow")) as path, pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def _moved(index: pa.Table, archive: str, offset: int) -> pa.Table:
    """Change a segment's index into that of its archive, where the segment begins at `offset`."""
    made = {
        "warc_filename": pa.repeat(pa.scalar(archive), len(index)),
        "warc_record_offset": pc.add(index["warc_record_offset"], offset),
    }
    return pa.table([made.get(name, index[name]) for name in WARC_INDEX.names], schema=WARC_INDEX)


def _copy(path: Path, file: BinaryIO) -> None:
    with path.open("rb") as source:
        shutil.copyfileobj(source, file, 1 << 20)
