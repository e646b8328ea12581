"""The trees that benchmarks make are such as this version reads. The benchmarks themselves are not run here."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import parts, status
from fscrawl import store


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
