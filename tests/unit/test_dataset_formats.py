"""Tables as files: Parquet, JSON lines, CSV."""

import csv
import gzip
import io
import json
import random
import re
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fscrawl.dataset import formats, schema
from fscrawl.dataset.formats import Csv, JsonLines, Parquet, cell
from fscrawl.dataset.options import Options
from fscrawl.dataset.schema import TIME

SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("elapsed", pa.float64()),
        ("fetch_time", TIME),
        ("noindex", pa.bool_()),
        ("robots", pa.list_(pa.string())),
        ("content_charset", pa.string()),
        ("title", pa.string()),
        ("html", pa.binary()),
    ]
)
MOMENT = datetime(2026, 11, 21, 10, 0, 0, 5000, tzinfo=UTC)
FULL = ("http://a.example/", 1, 0.5, MOMENT, False, ["a", "b"], "windows-1252", "T\n\x1b[1m", b"\xe9")
NOTHING = ("http://a.example/2", *([None] * 8))


def batch(*rows):
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    return pa.record_batch(columns, schema=SCHEMA)


def written(writer, *batches):
    for each in batches:
        writer.write(each)
    writer.close()
    return writer.rows


def test_parquet(tmp_path):
    """Parquet gives the rows back as they were, in their order, with the columns' comments."""
    assert written(Parquet(tmp_path / "x", SCHEMA), batch(FULL), batch(NOTHING, FULL)) == 3
    table = pq.read_table(tmp_path / "x")
    assert [tuple(row.values()) for row in table.to_pylist()] == [FULL, NOTHING, FULL]


def test_parquet_row_groups(tmp_path, monkeypatch):
    """Rows wait for each other until they make a row group, by number or by bytes."""
    monkeypatch.setattr(formats, "_ROW_GROUP_ROWS", 4)
    written(Parquet(tmp_path / "x", SCHEMA), *[batch(FULL)] * 10)
    metadata = pq.read_metadata(tmp_path / "x")
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [4, 4, 2]
    monkeypatch.setattr(formats, "_ROW_GROUP_BYTES", 1)
    written(Parquet(tmp_path / "y", SCHEMA), *[batch(FULL)] * 3)
    assert pq.read_metadata(tmp_path / "y").num_row_groups == 3


def test_parquet_for_readers(tmp_path):
    """A file has a page index, and statistics of the narrow columns."""
    written(Parquet(tmp_path / "x", SCHEMA), *[batch(FULL)] * 3)
    group = pq.read_metadata(tmp_path / "x").row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    without = {"html", "robots.list.element"}
    assert all(each.has_offset_index for each in columns)
    assert {each.path_in_schema for each in columns if not each.has_column_index} == without
    assert {each.path_in_schema for each in columns if not each.is_stats_set} == without


def test_most_pages_stay_the_same(tmp_path):
    """Rows that come in between change a few pages of a Parquet file, and not all behind them."""
    rng = random.Random(1)
    rows = [(*FULL[:-1], rng.randbytes(20_000)) for _ in range(1000)]
    for name, them in (("old", rows), ("new", [*rows[:100], (*FULL[:-1], rng.randbytes(20_000)), *rows[100:]])):
        written(Parquet(tmp_path / name, SCHEMA), batch(*them))
    old, new = (pages_of(tmp_path / name) for name in ("old", "new"))
    assert len(old) >= 8
    assert len(old - new) <= 2


def pages_of(path):
    """Give the bodies' pages, by where their values begin: a kilobyte of each that zstd cannot shrink."""
    column = pq.read_metadata(path).row_group(0).column(SCHEMA.names.index("html"))
    data = path.read_bytes()[column.data_page_offset :][: column.total_compressed_size]
    begins = [frame.start() for frame in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), data)]  # of zstd
    return {data[at + 100 : at + 1100] for at in begins}


def test_parquet_without_rows(tmp_path):
    """A part without rows can be read, and has all columns."""
    assert written(Parquet(tmp_path / "x", SCHEMA)) == 0
    assert pq.read_table(tmp_path / "x").schema.names == SCHEMA.names


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_json_lines(tmp_path, compression):
    """A row is an object on a line of its own; what has no value is left out, times are RFC 3339, bodies text."""
    assert written(JsonLines(tmp_path / "x", compression), batch(FULL, NOTHING)) == 2
    with pa.CompressedInputStream(pa.OSFile(str(tmp_path / "x")), compression) as file:
        lines = file.read().decode().split("\n")
    assert lines.pop() == ""
    assert list(map(json.loads, lines)) == [
        {
            "url": "http://a.example/",
            "depth": 1,
            "elapsed": 0.5,
            "fetch_time": "2026-11-21T10:00:00.005Z",
            "noindex": False,
            "robots": ["a", "b"],
            "content_charset": "windows-1252",
            "title": "T\n\x1b[1m",
            "html": "é",
        },
        {"url": "http://a.example/2"},
    ]


def test_json_lines_are_the_same_again(tmp_path):
    """The same rows make the same bytes: no time is in them."""
    for name in "xy":
        written(JsonLines(tmp_path / name, "gzip"), batch(FULL))
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
    assert gzip.decompress((tmp_path / "x").read_bytes())[4:8] != bytes(4)
    assert (tmp_path / "x").read_bytes()[4:8] == bytes(4)


def test_json_bodies_in_no_encoding(tmp_path):
    """A body whose encoding is not known, or that is not valid in it, is read as UTF-8 with U+FFFD."""
    rows = [
        (*NOTHING[:6], charset, None, body) for charset, body in [(None, b"\xff\xc3\xa9"), ("klingon", b"\xc3\xa9")]
    ]
    rows.append((*NOTHING[:6], "utf-16le", None, b"\x00\xd8a\x00b"))
    written(JsonLines(tmp_path / "x", "gzip"), batch(*rows))
    found = [json.loads(line)["html"] for line in gzip.decompress((tmp_path / "x").read_bytes()).splitlines()]
    assert found[:2] == ["\ufffdé", "é"]
    assert "\ufffd" in found[2]
    assert found[2].encode()


def test_csv(tmp_path):
    """CSV has a header and a line for each row, without bodies and control characters; cells keep their newlines."""
    assert written(Csv(tmp_path / "x", SCHEMA), batch(FULL, NOTHING)) == 2
    data = (tmp_path / "x").read_bytes()
    assert data.startswith(b"url,depth,elapsed,fetch_time,noindex,robots,content_charset,title\r\n")
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert rows[1] == [
        "http://a.example/",
        "1",
        "0.5",
        "2026-11-21T10:00:00.005Z",
        "False",
        '["a","b"]',
        "windows-1252",
        "T\n[1m",
    ]
    assert rows[2] == ["http://a.example/2", *[""] * 7]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "@SUM(A1)",
        "  =1",
        "\x00=1",
        "\u00a0=1",
        "＝1",
        "-",
    ],
)
def test_formula(text):
    """What a spreadsheet could take for a formula, after white space and control characters too, is no longer one."""
    assert cell(text).startswith("'")


@pytest.mark.parametrize("text", ["a=b", "1-2", "", "x", "'=1", "日本", "http://a.example/?a=1", "a\tb\nc"])
def test_no_formula(text):
    """Other text stays as it is."""
    assert cell(text) == text


def test_no_control_characters():
    """No cell can hold what a terminal would obey, or a NUL; tabs and newlines stay."""
    everything = "x" + "".join(map(chr, range(256)))
    kept = [c for c in cell(everything) if not c.isprintable() and c not in "\xa0\xad"]
    assert kept == ["\t", "\n"]


def test_other_values():
    """Numbers and truth values stay what they are, and a list is one of JSON: neither can be a formula."""
    assert [cell(value) for value in (-1, 0.5, True, None)] == [-1, 0.5, True, ""]
    assert cell([1, None, "a\x85 b", MOMENT]) == '[1,null,"a b","2026-11-21T10:00:00.005Z"]'


def test_a_field_that_has_the_name_of_a_new_column():
    """A dataset whose fields were named before there was such a column goes on with the field."""
    fields = [pa.field("ip", pa.int64())]
    made = schema.pages(fields, Options())
    assert made.names.count("ip") == 1
    assert made.field("ip").type == pa.int64()
