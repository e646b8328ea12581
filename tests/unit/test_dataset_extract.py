"""Pages read from the tree, checked, and understood."""

import json
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fscrawl.dataset import extract as batches
from fscrawl.dataset import page_files, plan, reading, tables
from fscrawl.dataset.dataset_dir import DatasetDir
from fscrawl.dataset.extract import extract_batch, rows_of
from fscrawl.dataset.job import Job
from fscrawl.dataset.options import Options
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.request import Request, spelling
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree, TreeFiles
from fscrawl.util import parallel
from tests.support.trees import Grown, check

A, B = "http://a.example/", "http://a.example/b"
FIELDS = {"n": {"css": "b", "type": "integer"}, "m": {"css": "i", "type": "string[]"}}
RULES = json.dumps([{"hosts": ["*"], "fields": FIELDS}])


@pytest.fixture
def tree(tmp_path):
    grown = Grown(tmp_path / "tree")
    grown.page(A, b"<b>1</b><i>x</i>")
    grown.page(B, b"<b>x</b>")
    grown.redirect("http://a.example/c", A)
    grown.fail("http://a.example/gone")
    return grown


def job_of(tree, tmp_path, **options):
    job = Job(tree.root, DatasetDir(tmp_path / "out"), 1, Options(**options), "c1")
    plan.make(job, [], lambda _: None)
    return job


def only(job):
    (batch,) = plan.batches(job)
    return batch


def test_job_can_be_pickled(tree, tmp_path):
    """A job goes to other processes, also when its parts have been made."""
    job = job_of(tree, tmp_path, fields=RULES)
    assert (job.tree.root, job.directory.root, bool(job.sites)) == (tree.root, tmp_path / "out", True)
    other = pickle.loads(pickle.dumps(job))
    assert other == job
    assert other.rows == job.rows
    assert "tree" in vars(job)
    assert "tree" not in vars(other) or other.tree is not job.tree


def test_facts(tree, tmp_path):
    """A batch says how many rows and bytes it has, and what became of the fields."""
    job = job_of(tree, tmp_path, fields=RULES)
    result = extract_batch(job, only(job))
    assert (result.rows, result.broken, result.left_out) == (3, [], {})
    assert result.bytes == (job.directory.root / job.scratch("batch-000000.arrow")).stat().st_size
    assert result.found == {"n": [1, 1, 1], "m": [1, 1, 0]}


def test_done_once(tree, tmp_path, monkeypatch):
    """A batch that an earlier try did is not done again, and has the same result."""
    job = job_of(tree, tmp_path)
    tree.file("htmls", B).unlink()
    result = extract_batch(job, only(job))
    assert result.broken == [("a.example", tree.records[B].key, "its body is missing")]
    monkeypatch.setattr(TreeFiles, "read", None)
    assert extract_batch(job, only(job)) == result


def test_rows(tree, tmp_path, monkeypatch):
    """Rows come in the order of the plan, whole or in some columns, in record batches of limited size."""
    monkeypatch.setattr(batches, "_FLUSH_BYTES", 1)
    job = job_of(tree, tmp_path, fields=RULES)
    extract_batch(job, only(job))
    parts = list(rows_of(job, 0))
    assert len(parts) >= 2
    keys = [row["key"] for part in parts for row in part.to_pylist()]
    assert keys == sorted(tree.keys())
    (one, *_) = rows_of(job, 0, ["url", "key"])
    assert sorted(one.schema.names) == ["key", "url"]
    values = {row["url"]: (row["field.n"], row["field.m"]) for part in parts for row in part.to_pylist()}
    assert values == {A: (1, ["x"]), B: (None, None), "http://a.example/c": (None, None)}


def test_records_gone_since_the_plan(tree, tmp_path):
    """A record that somebody removed after the plan was made is broken."""
    job = job_of(tree, tmp_path)
    tree.file("links", B).unlink()
    assert extract_batch(job, only(job)).broken == [("a.example", tree.records[B].key, "its record is gone")]


@pytest.mark.parametrize(("faults", "rows"), [(1, 3), (3, 3)])
def test_passing_faults(tree, tmp_path, monkeypatch, faults, rows):
    """A passing fault of the file system is tried again."""
    job = job_of(tree, tmp_path)
    read, left = TreeFiles.read, {}

    def busy(self, place, most=None):
        left[place] = left.get(place, faults) - 1
        if left[place] >= 0 and place.startswith("htmls"):
            raise TreeBusyError("stale")
        return read(self, place, most)

    monkeypatch.setattr(TreeFiles, "read", busy)
    monkeypatch.setattr(page_files, "_BUSY_S", 0)
    assert extract_batch(job, only(job)).rows == rows


def test_a_fault_that_stays(tree, tmp_path, monkeypatch):
    """A fault that does not pass ends the run, and leaves no half batch."""
    job = job_of(tree, tmp_path)

    def busy(*_):
        raise TreeBusyError("stale")

    monkeypatch.setattr(TreeFiles, "read", busy)
    monkeypatch.setattr(page_files, "_BUSY_S", 0)
    with pytest.raises(TreeBusyError):
        extract_batch(job, only(job))
    assert [path.name for path in (job.directory.root / ".merge" / "run-0001").iterdir()] == ["plan.jsonl"]


def test_a_share_that_is_gone(tree, tmp_path, monkeypatch):
    """An error of the whole file system is no broken page: it ends the run."""
    job = job_of(tree, tmp_path)

    def gone(*_):
        raise TreeError("the mount is gone") from OSError(107, "Transport endpoint is not connected")

    monkeypatch.setattr(TreeFiles, "read", gone)
    with pytest.raises(TreeError, match="mount"):
        extract_batch(job, only(job))


@pytest.mark.parametrize("directory", ["links", "htmls"])
def test_a_directory_in_its_place(tree, tmp_path, directory):
    """A page in whose place there is a directory is broken, and no more than that."""
    path = tree.file(directory, B)
    path.unlink()
    path.mkdir()
    job = job_of(tree, tmp_path)
    result = extract_batch(job, only(job))
    assert result.rows == 2
    assert "it is a directory, not a file" in result.broken[0][2]


def test_directory_in_place_of_a_failure(tree, tmp_path):
    """A failure in whose place there is a directory is left out."""
    path = tree.file("errs", "http://a.example/gone")
    path.unlink()
    path.mkdir()
    assert list(tables.errors(job_of(tree, tmp_path), lambda _: None)) == []


def test_failure_that_heals_meanwhile(tree, tmp_path, monkeypatch):
    """A failure that is gone when it is read is left out."""
    monkeypatch.setattr(Tree, "keys", lambda *_: ["0" * 24] if _[1] == "errs" else [])
    assert list(tables.errors(job_of(tree, tmp_path), lambda _: None)) == []


def test_many_failures(tree, tmp_path, monkeypatch):
    """Failures come in batches, all of them."""
    monkeypatch.setattr(tables, "_ROWS", 2)
    for number in range(3):
        tree.fail(f"http://b.example/{number}")
    made = tree.merge(tmp_path / "made")
    assert {row["url"] for row in made.rows("errors")} == set(tree.failures)
    assert made.manifest["counts"]["errors"] == 4


@pytest.mark.parametrize(
    ("header", "html", "expected"),
    [
        ("de", "<p>x", "de"),
        ("De-AT", "<p>x", "de-at"),
        ("de", "<html lang=en><p>x", "en"),
        ("de, en", "<p>x", None),
        ("", "<p>x", None),
        ("x" * 36, "<p>x", None),
        ("a\x1bb", "<p>x", None),
    ],
)
def test_language(tree, tmp_path, header, html, expected):
    """The language is what the page says of itself, else the header, if that names one."""
    tree.page("http://a.example/l", html.encode(), headers={"content-type": "text/html", "content-language": header})
    assert tree.merge(tmp_path / "made").by_url()["http://a.example/l"]["content_languages"] == expected


@pytest.mark.parametrize("text", ["2026-11-21T10:00:00.000Z", "2026-11-21T10:00:00.123456+05:30", "2026-11-21"])
def test_whatever_is_a_time(tmp_path, text):
    """Whatever is a time in a record can be exported."""
    tree = Grown(tmp_path / "t")
    tree.page(A, fetched_at=text)
    made = tree.merge(tmp_path / "o", formats=("parquet", "warc", "jsonl", "csv"))
    check(made)
    assert made.said == []
    assert len(made.keys()) == 1


def test_noindex():
    """Both words keep a page out of an index, others do not."""
    page = PageRecord(A, "k", 0, "", "t", "m", 200, {}, 0, "", 0.0, ())
    assert not page_files.is_noindex(page)
    for robots, expected in ((["noindex"], True), (["follow", "none"], True), (["nofollow", "noarchive"], False)):
        values = json.loads(page.to_json()) | {"robots": robots}
        assert page_files.is_noindex(PageRecord.from_json(json.dumps(values).encode())) is expected


class Watched:
    """Counts how many files are read at the same time at most, and how many bodies were read."""

    def __init__(self, monkeypatch, takes_s=0.0):
        self.most = self.bodies = self._now = 0
        self._lock = threading.Lock()
        read = TreeFiles.read

        def watched(files, path, most=None):
            with self._lock:
                self._now += 1
                self.bodies += path.startswith("htmls")
                self.most = max(self.most, self._now)
            time.sleep(takes_s)
            try:
                return read(files, path, most)
            finally:
                with self._lock:
                    self._now -= 1

        monkeypatch.setattr(TreeFiles, "read", watched)


def test_files_are_read_at_the_same_time(tree, tmp_path, monkeypatch):
    """Where a call takes a while, two dozens of files are read at the same time, and all come in their order."""
    tree.many(1, 200)
    monkeypatch.setattr(plan, "_LAST_BATCH_PAGES", plan.BATCH_PAGES)
    job = job_of(tree, tmp_path)
    watched = Watched(monkeypatch, 0.01)
    with ThreadPoolExecutor(reading.THREADS) as pool:
        found = [page.name for page in reading.pages(job, only(job).names(), pool)]
    assert found == list(only(job).names())
    assert watched.most >= 20


def test_what_is_read_ahead_has_a_bound(tree, tmp_path, monkeypatch):
    """Of large bodies only so many are read ahead as the bound allows, and one more, however late they are taken."""
    monkeypatch.setattr(parallel, "LONG_S", -1.0)
    for number in range(60):
        tree.page(f"http://a.example/large/{number}", b"x" * 20_000)
    job = job_of(tree, tmp_path)
    monkeypatch.setattr(reading, "_AHEAD_BYTES", 100_000)
    monkeypatch.setattr(reading, "_CHUNK_BYTES", 20_000)
    watched = Watched(monkeypatch)
    with ThreadPoolExecutor(reading.THREADS) as pool:
        for taken, _ in enumerate(reading.pages(job, only(job).names(), pool), 1):
            time.sleep(0.005)
            assert watched.bodies - taken <= 6 + reading._CHUNK_PAGES
    assert watched.bodies == 62


def test_files_that_come_at_once(tree, tmp_path, monkeypatch):
    """They are read one after the other. What is known is kept from batch to batch, also that a tree is slow."""
    tree.many(1, 60)
    job = job_of(tree, tmp_path)
    monkeypatch.setattr(parallel, "_waits", lambda: 0)
    monkeypatch.setattr(reading, "_waiting", parallel.Waiting())
    watched = Watched(monkeypatch)
    with ThreadPoolExecutor(reading.THREADS) as pool:
        found = [page.name for page in reading.pages(job, only(job).names(), pool)]
        assert found == list(only(job).names())
        assert watched.most == 1
        monkeypatch.setattr(parallel, "LONG_S", -1.0)
        assert [page.name for page in reading.pages(job, iter(found[:1]), pool)] == found[:1]
        monkeypatch.setattr(parallel, "LONG_S", 1.0)
        slow = Watched(monkeypatch, 0.005)
        assert [page.name for page in reading.pages(job, iter(found), pool)] == found
    assert slow.most > 1


def test_paths(tree, tmp_path):
    """A job's scratch files lie in its run's directory."""
    assert job_of(tree, tmp_path).scratch("x") == ".merge/run-0001/x"
    assert Path(plan.seen_name(12)) == Path(".merge/seen-0012.parquet")


def test_requests_are_links(tree, tmp_path):
    """What the rules of a site follow from a page is in the table of links, each once, with its method and body."""
    asked = spelling(Request(B, form={"q": 1}))
    tree.page("http://a.example/d", b"<a href=/b>b</a>", requests=(B, asked))
    job = job_of(tree, tmp_path)
    extract_batch(job, only(job))
    (rows,) = rows_of(job, 0)
    found = [row for row in tables.links(rows).to_pylist() if row["source"] == "http://a.example/d"]
    assert [(row["target"], row["target_method"], row["target_request_body"]) for row in found] == [
        (B, "GET", None),
        (B, "POST", "q=1"),
    ]
    assert len({row["target_key"] for row in found}) == 2
