"""The forms of a dataset: archives, compressed lines, the manifest of a call, and what is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from fscrawl import merge
from fscrawl.dataset import archives, parquet_files
from fscrawl.dataset.card import report
from fscrawl.dataset.manifest import Manifest
from fscrawl.errors import FscrawlError, TreeError, UsageError
from tests.support.merging import A, archived
from tests.support.steps import Steps
from tests.support.trees import ALL, Grown, Made, check, inline


def test_archive_alone(tree: Grown, out: Path) -> None:
    """A dataset of archives alone has no tables of pages, and parses none; exact duplicates are known all the same."""
    tree.page("http://c.example/1", tree.bodies[A])
    made = tree.merge(out, formats=("warc",))
    check(made)
    assert {path.name for path in out.iterdir()} == {"manifest.json", "README.md", ".merge", "warc", "warc-index"}
    assert archived(made) == {url: body for url, body in tree.bodies.items() if url != "http://c.example/1"}
    assert made.manifest["counts"] == {
        "records": 6,
        "pages": 4,
        "redirects": 1,
        "others": 1,
        "duplicates": 1,
    }


@pytest.mark.parametrize(
    ("options", "looked"),
    [
        ({"formats": ("wacz",)}, False),
        ({"text": "none"}, False),
        ({"formats": ("warc",), "language": True}, False),
        ({"text": "none", "language": True}, True),
        ({"formats": ("warc",), "dedupe": True}, True),
    ],
)
def test_figures_of_what_was_looked_for(tree: Grown, out: Path, options: dict[str, Any], looked: bool) -> None:
    """Near-duplicates are counted where texts were read, in the manifest, the summary and the card, and only there."""
    tree.page("http://c.example/1", tree.bodies[A])
    tree.page("http://c.example/2", tree.bodies[A] + b" ")
    values = tree.merge(out, **options).manifest
    assert ("near_duplicates" in values["counts"]) == looked
    for text in ("\n".join(report(Manifest.from_json(values))), (out / "README.md").read_text().partition("\n## ")[0]):
        assert ("near-duplicate" in text) == (looked and not options.get("dedupe", False))
    tree.page("http://c.example/3")
    assert ("near_duplicates" in tree.merge(out).manifest["counts"]) == looked


def test_zstd(tree: Grown, out: Path) -> None:
    """JSON lines compressed by zstd are what they are by gzip."""
    made, other = tree.merge(out, formats=("jsonl.zst",)), tree.merge(out.parent / "other", formats=("jsonl",))
    check(made)
    for table in ("pages", "links", "errors"):
        (path,) = made.files(f"jsonl.zst/{table}/*.jsonl.zst")
        with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as file:
            assert [json.loads(line) for line in file.read().splitlines()] == other.json_lines(table)


@pytest.mark.gate
def test_parquet_is_in_order(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of pages say that they are sorted by host and key, if they are; the parts are in the order of hosts."""
    monkeypatch.setattr("fscrawl.dataset.dedupe._GROUP_ROWS", 100)
    monkeypatch.setattr(parquet_files, "FILE_BYTES", 20_000)
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 50)
    tree.many(3, 150)
    for host in ("z.example:81", "z.example:82"):  # their directories are two, and their name is one
        for number in range(40):
            tree.page(f"http://{host}/{number}", b"<p>%d" % number)
    made = tree.merge(out)
    check(made)
    claims, rows = [], []
    for path in made.files("pages/*.parquet"):
        claims.append(bool(pq.read_metadata(path).row_group(0).sorting_columns))
        table = pq.read_table(path, columns=["url_host_name", "key"])
        here = [tuple(row.values()) for row in table.to_pylist()]
        assert not claims[-1] or here == sorted(here)
        rows += [host for host, _ in here]
    assert rows == sorted(rows)
    assert claims[:3] == [True] * 3
    assert False in claims


@pytest.mark.gate
def test_archive_parts(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives hold segments up to their limit, each begins with a warcinfo record that names it, and none is lost."""
    monkeypatch.setattr(archives, "PART_BYTES", 170_000)
    monkeypatch.setattr("fscrawl.dataset.dedupe._GROUP_ROWS", 100)
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 50)
    tree.many(3, 150)
    made = tree.merge(out, formats=("warc",))
    check(made)
    paths = made.files("warc/*.warc.gz")
    assert len(paths) > 2
    for path in paths:
        assert path.stat().st_size <= 171_000
        with path.open("rb") as file:
            first = next(iter(ArchiveIterator(file)))
            assert (first.rec_type, first.rec_headers.get_header("WARC-Filename")) == ("warcinfo", path.name)
    assert archived(made) == tree.bodies


def test_merge_by_call(tree: Grown, out: Path) -> None:
    """Called as a function, merge gives the manifest, and raises what the command would say."""
    with inline():
        manifest = merge.merge(tree.root, out, {}, print)
    assert manifest.as_json() == Made(out).manifest
    with pytest.raises(UsageError), inline():
        merge.merge(tree.root, tree.root / "links", {}, print)
    with pytest.raises(TreeError), inline():
        merge.merge(out, out, {}, print)
    assert issubclass(TreeError, FscrawlError)


def test_progress(tree: Grown, out: Path) -> None:
    """Each step is named, and says how many pages of how many it has done."""
    with inline(), Steps() as line:
        merge.merge(tree.root, out, {"formats": ALL}, print, line=line)
    pages = 5
    writing = f"writing {', '.join(ALL)}"
    assert line.steps == [
        ("tidying up", None, 0),
        ("listing pages", None, pages),
        ("reading pages", pages, pages),
        ("reading signatures", pages, pages),
        ("finding duplicates", None, 0),
        ("remembering pages", 2 * pages, 2 * pages),
        (writing, pages, pages),
        ("joining tables", pages, pages),
        ("joining archives", pages, pages),
        ("writing failures", None, 1),
        ("tidying up", None, 0),
    ]


def test_progress_of_a_further_merge(tree: Grown, out: Path) -> None:
    """What must be listed first has the number of the merge before as its total; those left out count, too."""
    with inline():
        merge.merge(tree.root, out, {"status": ("200",)}, print)
    with inline(), Steps() as line:
        merge.merge(tree.root, out, {}, print, line=line)
    assert ("listing pages", 5, 5) in line.steps
    assert ("reading signatures", 5, 5) in line.steps
    assert ("writing failures", 1, 1) in line.steps


def test_failures_beside_an_archive(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """Where no format holds failures, none are claimed to be counted."""
    _, printed, _ = fscrawl("--format", "warc")
    assert "failures: 0" not in printed


def test_rows_of_archives(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """The report says of archives how many pages they have."""
    _, printed, _ = fscrawl("--format", "warc")
    (line,) = (line for line in printed.splitlines() if line.startswith("warc/ "))
    assert line.endswith(" 5 rows")
