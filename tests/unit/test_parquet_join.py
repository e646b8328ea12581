"""Parquet files that are joined by copying their bytes: rows, indexes and footers, as several readers see them."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from fscrawl.dataset import parquet_join, thrift
from fscrawl.dataset.formats import Parquet

SCHEMA = pa.schema([("url_host_name", pa.string()), ("key", pa.string()), ("text", pa.string()), ("depth", pa.int32())])


def written(tmp_path, counts, monkeypatch):
    """Write files with so many rows each, in row groups of 100; return their paths and all rows."""
    monkeypatch.setattr("fscrawl.dataset.formats._ROW_GROUP_ROWS", 100)
    paths, tables = [], []
    for number, count in enumerate(counts):
        paths.append(tmp_path / f"{number}.parquet")
        writer = Parquet(paths[-1], SCHEMA, ("url_host_name", "key"))
        for begin in range(0, count, 50):
            numbers = range(begin, min(begin + 50, count))
            columns = [["a.example"] * len(numbers), [f"{number:03}{each:09}" for each in numbers]]
            columns += [[f"words {each} " * 40 for each in numbers], [each % 3 or None for each in numbers]]
            arrays = [pa.array(values, kind) for values, kind in zip(columns, SCHEMA.types, strict=True)]
            rows = pa.record_batch(arrays, schema=SCHEMA)
            writer.write(rows)
            tables.append(pa.Table.from_batches([rows]))
        writer.close()
    return paths, pa.concat_tables(tables)


def test_rows(tmp_path, monkeypatch):
    """A joined file has all rows in order, its row groups and statistics, and the claim that they are sorted."""
    paths, rows = written(tmp_path, [250, 1, 0, 730], monkeypatch)
    joined = tmp_path / "joined.parquet"
    parquet_join.join(paths, joined, in_order=True)
    assert pq.read_table(joined).equals(rows)
    file = pq.ParquetFile(joined)
    assert file.metadata.num_rows == len(rows)
    assert file.num_row_groups == sum(pq.ParquetFile(path).num_row_groups for path in paths)
    assert file.schema_arrow.equals(SCHEMA)
    for number in range(file.num_row_groups):
        here = file.read_row_group(number)
        group = file.metadata.row_group(number)
        assert group.num_rows == len(here)
        statistics = group.column(1).statistics
        assert (statistics.min, statistics.max) == (pc.min(here["key"]).as_py(), pc.max(here["key"]).as_py())
        assert [each.column_index for each in group.sorting_columns] == [0, 1]
    wanted = ds.field("key") == "003000000500"
    assert ds.dataset(joined).to_table(filter=wanted)["text"].to_pylist() == ["words 500 " * 40]


def test_page_index(tmp_path, monkeypatch):
    """The index of pages is where the footer says, and its places are those of the pages."""
    paths, _ = written(tmp_path, [250, 730], monkeypatch)
    joined = tmp_path / "joined.parquet"
    parquet_join.join(paths, joined, in_order=True)
    groups = [group for path in paths for group in row_groups(path)[1]]
    data, found = row_groups(joined)
    ordinals = [group[7][1] for group in found if 7 in group]
    assert ordinals == list(range(len(ordinals)))
    chunks = [[chunk for group in each for chunk in group[1][1][1]] for each in (groups, found)]
    originals = [path.read_bytes() for path in paths for group in row_groups(path)[1] for _ in SCHEMA]
    assert len(chunks[0]) == len(chunks[1]) == len(originals)
    for before, after, source in zip(*chunks, originals, strict=True):
        size = before[3][1][7][1]  # of the column, compressed
        assert page(data, after, size) == page(source, before, size)
        assert (6 in after) == (6 in before)  # a column without statistics has no index of them
        if 6 in after:
            sizes = after[6][1] + after[7][1], before[6][1] + before[7][1]
            assert data[after[6][1] : sizes[0]] == source[before[6][1] : sizes[1]]
        places = [thrift.read(whole, chunk[4][1])[0][1][1][1] for whole, chunk in ((data, after), (source, before))]
        for here, there in zip(*places, strict=True):
            assert {**here, 1: 0} == {**there, 1: 0}
            assert data[here[1][1] :][:20] == source[there[1][1] :][:20]


def row_groups(path):
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    return data, thrift.read(data[-8 - length : -8])[0][4][1][1]


def page(data, chunk, size):
    meta = chunk[3][1]
    begin = meta[11][1] if 11 in meta else meta[9][1]
    return data[begin : begin + size]


def test_no_order(tmp_path, monkeypatch):
    """What is not true of all files together is not claimed."""
    paths, rows = written(tmp_path, [10, 10], monkeypatch)
    joined = tmp_path / "joined.parquet"
    parquet_join.join(paths[::-1], joined, in_order=False)
    assert pq.read_metadata(joined).row_group(0).sorting_columns == ()
    assert pq.read_table(joined).num_rows == rows.num_rows


def test_other_writers(tmp_path):
    """Files without an index of pages, and with Bloom filters or other codings, can be joined, too."""
    table = pa.table({"a": list(range(5000)), "b": [[str(n)] * (n % 4) for n in range(5000)], "c": [1.5] * 5000})
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for path in paths:
        pq.write_table(table, path, row_group_size=1500, write_page_index=False, compression="gzip")
    joined = tmp_path / "joined.parquet"
    parquet_join.join(paths, joined, in_order=True)
    assert pq.read_table(joined).equals(pa.concat_tables([table, table]))


def test_many_row_groups(tmp_path, monkeypatch):
    """Numbers of row groups have two bytes; where they do not suffice there are none."""
    monkeypatch.setattr(parquet_join, "_MOST_ORDINALS", 3)
    paths, rows = written(tmp_path, [250, 250], monkeypatch)
    joined = tmp_path / "joined.parquet"
    parquet_join.join(paths, joined, in_order=True)
    assert pq.read_table(joined).equals(rows)
    assert sum(7 in group for group in row_groups(joined)[1]) <= 3


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"x" * 40, b"\xff" * 4 + b"PAR1"])
def test_no_parquet(data, tmp_path):
    """What is no Parquet file is named."""
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.parquet: not a whole Parquet file"):
        parquet_join.join([path], tmp_path / "joined.parquet", in_order=True)


def test_thrift():
    """All types are read as they were written, also long lists and fields that are far apart; a map is refused."""
    elements = [each - 10 for each in range(20)]
    struct = {
        1: (thrift.TRUE, True),
        2: (thrift.FALSE, False),
        3: (thrift.BYTE, 7),
        4: (thrift.I16, -3),
        5: (thrift.DOUBLE, b"12345678"),
        40: (thrift.LIST, (thrift.I64, elements)),
        41: (thrift.SET, (thrift.TRUE, [1, 2])),
        42: (thrift.LIST, (thrift.STRUCT, [{1: (thrift.BINARY, b"x" * 300)}, {}])),
    }
    assert thrift.read(thrift.write(struct)) == (struct, len(thrift.write(struct)))
    with pytest.raises(ValueError, match="type 11"):
        thrift.read(b"\x1b\x00\x00")
