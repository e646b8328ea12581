"""Other people's tools open a dataset, and find in it what the tree holds."""

from __future__ import annotations

import ast
import gzip
import importlib.util
import io
import json
import re
import socket
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from fscrawl.dataset.schema import TABLES
from fscrawl.storage.records import ErrorRecord, PageRecord
from tests.support import datasets
from tests.support.crawling import CHECKOUT, errors, pages, run
from tests.support.trees import Grown

pytestmark = pytest.mark.proof

EXPORT = CHECKOUT / "docs/how-to/export.md"
VIRTUAL = sys.executable.rpartition("/")[0]


@dataclass(frozen=True, slots=True, repr=False)
class Exported:
    """A tree and the dataset of it in all formats. `bodies` and `records` by URL, as the tree has them."""

    out: Path
    records: dict[str, PageRecord]
    failures: dict[str, ErrorRecord]
    bodies: dict[str, bytes]

    def one(self, pattern: str) -> Path:
        (path,) = self.out.glob(pattern)
        return path

    def rows(self) -> dict[str, dict[str, Any]]:
        """Give the pages as pyarrow reads them, by URL."""
        return {row["url"]: row for row in pq.read_table(self.out / "pages").to_pylist()}

    def links(self) -> int:
        return sum(len(each.links) + len(each.nofollow or ()) for each in self.records.values())


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    root = datasets.crawled(tmp_path_factory.mktemp("readers") / "tree")
    done = datasets.merge(root, root.parent / "dataset", *datasets.ALL_FORMATS)
    assert (done.code, done.warnings) == (0, []), done
    return Exported(root.parent / "dataset", pages(root), errors(root), datasets.bodies(root))


# -- tables


def test_duckdb_reads_parquet(exported: Exported) -> None:
    """DuckDB finds in the Parquet files every page, link and failure of the tree, with its body."""
    counts = {
        table: duckdb.sql(f"SELECT count(*) FROM '{exported.out}/{table}/*.parquet'").fetchall() for table in TABLES
    }
    assert counts == {
        "pages": [(len(exported.records),)],
        "links": [(exported.links(),)],
        "errors": [(len(exported.failures),)],
    }
    stored = duckdb.sql(f"SELECT url, html FROM '{exported.out}/pages/*.parquet' WHERE html IS NOT NULL").fetchall()
    assert dict(stored) == exported.bodies


FOLDERS = {"gz": "jsonl", "zst": "jsonl.zst"}


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_duckdb_reads_json_lines(exported: Exported, suffix: str) -> None:
    """DuckDB finds the same values in the JSON lines as in the Parquet files."""
    names = "url, key, depth, fetch_time, fetch_status, title, noindex, robots, text, bytes"
    plain = duckdb.sql(f"SELECT {names} FROM '{exported.out}/pages/*.parquet' ORDER BY url").fetchall()
    read = f"read_json('{exported.out}/{FOLDERS[suffix]}/pages/*.jsonl.{suffix}')"
    assert duckdb.sql(f"SELECT {names} FROM {read} ORDER BY url").fetchall() == plain
    assert len(plain) == len(exported.records)


def test_duckdb_reads_csv(exported: Exported) -> None:
    """DuckDB finds every page, link and failure in the CSV files, with the text of several lines."""
    read = f"read_csv('{exported.out}/csv/%s/*.csv')"
    found = dict(duckdb.sql(f"SELECT url, text FROM {read % 'pages'}").fetchall())
    assert found.keys() == exported.records.keys()
    numbered = next(url for url in found if url.endswith("/7"))
    assert found[numbered] == exported.rows()[numbered]["text"]
    counts = [duckdb.sql(f"SELECT count(*) FROM {read % table}").fetchall() for table in ("links", "errors")]
    assert counts == [[(exported.links(),)], [(len(exported.failures),)]]


def test_links_join_to_pages_and_failures(exported: Exported) -> None:
    """DuckDB finds each followed link's target among the pages or the failures, and no page without a source."""
    lost, strange = duckdb.sql(
        f"""
        WITH pages AS (FROM '{exported.out}/pages/*.parquet'), links AS (FROM '{exported.out}/links/*.parquet'),
             errors AS (FROM '{exported.out}/errors/*.parquet'),
             known AS (SELECT key, url FROM pages UNION ALL SELECT key, url FROM errors)
        SELECT (SELECT count(*) FROM links LEFT JOIN known ON target_key = key
                WHERE NOT nofollow AND (key IS NULL OR url <> target)),
               (SELECT count(*) FROM links LEFT JOIN pages ON source_key = key WHERE key IS NULL OR url <> source)
        """
    ).fetchall()[0]
    assert (lost, strange) == (0, 0)


def test_pandas_reads_every_table(exported: Exported) -> None:
    """With pandas one reads Parquet, JSON lines and CSV into frames with a row for each page."""
    frames = [
        pd.read_parquet(exported.out / "pages"),
        pd.read_json(exported.one("jsonl/pages/*.gz"), lines=True),
        pd.read_csv(exported.one("csv/pages/*.csv")),
    ]
    assert [set(frame["url"]) for frame in frames] == [exported.records.keys()] * 3
    assert [int(frame["bytes"].sum()) for frame in frames] == [sum(map(len, exported.bodies.values()))] * 3
    assert frames[0]["fetch_time"].dtype == "datetime64[ms, UTC]"


def test_a_formula_is_text_in_csv_alone(exported: Exported) -> None:
    """A title that a spreadsheet would compute has an apostrophe in the CSV file, and is as it was in Parquet."""
    titles = [
        {title for title in frame["title"].dropna() if "=1+1" in title}
        for frame in (pd.read_parquet(exported.out / "pages"), pd.read_csv(exported.one("csv/pages/*.csv")))
    ]
    assert titles == [{"=1+1"}, {"'=1+1"}]


def test_pyarrow_dataset_has_the_schema(exported: Exported) -> None:
    """pyarrow.dataset reads each table with the names, types and comments of the documented schema."""
    for table, schema in TABLES.items():
        found = pads.dataset(exported.out / table).schema
        wanted = [each for each in schema if each.name != "body"]  # that is there with --files only
        assert [(each.name, each.type) for each in found] == [(each.name, each.type) for each in wanted]
        assert [found.field(each.name).metadata[b"comment"] for each in wanted] == [
            each.metadata[b"comment"] for each in wanted
        ]


def test_values_are_those_of_the_records(exported: Exported) -> None:
    """Each row of the pages says what the tree's record says."""
    rows = exported.rows()
    for url, record in exported.records.items():
        row = rows[url]
        same = ("key", "depth", "machine", "bytes", "elapsed", "title", "canonical", "skipped")
        assert [row[name] for name in same] == [getattr(record, name) for name in same]
        assert (row["fetch_status"], row["fetch_redirect"]) == (record.status, record.redirect)
        assert row["fetch_time"].isoformat(timespec="milliseconds") == record.fetched_at.replace("Z", "+00:00")
        assert (row["referrer"] or "", row["sha256"] or "") == (record.referrer, record.sha256)
        assert json.loads(row["headers"]) == record.headers


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")  # Dask's, with pandas 3
def test_dask_dataframe_reads_parquet(exported: Exported) -> None:
    """Dask DataFrame counts the pages of each host as the tree has them."""
    dd = pytest.importorskip("dask.dataframe")
    counted = dd.read_parquet(exported.out / "pages", columns=["url_host_name"])["url_host_name"].value_counts()
    hosts = Counter(url.split("/")[2].partition(":")[0] for url in exported.records)
    assert counted.compute(scheduler="synchronous").to_dict() == hosts


# -- datatrove


def _with_text(exported: Exported) -> dict[str, str]:
    """Give the texts that there are: datatrove leaves out documents without one."""
    return {url: row["text"] for url, row in exported.rows().items() if row["text"]}


def test_datatrove_reads_parquet(exported: Exported) -> None:
    """ParquetReader of datatrove makes a document of each page that has text, named by its URL."""
    from datatrove.pipeline.readers import ParquetReader

    found = list(ParquetReader(str(exported.out / "pages"), text_key="text", id_key="url")())
    assert {each.id: each.text for each in found} == _with_text(exported)
    assert {each.metadata["key"] for each in found} <= {record.key for record in exported.records.values()}


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_datatrove_reads_json_lines(exported: Exported, suffix: str) -> None:
    """JsonlReader of datatrove makes the same documents of the JSON lines."""
    pytest.importorskip("orjson")
    from datatrove.pipeline.readers import JsonlReader

    folder = str(exported.out / FOLDERS[suffix] / "pages")
    found = list(JsonlReader(folder, glob_pattern=f"*.jsonl.{suffix}", text_key="text", id_key="url")())
    assert {each.id: each.text for each in found} == _with_text(exported)


def test_datatrove_reads_warc(exported: Exported) -> None:
    """WarcReader of datatrove makes a document of each response that is HTML: its body, decoded."""
    pytest.importorskip("cchardet")
    pytest.importorskip("magic")
    from datatrove.pipeline.readers import WarcReader

    found = list(WarcReader(str(exported.out / "warc"), glob_pattern="*.warc.gz")())
    texts = {each.metadata["url"]: each.text for each in found}
    rows = exported.rows()
    numbered = {url for url, row in rows.items() if re.search(r"/\d+$", url) and not row["duplicate_of"]}
    assert len(numbered) == datasets.NUMBERED
    assert {url: texts[url] for url in numbered} == {url: rows[url]["html"].decode() for url in numbered}


# -- archives


def _responses(path: Path) -> Iterator[Any]:
    with path.open("rb") as stream:
        yield from ArchiveIterator(stream, record_types=WarcRecordType.response | WarcRecordType.revisit)


def test_fastwarc_finds_every_digest_right(exported: Exported) -> None:
    """FastWARC verifies the block digest of each record, and the payload digest of each response with a body."""
    archive = exported.one("warc/*.warc.gz")
    with archive.open("rb") as stream:
        blocks = Counter(
            (each.headers["WARC-Type"], each.verify_block_digest())
            for each in ArchiveIterator(stream, parse_http=False)
        )
    duplicates = datasets.manifest(exported.out)["counts"]["duplicates"]
    pages_ = len(exported.records)
    assert blocks == {
        ("warcinfo", True): 1,
        ("response", True): pages_ - duplicates,
        ("revisit", True): duplicates,
        ("request", True): pages_,
        ("metadata", True): pages_,
    }
    assert duplicates > datasets.NUMBERED, "a response and a revisit of everything"
    with archive.open("rb") as stream:
        found = [
            each.verify_payload_digest()
            for each in ArchiveIterator(stream, record_types=WarcRecordType.response)
            if "WARC-Truncated" not in each.headers
        ]
    assert found == [True] * (len(exported.bodies) - duplicates)


def test_fastwarc_reads_the_bodies(exported: Exported) -> None:
    """Each body comes out of the archive as it is in the tree; a revisit names the page that has it."""
    read: dict[str, bytes] = {}
    revisits = {}
    for each in _responses(exported.one("warc/*.warc.gz")):
        url = each.headers["WARC-Target-URI"]
        assert each.http_headers.status_code == exported.records[url].status
        if each.record_type == WarcRecordType.revisit:
            revisits[url] = each.headers["WARC-Refers-To-Target-URI"]
        elif "WARC-Truncated" in each.headers:
            assert (each.reader.read(), exported.records[url].sha256) == (b"", "")
        else:
            read[url] = each.reader.read()
    assert read | {url: read[original] for url, original in revisits.items()} == exported.bodies


def test_warcio_check_finds_nothing_wrong(exported: Exported) -> None:
    """`warcio check` passes every record of the archive, and says so of each."""
    command = [f"{VIRTUAL}/warcio", "check", "-v", str(exported.one("warc/*.warc.gz"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    verdicts = Counter(re.findall(r"^    (digest .*)$", done.stdout, re.MULTILINE))
    duplicates = datasets.manifest(exported.out)["counts"]["duplicates"]
    passed = 1 + 3 * len(exported.records) - duplicates
    assert verdicts == {"digest pass": passed, "digest present but not checked (revisit)": duplicates}


def test_headers_that_no_longer_hold_are_renamed(exported: Exported) -> None:
    """The archive says the length of what it stores, and under X-Crawl- what the server had said."""
    (zipped, *_) = [
        each.http_headers.asdict()
        for each in _responses(exported.one("warc/*.warc.gz"))
        if each.headers["WARC-Target-URI"].endswith("/zipped")
    ]
    url = next(url for url in exported.bodies if url.endswith("/zipped"))
    assert zipped["X-Crawl-content-encoding"] == "gzip"
    assert int(zipped["Content-Length"]) == len(exported.bodies[url]) != int(zipped["X-Crawl-content-length"])


def test_metadata_records_have_the_outlinks(exported: Exported) -> None:
    """Each page's metadata record belongs to its response or revisit, and names its key and its links."""
    ids, seen = set(), {}
    with exported.one("warc/*.warc.gz").open("rb") as stream:
        for each in WarcioIterator(stream):
            ids.add(each.rec_headers["WARC-Record-ID"])
            if each.rec_type == "metadata":
                assert each.rec_headers["WARC-Concurrent-To"] in ids
                fields = [line.split(": ", 1) for line in each.content_stream().read().decode().splitlines()]
                seen[each.rec_headers["WARC-Target-URI"]] = fields
    assert len(ids) == 1 + 3 * len(exported.records)
    assert seen.keys() == exported.records.keys()
    for url, fields in seen.items():
        record = exported.records[url]
        assert ["fscrawl-key", record.key] in fields
        assert [value.split(" ")[0] for name, value in fields if name == "outlink"] == list(record.links)
        assert [value for name, value in fields if name == "nofollow"] == list(record.nofollow or ())


def test_index_leads_to_each_record(exported: Exported) -> None:
    """Each row of the index leads to a record of its URL."""
    table = pq.read_table(exported.out / "warc-index").to_pylist()
    places = {(each["url"], each["warc_record_offset"], each["warc_record_length"]) for each in table}
    archive = exported.one("warc/*.warc.gz").read_bytes()
    for url, offset, length in places:
        record = gzip.decompress(archive[offset : offset + length])
        (found,) = ArchiveIterator(io.BytesIO(record))
        assert found.headers["WARC-Target-URI"] == url
    assert {each["warc_filename"] for each in table} == {"warc/part-0001-00000.warc.gz"}
    assert {url for url, _, _ in places} == exported.records.keys()


@pytest.mark.parametrize("listed", [False, True])
def test_wacz(exported: Exported, tmp_path: Path, listed: bool) -> None:
    """By the commands of the how-to, the tool of the format makes a valid WACZ of the archives, with its pages."""
    (tmp_path / "dataset").symlink_to(exported.out)
    url = next(each for each in exported.bodies if each.endswith("/"))
    words = ["--url", url]
    if listed:
        (snippet,) = (each for each in _snippets() if "pages.jsonl" in each)
        subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, check=True, timeout=60, capture_output=True)
        words = ["-p", "pages.jsonl"]
    archives = [str(path) for path in exported.out.glob("warc/*.warc.gz")]
    for command in (["create", *words, "-o", "x.wacz", *archives], ["validate", "-f", "x.wacz"]):
        done = subprocess.run(
            [sys.executable, "-m", "wacz.main", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done
    assert "the passed WACZ is valid" in done.stdout
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        pages = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()[1:]]
    named = {each["url"] for each in pages}
    assert named == {url} if not listed else named >= {url, url + "canonical"}


# -- the dataset's own papers


def test_manifest_names_every_file(exported: Exported) -> None:
    """The manifest has each file but itself and the papers, with the bytes, SHA-256 and rows that it really has."""
    facts = datasets.manifest(exported.out)
    found = {path: digest for path, digest in datasets.files(exported.out).items() if "/" in path and path[0] != "."}
    assert {each["path"]: each["sha256"] for each in facts["files"]} == found
    for each in facts["files"]:
        assert (exported.out / each["path"]).stat().st_size == each["bytes"]
        if each["path"].endswith(".parquet"):
            assert pq.read_metadata(exported.out / each["path"]).num_rows == each["rows"]
    assert facts["counts"]["records"] == len(exported.records)
    assert facts["counts"]["errors"] == len(exported.failures)


def test_manifest_is_documented(exported: Exported) -> None:
    """The dataset reference has a row for each field of a manifest, and none too many."""
    text = (CHECKOUT / "docs/reference/dataset.md").read_text(encoding="utf-8")
    below = text.partition("\n## manifest.json\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", below, re.MULTILINE) == list(datasets.manifest(exported.out))


def test_tree_without_pages_gives_its_failures(tmp_path: Path) -> None:
    """The dataset of a tree in which nothing is stored has its failures, and the exit code is 1."""
    out = tmp_path / "dataset"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert run(["--root", str(tmp_path / "tree"), "--seed", f"http://127.0.0.1:{port}/"]).code == 1
    done = datasets.merge(tmp_path / "tree", out)
    assert (done.code, done.err) == (1, ""), done
    assert pads.dataset(out / "errors").count_rows() == 1


# -- the snippets of the documentation


def _snippets() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", EXPORT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _missing(snippet: str) -> set[str]:
    """Give the packages that a snippet imports and that are not installed."""
    imported = {
        name
        for node in ast.walk(ast.parse(snippet))
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    return {name for name in imported if importlib.util.find_spec(name.partition(".")[0]) is None}


def _with_changes(tmp_path: Path) -> Path:
    """Make a dataset of all versions of a page, and give its directory."""
    tree = Grown(tmp_path / "tree", layout="packs")
    for word in ("one", "two"):
        tree.page("http://a.example/", f"<title>{word}</title><p>{word}".encode())
    return tree.merge(tmp_path / "out", versions="all", changes=True).out


@pytest.mark.parametrize("snippet", _snippets(), ids=lambda text: text.split()[1])
def test_snippet_runs(snippet: str, exported: Exported, tmp_path: Path) -> None:
    """A Python snippet of the how-to runs to its end beside a dataset called `dataset`, and prints something."""
    if missing := _missing(snippet):
        pytest.skip(f"not installed: {', '.join(sorted(missing))}")
    (tmp_path / "dataset").symlink_to(exported.out if "changes/" not in snippet else _with_changes(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
