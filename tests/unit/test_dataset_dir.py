"""A dataset's directory: files that appear whole, one writer at a time."""

import hashlib
import os
import pickle
import shutil
from pathlib import Path

import pytest

from fscrawl.dataset import dataset_dir as room
from fscrawl.dataset.dataset_dir import ROOMS, Shelf
from fscrawl.errors import TreeError, UsageError


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path / "out")


def names(shelf):
    return sorted(str(path.relative_to(shelf.root)) for path in shelf.root.rglob("*") if path.is_file())


def test_publish(shelf):
    """A file has its name only when it is whole; what it replaces is there until then."""
    shelf.write("pages/x", "old")
    with shelf.publish("pages/x") as temporary:
        temporary.write_text("new")
        assert shelf.path("pages/x").read_text() == "old"
        assert temporary.parent == shelf.path("pages")
        assert temporary.name.startswith(".")
    assert shelf.path("pages/x").read_text() == "new"
    assert names(shelf) == ["pages/x"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyError("x"), KeyboardInterrupt()])
def test_publish_that_fails(shelf, error):
    """A block that fails leaves neither file nor temporary; an OSError becomes a TreeError with the file's path."""

    def fail():
        with shelf.publish("pages/x") as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(TreeError if isinstance(error, OSError) else type(error)) as caught:
        fail()
    assert names(shelf) == []
    if isinstance(error, OSError):
        assert str(caught.value).startswith(f"{shelf.path('pages/x')}: the disk is full")


def test_publish_nothing(shelf):
    """A block that writes no file is an error, not an empty file."""
    with pytest.raises(TreeError), shelf.publish("x"):
        pass


def test_json(shelf):
    """JSON is read as it was written; what is not there is None, and what is torn is said to be."""
    assert shelf.read_json("x.json") is None
    shelf.write_json("x.json", {"ä": [1, None]})
    assert shelf.read_json("x.json") == {"ä": [1, None]}
    shelf.path("x.json").write_text("{")
    with pytest.raises(UsageError, match="--rebuild"):
        shelf.read_json("x.json")
    shelf.path("dir.json").mkdir()
    with pytest.raises(UsageError, match="--rebuild"):
        shelf.read_json("dir.json")


def test_facts(shelf):
    """A part is described by path, rows, size and SHA-256."""
    shelf.write("pages/x", "abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    assert shelf.facts("pages/x", 7) == {"path": "pages/x", "rows": 7, "bytes": 3, "sha256": digest}


def test_can_be_pickled(shelf):
    """A shelf goes to other processes."""
    assert pickle.loads(pickle.dumps(shelf)).root == shelf.root


def test_opened_once(shelf):
    """A directory is opened by one merge at a time, and by the next when that is over, however it ended."""
    with shelf.opened():
        with pytest.raises(UsageError, match="another merge"), Shelf(shelf.root).opened():
            pass
        assert names(shelf) == [".merge/lock"]
    with pytest.raises(KeyError), shelf.opened():
        raise KeyError
    with shelf.opened():
        pass


def test_without_locks(shelf, monkeypatch):
    """Where the file system has no locks, a merge goes on without."""

    def flock(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(room.fcntl, "flock", flock)
    with shelf.opened(), Shelf(shelf.root).opened():
        pass


def test_lock_is_not_inherited(shelf):
    """A process that a merge starts does not hold the lock when the merge is gone."""
    with shelf.opened():
        mine = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
        locks = [int(path.name) for path in mine if path.readlink().match("*/.merge/lock")]
        assert [os.get_inheritable(each) for each in locks] == [False]


def test_only_a_dataset_is_opened(shelf, tmp_path):
    """A directory with anything in it, and no dataset, is refused; so is a file."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").touch()
    with pytest.raises(UsageError, match="not empty"), Shelf(tmp_path / "other").opened():
        pass
    with pytest.raises(UsageError, match="takes a directory"), Shelf(tmp_path / "other" / "x").opened():
        pass
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["x"]


def test_directory_cannot_be_made(shelf, tmp_path):
    """Where the directory cannot be made, that is said with its path."""
    shelf.root.symlink_to(tmp_path / "nowhere" / "x")
    with pytest.raises(TreeError, match="out"), shelf.opened():
        pass


def test_sweep(shelf):
    """Temporaries of a merge that was killed are removed wherever they may be, and nothing else is."""
    there = [
        "manifest.json",
        ".merge/options.json",
        ".merge/run-0001/batch-000000.arrow",
        "pages/part-0001-00000.parquet",
    ]
    there += ["jsonl/pages/part.jsonl.gz", "notes/.mine.tmp", "pages/visible.tmp"]
    temporaries = [".manifest.json.1-a.tmp", ".merge/.options.json.1.tmp", ".merge/run-0001/.batch.1.tmp"]
    temporaries += [f"{name}/.part.parquet.31-ab.tmp" for name in ROOMS] + ["csv/links/.part.csv.31.tmp"]
    for name in there + temporaries:
        shelf.write(name, "x")
    shelf.sweep()
    assert names(shelf) == sorted(there)


def test_sweep_of_nothing(shelf):
    """There may be nothing to sweep, not even the directory."""
    shelf.sweep()
    assert not shelf.root.exists()


def test_remove(shelf):
    """A directory is gone from its name at once, so that one half removed is not taken for whole."""
    shelf.write(".merge/run-0001/plan.jsonl", "x")
    shelf.remove(".merge/run-0001")
    assert list(shelf.path(".merge").iterdir()) == []
    with pytest.raises(TreeError):
        shelf.remove(".merge/run-0001")


OURS = ["manifest.json", "README.md", ".merge/options.json", ".merge/seen-0001.parquet", ".merge/run-0002/plan.jsonl"]
OURS += [f"{name}/part" for name in ROOMS] + ["jsonl/pages/part", "csv/links/part"]


def test_start_over(shelf):
    """Starting over removes all that is a dataset's, and nothing that is not."""
    with shelf.opened():
        for name in [*OURS, "NOTES", "mine/x"]:
            shelf.write(name, "x")
        shelf.start_over()
        assert not shelf.was_starting_over()
        assert names(shelf) == [".merge/lock", "NOTES", "mine/x"]


def test_start_over_with_nothing_there(shelf):
    """A new directory can be started over, too."""
    with shelf.opened():
        shelf.start_over()
        assert names(shelf) == [".merge/lock"]


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("step", range(14))
def test_start_over_killed(shelf, monkeypatch, step):
    """Killed at any step of starting over, the dataset says so, and the next one who asks can finish it."""
    with shelf.opened():
        for name in OURS:
            shelf.write(name, "x")
        left = iter(range(step))

        def stop(call):
            def wrapped(*args, **kwargs):
                if next(left, None) is None:
                    raise Killed
                return call(*args, **kwargs)

            return wrapped

        with monkeypatch.context() as patch:
            patch.setattr(room.Path, "unlink", stop(room.Path.unlink))
            patch.setattr(shutil, "rmtree", stop(shutil.rmtree))
            try:
                shelf.start_over()
            except Killed:
                assert shelf.was_starting_over()
                assert ".merge/lock" in names(shelf)
                assert shelf.path(".merge/rebuilding").exists()
        if shelf.was_starting_over():
            shelf.start_over()
        assert names(shelf) == [".merge/lock"]


def test_start_over_that_fails(shelf, monkeypatch):
    """What the file system refuses is said in one line."""
    with shelf.opened():
        shelf.write("manifest.json", "x")

        def unlink(*_, **__):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr(room.Path, "unlink", unlink)
        with pytest.raises(TreeError):
            shelf.start_over()


def test_newer_manifest(shelf):
    """A manifest of a newer format is refused, one of no format is read."""
    assert shelf.manifest() is None
    shelf.write_json("manifest.json", {"format": 2})
    with pytest.raises(UsageError, match="update fscrawl"):
        shelf.manifest()
    shelf.write_json("manifest.json", {"format": 1})
    assert shelf.manifest() == {"format": 1}
