"""`fscrawl show`: print what a tree knows about a URL, and why it is not stored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fscrawl import store
from fscrawl.commands.common import Commands, Parser, add_command, add_root, open_tree
from fscrawl.config.seeds import read_seeds
from fscrawl.config.watcher import settings_of
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.terminal import say, say_json

if TYPE_CHECKING:
    from fscrawl.monitor.explain import Explanation
    from fscrawl.monitor.explain.facts import Line

_EXAMPLES = """\
fscrawl show --root /mnt/shared https://example.org/faq      why is this page missing?
fscrawl show --root /mnt/shared 599370d5687c3fd078c314ad     which URL has this key?
fscrawl show --root /mnt/shared https://example.org/faq --inlinks
"""
_EXIT_CODES = "exit codes: 0 the page is stored, 1 it is not\n"
_MAX_LINES = 10  # printed for a person; --json has them all


def add(commands: Commands[Parser]) -> None:
    show = add_command(
        commands,
        "show",
        run,
        summary="print what the tree knows about a URL, and why it is missing",
        description="Print what the tree knows about a URL: its files and its record. If it is not stored, say why.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    show.add_argument("url", metavar="URL", help="the complete URL, or the 24 digits of a key")
    add_root(show)
    show.add_argument("--inlinks", action="store_true", help="list all pages that link to it (reads every link file)")
    show.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.explain import explain  # noqa: PLC0415 - a crawl need not load it

    progress = Progress("quiet", verbose=False)
    tree = open_tree(options.root)
    seeds = frozenset(read_seeds(tree.controls.seeds(), f"{tree.root}/{store.SEEDS}", progress.warn))
    bar = sys.stderr.isatty()
    found = explain(tree, settings_of(tree), seeds, options.url, all_inlinks=options.inlinks, bar=bar)
    say_json(found.as_json()) if options.json else say(*_lines(found))
    return EXIT_OK if found.stored else EXIT_UNUSABLE_RESULT


def _lines(found: Explanation) -> Iterator[str]:
    yield from _names(found)
    yield from _record(found)
    for path, size in found.files.items():
        yield f"file      {path}, {size} bytes"
    yield from _found_on(found)
    for note in found.notes:
        yield f"note      {note}"
    if found.stored:
        return
    yield "not stored:"
    for reason in found.reasons:
        yield f"  {reason.text}"
        if reason.advice:
            yield f"      {reason.advice}"


def _names(found: Explanation) -> Iterator[str]:
    if found.url is None:
        yield f"url       none: {found.asked}"
    elif found.url != found.asked:
        yield f"url       {found.url}, the normal form of {found.asked}"
    else:
        yield f"url       {found.url}"
    if found.host:
        yield f"key       {found.key}, host directory {found.host}, shard {found.shard}"


def _record(found: Explanation) -> Iterator[str]:
    page, error = found.page, found.error
    if page is not None:
        kind = page.headers.get("content-type", "no type")
        yield f"stored    {page.status}, {kind}, {page.bytes} bytes, depth {page.depth}"
        yield f"fetched   {page.fetched_at} by {page.machine}"
        if page.checked_at:
            yield f"checked   {page.checked_at}: {page.checked_status or 'no answer'}; the stored page was kept"
        if page.title:
            yield f"title     {page.title}"
        if page.skipped:
            yield f"no body   {page.skipped}"
        if page.robots:
            yield f"robots    {', '.join(page.robots)}"
        yield f"links     {len(page.links)} to follow, {len(page.nofollow or ())} not"
    for hop in found.redirects:
        yield f"redirect  to {hop.url}: {hop.status or 'not stored'}"
    if error is not None:
        yield f"failed    {error.class_}: {error.message}"
        yield f"          {error.failed_at} by {error.machine}, attempt {error.attempts}, depth {error.depth}"


def _found_on(found: Explanation) -> Iterator[str]:
    record = found.page or found.error
    if record is not None:
        yield f"found on  {found.found_on or (record.referrer or 'no page: it is a seed or from a sitemap')}"
    for line in found.lines[:_MAX_LINES]:
        yield f"line      {_line(line)}"
    if len(found.lines) > _MAX_LINES:
        yield f"          and {len(found.lines) - _MAX_LINES} more"
    for link in found.inlinks or ():
        yield f"inlink    {link.url}" + ("" if link.how == "link" else f" ({link.how})")
    if found.inlinks is not None:
        yield f"inlinks   {len(found.inlinks)} pages"


def _line(line: Line) -> str:
    if line.source == "seeds":
        return "in seeds.txt"
    who = "discovered, as a snapshot says" if line.source == "snapshot" else f"discovered by {line.machine}"
    source = f", on {line.found_on or line.referrer}" if line.referrer else ""
    mark = f", {line.mark}" if line.mark else ""
    return f"{who}, depth {line.depth}{source}{mark}"
