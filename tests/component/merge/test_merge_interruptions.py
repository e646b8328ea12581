"""Interruptions of a merge, one by one; `test_merge_kill` has those at random."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import merge
from fscrawl.dataset import dataset_dir
from fscrawl.dataset.manifest import Manifest
from tests.support.merging import bodiless
from tests.support.trees import ALL, Grown, check, contents


class Killed(BaseException):
    """Stands for a kill."""


def test_killed_after_the_manifest(tree: Grown, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed when a run has just been committed, it leaves no file that the next run does not remove."""
    tree.merge(out, formats=ALL)
    tree.heal("http://a.example/gone")
    write = dataset_dir.DatasetDir.write_json

    def kill(self: dataset_dir.DatasetDir, name: str, value: object, **how: bool) -> None:
        write(self, name, value, **how)
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


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


TORN = [f".merge/run-0001/{name}" for name in ("plan.jsonl", "batch-*.arrow", "batch-*.json", "verdicts.arrow")]
TORN += [".merge/run-0001/group-*.json", "pages/*.parquet", "jsonl/links/*.gz", "warc/*.gz", "warc-index/*.parquet"]


@pytest.mark.gate
@pytest.mark.parametrize("name", TORN)
@pytest.mark.parametrize("tear", [Path.unlink, emptied, halved, zeroed])
def test_torn_by_a_power_failure(
    tree: Grown,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    tear: Callable[[Path], object],
) -> None:
    """What a run had made and is torn or lost now, is made again, and nothing else: the dataset is the same."""
    _killed_at_its_end(tree, out, monkeypatch)
    (path,) = out.glob(name)
    tear(path)
    if name.endswith("plan.jsonl"):
        tree.page("http://0.example/", b"<p>comes first in another plan")
    made = tree.merge(out)
    assert made.said == []
    assert made.keys() == tree.keys()
    check(made)
    other = tree.merge(tmp_path / "other", formats=ALL).out
    for folder in ("pages", "warc", "warc-index"):
        assert contents(out / folder) == contents(other / folder)


def test_rows_that_were_lost_and_have_changed(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made of rows that are lost is made again, too: they may be others now."""
    _killed_at_its_end(tree, out, monkeypatch)
    (path,) = (out / ".merge" / "run-0001").glob("batch-*.arrow")
    path.write_bytes(b"")
    tree.page("http://a.example/", b"<p>refreshed")
    made = tree.merge(out)
    assert made.by_url()["http://a.example/"]["html"] == b"<p>refreshed"
    assert {row["html"] for row in made.rows() if row["html"]} == set(tree.bodies.values())
    check(made)


def _killed_at_its_end(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a run of which all groups are written."""

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(merge, "write_failures", kill)
        with pytest.raises(Killed):
            tree.merge(out, formats=ALL)
