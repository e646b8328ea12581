"""Datasets into which somebody else has put links, FIFOs, devices, or names of other files."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.dataset.dataset_dir import DatasetDir
from fscrawl.errors import TreeError
from tests.support.crawling import lines_of
from tests.support.merging import refused
from tests.support.trees import Grown, Made, check, contents

Command = Callable[..., tuple[int, str, str]]
FORMATS = ("--format", "parquet", "--format", "warc", "--format", "jsonl", "--index")
PART, SEEN = "pages/part-0001-00000.parquet", ".merge/seen-0001.parquet"
FOLDERS = ("errors", "pages", "links", "warc", "warc-index", "jsonl", "search", ".merge")
DEEP = (".merge/run-0001", ".merge/run-0002", "jsonl/errors", "search/x")
FILES = ("manifest.json", "README.md", PART, SEEN, ".merge/options.json", ".merge/lock")
MORE = ("search/meta.json", "warc/part-0001-00000.idx", ".merge/rebuilding", ".merge/writer-2")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Make a directory of somebody, with files of names that a merge removes in its own directories."""
    there = tmp_path / "elsewhere"
    for name in (
        *("authorized_keys", "part-0001-00000.parquet", "part-0002-00000.parquet", "index-0.sqlite", ".x.tmp"),
        *("run-0001/x", "run-0007/x", "errors/part-0001-00000.jsonl.gz", "options.json", "writer-1", "lock"),
    ):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_text(f"private {name}")
    return there


def link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere if "." not in path.name[1:] else elsewhere / "authorized_keys")


def dangling(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere / "nothing")


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def socket(path: Path, _: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


def deep(path: Path, _: Path) -> None:
    path.joinpath(*"abcd").mkdir(parents=True)


Plant = Callable[[Path, Path], None]
CASES: list[tuple[Plant, tuple[str, ...]]] = [
    (link, (*FOLDERS, *DEEP, *FILES, *MORE)),
    (dangling, (*FOLDERS, *FILES, *MORE)),
    (fifo, (*FOLDERS, *FILES, *MORE, "pages/part-0002-00000.parquet")),
    (socket, (*FOLDERS, *FILES, *MORE)),
    (deep, (*FOLDERS, ".merge/run-0001")),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("plant", "names"), CASES)
def test_planted(
    tree: Grown, out: Path, fscrawl: Command, elsewhere: Path, plant: Plant, names: tuple[str, ...]
) -> None:
    """What no merge makes is named in one line; nothing is followed, waited for, changed or removed because of it."""
    fscrawl(*FORMATS)
    tree.page("http://a.example/new")
    outside = contents(elsewhere)
    for name in names:
        path, kept = out / name, out.parent / "kept"
        if path.exists():
            path.rename(kept)
        plant(path, elsewhere)
        inside = sorted(map(str, out.rglob("*")))
        for flags in ((), ("--rebuild", *FORMATS)):
            refused(fscrawl(*flags), 2, str(path), "no merge has made this")
        assert (contents(elsewhere), sorted(map(str, out.rglob("*")))) == (outside, inside), name
        shutil.rmtree(path) if plant is deep else path.unlink()
        if kept.exists():
            kept.rename(path)
    assert fscrawl()[0] == 0
    check(Made(out))


@pytest.mark.parametrize("name", ["manifest.json", ".merge/options.json", SEEN, "search/meta.json", "README.md"])
def test_nothing_of_thirty_gigabytes(tree: Grown, out: Path, fscrawl: Command, name: str) -> None:
    """A file that is larger than it can be is one line, or is made anew; it is not read."""
    fscrawl("--index")
    os.truncate(out / name, 30 << 30)
    tree.page("http://a.example/new")
    code, _, err = fscrawl()
    if name in ("search/meta.json", "README.md"):
        assert (code, err) == (0, "")
        check(Made(out))
    else:
        assert code in (2, 75)
        (line,) = lines_of(err)
        assert line.startswith(f"fscrawl: {out / name}: ")


def test_names_in_a_manifest(out: Path, fscrawl: Command, elsewhere: Path) -> None:
    """A manifest that names what is no part is refused; nothing is removed."""
    fscrawl()
    (out / "errors/authorized_keys").write_text("x")
    values = json.loads((out / "manifest.json").read_bytes())
    for path in ("errors/authorized_keys", "../elsewhere/part-0001-00000.parquet", "README.md", ".merge/lock"):
        named = {"path": path, "rows": 1, "bytes": 1, "sha256": ""}
        (out / "manifest.json").write_text(json.dumps({**values, "files": [*values["files"], named]}))
        before = contents(out.parent)
        refused(fscrawl(), 2, "manifest.json: not what a merge writes")
        assert contents(out.parent) == before


@pytest.mark.parametrize("name", ["errors", "pages", "links", ".merge", "search", "jsonl"])
def test_planted_meanwhile(tmp_path: Path, elsewhere: Path, name: str) -> None:
    """What is put there after the look at the beginning is not followed either, whatever a merge does there."""
    directory = DatasetDir(tmp_path / "out")
    directory.root.mkdir()
    (directory.root / name).symlink_to(elsewhere)
    before = contents(elsewhere)
    calls: list[Callable[[], object]] = [
        lambda: directory.write(f"{name}/x", "x"),
        lambda: directory.write(f"{name}/run-0001/x", "x"),
        lambda: directory.discard(f"{name}/authorized_keys"),
        lambda: directory.remove(f"{name}/run-0001"),
        lambda: directory.files(name),
        lambda: directory.part(f"{name}/authorized_keys", 1),
        lambda: directory.write(f"{name}/authorized_keys", ""),
        lambda: directory.read_scratch(f"{name}/options.json", dict),
        directory.sweep,
    ]
    for call in calls:
        with pytest.raises((TreeError, OSError), match=re.escape(str(directory.root / name))):
            call()
    if name != ".merge":
        with pytest.raises((TreeError, OSError)):
            directory.remove_parts(1, set())
        directory.start_over()
    assert contents(elsewhere) == before


@pytest.mark.timeout(60)
@pytest.mark.parametrize("plant", [link, fifo, socket])
def test_searched(
    out: Path, fscrawl: Command, elsewhere: Path, capsys: pytest.CaptureFixture[str], plant: Plant
) -> None:
    """A search in such a dataset is one line, too."""
    fscrawl("--index")
    (shard,) = (out / "search").glob("*.term")
    for path in (out / "manifest.json", out / "search", out / "search/meta.json", shard):
        path.rename(out.parent / "kept")
        plant(path, elsewhere)
        code = cli.main(["search", "one", "--dataset", str(out)])
        assert code in (2, 75)
        (line,) = lines_of(capsys.readouterr().err)
        assert line.startswith(f"fscrawl: {out}")
        path.unlink()
        (out.parent / "kept").rename(path)
