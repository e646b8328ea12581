"""A mistyped path: no tree and no dataset is made inside another one, which would take it for a part of itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fscrawl
from fscrawl import cli
from tests.support.merging import refused
from tests.support.trees import Grown, contents, inline

SEED = "http://127.0.7.9:8/"


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin no process for workers: none will be needed."""
    monkeypatch.setattr("fscrawl.commands.crawl.start_server", lambda modules: None)


@pytest.fixture
def tree(tmp_path: Path) -> Grown:
    grown = Grown(tmp_path / "tree")
    grown.page("http://a.example/")
    return grown


@pytest.fixture
def dataset(tree: Grown, tmp_path: Path) -> Path:
    tree.merge(tmp_path / "dataset")
    return tmp_path / "dataset"


def answer(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    capsys.readouterr()
    with inline():
        code = cli.main(list(map(str, words)))
    return code, *capsys.readouterr()


@pytest.mark.parametrize("place", ["links", "new", "htmls/a.example", ".fscrawl/leases"])
def test_a_tree_in_a_tree(tree: Grown, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A crawl with seeds makes no tree in a part of another one, nor beside these parts."""
    before, root = contents(tree.root), tree.root / place
    refused(answer(capsys, "crawl", "--root", root, "--seed", SEED), 2, f"{root}: it is inside the tree {tree.root}")
    (tree.root / "way").symlink_to(tree.root.parent)
    way = tree.root / "way" / "tree" / "links"
    refused(answer(capsys, "crawl", "--root", way, "--seed", SEED), 2, f"{way}: it is inside the tree {tree.root}")
    (tree.root / "way").unlink()
    assert contents(tree.root) == before


@pytest.mark.gate
def test_a_tree_in_a_tree_from_python(tree: Grown) -> None:
    """The same from Python."""
    with pytest.raises(fscrawl.FscrawlError, match=f"it is inside the tree {tree.root}; name a directory outside"):
        fscrawl.crawl(tree.root / "new", SEED, progress=False)
    assert not (tree.root / "new").exists()


@pytest.mark.parametrize("place", ["pages", "new", "pages/new"])
def test_a_tree_in_a_dataset(dataset: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--rebuild would remove it with the dataset."""
    root, before = dataset / place, contents(dataset)
    said = f"{root}: it is inside the dataset {dataset}; name a directory outside of it"
    refused(answer(capsys, "crawl", "--root", root, "--seed", SEED), 2, said)
    assert contents(dataset) == before


@pytest.mark.parametrize("place", ["pages/new", "new", "a/b"])
def test_a_dataset_in_a_dataset(tree: Grown, dataset: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No dataset is made in another one. One that was made there by an older version goes on."""
    before, out = contents(dataset), dataset / place
    merge = ("merge", "--root", tree.root, "--out", out)
    refused(answer(capsys, *merge), 2, f"--out {out}: it is inside the dataset {dataset}; name a directory outside")
    assert contents(dataset) == before
    shutil.copytree(dataset, dataset.parent / "copy")
    shutil.move(dataset.parent / "copy", out)
    assert answer(capsys, *merge)[0] == 0


@pytest.mark.parametrize("place", ["links/new", "new"])
def test_a_dataset_in_another_tree(tree: Grown, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A dataset is made in no tree, whichever it is of."""
    other = Grown(tmp_path / "other", crawl="c2")
    before, out = contents(other.root), other.root / place
    said = f"--out {out}: it is inside the tree {other.root}; name a directory outside of it"
    refused(answer(capsys, "merge", "--root", tree.root, "--out", out), 2, said)
    assert contents(other.root) == before
