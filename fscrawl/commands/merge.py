"""`fscrawl merge`: export a tree as a dataset."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from fscrawl import interrupts
from fscrawl.commands.program import Program, add_root, add_site, directory, positive, read_file
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT, UsageError
from fscrawl.util.installed import to_install
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say

_EXAMPLES = """\
fscrawl merge --root /mnt/shared --out dataset                     Parquet; again: add what is new
fscrawl merge --root /mnt/shared --out archive --format warc       WARC files with an index
fscrawl merge --root /mnt/shared --out clean --text main --dedupe --no-html --status 200
"""
_NOTES = """\
To continue an interrupted merge, run the same command again. Options that you leave out
are those of the first run.
"""


def add(program: Program) -> None:
    merge = program.add(
        "merge",
        run,
        description="Export what has been crawled as a dataset. Machines may be crawling.",
        examples=_EXAMPLES,
        notes=_NOTES,
    )
    add = merge.add_argument
    add_root(merge)
    add(
        "-o",
        "--out",
        required=True,
        type=directory,
        metavar="DIR",
        help="the dataset: a new directory, or an earlier dataset",
    )
    add(
        "--format",
        action="append",
        metavar="F",
        help="parquet (default), warc, jsonl, jsonl.zst, csv; repeatable",
    )
    add("--text", metavar="HOW", help="visible (default), main, none")
    add("--language", action="store_true", help="detect the language of each text, as columns of its own")
    add("--no-html", action="store_true", help="leave the pages' bodies out of the tables")
    add("--files", action="store_true", help="put the bytes of PDFs, images, … into the tables, too")
    add_site(merge)
    add("--dedupe", action="store_true", help="leave out duplicates and near-duplicates")
    add("--keep-noindex", action="store_true", help="export pages marked noindex, too")
    add("--host", action="append", metavar="GLOB", help="only these hosts, e.g. '*.example.org'; repeatable")
    add("--status", action="append", metavar="S", help="only this HTTP status, e.g. 200 or 2xx; repeatable")
    add("--since", metavar="WHEN", help="only pages fetched since: a date, time, or age like 7d")
    add("--include", action="append", metavar="RE", help="only URLs that match; repeatable")
    add("--exclude", action="append", metavar="RE", help="no URLs that match; repeatable")
    add("--versions", metavar="WHICH", help="of each page: last (default), or all that differ, if the tree keeps them")
    add("--changes", action="store_true", help="add a table of what has changed from version to version")
    add("--index", action="store_true", help="make an index for fscrawl search")
    add("--limit", type=positive, metavar="N", help="at most N records in the dataset")
    add("--rebuild", action="store_true", help="remove the dataset's files first and start again")
    add("--processes", type=positive, metavar="N", help="number of processes (default: one per CPU)")
    add("--scheduler", metavar="ADDRESS", help="use a Dask cluster, e.g. tcp://host:8786")


_MOST_PROCESSES = 1000


def run(options: argparse.Namespace) -> int:
    if (options.processes or 0) > _MOST_PROCESSES:
        raise UsageError(f"--processes {options.processes}: must be at most {_MOST_PROCESSES:,}; one per CPU suffices")
    interrupts.keeps("finished parts are kept; the same command goes on")
    try:
        from fscrawl.dataset import card, search  # noqa: PLC0415 - a crawl need not load it
        from fscrawl.merge import merge  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"merge needs {error.name}: {to_install('merge')}") from error
    site = None if options.site is None else read_file(options.site, options.root)
    with ProgressLine() as line:
        manifest = merge(
            options.root,
            options.out,
            _chosen(options) | ({} if site is None else {"site": site.digest}),
            line.print_line,
            rebuild=options.rebuild,
            processes=options.processes,
            scheduler=options.scheduler,
            line=line,
            site=site,
            index=options.index,
        )
    first, *more = card.report(manifest)
    say(first + line.in_time(), *more, *search.report(options.out))
    return EXIT_OK if manifest.counts.pages else EXIT_UNUSABLE_RESULT


def _chosen(options: argparse.Namespace) -> dict[str, object]:
    """Return the options that the user gave, checked. Others are those of the dataset, or the defaults."""
    from fscrawl.dataset import options as choices  # noqa: PLC0415

    chosen = {
        "formats": options.format
        and tuple(choices.one_of(each, choices.FORMATS, "--format") for each in options.format),
        "text": None if options.text is None else choices.one_of(options.text, choices.TEXTS, "--text"),
        "language": options.language or None,
        "html": False if options.no_html else None,
        "files": options.files or None,
        "dedupe": options.dedupe or None,
        "noindex": options.keep_noindex or None,
        "hosts": options.host and tuple(map(choices.host, options.host)),
        "status": options.status and tuple(map(choices.status, options.status)),
        "since": None if options.since is None else choices.since(options.since, datetime.now(UTC)),
        "since_text": options.since,
        "include": options.include and tuple(choices.expression(each, "--include") for each in options.include),
        "exclude": options.exclude and tuple(choices.expression(each, "--exclude") for each in options.exclude),
        "limit": options.limit,
        "versions": options.versions and choices.one_of(options.versions, choices.VERSIONS, "--versions"),
        "changes": options.changes or None,
    }
    return {name: value for name, value in chosen.items() if value is not None}
