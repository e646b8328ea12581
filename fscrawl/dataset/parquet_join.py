"""Joins Parquet files of one schema by copying their bytes. Nothing is decompressed, and memory does not grow.

A Parquet file has the data of its row groups, then an index of the pages of each column, then a footer that says where
all of that is. A joined file has the data and the indexes of all files, one after the other, and one footer for them.
Whatever counts from the beginning of a file is moved.

https://github.com/apache/parquet-format
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from fscrawl.dataset import thrift
from fscrawl.dataset.thrift import LIST, RAW, Struct

MAGIC = b"PAR1"
_END_BYTES = 8  # the length of the footer, and the magic
_CHUNK_BYTES = 1 << 20
# Numbers of fields in parquet.thrift
_NUM_ROWS, _ROW_GROUPS = 3, 4  # of FileMetaData
_COLUMNS, _ORDER, _GROUP_OFFSET, _ORDINAL = 1, 4, 5, 7  # of RowGroup
_CHUNK_OFFSET, _META, _OFFSET_INDEX, _OFFSET_INDEX_LENGTH, _COLUMN_INDEX = 2, 3, 4, 5, 6  # of ColumnChunk
_OFFSETS_OF_COLUMN = (9, 10, 11, 14)  # of ColumnMetaData: data pages, index pages, dictionary, Bloom filter
_MOST_ORDINALS = 1 << 15  # two bytes; the field may be missing


def join(sources: Iterable[Path], target: Path, *, in_order: bool) -> None:
    """Write the rows of all `sources`, in order, into one file. ValueError if one of them is no Parquet file.

    `in_order`: what the sources claim of the order of their rows holds for all of them together. If not, the claim is
    left out.
    """
    groups: list[bytes] = []
    footer: Struct = {}
    rows = 0
    with target.open("wb") as out:
        out.write(MAGIC)
        for source in sources:
            with source.open("rb") as file:
                footer, end = _footer(file, source)
                rows += footer[_NUM_ROWS][1]
                for group in _copied(file, footer, end, out):
                    _renumber(group, len(groups))
                    if not in_order:
                        group.pop(_ORDER, None)
                    groups.append(thrift.write(group))
        footer[_NUM_ROWS] = footer[_NUM_ROWS][0], rows
        footer[_ROW_GROUPS] = LIST, (RAW, groups)
        data = thrift.write(footer)
        out.write(data + len(data).to_bytes(4, "little") + MAGIC)


def _footer(file: BinaryIO, source: Path) -> tuple[Struct, int]:
    """Read the footer of a file; return it, and where it begins."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _END_BYTES))
    end = file.read(_END_BYTES)
    begin = size - _END_BYTES - int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or begin < len(MAGIC):
        raise ValueError(f"{source}: not a whole Parquet file")
    file.seek(begin)
    return thrift.read(file.read(size - _END_BYTES - begin))[0], begin


def _copied(file: BinaryIO, footer: Struct, end: int, out: BinaryIO) -> list[Struct]:
    """Copy the data and the indexes of a file. Return its row groups, with the places where they are now."""
    groups: list[Struct] = footer[_ROW_GROUPS][1][1]
    chunks: list[Struct] = [chunk for group in groups for chunk in group[_COLUMNS][1][1]]
    # The last thing before the footer are the indexes with places of pages. They are written anew.
    stop = min((chunk[_OFFSET_INDEX][1] for chunk in chunks if _OFFSET_INDEX in chunk), default=end)
    moved = out.tell() - len(MAGIC)
    _copy(file, len(MAGIC), stop, out)
    for chunk in chunks:
        _move(chunk, (_COLUMN_INDEX, _CHUNK_OFFSET), moved)
        _move(chunk[_META][1], _OFFSETS_OF_COLUMN, moved)
        if _OFFSET_INDEX in chunk:
            _write_offset_index(file, chunk, out, moved)
    for group in groups:
        _move(group, (_GROUP_OFFSET,), moved)
    return groups


def _renumber(group: Struct, number: int) -> None:
    kind, _ = group.pop(_ORDINAL, (thrift.I16, 0))
    if number < _MOST_ORDINALS:
        group[_ORDINAL] = kind, number


def _move(struct: Struct, fields: Sequence[int], moved: int) -> None:
    for field in fields:
        kind, value = struct.get(field, (0, 0))
        if value > 0:  # 0: it is not said
            struct[field] = kind, value + moved


def _write_offset_index(file: BinaryIO, chunk: Struct, out: BinaryIO, moved: int) -> None:
    file.seek(chunk[_OFFSET_INDEX][1])
    index, _ = thrift.read(file.read(chunk[_OFFSET_INDEX_LENGTH][1]))
    pages: list[dict[int, Any]] = index[1][1][1]
    for page in pages:
        _move(page, (1,), moved)
    data = thrift.write(index)
    chunk[_OFFSET_INDEX] = chunk[_OFFSET_INDEX][0], out.tell()
    chunk[_OFFSET_INDEX_LENGTH] = chunk[_OFFSET_INDEX_LENGTH][0], len(data)
    out.write(data)


def _copy(file: BinaryIO, begin: int, end: int, out: BinaryIO) -> None:
    file.seek(begin)
    while begin < end:
        data = file.read(min(_CHUNK_BYTES, end - begin))
        if not data:
            raise ValueError("a Parquet file became shorter while it was read")
        out.write(data)
        begin += len(data)
