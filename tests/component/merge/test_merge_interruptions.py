"""Interruptions of a merge, one by one; `test_merge_kill` has those at random."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.dataset import dataset_dir
from fscrawl.dataset.manifest import Manifest
from tests.support.merging import bodiless
from tests.support.trees import ALL, Grown, check


class Killed(BaseException):
    """Stands for a kill."""


def test_killed_after_the_manifest(tree: Grown, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed when a run has just been committed, it leaves no file that the next run does not remove."""
    tree.merge(out, formats=ALL)
    tree.heal("http://a.example/gone")
    write = dataset_dir.DatasetDir.write_json

    def kill(self: dataset_dir.DatasetDir, name: str, value: object) -> None:
        write(self, name, value)
        if name == dataset_dir.MANIFEST:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(dataset_dir.DatasetDir, "write_json", kill)
        with pytest.raises(Killed):
            tree.merge(out)
    made = tree.merge(out)
    assert made.rows("errors") == []
    check(made)


def test_killed_while_a_run_is_removed(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's scratch directory, half removed by a merge that was killed, is not taken for a run under way."""
    tree.merge(out)
    bodiless(tree)
    tree.page("http://a.example/0")
    tree.file("htmls", "http://a.example/0").unlink()

    def kill(path: Path, **_: object) -> None:
        (Path(path) / "plan.jsonl").unlink()
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", kill)
        patch.setattr(Manifest, "is_unchanged_by", lambda *_: True)
        with pytest.raises(Killed):
            tree.merge(out)
    tree.file("htmls", "http://a.example/0").write_bytes(tree.bodies["http://a.example/0"])
    tree.page("http://0.example/", b"<p>comes first in the plan")
    made = tree.merge(out)
    assert "http://0.example/" in made.by_url()
    assert made.keys() == tree.keys()


def test_group_of_an_older_version(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of a version that had no segments is made again, and parts that are no longer needed are removed."""
    write = dataset_dir.DatasetDir.write_json

    def as_before(self: dataset_dir.DatasetDir, name: str, value: dict[str, object]) -> None:
        if "batches" in value:
            write(self, name.replace(".done", ""), {**value, "files": []})
            raise Killed
        write(self, name, value)

    with monkeypatch.context() as patch:
        patch.setattr(dataset_dir.DatasetDir, "write_json", as_before)
        with pytest.raises(Killed):
            tree.merge(out)
    left = [out / table / "part-0001-00007.parquet" for table in ("pages", "links")]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"of a group that there is no more")
    made = tree.merge(out)
    assert made.keys() == tree.keys()
    assert not any(path.exists() for path in left)
    check(made)
