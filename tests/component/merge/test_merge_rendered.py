"""Pages whose scripts were run, in a dataset: what the scripts have made is what is read, and tells pages apart."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from fscrawl.dataset import dedupe
from fscrawl.request import Request, spelling
from tests.support.merging import archived
from tests.support.trees import ALL, Grown

APP = "http://app.example/"
ITEMS = [spelling(Request(APP, fragment=f"/item/{number}")) for number in range(3)]
SHELL = b"<!doctype html><meta charset=latin1><div id=app></div><script src=/app.js></script>"
PICTURE = b"\x89PNG of item 0"


def dom(text: str) -> bytes:
    shadow = f'<template shadowrootmode="open"><p>{text}</p></template>'
    return f"<html lang=de><title>{text}</title><x-item>{shadow}</x-item></html>".encode()


DOMS = [dom("die größte Nummer null"), dom("ein anderer Text von Nummer eins"), dom("die größte Nummer null")]


@pytest.fixture
def tree(tmp_path: Path) -> Grown:
    """An application of one shell with three items, of which the third is as the first; and its shell, not rendered."""
    grown = Grown(tmp_path / "tree")
    grown.page(APP, SHELL)
    for url, made, picture in zip(ITEMS, DOMS, [PICTURE, b"", b""], strict=True):
        grown.rendered(url, SHELL, made, picture)
    return grown


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_rows(tree: Grown, out: Path) -> None:
    """A row has both forms of the page; its text and language are those of the DOM, shadow roots among it."""
    rows = tree.merge(out).by_url()
    assert set(rows) == {APP, *(f"{APP}#/item/{number}" for number in range(3))}
    first = rows[f"{APP}#/item/0"]
    assert (first["html"], first["rendered_html"], first["rendered"]) == (SHELL, DOMS[0], "done")
    assert first["text"] == "die größte Nummer null"
    assert first["content_languages"] == "de"
    assert first["url_surtkey"] == "example,app)/"
    plain = rows[APP]
    assert (plain["rendered_html"], plain["rendered"]) == (None, None)


def test_duplicates(tree: Grown, out: Path) -> None:
    """One body does not make pages of an application duplicates, the same DOM does; in further runs, too."""

    def duplicates() -> dict[str, str]:
        rows = tree.merge(out).by_url()
        named = {row["key"]: url for url, row in rows.items()}
        return {url: named[row["duplicate_of"]] for url, row in rows.items() if row["duplicate_of"]}

    (pair,) = duplicates().items()
    assert set(pair) == {f"{APP}#/item/0", f"{APP}#/item/2"}
    again = spelling(Request("http://z.example/", fragment="/4"))
    tree.rendered(again, SHELL, DOMS[1])
    assert duplicates() == {pair[0]: pair[1], "http://z.example/#/4": f"{APP}#/item/1"}


def test_only_what_differs_is_kept(tree: Grown, out: Path) -> None:
    """--dedupe keeps each item, and drops only what scripts have made equal."""
    made = tree.merge(out, dedupe=True)
    assert {row["text"] for row in made.rows()} == {"", "die größte Nummer null", "ein anderer Text von Nummer eins"}
    assert made.manifest["left_out"]["duplicate"] == 1


def test_formats(tree: Grown, out: Path) -> None:
    """JSON lines have the DOM as text whatever the body's encoding; CSV has neither; --no-html leaves out both."""
    made = tree.merge(out, formats=ALL)
    (lines,) = made.files("jsonl/pages/*")
    found = [json.loads(line) for line in gzip.decompress(lines.read_bytes()).splitlines()]
    assert sorted(row["rendered_html"] for row in found if "rendered" in row) == sorted(map(bytes.decode, DOMS))
    (table,) = made.files("csv/pages/*")
    with table.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert "rendered_html" not in header
    assert [row[header.index("rendered")] for row in rows].count("done") == 3
    shutil.rmtree(out)
    (without,) = tree.merge(out, html=False).files("pages/*")
    assert {"html", "rendered_html"}.isdisjoint(pq.read_schema(without).names)


def test_archive(tree: Grown, out: Path) -> None:
    """Beside the response stand what scripts made of it and its picture; a duplicate is a revisit of its response."""
    made = tree.merge(out, formats=("parquet", "warc"))
    assert archived(made) == {APP: SHELL}
    records = list(_records(made.files("warc/*.warc.gz")))
    conversions = [each for each in records if each[0] == "conversion"]
    assert {(headers["WARC-Target-URI"], data) for _, headers, data in conversions} == {
        (f"{APP}#/item/{number}", DOMS[number]) for number in range(3)
    }
    ids = {headers["WARC-Record-ID"]: (kind, headers) for kind, headers, _ in records}
    assert len(ids) == len(records)
    kinds = [ids[headers["WARC-Refers-To"]][0] for _, headers, _ in conversions]
    assert sorted(kinds) == ["response", "response", "revisit"]
    assert {headers["Content-Type"] for _, headers, _ in conversions} == {"text/html; charset=utf-8"}
    ((_, headers, data),) = (each for each in records if each[0] == "resource")
    assert (headers["WARC-Target-URI"], headers["Content-Type"]) == (f"urn:view:{APP}#/item/0", "image/png")
    assert data == PICTURE
    assert ids[headers["WARC-Concurrent-To"]][1]["WARC-Target-URI"] == APP


def _records(paths: list[Path]) -> Any:
    for path in paths:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                yield record.rec_type, dict(record.rec_headers.headers), record.raw_stream.read()


def test_what_is_broken(tree: Grown, out: Path) -> None:
    """A page whose DOM was changed or is gone is left out and named; one without its picture is whole without it."""
    tree.tree.files.remove(tree.tree.body_path("app.example", tree.records[ITEMS[0]].key, "png"))
    first, second = (tree.root / tree.tree.dom_path("app.example", tree.records[url].key) for url in ITEMS[1:])
    first.write_bytes(b"<p>" + first.read_bytes()[3:])
    second.unlink()
    made = tree.merge(out, formats=("parquet", "warc"))
    assert set(made.by_url()) == {APP, f"{APP}#/item/0"}
    assert made.manifest["left_out"]["broken"] == 2
    said = "\n".join(made.said)
    assert "its rendered page differs from its record" in said
    assert "its rendered page is missing" in said


def test_rows_of_another_version(tree: Grown, out: Path) -> None:
    """A batch that a version with other columns has left behind is read from the tree again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedupe, "mark_duplicates", _stop)
        with pytest.raises(KeyboardInterrupt):
            tree.merge(out)
    (result,) = out.glob(".merge/run-*/batch-*.json")
    values = json.loads(result.read_bytes())
    del values["columns"]
    result.write_text(json.dumps(values))
    result.with_suffix(".arrow").write_bytes(b"of another version")
    assert len(tree.merge(out).by_url()) == 4


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
