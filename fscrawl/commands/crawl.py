"""`fscrawl crawl`: start a crawl from its seeds, or continue or join the one in a tree."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import signal
import time
from dataclasses import replace
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING

from fscrawl import store, urls
from fscrawl.admin.probe import probe
from fscrawl.commands.common import Commands, Parser, add_allow_env, add_command, add_root, add_workers
from fscrawl.config import settings
from fscrawl.config.seeds import read_seed, read_seeds, wait_for_seeds
from fscrawl.config.watcher import read_settings
from fscrawl.engine.progress import Progress
from fscrawl.errors import NotATreeError, TreeError, UsageError
from fscrawl.fleet.anchor import cause_of
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.fleet.logs import Logs
from fscrawl.fleet.upgrade import upgraded
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery, timestamp
from fscrawl.util.ages import parse_age
from fscrawl.util.terminal import say

if TYPE_CHECKING:
    from fscrawl.engine.machine import Machine, Options, Result

_EXAMPLES = """\
fscrawl crawl --root /mnt/shared --seed https://example.org/ --workers 32
fscrawl crawl --root /mnt/shared --workers 32          to continue, or to join from another machine
fscrawl crawl --root ./tree --seeds seeds.txt --set politeness.delay=0.5 --set crawl.max_depth=3
"""
_EXIT_CODES = "exit codes: 0 finished, 1 finished with no page stored, 2 usage, 75 tree not usable, 130 interrupted\n"


def add(commands: Commands[Parser]) -> None:
    crawl = add_command(
        commands,
        "crawl",
        run,
        summary="start a crawl; or continue or join the crawl in a tree",
        description="Crawl into the tree at --root. The same command on any machine continues or joins the crawl.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    add_root(crawl)
    add_workers(crawl)
    crawl.add_argument("--seed", action="append", default=[], metavar="URL", help="a URL to start from; repeatable")
    crawl.add_argument("--seeds", type=Path, metavar="FILE", help="a file of seed URLs: one per line, # for comments")
    crawl.add_argument(
        "--set", action="append", default=[], metavar="K=V", help="a setting of a new tree, e.g. politeness.delay=0.5"
    )
    add_allow_env(crawl)
    crawl.add_argument("--reseed", action="store_true", help="rebuild the to-do list from every link file of the tree")
    crawl.add_argument("--refresh", metavar="AGE", help="check again pages older than this, e.g. 7d or 12h")
    crawl.add_argument("--follow", action="store_true", help="when everything is done, stay and wait for new seeds")
    output = crawl.add_mutually_exclusive_group()
    output.add_argument("--quiet", action="store_true", help="print no progress, only warnings and the summary")
    output.add_argument("--log-json", action="store_true", help="progress and events as JSON lines on standard error")
    crawl.add_argument("-v", "--verbose", action="store_true", help="print a line for each URL")


def _warm_up() -> None:
    """Start the process that workers are forked from, so that it and this one load their modules at the same time.

    Ctrl-C reaches the whole process group. Here it is blocked for that process and its children, since they could not
    ignore it before they have begun. This process still receives it, a moment later.
    """
    multiprocessing.get_context("forkserver").set_forkserver_preload(["fscrawl.engine.pool"])
    resource_tracker.ensure_running()  # when it starts, it unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run(options: argparse.Namespace) -> int:
    _warm_up()
    from fscrawl.engine.machine import Options  # noqa: PLC0415 - loaded while the forkserver loads
    from fscrawl.engine.rejoin import run_until_over  # noqa: PLC0415

    mode = "json" if options.log_json else "quiet" if options.quiet else "line"
    progress = Progress(mode, verbose=options.verbose)
    how = Options(
        options.workers,
        options.threads,
        reseed=options.reseed,
        follow=options.follow,
        refresh_before=_refresh_before(options.refresh),
        allow_env=tuple(options.allow_env),
    )
    machines = _Machines(options.root, progress, how)
    machines.prepare(options.set, _given_seeds(options, progress))
    gc.freeze()  # the garbage collector need not look at loaded modules, nor often at half a million pending URLs
    gc.set_threshold(50_000, 20, 20)
    result = run_until_over(machines.first, machines.next, progress)
    say(*_summary(options.root, result))
    return result.exit_code


class _Machines:
    """Makes the machines of one command, each with an id of its own and with the tree opened anew."""

    def __init__(self, root: Path, progress: Progress, how: Options) -> None:
        self._root = root
        self._progress = progress
        self._how = how
        self._machine: Machine | None = None
        self._tree: store.Tree
        self._settings: settings.Settings
        self._seeds: frozenset[str]

    def prepare(self, assignments: list[str], given: list[str]) -> None:
        """Open the tree, or make it."""
        self._tree, self._settings, self._seeds = self._open(assignments, given)
        if self._settings.politeness.user_agent == settings.USER_AGENT:
            where = f"{self._root}/{settings.FILE}"
            self._progress.warn(f"politeness.user_agent has no contact address; please add yours in {where}")

    def _open(self, assignments: list[str], given: list[str]) -> tuple[store.Tree, settings.Settings, frozenset[str]]:
        return _prepare(self._root, assignments, given, self._progress, self._how.allow_env)

    def first(self) -> Machine:
        from fscrawl.engine.machine import Machine  # noqa: PLC0415 - loaded while the forkserver loads

        self._machine = None
        try:
            self._machine = Machine(self._tree, self._settings, self._seeds, self._progress, self._how)
        except TreeError as error:
            raise cause_of(self._tree, error) from error
        return self._machine

    def next(self) -> Machine:
        """Give the machine that goes on when the memory of the fleet was lost under the last one."""
        store.wait_for_deletion(self._root)
        before = self._tree
        self._tree, self._settings, self._seeds = self._open([], [])
        if self._tree.record.machinery == before.record.machinery:  # what the last machine wrote is not there any more
            expected = self._machine.said if self._machine is not None else (0, 0)
            reason = {"reason": "cut", "log": before.machine, "expected": list(expected)}
            Generations(self._tree.files).advance(reason)
        self._how = replace(self._how, reseed=False)
        return self.first()


def _prepare(
    root: Path, assignments: list[str], given: list[str], progress: Progress, allow_env: tuple[str, ...]
) -> tuple[store.Tree, settings.Settings, frozenset[str]]:
    """Open the tree, or make it; try its file system out; add the given seeds. Return it, its settings, its seeds."""
    from fscrawl.engine.machine import check_usable  # noqa: PLC0415 - loaded while the forkserver loads

    tree, chosen = _open_or_create(root, assignments, given, progress)
    probe(tree, progress.warn)
    seeds = _seeds_of(tree, given, progress)
    check_usable(chosen, allow_env)  # before the machine leaves a trace
    return _with_its_own_id(tree), chosen, seeds


def _with_its_own_id(tree: store.Tree) -> store.Tree:
    """Return the tree as a machine sees it whose id no other machine has. Two writers of one log would spoil it."""
    while not Logs(tree).take_name():
        umask = tree.files.umask
        tree = store.Tree(tree.root, new_machine_id(), fsync=tree.files.fsync, record=tree.record)
        tree.files.umask = umask
    return tree


def _refresh_before(age: str | None) -> str:
    """Return the time before which a page must have been fetched to be checked again; "" without --refresh."""
    if age is None:
        return ""
    seconds = parse_age(age)
    if seconds is None:
        raise UsageError(f"--refresh {age}: must be an age, like 7d, 12h or 30m; 0s means every page")
    return timestamp(time.time() - seconds)


def _given_seeds(options: argparse.Namespace, progress: Progress) -> list[str]:
    """Return the seeds of the command line, normalised. A bad --seed is an error, a bad line in a file a warning."""
    found = []
    for text in options.seed:
        try:
            found.append(read_seed(text))
        except ValueError as error:
            said = f"--seed {urls.without_login(text)}: {error}"
            raise UsageError(f"{said}; a seed must be a complete URL, like https://example.org/") from None
    if options.seeds is not None:
        try:
            text = options.seeds.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--seeds {options.seeds}: cannot be read: {error}") from error
        found += read_seeds(text, str(options.seeds), progress.warn)
        if not found:
            raise UsageError(f"--seeds {options.seeds}: there is no URL in it; write one per line")
    return list(dict.fromkeys(found))


def _open_or_create(
    root: Path, assignments: list[str], given: list[str], progress: Progress
) -> tuple[store.Tree, settings.Settings]:
    state = store.state_of(root)
    if state == "tree":
        if store.is_stopped(root):
            raise UsageError(f"{root}/{store.STOP}: no machine may run; to go on:  fscrawl resume --root {root}")
        if assignments:
            raise UsageError(f"--set is only for a new tree; edit the settings of this one in {root}/{settings.FILE}")
    elif state == "nothing" and not given:
        raise UsageError(f"{root} does not exist; to make a new tree, give --seed URL or --seeds FILE")
    elif state == "directory" and not given:
        raise NotATreeError(f"{root}: no crawl there; is the share mounted? To start a new crawl, give --seed URL")
    else:
        _create(root, settings.apply(settings.Settings(), assignments), given)
    tree = store.Tree(root, new_machine_id())
    tree.files.take_umask()
    chosen = read_settings(tree, progress.warn)
    tree = upgraded(tree, chosen.fleet.dead_after, progress.warn)
    tree.files.fsync = chosen.store.fsync
    return tree, chosen


def _create(root: Path, chosen: settings.Settings, given: list[str]) -> None:
    """Make the tree. If only .fscrawl was deleted, the crawl.toml that is still there has the settings."""
    kept = store.kept_settings(root)
    if kept is not None:
        chosen = settings.parse(kept, f"{root}/{settings.FILE}")
    seeds = "# Seed URLs, one a line. Add lines while machines run.\n" + "".join(f"{url}\n" for url in given)

    def record_for(text: str) -> TreeRecord:
        return _record_for(settings.parse(text, f"{root}/{settings.FILE}"))

    store.create(root, _record_for(chosen), settings.render(chosen), seeds, new_machine_id(), record_for)


def _record_for(chosen: settings.Settings) -> TreeRecord:
    return TreeRecord(
        format=FORMAT,
        crawl=new_machine_id().rpartition("-")[2],
        created_at=timestamp(time.time()),
        shards=chosen.fleet.shards,
        fanout=chosen.store.fanout,
        partition=chosen.crawl.partition,
        machinery=new_machinery(),
    )


def _seeds_of(tree: store.Tree, given: list[str], progress: Progress) -> frozenset[str]:
    """Return all seeds of the tree, after those of the command line have been added to it."""
    known = wait_for_seeds(tree, progress.warn)
    new = [url for url in given if url not in known]
    if new:
        tree.controls.add_seeds(new)
    if not known and not new:
        raise UsageError(f"{tree.root}/{store.SEEDS}: there is no URL in it; add one, or give --seed URL")
    return frozenset(known + new)


def _summary(root: Path, result: Result) -> list[str]:
    counts = result.counts
    rate = counts.pages / max(result.elapsed_s, 1e-9)
    lines = [
        f"{'stopped: ' + result.stopped if result.stopped else 'finished'}: {counts.pages} pages"
        f" ({counts.bytes / 1e6:.1f} MB), {counts.redirects} redirects, {counts.skipped} of other types"
        f" in {result.elapsed_s:.1f} s, {rate:.1f} pages/s",
    ]
    if counts.errors:
        lines.append("errors: " + ", ".join(f"{n} {name}" for name, n in counts.errors.most_common()))
    left_out = {name: number for name, number in counts.cut.items() if number}
    if left_out:
        lines.append("left out: " + ", ".join(f"{n} links by {name}" for name, n in sorted(left_out.items())))
    if counts.pending:
        lines.append(f"pending: {counts.pending} URLs")
    return [
        *lines,
        f"pages    {root}/htmls/<host>/<key>.html",
        f"records  {root}/links/<host>/<key>.json   url, status, headers, sha256, title, links",
        f"errors   {root}/errs/<host>/<key>.json",
        f"settings {root}/crawl.toml, seeds {root}/seeds.txt",
        f"to go on, or to join from another machine:  fscrawl crawl --root {root}",
    ]
