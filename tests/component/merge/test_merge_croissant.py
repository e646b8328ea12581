"""`croissant.json`: the reference library finds it valid, and loads the tables by it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.trees import Grown, check

pytestmark = pytest.mark.proof

_LOAD = """\
import json, os, sys
import mlcroissant

data = mlcroissant.Dataset(jsonld=sys.argv[1])
issues = data.metadata.ctx.issues
text = lambda value: value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
plain = lambda value: list(map(text, value)) if isinstance(value, list) else text(value)
tables = {
    each.id: [{name: plain(value) for name, value in row.items()} for row in data.records(each.id)]
    for each in data.metadata.record_sets
}
json.dump([sorted(issues.errors), sorted(issues.warnings), tables], sys.stdout, default=str)
sys.stdout.flush()
os._exit(0)  # threads of the libraries that it loads may abort the interpreter's own way out
"""
_UNKNOWN = ("license", "datePublished", "citeAs")  # only the user can know them


def load(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Let the reference library check the file, and load all records by it."""
    command = [sys.executable, "-c", _LOAD, str(out / "croissant.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    errors, warnings, tables = json.loads(done.stdout)
    assert errors == []
    assert [each for each in warnings if not any(name in each for name in _UNKNOWN)] == []
    found: dict[str, list[dict[str, Any]]] = tables
    return found


def described(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "croissant.json").read_text(encoding="utf-8"))
    return found


def test_tables(tree: Grown, out: Path) -> None:
    """Every table with rows is described, column for column, and its records are those of the Parquet files."""
    tree.page("http://d.example/latin", b"<title>\xe4</title>", robots=("noarchive", "nofollow"), ip="192.0.2.7")
    made = tree.merge(out, formats=("parquet", "csv", "warc"))
    check(made)
    tables = load(out)
    assert tables.keys() == {"pages", "links", "errors"}
    for table, found in tables.items():
        rows = made.rows(table)
        names = made.table(table).schema.names
        assert [[name.partition("/")[2] for name in row] for row in found] == [names] * len(rows)
        for column in ("url", "key", "depth", "noindex", "robots", "title", "fetch_status", "target"):
            if column in names:
                assert [row[f"{table}/{column}"] for row in found] == [row[column] for row in rows]
    (latin,) = (row for row in tables["pages"] if row["pages/url"] == "http://d.example/latin")
    assert latin["pages/html"] == "<title>\udce4</title>"
    assert latin["pages/fetch_time"].startswith("2026-09-21 ")


def test_meanings(tree: Grown, out: Path) -> None:
    """Fields have the meanings of the schema, and each file its digest and size."""
    made = tree.merge(out)
    said = described(out)
    fields = {each["@id"]: each for table in said["recordSet"] for each in table["field"]}
    for table in ("pages", "links", "errors"):
        for column in made.table(table).schema:
            assert fields[f"{table}/{column.name}"]["description"] == column.metadata[b"comment"].decode()
    types = {
        name: fields[f"pages/{name}"]["dataType"] for name in ("depth", "elapsed", "noindex", "check_time", "html")
    }
    assert list(types.values()) == ["sc:Integer", "sc:Float", "sc:Boolean", "sc:DateTime", "sc:Text"]
    assert [name for name, each in fields.items() if each.get("repeated")] == ["pages/robots"]
    files = {each["contentUrl"]: each for each in said["distribution"] if each["@type"] == "cr:FileObject"}
    assert files.keys() == {each["path"] for each in made.manifest["files"]}
    for name, each in files.items():
        data = (out / name).read_bytes()
        assert (each["sha256"], each["contentSize"]) == (hashlib.sha256(data).hexdigest(), f"{len(data)} B")


def test_further_runs(tree: Grown, out: Path) -> None:
    """Each run that adds something writes it again, with its files and another version."""
    tree.merge(out)
    assert described(out)["version"] == "1.0.0"
    tree.page("http://z.example/", b"<title>new</title>")
    made = tree.merge(out)
    check(made)
    assert described(out)["version"] == "1.1.0"
    assert {row["pages/url"] for row in load(out)["pages"]} == {row["url"] for row in made.rows()}
    tree.heal("http://a.example/gone")
    check(tree.merge(out))
    assert load(out).keys() == {"pages", "links"}, "a table without rows is no table"


def test_a_file_that_is_gone(tree: Grown, out: Path) -> None:
    """A run that adds to a dataset whose table somebody has removed ends as it would without."""
    (path,) = tree.merge(out).files("pages/*.parquet")
    path.unlink()
    tree.fail("http://b.example/gone")
    tree.merge(out)
    names = {each["@id"] for table in described(out)["recordSet"] for each in table["field"]}
    assert "pages/title" in names


def test_fields_and_items(tree: Grown, out: Path) -> None:
    """Columns and items by rules of the user are described, too."""
    rules = '[hosts."*"]\nhead = { css = "title" }\n\n[items."*"]\neach = "css:body"\nfields = { words = "css:p" }\n'
    made = tree.merge(out, fields=rules)
    check(made)
    found = load(out)
    assert [row["pages/head"] for row in found["pages"]] == [row["head"] for row in made.rows()]
    assert [row["items/words"] for row in found["items"]] == [row["words"] for row in made.rows("items")] != []


def test_without_tables(tree: Grown, out: Path) -> None:
    """A dataset without Parquet has none; --rebuild removes that of the dataset before."""
    tree.merge(out)
    made = tree.merge(out, formats=("warc", "jsonl"), rebuild=True)
    check(made)
    assert not (out / "croissant.json").exists()
