"""Datasets of real sites, opened by other people's tools: the bodies that come out are the files that nginx served."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.support import datasets
from tests.system.corpus.conftest import Crawl

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True, slots=True, repr=False)
class Exported:
    """A crawl and the dataset of it in all formats. `scope`: what every URL of the crawl begins with."""

    crawl: Crawl
    out: Path
    scope: str

    def archives(self) -> list[Path]:
        return sorted((self.out / "warc").glob("*.warc.gz"))

    def duplicates(self) -> int:
        return int(datasets.manifest(self.out)["counts"]["duplicates"])


@pytest.fixture(scope="module", params=["python_doc", "rust_std"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    crawl: Crawl = request.getfixturevalue(request.param)
    out = tmp_path_factory.mktemp(request.param) / "dataset"
    done = datasets.merge(crawl.root, out, *datasets.ALL_FORMATS, timeout_s=240)
    assert (done.code, done.warnings) == (0, []), done
    print(f"\n{request.param}: {done.elapsed_s:.1f} s\n{done.out}")
    scope = f"{crawl.site.origin}/" if request.param == "python_doc" else f"{crawl.site.origin}/std/"
    return Exported(crawl, out, scope)


def test_duckdb_counts_what_the_tree_holds(exported: Exported) -> None:
    """DuckDB finds every page, link and failure of the tree in Parquet, JSON lines and CSV."""
    records = exported.crawl.records.values()
    links = sum(len(record["links"]) + len(record.get("nofollow", [])) for record in records)
    expected = {"pages": len(records), "links": links, "errors": len(exported.crawl.failures())}
    for table, rows in expected.items():
        sources = [
            f"'{exported.out}/{table}/*.parquet'",
            f"read_json('{exported.out}/jsonl/{table}/*.gz', maximum_object_size=100000000)",
            f"read_json('{exported.out}/jsonl.zst/{table}/*.zst', maximum_object_size=100000000)",
            f"read_csv('{exported.out}/csv/{table}/*.csv', max_line_size=100000000)",
        ]
        assert [duckdb.sql(f"SELECT count(*) FROM {source}").fetchall() for source in sources] == [[(rows,)]] * 4, table


def test_parquet_has_the_files_served(exported: Exported) -> None:
    """Each body in the Parquet files is the file that nginx served, and every stored page is there."""
    table = pq.read_table(exported.out / "pages", columns=["url", "html"], filters=[("bytes", ">", 0)])
    found = dict(zip(table["url"].to_pylist(), table["html"].to_pylist(), strict=True))
    assert found.keys() == exported.crawl.stored().keys()
    assert [url for url, body in found.items() if body != exported.crawl.served_file(url)] == []


def test_archive_has_the_files_served(exported: Exported) -> None:
    """Each body in the archive, or in a revisit's original, is the file that nginx served, and its digest is right."""
    read: dict[str, bytes] = {}
    revisits: dict[str, str] = {}
    for path in exported.archives():
        with path.open("rb") as stream:
            kinds = WarcRecordType.response | WarcRecordType.revisit
            for each in ArchiveIterator(stream, record_types=kinds):
                url = each.headers["WARC-Target-URI"]
                if each.record_type == WarcRecordType.revisit:
                    revisits[url] = each.headers["WARC-Refers-To-Target-URI"]
                elif "WARC-Truncated" not in each.headers:
                    assert each.verify_payload_digest(), url
                    read[url] = each.reader.read()
    assert len(revisits) == exported.duplicates()
    bodies = read | {url: read[original] for url, original in revisits.items()}
    assert bodies.keys() == exported.crawl.stored().keys()
    assert [url for url, body in bodies.items() if body != exported.crawl.served_file(url)] == []


def test_fastwarc_verifies_every_block(exported: Exported) -> None:
    """FastWARC finds a block digest, and the right one, on each record: one for the file, two for a page."""
    counts: Counter[bool] = Counter()
    for path in exported.archives():
        with path.open("rb") as stream:
            counts.update(each.verify_block_digest() for each in ArchiveIterator(stream, parse_http=False))
    assert counts == {True: len(exported.archives()) + 3 * len(exported.crawl.records)}


def test_warcio_check_passes(exported: Exported) -> None:
    """`warcio check` finds nothing wrong."""
    command = [f"{sys.executable.rpartition('/')[0]}/warcio", "check", *map(str, exported.archives())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_index_leads_to_every_page(exported: Exported) -> None:
    """The CDXJ names each record of the tree once, and its lines are sorted bytewise."""
    paths = sorted(exported.out.glob("warc/*.cdxj.gz"))
    lines = [line for path in paths for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert lines == sorted(lines)
    urls = [json.loads(line[line.index(b"{") :])["url"] for line in lines]
    assert sorted(urls) == sorted(exported.crawl.records)


def test_pandas_reads_what_the_records_say(exported: Exported) -> None:
    """With pandas one finds for each URL the title, status, size and key that the tree's record has."""
    frame = pd.read_parquet(exported.out / "pages", columns=["url", "key", "title", "fetch_status", "bytes"])
    found = {
        row.url: (row.key, row.title if isinstance(row.title, str) else None, row.fetch_status, row.bytes)
        for row in frame.itertuples()
    }
    expected = {
        url: (record["key"], record.get("title"), record["status"], record["bytes"])
        for url, record in exported.crawl.records.items()
    }
    assert found == expected


def test_links_in_scope_lead_to_pages_or_failures(exported: Exported) -> None:
    """Every followed link whose target is in scope has a page or a failure of the dataset as its target."""
    in_scope, lost = duckdb.execute(
        f"""
        WITH known AS (SELECT key FROM '{exported.out}/pages/*.parquet'
                       UNION ALL SELECT key FROM '{exported.out}/errors/*.parquet')
        SELECT count(*), count(*) FILTER (known.key IS NULL)
        FROM '{exported.out}/links/*.parquet' LEFT JOIN known ON target_key = known.key
        WHERE NOT nofollow AND starts_with(target, ?)
        """,
        [exported.scope],
    ).fetchall()[0]
    assert in_scope > 10_000
    assert lost == 0


def test_datatrove_has_a_document_for_each_text(exported: Exported) -> None:
    """ParquetReader of datatrove makes a document of each page with text: here, of each that is stored."""
    from datatrove.pipeline.readers import ParquetReader

    found = {each.id: each.text for each in ParquetReader(str(exported.out / "pages"), text_key="text", id_key="url")()}
    assert found.keys() <= exported.crawl.stored().keys()
    texts = pq.read_table(exported.out / "pages", columns=["url", "text"]).to_pylist()
    assert found == {row["url"]: row["text"] for row in texts if row["text"]}
    assert len(found) > 0.95 * len(exported.crawl.stored())


def test_datatrove_reads_the_archive(exported: Exported) -> None:
    """WarcReader of datatrove makes a document of each response whose body libmagic takes for HTML: of nearly all."""
    pytest.importorskip("cchardet")
    pytest.importorskip("magic")
    from datatrove.pipeline.readers import WarcReader

    found = {
        each.metadata["url"]: each.text for each in WarcReader(str(exported.out / "warc"), glob_pattern="*.warc.gz")()
    }
    stored = len(exported.crawl.stored()) - exported.duplicates()
    assert 0.9 * stored < len(found) <= stored
    assert [url for url, text in found.items() if text != exported.crawl.served_file(url).decode()] == []
