"""`fscrawl crawl`: crawl into a tree, from its seeds or from where it stands."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING

from fscrawl import store, urls
from fscrawl.admin.probe import probe
from fscrawl.commands.common import Commands, Parser, positive
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds, wait_for_seeds
from fscrawl.config.watcher import read_settings
from fscrawl.engine.progress import Progress
from fscrawl.errors import NotATreeError, UsageError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.storage.records import FORMAT, TreeRecord, timestamp
from fscrawl.util.ages import parse_age

if TYPE_CHECKING:
    from fscrawl.engine.machine import Result

_EXAMPLES = """\
examples:
  fscrawl crawl --root /mnt/shared --seed https://example.org/ --workers 32
  fscrawl crawl --root /mnt/shared --workers 32          on every further machine, or to go on
  fscrawl crawl --root ./tree --seeds seeds.txt --set politeness.delay=0.5 --set crawl.max_depth=3
exit codes: 0 finished, 1 finished with nothing stored, 2 usage, 75 tree not usable, 130 interrupted
"""


def add(commands: Commands[Parser]) -> None:
    crawl = commands.add_parser(
        "crawl",
        help="crawl into a tree, from its seeds or from where it stands",
        description="Crawl into the tree at --root. The same command on any machine goes on from what is there.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    crawl.set_defaults(run=run)
    crawl.add_argument("--root", required=True, type=Path, metavar="DIR", help="the shared directory")
    crawl.add_argument("--workers", type=positive, default=4, metavar="N", help="worker processes (default 4)")
    crawl.add_argument("--threads", type=positive, default=8, metavar="N", help="fetches at a time in each (default 8)")
    crawl.add_argument("--seed", action="append", default=[], metavar="URL", help="where to begin; may be repeated")
    crawl.add_argument("--seeds", type=Path, metavar="FILE", help="a file of seed URLs, one a line, # for comments")
    crawl.add_argument(
        "--set", action="append", default=[], metavar="K=V", help="a setting for a new tree, e.g. politeness.delay=0.5"
    )
    crawl.add_argument("--reseed", action="store_true", help="read every link file of the tree again, trust no feed")
    crawl.add_argument(
        "--refresh",
        metavar="AGE",
        help="ask again for pages older than this, e.g. 7d or 12h",
    )
    crawl.add_argument("--follow", action="store_true", help="when all is done stay, and wait for new seeds")
    said = crawl.add_mutually_exclusive_group()
    said.add_argument("--quiet", action="store_true", help="no progress; warnings and the summary only")
    said.add_argument("--log-json", action="store_true", help="progress and events as JSON lines on standard error")
    crawl.add_argument("-v", "--verbose", action="store_true", help="a line for each URL")


def _warm_up() -> None:
    """Let the process that workers are forked from load its modules while this one loads its own."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["fscrawl.engine.pool"])
    forkserver.ensure_running()


def run(options: argparse.Namespace) -> int:
    _warm_up()
    from fscrawl.engine.machine import Machine, Options  # noqa: PLC0415 - loaded while the forkserver loads

    mode = "json" if options.log_json else "quiet" if options.quiet else "line"
    progress = Progress(mode, verbose=options.verbose)
    given = _given_seeds(options, progress)
    tree, chosen = _open_or_create(options, given, progress)
    probe(tree, progress.warn)
    seeds = _seeds_of(tree, given, progress)
    if chosen.politeness.user_agent == settings.USER_AGENT:
        progress.warn(f"politeness.user_agent names nobody; please put an address of yours into {tree.root}/crawl.toml")
    how = Options(
        options.workers,
        options.threads,
        reseed=options.reseed,
        follow=options.follow,
        refresh_before=_refresh_before(options.refresh),
    )
    gc.freeze()  # what is loaded by now stays; and half a million pending URLs are no garbage to look through
    gc.set_threshold(50_000, 20, 20)
    result = Machine(tree, chosen, seeds, progress, how).run()
    print(_summary(tree.root, result))
    return result.exit_code


def _refresh_before(age: str | None) -> str:
    """Give the time before which pages are to be looked at again; "" for none."""
    if age is None:
        return ""
    seconds = parse_age(age)
    if seconds is None:
        raise UsageError(f"--refresh {age}: it takes an age, like 7d, 12h or 30m; 0s is every page")
    return timestamp(time.time() - seconds)


def _given_seeds(options: argparse.Namespace, progress: Progress) -> list[str]:
    """Read the seeds of the command line, as normal forms. A bad --seed is an error, a bad line of a file a warning."""
    found = []
    for text in options.seed:
        url = urls.normalise(text)
        if url is None:
            raise UsageError(f"--seed {text}: not a URL to crawl; write it in full, like https://example.org/")
        found.append(url)
    if options.seeds is not None:
        try:
            text = options.seeds.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--seeds {options.seeds}: cannot be read: {error}") from error
        found += read_seeds(text, str(options.seeds), progress.warn)
        if not found:
            raise UsageError(f"--seeds {options.seeds}: there is no URL in it; it takes one a line")
    return list(dict.fromkeys(found))


def _open_or_create(
    options: argparse.Namespace, given: list[str], progress: Progress
) -> tuple[store.Tree, settings.Settings]:
    root: Path = options.root
    state = store.state_of(root)
    if state == "tree":
        if store.is_stopped(root):
            raise UsageError(f"{root}/{store.STOP}: no machine may run; to go on:  fscrawl resume --root {root}")
        if options.set:
            raise UsageError(f"--set is for a new tree; this one has its settings in {root}/{settings.FILE}: edit that")
    elif state == "nothing" and not given:
        raise UsageError(f"{root} does not exist, and without seeds none is made: give --seed URL or --seeds FILE")
    elif state == "directory" and not given:
        raise NotATreeError(f"{root}: no crawl and no seeds there; is the share mounted? A new one needs --seed URL")
    else:
        _create(root, settings.apply(settings.Settings(), options.set), given)
    tree = store.Tree(root, new_machine_id())
    chosen = read_settings(tree, progress.warn)
    tree.fsync = chosen.store.fsync
    return tree, chosen


def _create(root: Path, chosen: settings.Settings, given: list[str]) -> None:
    """Make the tree; a crawl.toml that is there already (its machinery was deleted) says what it was made with."""
    kept = store.kept_settings(root)
    if kept is not None:
        chosen = settings.parse(kept, f"{root}/{settings.FILE}")
    record = TreeRecord(
        format=FORMAT,
        crawl=new_machine_id().rpartition("-")[2],
        created_at=timestamp(time.time()),
        shards=chosen.fleet.shards,
        fanout=chosen.store.fanout,
        partition=chosen.crawl.partition,
    )
    seeds = "# Seed URLs, one a line. Add lines while machines run.\n" + "".join(f"{url}\n" for url in given)
    store.create(root, record, settings.render(chosen), seeds, new_machine_id())


def _seeds_of(tree: store.Tree, given: list[str], progress: Progress) -> frozenset[str]:
    """Give all seeds: the tree's, to which those of the command line are added."""
    there = wait_for_seeds(tree, progress.warn)
    new = [url for url in given if url not in there]
    if new:
        tree.add_seeds(new)
    if not there and not new:
        raise UsageError(f"{tree.root}/{store.SEEDS}: there is no URL in it; add one, or give --seed URL")
    return frozenset(there + new)


def _summary(root: Path, result: Result) -> str:
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
    lines += [
        f"pages    {root}/htmls/<host>/<key>.html",
        f"records  {root}/links/<host>/<key>.json   url, status, headers, sha256, title, links",
        f"errors   {root}/errs/<host>/<key>.json",
        f"settings {root}/crawl.toml, seeds {root}/seeds.txt",
        f"to go on, or to join from another machine:  fscrawl crawl --root {root}",
    ]
    return "\n".join(lines)
