"""`fscrawl show`: what a tree knows of a URL, and why it is not stored."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fscrawl import store
from fscrawl.commands.common import Commands, Parser, add_root, open_tree, settings_of
from fscrawl.config.seeds import read_seeds
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.terminal import plain

if TYPE_CHECKING:
    from fscrawl.monitor.explain import Explanation
    from fscrawl.monitor.explain.facts import Line

_EXAMPLES = """\
examples:
  fscrawl show --root /mnt/shared https://example.org/faq      why is this page missing?
  fscrawl show --root /mnt/shared 599370d5687c3fd078c314ad     whose key is this?
  fscrawl show --root /mnt/shared https://example.org/faq --inlinks
exit codes: 0 it is stored, 1 it is not
"""
_MOST_LINES = 10  # of a kind, for people


def add(commands: Commands[Parser]) -> None:
    show = commands.add_parser(
        "show",
        help="what the tree knows of a URL, and why it is missing",
        description="Tell what the tree knows of a URL: its files and its record; where it is not stored, why.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    show.set_defaults(run=run)
    show.add_argument("url", metavar="URL", help="in full, as a link would be; or the 24 digits of a key")
    add_root(show)
    show.add_argument("--inlinks", action="store_true", help="list all pages that link to it: reads every link file")
    show.add_argument("--json", action="store_true", help="all of it as one JSON object")


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.explain import explain  # noqa: PLC0415 - a crawl need not load it

    progress = Progress("quiet", verbose=False)
    tree = open_tree(options.root)
    seeds = frozenset(read_seeds(tree.seeds_text(), f"{tree.root}/{store.SEEDS}", progress.warn))
    bar = sys.stderr.isatty()
    found = explain(tree, settings_of(tree), seeds, options.url, all_inlinks=options.inlinks, bar=bar)
    print(json.dumps(found.as_json()) if options.json else "\n".join(map(plain, _lines(found))))
    return EXIT_OK if found.stored else EXIT_UNUSABLE_RESULT


def _lines(it: Explanation) -> Iterator[str]:
    yield from _names(it)
    yield from _record(it)
    for place, size in it.files.items():
        yield f"file      {place}, {size} bytes"
    yield from _sources(it)
    for note in it.notes:
        yield f"note      {note}"
    if it.stored:
        return
    yield "not stored:"
    for reason in it.reasons:
        yield f"  {reason.text}"
        if reason.advice:
            yield f"      {reason.advice}"


def _names(it: Explanation) -> Iterator[str]:
    if it.url is None:
        yield f"url       none: {it.asked}"
    elif it.url != it.asked:
        yield f"url       {it.url}, the normal form of {it.asked}"
    else:
        yield f"url       {it.url}"
    if it.host:
        yield f"key       {it.key}, host directory {it.host}, shard {it.shard}"


def _record(it: Explanation) -> Iterator[str]:
    page, error = it.page, it.error
    if page is not None:
        kind = page.headers.get("content-type", "no type")
        yield f"stored    {page.status}, {kind}, {page.bytes} bytes, depth {page.depth}"
        yield f"fetched   {page.fetched_at} by {page.machine}"
        if page.checked_at:
            yield f"checked   {page.checked_at}: {page.checked_status or 'no answer'}; it is kept as it was"
        if page.title:
            yield f"title     {page.title}"
        if page.skipped:
            yield f"no body   {page.skipped}"
        if page.robots:
            yield f"robots    {', '.join(page.robots)}"
        yield f"links     {len(page.links)} to follow, {len(page.nofollow or ())} not"
    for hop in it.redirects:
        yield f"redirect  to {hop.url}: {hop.status or 'not stored'}"
    if error is not None:
        yield f"failed    {error.class_}: {error.message}"
        yield f"          {error.failed_at} by {error.machine}, attempt {error.attempts}, depth {error.depth}"


def _sources(it: Explanation) -> Iterator[str]:
    record = it.page or it.error
    if record is not None:
        yield f"found on  {it.found_on or (record.referrer or 'no page: it is a seed, or a sitemap has it')}"
    for line in it.lines[:_MOST_LINES]:
        yield f"line      {_line(line)}"
    if len(it.lines) > _MOST_LINES:
        yield f"          and {len(it.lines) - _MOST_LINES} more"
    for link in it.inlinks or ():
        yield f"inlink    {link.url}" + ("" if link.how == "link" else f" ({link.how})")
    if it.inlinks is not None:
        yield f"inlinks   {len(it.inlinks)} pages"


def _line(line: Line) -> str:
    if not line.machine:
        return "in seeds.txt"
    source = f", on {line.found_on or line.referrer}" if line.referrer else ""
    mark = f", {line.mark}" if line.mark else ""
    return f"discovered by {line.machine}, depth {line.depth}{source}{mark}"
