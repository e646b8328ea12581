"""The forms of a dataset: archives, compressed lines, the manifest of a call, and what is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from fscrawl import merge
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
        ({"formats": ("warc",)}, False),
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
    for text in (
        "\n".join(report(msgspec.convert(values, Manifest))),
        (out / "README.md").read_text().partition("\n## ")[0],
    ):
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
def test_parts(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts have no more rows than they may; each has the same pages in all formats, and hosts come in their order."""
    monkeypatch.setattr("fscrawl.dataset.write._GROUP_ROWS", 200)
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 50)
    tree.many(3, 150)
    made = tree.merge(out, formats=ALL)
    check(made)
    parts = [pq.read_table(path, columns=["url_host_name", "url"]) for path in made.files("pages/*.parquet")]
    assert [len(part) <= 250 for part in parts] == [True] * 3
    hosts = [host for part in parts for host in part["url_host_name"].to_pylist()]
    assert hosts == sorted(hosts)
    assert archived(made) == tree.bodies
    for part, path in zip(parts, made.files("warc/*.warc.gz"), strict=True):
        with path.open("rb") as file:
            named = [
                each.rec_headers["WARC-Target-URI"] for each in ArchiveIterator(file) if each.rec_type == "response"
            ]
        assert named == part["url"].to_pylist()


def test_merge_by_call(tree: Grown, out: Path) -> None:
    """Called as a function, merge gives the manifest, and raises what the command would say."""
    with inline():
        manifest = merge.merge(tree.root, out, {}, print)
    assert json.loads(msgspec.json.encode(manifest)) == Made(out).manifest
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
        ("reading signatures", None, pages),
        ("finding duplicates", None, 0),
        ("remembering pages", 2 * pages, 2 * pages),
        (writing, pages, pages),
        ("writing failures", None, 1),
        ("tidying up", None, 0),
    ]


def test_a_format_that_is_named_twice(tree: Grown, out: Path) -> None:
    """It is written once, and whole."""
    made = tree.merge(out, formats=("parquet", "jsonl", "parquet"))
    check(made)
    assert len(made.rows()) == len(made.json_lines()) == 5


def test_failures_beside_an_archive(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """Where no format holds failures, none are claimed to be counted."""
    _, printed, _ = fscrawl("--format", "warc")
    assert "failures: 0" not in printed


def test_rows_of_archives(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """The report says of archives how many pages they have."""
    _, printed, _ = fscrawl("--format", "warc")
    (line,) = (line for line in printed.splitlines() if line.startswith("warc/ "))
    assert line.endswith(" 5 rows")
