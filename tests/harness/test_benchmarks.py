"""The trees that benchmarks make are such as this version reads. The benchmarks themselves are not run here."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest import mock

import pytest

from benchmarks import parts, same_rows, status
from fscrawl import store
from tests.support.trees import Grown


def test_tree_of_parts(tmp_path: Path) -> None:
    """The benchmark of a page's parts opens the tree that it made."""
    assert parts._tree(tmp_path / "tree").hosts("links") == []


def test_tree_of_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs of the benchmark of `status` are logs of machines."""
    for name, value in {"MACHINES": 2, "DAY_S": 100, "FILES": 200}.items():
        monkeypatch.setattr(status, name, value)
    size = status.build(tmp_path / "tree")
    tree = store.Tree(tmp_path / "tree", "status")
    assert sorted(tree.hosts("links")) == ["h0.example", "h1.example"]
    logs = list((tmp_path / "tree" / ".fscrawl" / "machines").iterdir())
    assert (len(logs), sum(log.stat().st_size for log in logs)) == (2, size)


def test_datasets_are_compared_by_their_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two datasets have the same rows whatever their parts are; a value that differs is found, and its column named."""
    tree = Grown(tmp_path / "tree")
    tree.many(2, 30)
    for number, name in enumerate(("one", "two", "three")):
        with (
            mock.patch("fscrawl.dataset.dedupe._GROUP_ROWS", 60 - 20 * number),
            mock.patch("fscrawl.dataset.plan.BATCH_PAGES", 20),
        ):
            tree.merge(tmp_path / name)
        if name == "two":
            tree.file("links", "http://h0.example/0").unlink()
            tree.page("http://h0.example/0", b"<p>other words", title="other")
    assert same_rows.compare(tmp_path / "one", tmp_path / "two") == 0
    capsys.readouterr()
    assert same_rows.compare(tmp_path / "one", tmp_path / "three") == 1
    (said,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("pages:"))
    assert "title" in said
    assert "url," not in said
    shutil.rmtree(tmp_path / "three" / "errors")
    assert same_rows.compare(tmp_path / "one", tmp_path / "three") == 1
