"""Datasets of real sites, opened by other people's tools: the bodies that come out are the files that nginx served."""

from __future__ import annotations

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


def test_index_leads_to_every_page(exported: Exported) -> None:
    """The index of the archives names each record of the tree once."""
    urls = pd.read_parquet(exported.out / "warc-index", columns=["url"])["url"]
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
