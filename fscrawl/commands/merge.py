"""`fscrawl merge`: export a tree as a dataset."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from fscrawl.commands.common import Commands, Parser, add_root, positive
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT, UsageError

_EXAMPLES = """\
examples:
  fscrawl merge --root /mnt/shared --out dataset                     Parquet: pages, links, errors
  fscrawl merge --root /mnt/shared --out dataset                     again: what is new since
  fscrawl merge --root /mnt/shared --out archive --format warc       WARC files with an index
  fscrawl merge --root /mnt/shared --out clean --text main --dedupe --no-html --status 200
A run that was stopped goes on by the same command; options left out are those of the first run.
"""


def add(commands: Commands[Parser]) -> None:
    merge = commands.add_parser(
        "merge",
        help="export a tree as a dataset: Parquet, WARC, JSON lines, CSV",
        description="Export what has been crawled as a dataset, also while machines go on crawling.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    merge.set_defaults(run=run)
    add = merge.add_argument
    add_root(merge)
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
    add("--limit", type=positive, metavar="N", help="at most N pages in all")
    add("--rebuild", action="store_true", help="start over: remove the dataset's files first")
    add("--processes", type=positive, metavar="N", help="default: one per CPU")
    add("--scheduler", metavar="ADDRESS", help="work on a Dask cluster, e.g. tcp://host:8786")


def run(options: argparse.Namespace) -> int:
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
        "text": None if options.text is None else choices.one_of(options.text, choices.TEXTS, "--text"),
        "html": False if options.no_html else None,
        "fields": options.fields and choices.rules(options.fields),
        "dedupe": options.dedupe or None,
        "noindex": options.noindex or None,
        "hosts": options.host and tuple(options.host),
        "status": options.status and tuple(map(choices.status, options.status)),
        "since": None if options.since is None else choices.since(options.since, datetime.now(UTC)),
        "since_said": options.since,
        "include": options.include and tuple(choices.expression(each, "--include") for each in options.include),
        "exclude": options.exclude and tuple(choices.expression(each, "--exclude") for each in options.exclude),
        "limit": options.limit,
    }
    return {name: value for name, value in said.items() if value is not None}
