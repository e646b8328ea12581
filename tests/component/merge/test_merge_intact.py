"""Datasets of which somebody has edited, cut or removed files between two merges."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.dataset.search import search
from tests.support.crawling import lines_of
from tests.support.merging import A, refused
from tests.support.trees import ALL, Grown, Made, check

Command = Callable[..., tuple[int, str, str]]
PAGES = "pages/part-0001-00000.parquet"


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 5)


def replaced(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [Path.unlink, cut, replaced, lambda path: shutil.rmtree(path.parent)]


@pytest.mark.gate
@pytest.mark.parametrize("spoil", DAMAGE)
def test_a_file_that_is_missing_or_cut(
    tree: Grown, out: Path, fscrawl: Command, spoil: Callable[[Path], object]
) -> None:
    """Each merge names such a file, and adds what is new all the same; --rebuild makes all files anew."""
    fscrawl()
    spoil(out / PAGES)
    said = f"{out / PAGES}: missing, or not as long as manifest.json says; to make all files anew, add --rebuild"
    code, _, err = fscrawl()
    assert (code, lines_of(err)) == (0, [said, "nothing new since the last run"])
    tree.page("http://a.example/new")
    code, _, err = fscrawl()
    assert (code, lines_of(err)) == (0, [said])
    assert (out / "pages/part-0002-00000.parquet").is_file()
    assert fscrawl("--rebuild")[2] == ""
    made = Made(out)
    check(made)
    assert made.keys() == tree.keys()


def test_several_files_that_are_missing(out: Path, fscrawl: Command) -> None:
    """Of several files one is named, and the others are counted."""
    fscrawl()
    shutil.rmtree(out / "pages")
    shutil.rmtree(out / "links")
    (line, _) = lines_of(fscrawl()[2])
    assert line.startswith(f"{out / 'links/part-0001-00000.parquet'}: missing")
    assert ", as is 1 other file; " in line


@pytest.mark.parametrize("spoil", [Path.unlink, cut])
def test_failures_that_are_missing_or_cut(
    tree: Grown, out: Path, fscrawl: Command, spoil: Callable[[Path], object]
) -> None:
    """The table of failures is made anew, and nothing need be said."""
    fscrawl()
    spoil(out / "errors/part-0001-00000.parquet")
    code, _, err = fscrawl()
    assert (code, err) == (0, "")
    made = Made(out)
    check(made)
    assert [row["url"] for row in made.rows("errors")] == list(tree.failures)


def test_failures_that_are_missing_at_the_limit(tree: Grown, out: Path, fscrawl: Command) -> None:
    """Where the limit has been reached, failures are made anew all the same, and no page is added."""
    fscrawl("--limit", "2", "--format", "parquet", "--format", "jsonl")
    rows, failures = Made(out).rows(), Made(out).rows("errors")
    (file,) = Made(out).files("errors/*")
    file.write_bytes(file.read_bytes()[:-1])
    assert fscrawl()[0] == 0
    assert (Made(out).rows(), Made(out).rows("errors")) == (rows, failures)
    check(Made(out))
    assert "the limit of 2 records has been reached" in fscrawl()[2]
    check(Made(out))


@pytest.mark.gate
@pytest.mark.parametrize("spoil", [Path.unlink, cut])
def test_an_index_of_files_that_are_missing(tree: Grown, tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    """An index keeps the pages of a part that is lost since, and gets all that can be read, however it is made."""
    out = tmp_path / "dataset"
    tree.merge(out, index=True)
    spoil(out / PAGES)
    for number in range(3):
        tree.page(f"http://a.example/{number}", f"<p>fresh {number}".encode())
        tree.merge(out)
    assert search(out, "fresh").total == 3
    found = search(out, "three")
    assert [result.url for result in found.results] == [A]
    assert found.missing == 0
    shutil.rmtree(out / "search")
    tree.merge(out, index=True)
    assert search(out, "fresh").total == 3
    assert search(out, "three").missing == 5


def test_an_index_of_a_damaged_file(out: Path, fscrawl: Command) -> None:
    """A part that is as long as it was, and damaged, is one line."""
    fscrawl()
    path = out / PAGES
    path.write_bytes(bytes(path.stat().st_size))
    code, printed, err = fscrawl("--index")
    assert (code, printed) == (2, "")
    (_, line) = lines_of(err)  # the first one says that nothing is new
    assert line.startswith(f"fscrawl: {path}: cannot be read (")
    assert line.endswith("); start again with --rebuild")
    assert fscrawl("--index", "--rebuild")[0] == 0


@pytest.mark.gate
def test_a_manifest_that_is_missing(tree: Grown, out: Path, fscrawl: Command) -> None:
    """Without it, a merge would write pages twice. It is refused, and can be put back."""
    for number in range(3):
        tree.page(f"http://a.example/{number}")
        fscrawl()
    kept = (out / "manifest.json").read_bytes()
    (out / "manifest.json").unlink()
    refused(fscrawl(), 2, f"{out / 'manifest.json'}: missing: there were 3 runs, or one fewer", "--rebuild")
    (out / "manifest.json").write_bytes(kept)
    assert fscrawl()[0] == 0
    assert Made(out).keys() == tree.keys()


@pytest.mark.gate
def test_a_manifest_that_is_old(tree: Grown, out: Path, fscrawl: Command) -> None:
    """One of some runs before, as of a backup, is refused; --rebuild helps."""
    fscrawl()
    kept = (out / "manifest.json").read_bytes()
    for number in range(2):
        tree.page(f"http://a.example/{number}")
        fscrawl()
    (out / "manifest.json").write_bytes(kept)
    refused(fscrawl(), 2, "manifest.json: an old copy: there were 3 runs", "--rebuild")
    assert fscrawl("--rebuild")[0] == 0
    made = Made(out)
    check(made)
    assert made.keys() == tree.keys()


def test_a_manifest_of_one_run_that_is_missing(tree: Grown, out: Path, fscrawl: Command) -> None:
    """The first run is made again, as if it had been killed before its end."""
    fscrawl()
    (out / "manifest.json").unlink()
    tree.page("http://a.example/new")
    assert fscrawl()[0] == 0
    made = Made(out)
    check(made)
    assert made.keys() == tree.keys()


ODD = [
    {"counts": "x"},
    {"counts": {"pages": "many"}},
    {"counts": {}},
    {"runs": [{"run": "../1", "counts": {}, "left_out": {}}]},
    {"left_out": []},
    {"left_out": {"broken": None}},
    {"fields": {"a": 1}},
    {"options": 5},
    {"runs": [1]},
    {"files": [{"path": "pages/x"}]},
]


@pytest.mark.gate
@pytest.mark.parametrize("change", ODD, ids=str)
def test_a_manifest_that_was_edited(out: Path, fscrawl: Command, change: dict[str, object]) -> None:
    """One that no merge has written is one line, and so is one that names files outside of the dataset."""
    fscrawl()
    path = out / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}))
    refused(fscrawl(), 2, "manifest.json: not what a merge writes", "--rebuild")


ODD_OPTIONS = ('"limit": "1"', '"hosts": [1]', '"html": 1', '"text": "x"', '"formats": ["../x"]', '"status": ["["]')
ODD_OPTIONS += ('"include": ["("]', '"hosts": ["a b"]', '"fields": "["')


@pytest.mark.gate
@pytest.mark.parametrize(
    "text",
    [
        *("{}", "[]", '{"crawl": "c1"}', '{"crawl": "c1", "options": []}', '{"crawl": "c1", "options": {"new": 1}}'),
        *(f'{{"crawl": "c1", "options": {{{each}}}}}' for each in ODD_OPTIONS),
    ],
)
def test_options_that_were_edited(out: Path, fscrawl: Command, text: str) -> None:
    """What are no options of a merge is one line; --rebuild helps."""
    fscrawl()
    (out / ".merge" / "options.json").write_text(text)
    refused(fscrawl(), 2, "options.json: not what a merge writes", "--rebuild")
    assert fscrawl("--rebuild")[0] == 0


def test_options_that_are_missing(tree: Grown, out: Path, fscrawl: Command) -> None:
    """Those in the manifest count: all parts of a table have the same columns."""
    fscrawl("--text", "none", "--no-html", *(word for style in ALL for word in ("--format", style)))
    (out / ".merge" / "options.json").unlink()
    tree.page("http://a.example/new")
    refused(fscrawl("--text", "visible"), 2, "was made with text", "--rebuild")
    assert fscrawl()[0] == 0
    made = Made(out)
    check(made)
    assert {"html", "text"}.isdisjoint(made.table().column_names)


@pytest.mark.gate
@pytest.mark.parametrize("name", ["README.md", "errors/part-0001-00000.parquet", ".merge/lock", ".merge/plan"])
def test_directories_in_place_of_files(tree: Grown, out: Path, fscrawl: Command, name: str) -> None:
    """Whatever stands where a merge writes, what comes of it is one line, or nothing."""
    fscrawl()
    (out / name).unlink(missing_ok=True)
    (out / name / "below").mkdir(parents=True)
    tree.page("http://a.example/new")
    tree.fail("http://a.example/new-failure")
    code, _, err = fscrawl()
    assert code in (0, 75)
    assert "Traceback" not in err
    assert len(lines_of(err)) <= 1
