"""Which pages a run exports: all that the tree has and no earlier run took, sorted by host and key, in batches."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from fscrawl.dataset.dataset_dir import STATE, DatasetDir, unreadable
from fscrawl.dataset.job import Job
from fscrawl.dataset.schema import SEEN
from fscrawl.storage.layout import LINKS, is_host
from fscrawl.store import Tree

BATCH_PAGES = 500
# The last pages are cut smaller: all processes have work until the end, and those of a small crawl from the beginning.
# Not many are, because a process reads no files ahead across the end of a batch.
_LAST_PAGES, _LAST_BATCH_PAGES = 500, 100

_PLAN = "plan.jsonl"
_NOTHING = "[]\n"  # a plan without pages: a file without a line is one that a power failure has torn
_AT_ONCE = 200  # batches that are read at once of what earlier runs have seen, all of them together

Name = tuple[str, str]  # host directory, and what `versioned` gives


@dataclass(frozen=True, slots=True)
class Batch:
    """A stretch of the plan. `hosts`: for each host directory its keys."""

    index: int
    hosts: tuple[tuple[str, tuple[str, ...]], ...]

    def names(self) -> Iterator[Name]:
        return ((host, key) for host, keys in self.hosts for key in keys)

    def __len__(self) -> int:
        return sum(len(keys) for _, keys in self.hosts)


def versioned(key: str, number: int | None) -> str:
    """Give the name of a page in plans: its key, and with `--versions all` the number of its version.

    >>> versioned("5df0c33a1b8fd1ce3e2b8a25", 12), versioned("5df0c33a1b8fd1ce3e2b8a25", None)
    ('5df0c33a1b8fd1ce3e2b8a25.0000000012', '5df0c33a1b8fd1ce3e2b8a25')
    """
    return key if number is None else f"{key}.{number:010}"  # names sort as numbers do


def key_of(name: str) -> str:
    return name.partition(".")[0]


def number_of(name: str) -> int | None:
    number = name.partition(".")[2]
    return int(number) if number else None


def seen_name(run: int) -> str:
    """Return the path of the table of pages that a run has seen (`dedupe`), relative to the dataset."""
    return f"{STATE}/seen-{run:04}.parquet"


def seen(directory: DatasetDir, run: int, columns: list[str], at_once: int = _AT_ONCE) -> Iterator[pa.RecordBatch]:
    """Read the table of pages that a run has seen, `at_once` batches of pages at a time.

    Between two reads the file is closed: a dataset may have more runs than files may be open.
    """
    name = seen_name(run)
    metadata: pq.FileMetaData | None = None
    done = 0
    while metadata is None or done < metadata.num_row_groups:
        try:
            with directory.reading(name) as path, pq.ParquetFile(path, metadata=metadata) as file:
                if not file.schema_arrow.equals(SEEN):
                    raise ValueError("other columns than a merge writes")
                metadata = file.metadata
                groups = range(done, min(done + at_once, metadata.num_row_groups))
                rows = file.read_row_groups(groups, columns)
        except (OSError, ValueError) as error:
            raise unreadable(directory.path(name), error) from error
        done = groups.stop
        yield from rows.to_batches()


def make(job: Job, earlier: Sequence[int], listed: Callable[[int], object]) -> None:
    """Write the plan of a run.

    `earlier`: the numbers of the runs before it. `listed(n)`: n more pages of the tree have been listed.
    """
    at_once = max(1, _AT_ONCE // max(1, len(earlier)))
    seen_before = heapq.merge(*(_seen(job, number, at_once) for number in earlier))
    new = _subtract(_listed(job, listed), seen_before)
    with job.directory.publish(job.scratch(_PLAN)) as temporary, temporary.open("w", encoding="ascii") as file:
        for names in _cut(new):
            hosts = [
                [host, [key for _, key in group]] for host, group in itertools.groupby(names, lambda name: name[0])
            ]
            file.write(json.dumps(hosts, separators=(",", ":")) + "\n")
        if not file.tell():
            file.write(_NOTHING)


def _cut(names: Iterator[Name]) -> Iterator[list[Name]]:
    """Cut the names into batches."""
    held: list[Name] = []
    while more := list(itertools.islice(names, BATCH_PAGES)):
        held += more
        if len(held) >= _LAST_PAGES + BATCH_PAGES:
            yield held[:BATCH_PAGES]
            del held[:BATCH_PAGES]
    size = min(BATCH_PAGES, _LAST_BATCH_PAGES)
    yield from (held[begin : begin + size] for begin in range(0, len(held), size))


def is_made(job: Job) -> bool:
    """Tell whether a run has its plan. After a power failure it may be torn."""
    try:
        for _ in batches(job):
            pass
        return bool(job.directory.size(job.scratch(_PLAN)))
    except (FileNotFoundError, ValueError, TypeError):
        return False


def batches(job: Job) -> Iterator[Batch]:
    """Read a plan."""
    with job.directory.reading(job.scratch(_PLAN)) as path, path.open(encoding="ascii") as file:
        for index, line in enumerate(each for each in file if each != _NOTHING):
            yield Batch(index, tuple((host, tuple(keys)) for host, keys in json.loads(line)))


def hosts_of(job: Job, directory: str) -> list[str]:
    """Return the hosts in a directory of the tree that may be wanted, sorted. Files beside them are ignored."""
    names = (name for name, kind in job.tree.files.entries(directory) if kind == "directory" and is_host(name))
    return sorted(filter(job.filters.may_include_host, names))


def _listed(job: Job, listed: Callable[[int], object]) -> Iterator[Name]:
    tree = job.tree
    for host in hosts_of(job, LINKS):
        names = sorted(_versions(tree, host) if job.options.versions == "all" else tree.keys(LINKS, host))
        listed(len(names))
        for name in names:
            yield host, name
    tree.check_directories()  # the share may have been unmounted meanwhile: then pages seem not to be there


def _versions(tree: Tree, host: str) -> set[str]:
    """Give the names of all versions of a host's pages. Two machines may have written one number: it counts once."""
    return {versioned(key, number) for key, number, is_gone in tree.numbers(host) if not is_gone}


def _seen(job: Job, run: int, at_once: int) -> Iterator[Name]:
    for rows in seen(job.directory, run, ["host", "key"], at_once):
        yield from zip(rows["host"].to_pylist(), rows["key"].to_pylist(), strict=True)


def _subtract(names: Iterator[Name], seen: Iterator[Name]) -> Iterator[Name]:
    """Yield the names that are not in `seen`; both are sorted.

    >>> list(_subtract(iter([("a", "1"), ("a", "2"), ("b", "1")]), iter([("a", "1"), ("a", "3")])))
    [('a', '2'), ('b', '1')]
    """
    ahead = next(seen, None)
    for name in names:
        while ahead is not None and ahead < name:
            ahead = next(seen, None)
        if name != ahead:
            yield name
