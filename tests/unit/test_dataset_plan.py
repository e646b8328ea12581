"""Which pages a run exports."""

import itertools
import resource
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fscrawl.dataset import plan
from fscrawl.dataset.dataset_dir import DatasetDir
from fscrawl.dataset.job import Job
from fscrawl.dataset.options import Options
from fscrawl.dataset.plan import Batch
from tests.support.trees import Grown


@pytest.fixture
def tree(tmp_path):
    grown = Grown(tmp_path / "tree")
    for host in "ba":
        for number in range(5):
            grown.page(f"http://{host}.example/{number}")
    return grown


@pytest.fixture
def directory(tmp_path):
    return DatasetDir(tmp_path / "out")


def job_of(directory, tree=None, run=1, **options):
    return Job(tree.root if tree is not None else Path("/nowhere"), directory, run, Options(**options))


def planned(directory, run=1):
    return [name for batch in plan.batches(job_of(directory, run=run)) for name in batch.names()]


def make(directory, tree, earlier=(), run=1, **options):
    """Make a plan; return its number of pages."""
    plan.make(job_of(directory, tree, run, **options), earlier, lambda _: None)
    return len(planned(directory, run))


def test_order(tree, directory, monkeypatch):
    """Hosts come in order, keys in order within a host, in batches of one size that hosts may share."""
    monkeypatch.setattr(plan, "BATCH_PAGES", 4)
    assert not plan.is_made(job_of(directory))
    assert make(directory, tree) == 10
    assert plan.is_made(job_of(directory))
    assert planned(directory) == sorted((url.split("/")[2], record.key) for url, record in tree.records.items())
    batches = list(plan.batches(job_of(directory)))
    assert [(batch.index, len(batch)) for batch in batches] == [(0, 4), (1, 4), (2, 2)]
    assert [host for host, _ in batches[1].hosts] == ["a.example", "b.example"]


@pytest.mark.parametrize(
    ("pages", "sizes"),
    [
        (0, []),
        (130, [100, 30]),
        (999, [100] * 9 + [99]),
        (1000, [500] + [100] * 5),
        (1600, [500] * 2 + [100] * 6),
    ],
)
def test_sizes(pages, sizes):
    """The last pages are cut into small batches, so that all processes end at about the same time."""
    names = [("a.example", f"{number:024}") for number in range(pages)]
    batches = [*plan._cut(iter(names))]
    assert [name for batch in batches for name in batch] == names
    assert [*map(len, batches)] == sizes


def test_temporaries_are_no_pages(tree, directory):
    """What is being written, or is no page's file, is not planned."""
    place = tree.root / "links" / "a.example"
    for name in (f".{'0' * 24}.json.m.1-0.tmp", "notes.txt", "0.json", f"{'0' * 24}.json~"):
        (place / name).touch()
    (tree.root / "links" / ".hidden").mkdir()
    assert make(directory, tree) == 10


def test_hosts_that_are_not_wanted(tree, directory):
    """Hosts that no filter lets pass are not listed."""
    assert make(directory, tree, hosts=("a.*",)) == 5


def test_nothing(tmp_path, directory):
    """A tree without pages has an empty plan, which is made all the same."""
    tree = Grown(tmp_path / "empty")
    assert make(directory, tree) == 0
    assert plan.is_made(job_of(directory))
    assert list(plan.batches(job_of(directory))) == []


def test_only_what_is_new(tree, tmp_path):
    """A run plans what no earlier run, of any number of them, has seen."""
    made = tree.merge(tmp_path / "made")
    for number in range(3):
        tree.page(f"http://{'abc'[number]}.example/new{number}")
        tree.merge(tmp_path / "made")
    tree.page("http://a.example/last")
    directory = DatasetDir(made.out)
    assert make(directory, tree, [1, 2, 3, 4], 5) == 1
    assert planned(directory, 5) == [("a.example", tree.records["http://a.example/last"].key)]


@pytest.fixture
def few_files():
    """Let this process open ten more files than it has."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(each.name) for each in Path("/proc/self/fd").iterdir()}
    free = (number for number in itertools.count() if number not in used)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(itertools.islice(free, 10, None)), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_files")
def test_more_runs_than_open_files(tree, tmp_path, monkeypatch):
    """A dataset may have more runs than this process may have files open, however large the runs are."""
    monkeypatch.setattr(plan, "BATCH_PAGES", 3)
    made = tree.merge(tmp_path / "made")
    first = made.out / plan.seen_name(1)
    for run in range(2, 21):
        shutil.copy(first, made.out / plan.seen_name(run))
    tree.page("http://a.example/last")
    directory = DatasetDir(made.out)
    assert pq.ParquetFile(first).num_row_groups == 4
    assert make(directory, tree, range(1, 21), 21) == 1
    assert planned(directory, 21) == [("a.example", tree.records["http://a.example/last"].key)]


def test_batch():
    """A batch is as long as its keys are many."""
    batch = Batch(0, (("a", ("1", "2")), ("b", ("3",))))
    assert (len(batch), list(batch.names())) == (3, [("a", "1"), ("a", "2"), ("b", "3")])
