"""A dataset's directory: files that appear whole, one writer at a time."""

import errno
import hashlib
import os
import pickle
import shutil
from pathlib import Path

import msgspec
import pytest

from fscrawl.dataset import dataset_dir
from fscrawl.dataset.card import report
from fscrawl.dataset.dataset_dir import FOLDERS, DatasetDir
from fscrawl.dataset.manifest import Counts, FieldCounts, Manifest, Part, RunSummary
from fscrawl.dataset.options import Options
from fscrawl.errors import TreeError, UsageError

STATE = [".merge/lock", ".merge/writer-1"]


@pytest.fixture
def directory(tmp_path):
    return DatasetDir(tmp_path / "out")


def names(directory):
    return sorted(str(path.relative_to(directory.root)) for path in directory.root.rglob("*") if path.is_file())


def test_publish(directory):
    """A file has its name only when it is whole; what it replaces is there until then."""
    directory.write("pages/x", "old")
    with directory.publish("pages/x") as temporary:
        temporary.write_text("new")
        assert directory.path("pages/x").read_text() == "old"
        assert temporary.parent.samefile(directory.path("pages"))
        assert temporary.name.startswith(".")
    assert directory.path("pages/x").read_text() == "new"
    assert names(directory) == ["pages/x"]


def test_sync_below_a_directory_that_may_only_be_entered(directory, monkeypatch):
    """Directories of the dataset are synced, and so is the one that holds it, if this user may open it."""
    synced = []

    def sync_directory(path):
        synced.append(path)
        if path == str(directory.root.parent):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    directory.write("pages/x", "x")
    monkeypatch.setattr(dataset_dir.atomic, "sync_directory", sync_directory)
    directory.sync(["pages/x"])
    assert synced == [str(directory.root), str(directory.path("pages")), str(directory.root.parent)]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyError("x"), KeyboardInterrupt()])
def test_publish_that_fails(directory, error):
    """A block that fails leaves neither file nor temporary; an OSError becomes a TreeError with the file's path."""

    def fail():
        with directory.publish("pages/x") as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(TreeError if isinstance(error, OSError) else type(error)) as caught:
        fail()
    assert names(directory) == []
    if isinstance(error, OSError):
        assert str(caught.value).startswith(f"{directory.path('pages/x')}: the disk is full")


def test_publish_nothing(directory):
    """A block that writes no file is an error, not an empty file."""
    with pytest.raises(TreeError), directory.publish("x"):
        pass


def test_json(directory):
    """JSON is read as it was written; what is not there is None, and what is torn is said to be."""
    assert directory.read_json("x.json", dict) is None
    directory.write_json("x.json", {"ä": [1, None]})
    assert directory.read_json("x.json", dict) == {"ä": [1, None]}
    directory.path("x.json").write_text("{")
    with pytest.raises(UsageError, match="--rebuild"):
        directory.read_json("x.json", dict)
    directory.path("dir.json").mkdir()
    with pytest.raises(UsageError, match="--rebuild"):
        directory.read_json("dir.json", dict)


def test_part(directory):
    """A part is described by path, rows, size and SHA-256."""
    directory.write("pages/x", "abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    assert directory.part("pages/x", 7) == Part("pages/x", 7, 3, digest)


def test_opened_once(directory):
    """A directory is opened by one merge at a time, and by the next when that is over, however it ended."""
    with directory.opened():
        with pytest.raises(UsageError, match="another merge"), DatasetDir(directory.root).opened():
            pass
        assert names(directory) == STATE
    with pytest.raises(KeyError), directory.opened():
        raise KeyError
    with directory.opened():
        pass


def test_without_locks(directory, monkeypatch):
    """Where the file system has no locks, the merge that begins last goes on, and the other puts nothing in place."""

    def flock(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(dataset_dir.fcntl, "flock", flock)
    other = DatasetDir(directory.root)

    def both():
        with directory.opened():
            directory.write("first", "x")
            with other.opened():
                for each in (directory, pickle.loads(pickle.dumps(directory))):
                    with pytest.raises(UsageError, match="another merge"):
                        each.write("second", "x")
                other.write("third", "x")
            raise FileNotFoundError("what the other one has removed")

    with pytest.raises(UsageError, match="another merge"):
        both()
    assert names(directory) == [".merge/lock", ".merge/writer-2", "first", "third"]


def test_lock_is_not_inherited(directory):
    """A process that a merge starts does not hold the lock when the merge is gone."""
    with directory.opened():
        mine = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
        locks = [int(path.name) for path in mine if path.readlink().match("*/.merge/lock")]
        assert [os.get_inheritable(each) for each in locks] == [False]


def test_a_dataset_that_was_published_without_its_state(tmp_path: Path) -> None:
    """docs/how-to/export.md uploads a dataset without `.merge`. A copy of that is a dataset, and is not added to."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "manifest.json").write_text("{}")
    with (
        pytest.raises(UsageError, match="as published ones are: nothing can be added"),
        DatasetDir(tmp_path / "copy").opened(),
    ):
        pass


def test_directory_cannot_be_made():
    """Where the directory cannot be made, that is said with its path."""
    with pytest.raises(TreeError, match="sys/none"), DatasetDir(Path("/sys/none")).opened():
        pass


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENOTCONN])
def test_directory_cannot_be_listed(directory, number, monkeypatch):
    """A directory that may not be read, or whose share has a fault, is no wrong name."""

    def failing(path):
        raise OSError(number, os.strerror(number), str(path))

    directory.root.mkdir()
    monkeypatch.setattr(Path, "iterdir", failing)
    with pytest.raises(TreeError, match=rf"^--out .*/{directory.root.name}: "), directory.opened():
        pass


def test_sweep(directory):
    """Temporaries of a merge that was killed are removed wherever they may be, and nothing else is."""
    there = [
        "manifest.json",
        ".merge/options.json",
        ".merge/run-0001/batch-000000.arrow",
        "pages/part-0001-00000.parquet",
    ]
    there += ["jsonl/pages/part.jsonl.gz", "notes/.mine.tmp", "pages/visible.tmp"]
    temporaries = [".manifest.json.1-a.tmp", ".merge/.options.json.1.tmp", ".merge/run-0001/.batch.1.tmp"]
    temporaries += [f"{name}/.part.parquet.31-ab.tmp" for name in FOLDERS] + ["csv/links/.part.csv.31.tmp"]
    for name in there + temporaries:
        directory.write(name, "x")
    directory.sweep()
    assert names(directory) == sorted(there)


def test_sweep_of_nothing(directory):
    """There may be nothing to sweep, not even the directory."""
    directory.sweep()
    assert not directory.root.exists()


def test_remove(directory):
    """A directory goes with all that is in it."""
    directory.write(".merge/run-0001/plan.jsonl", "x")
    directory.remove(".merge/run-0001")
    assert list(directory.path(".merge").iterdir()) == []
    with pytest.raises(TreeError):
        directory.remove(".merge/run-0001")


OURS = ["manifest.json", "README.md", ".merge/options.json", ".merge/seen-0001.parquet", ".merge/run-0002/plan.jsonl"]
OURS += [f"{name}/part" for name in FOLDERS] + ["jsonl/pages/part", "csv/links/part"]


def test_start_over(directory):
    """Starting over removes all that is a dataset's, and nothing that is not."""
    with directory.opened():
        for name in [*OURS, "NOTES", "mine/x"]:
            directory.write(name, "x")
        directory.start_over()
        assert not directory.was_starting_over()
        assert names(directory) == [*STATE, "NOTES", "mine/x"]


def test_start_over_with_nothing_there(directory):
    """A new directory can be started over, too."""
    with directory.opened():
        directory.start_over()
        assert names(directory) == STATE


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("step", range(14))
def test_start_over_killed(directory, monkeypatch, step):
    """Killed at any step of starting over, the dataset says so, and the next one who asks can finish it."""
    with directory.opened():
        for name in OURS:
            directory.write(name, "x")
        left = iter(range(step))

        def stop(call):
            def wrapped(*args, **kwargs):
                if next(left, None) is None:
                    raise Killed
                return call(*args, **kwargs)

            return wrapped

        with monkeypatch.context() as patch:
            patch.setattr(dataset_dir.Path, "unlink", stop(dataset_dir.Path.unlink))
            patch.setattr(shutil, "rmtree", stop(shutil.rmtree))
            try:
                directory.start_over()
            except Killed:
                assert directory.was_starting_over()
                assert ".merge/lock" in names(directory)
                assert directory.path(".merge/rebuilding").exists()
        if directory.was_starting_over():
            directory.start_over()
        assert names(directory) == STATE


def test_start_over_that_fails(directory, monkeypatch):
    """What the file system refuses is said in one line."""
    with directory.opened():
        directory.write("manifest.json", "x")

        def unlink(*_, **__):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr(dataset_dir.Path, "unlink", unlink)
        with pytest.raises(TreeError):
            directory.start_over()


COUNTS = Counts(records=2, pages=1, redirects=1, others=0, duplicates=0)
MANIFEST = Manifest(
    made_by="fscrawl 1",
    crawl="c",
    options=Options(text="main"),
    counts=msgspec.structs.replace(COUNTS, near_duplicates=0, errors=1),
    left_out={"broken": 1},
    fields={"price": FieldCounts(found=1, bad=1)},
    runs=(RunSummary(1, COUNTS, {"broken": 1}),),
    parts=(Part("pages/part-0001-00000.parquet", 2, 100, "ab"), Part("errors/part-0001-00000.parquet", 1, 9, "cd")),
)


def test_a_manifest_is_read_as_it_was_written(directory):
    """A manifest is the same after it was written and read; on the disk its keys have their order."""
    directory.write_json("manifest.json", MANIFEST)
    assert directory.manifest() == MANIFEST
    written = directory.read_json("manifest.json", dict)
    assert list(written) == ["format", "made_by", "crawl", "options", "counts", "left_out", "fields", "runs", "files"]
    assert list(written["counts"])[-2:] == ["near_duplicates", "errors"]
    assert list(written["runs"][0]) == ["run", "counts", "left_out"]
    assert list(written["runs"][0]["counts"]) == ["records", "pages", "redirects", "others", "duplicates"]
    assert list(written["files"][0]) == ["path", "rows", "bytes", "sha256"]


def test_names_of_parts():
    """A name is a part's in one of the dataset's directories, and nothing else."""
    good = ("pages/part-0001-00000.parquet", "jsonl.zst/links/part-12345-123456.jsonl.zst", "warc/part-0001-00000.idx")
    bad = ("errors/../part-0001-00000.csv", "/errors/part-0001-00000.csv", "errors//part-0001-00000.csv")
    bad += ("errors/authorized_keys", "../part-0001-00000.csv", ".merge/part-0001-00000.csv", "part-0001-00000.csv")
    bad += ("errors/part-0001-00000.csv\n", "errors/part-0001-00000.csv/x", "a/b/c/part-0001-00000.csv", "", "a/\0")
    for path in good:
        assert msgspec.convert({"path": path, "rows": 1, "bytes": 2, "sha256": "x"}, Part) == Part(path, 1, 2, "x")
    for path in bad:
        with pytest.raises(msgspec.ValidationError, match=r"\$\.path"):
            msgspec.convert({"path": path, "rows": 1, "bytes": 2, "sha256": "x"}, Part)


VALUES = msgspec.to_builtins(MANIFEST)


@pytest.mark.parametrize("values", [{"format": 1}, [], {**VALUES, "files": [{}]}, {**VALUES, "format": 2}])
def test_what_is_no_manifest_is_refused(directory, values):
    """JSON that is not a manifest is an error in one line, which names the file and says what to do."""
    directory.write_json("manifest.json", values)
    with pytest.raises(UsageError, match=r"manifest\.json: not what a merge writes .*update this one.* --rebuild"):
        directory.manifest()


def test_large_numbers_of_a_report() -> None:
    """All of them have the same form, and the words agree with them."""
    counts = Counts(records=2991, pages=2991, redirects=0, others=0, duplicates=0, errors=1234)
    fields = {"heading": FieldCounts(2990, 1001, 1000)}
    left_out = {"noindex": 4321, "since": 1, "duplicate": 1}
    manifest = msgspec.structs.replace(MANIFEST, counts=counts, fields=fields, left_out=left_out, parts=())
    assert list(report(manifest)) == [
        "records: 2,991 pages, 0 redirects, 0 of other types; failures: 1,234",
        "left out: 1 page older than --since",
        "left out: 4,321 pages marked noindex (--keep-noindex keeps such pages)",
        "left out: 1 duplicate (--dedupe)",
        "field heading: found on 2,990 of 3,991 pages, 1,000 with a value of the wrong type",
    ]
