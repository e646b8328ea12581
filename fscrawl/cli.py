"""Flags and commands. `crawl.py` at the top of a checkout is `fscrawl crawl`.

Whatever is wrong with what a user gave is said in one line on standard error, with the exit code of `errors`.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fscrawl import __version__, settings, store, urls
from fscrawl.ages import parse_age
from fscrawl.answers import CLASSES
from fscrawl.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNUSABLE_RESULT, FscrawlError, NotATreeError, UsageError
from fscrawl.heartbeat import new_machine_id
from fscrawl.probe import probe
from fscrawl.progress import Progress
from fscrawl.records import FORMAT, TreeRecord, timestamp
from fscrawl.watch import read_seeds

if TYPE_CHECKING:
    from fscrawl.machine import Result

_EXAMPLES = """\
examples:
  fscrawl crawl --root /mnt/shared --seed https://example.org/ --workers 32
  fscrawl crawl --root /mnt/shared --workers 32          on every further machine, or to go on
  fscrawl crawl --root ./tree --seeds seeds.txt --set politeness.delay=0.5 --set crawl.max_depth=3
exit codes: 0 finished, 1 finished with nothing stored, 2 usage, 75 tree not usable, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; give its exit code."""
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    except FscrawlError as error:
        print(f"fscrawl: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, as everything else does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fscrawl", description="A crawler for a few machines and a shared directory.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"fscrawl {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    crawl = commands.add_parser(
        "crawl",
        help="crawl into a tree, from its seeds or from where it stands",
        description="Crawl into the tree at --root. The same command on any machine goes on from what is there.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    crawl.set_defaults(run=_crawl)
    crawl.add_argument("--root", required=True, type=Path, metavar="DIR", help="the shared directory")
    crawl.add_argument("--workers", type=_positive, default=4, metavar="N", help="worker processes (default 4)")
    crawl.add_argument(
        "--threads", type=_positive, default=8, metavar="N", help="fetches at a time in each (default 8)"
    )
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
    _add_audit(commands)
    _add_retry(commands)
    _add_merge(commands)
    return parser


def _add_audit(commands: argparse._SubParsersAction[_Parser]) -> None:
    audit = commands.add_parser(
        "audit",
        help="check every file of a tree, and mend it",
        description="Check every file of the tree at --root, and that every linked URL is stored, failed or waiting."
        " Exit code 0: nothing is wrong (any more), 1: something is.",
        allow_abbrev=False,
    )
    audit.set_defaults(run=_audit)
    audit.add_argument("--root", required=True, type=Path, metavar="DIR", help="the shared directory")
    audit.add_argument(
        "--repair", action="store_true", help="remove what is wrong, and have it fetched again by the next crawl"
    )
    audit.add_argument("--json", action="store_true", help="the report as one JSON object")


def _add_retry(commands: argparse._SubParsersAction[_Parser]) -> None:
    retry = commands.add_parser(
        "retry",
        help="try recorded failures once more, on a running or a finished crawl",
        description="Put recorded failures back to work. Machines that run take them up; else the next crawl does.",
        epilog=f"classes: {', '.join(CLASSES)}",
        allow_abbrev=False,
    )
    retry.set_defaults(run=_retry)
    retry.add_argument("--root", required=True, type=Path, metavar="DIR", help="the shared directory")
    retry.add_argument(
        "--class", dest="classes", action="append", default=[], metavar="C,C", help="only these classes; default all"
    )
    retry.add_argument("--host", action="append", default=[], metavar="GLOB", help="only these hosts; repeatable")


_MERGE_EXAMPLES = """\
examples:
  fscrawl merge --root /mnt/shared --out dataset                     Parquet: pages, links, errors
  fscrawl merge --root /mnt/shared --out dataset                     again: what is new since
  fscrawl merge --root /mnt/shared --out archive --format warc       WARC files with an index
  fscrawl merge --root /mnt/shared --out clean --text main --dedupe --no-html --status 200
A run that was stopped goes on by the same command; options left out are those of the first run.
"""


def _add_merge(commands: argparse._SubParsersAction[_Parser]) -> None:
    merge = commands.add_parser(
        "merge",
        help="export a tree as a dataset: Parquet, WARC, JSON lines, CSV",
        description="Export what has been crawled as a dataset, also while machines go on crawling.",
        epilog=_MERGE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    merge.set_defaults(run=_merge)
    add = merge.add_argument
    add("--root", required=True, type=Path, metavar="DIR", help="the shared directory")
    add("--out", required=True, type=Path, metavar="DIR", help="the dataset: a new directory, or one made before")
    add("--format", action="append", metavar="F", help="parquet (default), warc, jsonl, jsonl.zst, csv; repeatable")
    add("--text", metavar="HOW", help="visible (default), main (main content, by trafilatura) or none")
    add("--no-html", action="store_true", help="tables without the pages' bodies")
    add("--fields", type=Path, metavar="FILE", help="rules by which fields of pages become columns")
    add("--dedupe", action="store_true", help="leave out duplicates and near-duplicates")
    add("--noindex", action="store_true", help="keep pages that ask not to be indexed")
    add("--host", action="append", metavar="GLOB", help="only these hosts, e.g. '*.example.org'; repeatable")
    add("--status", action="append", metavar="S", help="only this HTTP status, e.g. 200 or 2xx; repeatable")
    add("--since", metavar="WHEN", help="only what was fetched since: a date, a time, or an age like 7d")
    add("--include", action="append", metavar="RE", help="only URLs that match; repeatable")
    add("--exclude", action="append", metavar="RE", help="no URLs that match; repeatable")
    add("--limit", type=_positive, metavar="N", help="at most N pages in all")
    add("--rebuild", action="store_true", help="start over: remove the dataset's files first")
    add("--processes", type=_positive, metavar="N", help="default: one per CPU")
    add("--scheduler", metavar="ADDRESS", help="work on a Dask cluster, e.g. tcp://host:8786")


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: it takes a whole number, 1 or more")
    return int(text)


# -- crawl


def _warm_up() -> None:
    """Let the process that workers are forked from load its modules while this one loads its own."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["fscrawl.pool"])
    forkserver.ensure_running()


def _crawl(options: argparse.Namespace) -> int:
    _warm_up()
    from fscrawl.machine import Machine, Options  # noqa: PLC0415 - loaded while the forkserver loads

    mode = "json" if options.log_json else "quiet" if options.quiet else "line"
    progress = Progress(mode, verbose=options.verbose)
    given = _given_seeds(options, progress)
    tree, chosen = _open_or_create(options, given)
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


def _open_or_create(options: argparse.Namespace, given: list[str]) -> tuple[store.Tree, settings.Settings]:
    root: Path = options.root
    state = store.state_of(root)
    if state == "tree":
        if options.set:
            raise UsageError(f"--set is for a new tree; this one has its settings in {root}/{settings.FILE}: edit that")
    elif state == "nothing" and not given:
        raise UsageError(f"{root} does not exist, and without seeds none is made: give --seed URL or --seeds FILE")
    elif state == "directory" and not given:
        raise NotATreeError(f"{root}: no crawl and no seeds there; is the share mounted? A new one needs --seed URL")
    else:
        _create(root, settings.apply(settings.Settings(), options.set), given)
    machine = new_machine_id()
    chosen = settings.parse(store.Tree(root, machine).settings_text(), f"{root}/{settings.FILE}")
    return store.Tree(root, machine, fsync=chosen.store.fsync), chosen


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
    there = read_seeds(tree.seeds_text(), f"{tree.root}/{store.SEEDS}", progress.warn)
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


# -- audit


def _audit(options: argparse.Namespace) -> int:
    from fscrawl.audit import audit  # noqa: PLC0415 - a crawl need not load it

    progress = Progress("quiet", verbose=False)
    tree = store.Tree(options.root, new_machine_id())
    chosen = settings.parse(tree.settings_text(), f"{tree.root}/{settings.FILE}")
    seeds = read_seeds(tree.seeds_text(), f"{tree.root}/{store.SEEDS}", progress.warn)
    report = audit(tree, chosen, seeds, progress.warn, repair=options.repair, bar=sys.stderr.isatty())
    print(json.dumps(report.as_json()) if options.json else "\n".join(report.lines()))
    return EXIT_OK if report.ok else EXIT_UNUSABLE_RESULT


# -- retry


def _retry(options: argparse.Namespace) -> int:
    from fscrawl.retry import retry  # noqa: PLC0415

    classes = [name for text in options.classes for name in text.split(",")]
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"--class {name}: it takes one of {', '.join(CLASSES)}")
    progress = Progress("quiet", verbose=False)
    put = retry(store.Tree(options.root, new_machine_id()), classes, options.host, progress.warn)
    if not put:
        print("there is no such failure")
        return EXIT_OK
    print(f"to be tried again: {put.total()} URLs ({', '.join(f'{n} {name}' for name, n in put.most_common())})")
    print(f"machines that run take them up; where none does:  fscrawl crawl --root {options.root}")
    return EXIT_OK


# -- merge


def _merge(options: argparse.Namespace) -> int:
    try:
        from fscrawl.dataset import card  # noqa: PLC0415 - a crawl need not load it
        from fscrawl.merge import merge  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"merge needs {error.name}: pip install 'fscrawl[merge]'") from error
    progress = Progress("quiet", verbose=False)
    facts = merge(
        options.root,
        options.out,
        _chosen(options),
        progress.warn,
        rebuild=options.rebuild,
        processes=options.processes,
        scheduler=options.scheduler,
        bar=sys.stderr.isatty(),
    )
    print("\n".join(card.report(facts)))
    return EXIT_OK if facts["counts"]["pages"] else EXIT_UNUSABLE_RESULT


def _chosen(options: argparse.Namespace) -> dict[str, object]:
    """Give what the user chose, checked; what was left out is the dataset's own or the default."""
    from fscrawl.dataset import options as choices  # noqa: PLC0415

    said = {
        "formats": options.format
        and tuple(choices.one_of(each, choices.FORMATS, "--format") for each in options.format),
        "text": options.text and choices.one_of(options.text, choices.TEXTS, "--text"),
        "html": False if options.no_html else None,
        "fields": options.fields and choices.rules(options.fields),
        "dedupe": options.dedupe or None,
        "noindex": options.noindex or None,
        "hosts": options.host and tuple(options.host),
        "status": options.status and tuple(map(choices.status, options.status)),
        "since": options.since and choices.since(options.since, datetime.now(UTC)),
        "include": options.include and tuple(choices.expression(each, "--include") for each in options.include),
        "exclude": options.exclude and tuple(choices.expression(each, "--exclude") for each in options.exclude),
        "limit": options.limit,
    }
    return {name: value for name, value in said.items() if value is not None}
