"""`fscrawl merge`: the dataset of a tree, while machines go on crawling.

A run: plan (which pages are new) → gather (batches of them, from the tree) → judge (duplicates, limit) → write
(groups of batches, into parts) → bind (segments into archives) → failures → manifest. `fscrawl.dataset` has the parts
and the vocabulary. Gather, write and bind are spread over processes of this machine, or over a Dask cluster whose
workers mount tree and dataset under the same paths.

Promise: killed at any moment and run again, the dataset becomes the same, part for part. What cannot be read is
reported, counted and left out, and tried again by the next run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from fscrawl import __version__
from fscrawl.dataset import card, dedupe, plan, warc
from fscrawl.dataset.dataset_dir import CARD, MANIFEST, STATE, Shelf
from fscrawl.dataset.extract import Gathered, gather
from fscrawl.dataset.job import Job
from fscrawl.dataset.options import Filters, Options, choose
from fscrawl.dataset.write import part, segment, write, write_errors
from fscrawl.errors import FscrawlError, UsageError
from fscrawl.storage.layout import LINKS, MACHINERY, PAGE_ROOMS
from fscrawl.store import Tree
from fscrawl.util.memory import keep_freed_memory
from fscrawl.util.parallel import in_turn

_OPTIONS = f"{STATE}/options.json"
_EXAMPLES = 5  # broken pages that are named
_CONNECT_S = 10
_ALONE_S = 30  # a nanny brings a worker back sooner

Say = Callable[[str], None]
T = TypeVar("T")


class Crew:
    """Who does the work: processes of this machine, or a Dask cluster; and a bar of how far it is."""

    def __init__(self, executor: Executor, width: int, *, bar: bool) -> None:
        self._executor = executor
        self._width = width
        self._bar = bar

    def do(self, what: str, jobs: Iterable[Callable[[], T]], sizes: Sequence[int]) -> Generator[T]:
        """Give the jobs' answers in their turn; `sizes`: pages of each, for the bar."""
        answers = in_turn(self._executor, jobs, 2 * self._width)
        if not self._bar:
            yield from answers
            return
        with tqdm(total=sum(sizes), desc=what, unit=" pages", dynamic_ncols=True, file=sys.stderr, leave=False) as bar:
            for size, answer in zip(sizes, answers, strict=False):
                bar.update(size)
                yield answer


def merge(
    root: Path,
    out: Path,
    given: dict[str, Any],
    say: Say,
    *,
    rebuild: bool = False,
    processes: int | None = None,
    scheduler: str | None = None,
    bar: bool = False,
) -> dict[str, Any]:
    """Bring the dataset at `out` up to the tree at `root`; give its manifest.

    `given`: the fields of Options that the user chose; `scheduler`: address of a Dask cluster. UsageError if the
    dataset is of another crawl or other options, TreeError if tree or disk cannot be used.
    """
    tree = Tree(root, "merge")
    _refuse_inside(root, out)
    shelf = Shelf(out.absolute())
    with shelf.opened():
        if rebuild or shelf.was_starting_over():
            shelf.start_over()
        shelf.sweep()
        old = shelf.manifest()
        job = Job(root.absolute(), shelf.root, _next_run(shelf, old), _options(shelf, tree, given), tree.record.crawl)
        room = _room(job.options, old)
        if room == 0:
            say(f"the limit of {job.options.limit} pages is reached already; nothing was done")
            return old or {}
        with _crew(job, processes, scheduler, bar=bar) as crew:
            run = _run(job, crew, [each["run"] for each in (old or {"runs": []})["runs"]], room, say)
        return _finish(job, old, run, say)


def _refuse_inside(root: Path, out: Path) -> None:
    here, there = (Path(os.path.realpath(each)) for each in (out, root))
    rooms = [there / room for room in (*PAGE_ROOMS, MACHINERY)]
    if here == there or any(here == room or room in here.parents for room in rooms):
        raise UsageError(f"--out {out}: that is where the crawl lives; name another directory")


def _next_run(shelf: Shelf, old: dict[str, Any] | None) -> int:
    """Give the number of the run to do, and remove what the last one left when it had done its work."""
    run = len(old["runs"]) + 1 if old else 1
    for path in (shelf.root / STATE).glob("run-*"):
        if path.name != Path(plan.directory(run)).name:
            shutil.rmtree(path, ignore_errors=True)
    named = {each["path"] for each in old["files"]} if old else set()
    for path in [*shelf.root.glob("errors/part-*"), *shelf.root.glob("*/errors/part-*")]:
        if str(path.relative_to(shelf.root)) not in named:  # replaced, or about to be written again
            path.unlink()
    return run


def _options(shelf: Shelf, tree: Tree, given: dict[str, Any]) -> Options:
    kept = shelf.read_json(_OPTIONS)
    if kept is not None and kept["crawl"] != tree.record.crawl:
        raise UsageError(f"{shelf.root} is of crawl {kept['crawl']}, not {tree.record.crawl}; name another directory")
    return choose(given, None if kept is None else Options.from_values(kept["options"]), str(shelf.root))


def _room(options: Options, old: dict[str, Any] | None) -> int | None:
    if options.limit is None:
        return None
    return max(0, options.limit - (old["counts"]["pages"] if old else 0))


# -- a run


def _run(job: Job, crew: Crew, earlier: list[int], room: int | None, say: Say) -> dict[str, Any]:
    if not plan.is_made(job.shelf, job.run):  # before that nothing hangs on the options, and others may be given
        if job.shelf.read_json(_OPTIONS) is None:
            job.shelf.write_json(_OPTIONS, {"crawl": job.crawl, "options": job.options.values()})
        plan.make(job.shelf, job.tree, Filters(job.options), earlier, job.run)
    facts = _gather(job, crew, room)
    _report_broken(job, facts, say)
    counts = dedupe.judge(job, facts, earlier, room)
    groups = dedupe.groups(facts)
    sizes = [sum(facts[batch].rows for batch in group) for group in groups]
    written = list(crew.do("writing", (partial(write, job, *each) for each in enumerate(groups)), sizes))
    files = [each for group in written for each in group["files"]]
    files += _bind(job, crew, written)
    files += write_errors(job)
    left_out = sum((each.left_out for each in facts), Counter({"dropped": counts.dropped}))
    return {"files": files, "counts": counts.values(), "left_out": dict(+left_out), "fields": _fields(facts)}


def _gather(job: Job, crew: Crew, room: int | None) -> list[Gathered]:
    """Gather the batches of the plan, or as many as a limit needs."""
    enough = None if job.options.dedupe else room
    sizes = [len(batch) for batch in plan.batches(job.shelf, job.run)]
    facts: list[Gathered] = []
    rows = 0
    jobs = (partial(gather, job, batch) for batch in plan.batches(job.shelf, job.run))
    with contextlib.closing(crew.do("reading", jobs, sizes)) as answers:
        for each in answers:
            facts.append(each)
            rows += each.rows
            if enough is not None and rows >= enough:
                break
    return facts


def _report_broken(job: Job, facts: list[Gathered], say: Say) -> None:
    broken = [page for each in facts for page in each.broken]
    for host, key, what in broken[:_EXAMPLES]:
        place = job.tree.tree_path(LINKS, host, key)
        say(f"{place}: {what}; left out")
    if len(broken) > _EXAMPLES:
        say(f"{len(broken) - _EXAMPLES} more could not be read; `fscrawl audit` tells which")


def _bind(job: Job, crew: Crew, written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make archives of the groups' segments."""
    there = [(index, each) for index, each in enumerate(written) if each["bytes"]]
    ranges = warc.parts([each["bytes"] for _, each in there])
    jobs = [
        partial(warc.bind, job, part(job.run, number), [segment(there[place][0]) for place in places])
        for number, places in enumerate(ranges)
    ]
    sizes = [sum(there[place][1]["rows"] for place in places) for places in ranges]
    return [facts for part_facts in crew.do("binding", jobs, sizes) for facts in part_facts]


def _fields(facts: list[Gathered]) -> dict[str, list[int]]:
    totals: dict[str, list[int]] = {}
    for each in facts:
        for name, counts in each.found.items():
            totals[name] = [a + b for a, b in zip(totals.get(name, [0, 0, 0]), counts, strict=True)]
    return totals


def _finish(job: Job, old: dict[str, Any] | None, run: dict[str, Any], say: Say) -> dict[str, Any]:
    """Commit a run: the manifest, then what it makes superfluous goes."""
    shelf = job.shelf
    if old is not None and _is_nothing_new(old, run):
        for each in run["files"]:
            shelf.path(each["path"]).unlink(missing_ok=True)
        shelf.remove(plan.directory(job.run))
        shelf.path(plan.seen_name(job.run)).unlink(missing_ok=True)
        say("nothing new since the last run")
        return old
    facts = card.manifest(job, old, run)
    shelf.write(CARD, card.card(job, facts))
    shelf.write_json(MANIFEST, facts)
    named = {each["path"] for each in facts["files"]}
    for each in old["files"] if old else ():
        if each["path"] not in named:
            shelf.path(each["path"]).unlink(missing_ok=True)
    shelf.remove(plan.directory(job.run))
    return facts


def _is_nothing_new(old: dict[str, Any], run: dict[str, Any]) -> bool:
    """No page, and what is broken and what failed is that of before."""
    if run["left_out"].get("broken", 0) != old["left_out"].get("broken", 0):
        return False
    if run["counts"]["pages"] or any(run["left_out"].get(name) for name in ("filtered", "noindex", "dropped")):
        return False
    failures = [
        sorted(e["sha256"] for e in files if card.is_of_failures(e["path"])) for files in (old["files"], run["files"])
    ]
    return failures[0] == failures[1]


# -- who does it


@contextlib.contextmanager
def _crew(job: Job, processes: int | None, scheduler: str | None, *, bar: bool) -> Iterator[Crew]:
    if scheduler is not None:
        with _dask(scheduler, job) as (executor, width):
            yield Crew(executor, width, bar=bar)
        return
    width = processes or len(os.sched_getaffinity(0))
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own keeps a quarter more; for the processes
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fscrawl.merge"])
    pool = ProcessPoolExecutor(width, context, _start)
    try:
        yield Crew(pool, width, bar=bar)
    except BrokenProcessPool:
        raise FscrawlError(
            "a process of the merge died, perhaps for want of memory; the same command goes on from here"
        ) from None
    except KeyboardInterrupt:
        _kill(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start() -> None:
    """Set a process of the pool up; it ends when the merge does, for nobody would end it if that is killed."""
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()  # by a pipe that its death closes, be it a zombie or its number another's by now
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _kill(pool: ProcessPoolExecutor) -> None:
    """End what is under way: half a batch is of no use, and waiting for it of less."""
    for process in list((pool._processes or {}).values()):  # noqa: SLF001 - kill_workers() comes with Python 3.14
        process.kill()


@contextlib.contextmanager
def _dask(scheduler: str, job: Job) -> Iterator[tuple[Executor, int]]:
    """Use a cluster. Its workers speak in their own logs; here, what goes wrong is one line."""
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'fscrawl[dask]'") from None
    with _connect(distributed, scheduler) as client:
        width = sum(client.ncores().values())
        if not width:
            raise UsageError(f"--scheduler {scheduler}: it has no workers")
        for worker, trouble in client.run(_trouble, job.root, job.out, __version__, on_error="return").items():
            if trouble:
                raise UsageError(f"--scheduler {scheduler}: its worker {worker} cannot help: {trouble}")
        executor = client.get_executor(pure=False)
        watch = _watch(client, executor)
        try:
            yield executor, width
        except (CancelledError, distributed.comm.core.CommClosedError, distributed.scheduler.KilledWorker):
            raise FscrawlError(
                f"--scheduler {scheduler}: it or its workers are gone; the same command goes on from here"
            ) from None
        finally:
            watch.set()
            if client.status == "running":
                executor.shutdown(wait=False)


@contextlib.contextmanager
def _connect(distributed: Any, scheduler: str) -> Iterator[Any]:
    for name in ("distributed", "distributed.client"):  # which write to standard error
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        asyncio.run(_ask_who(distributed, scheduler))  # a client that is refused says so at length, or waits for ever
        with warnings.catch_warnings(action="ignore"):  # of other versions of what a merge does not need
            client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or f"nothing came within {_CONNECT_S} s"
        raise UsageError(f"--scheduler {scheduler}: no Dask scheduler answers there: {reason}") from None
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_S)


async def _ask_who(distributed: Any, scheduler: str) -> None:
    """Have a scheduler answer; OSError if it does not, ValueError if it is none."""
    async with asyncio.timeout(_CONNECT_S):
        security = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(scheduler, timeout=_CONNECT_S, **security)
        try:
            await comm.write({"op": "identity", "reply": True})
            who = await comm.read()
        finally:
            comm.abort()
    if not isinstance(who, dict) or who.get("type") != "Scheduler":
        raise ValueError("something else does")


def _trouble(root: Path, out: Path, version: str) -> str:
    """Tell what keeps a worker from working, "" if nothing does; it runs there."""
    if version != __version__:
        return f"it has fscrawl {__version__}, not {version}"
    unseen = [path for path in (root / MACHINERY, out / STATE / "lock") if not path.exists()]
    return f"{unseen[0]} is not there; it must mount tree and dataset under the same paths" if unseen else ""


def _watch(client: Any, executor: Executor) -> threading.Event:
    """Give the work up once a cluster has had no worker for a while: Dask itself would wait for ever."""
    over = threading.Event()

    def watch() -> None:
        last = time.monotonic()
        while not over.wait(1):
            if client.status != "running" or client.ncores():
                last = time.monotonic()
            elif time.monotonic() - last > _ALONE_S:
                executor.shutdown(wait=False)
                return

    threading.Thread(target=watch, daemon=True).start()
    return over
