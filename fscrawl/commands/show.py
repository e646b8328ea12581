"""`fscrawl show`: print what a tree knows about a URL, and why it is not stored."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fscrawl import store
from fscrawl.commands.common import Program, add_command, add_root, asked_for, no_body, open_tree
from fscrawl.commands.site_option import add_site, with_site
from fscrawl.config.seeds import read_seeds
from fscrawl.config.watcher import settings_of
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.frontier.flags import format_flags, parse_flags
from fscrawl.parse.headers import lines
from fscrawl.request import Request, body_text, shown
from fscrawl.util.humanize import number_of
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say, say_json

if TYPE_CHECKING:
    from fscrawl.monitor.explain import Explanation
    from fscrawl.monitor.inlinks import Line
    from fscrawl.storage.records import PageRecord

_EXAMPLES = """\
fscrawl show --root /mnt/shared https://example.org/faq      why is this page missing?
fscrawl show --root /mnt/shared 599370d5687c3fd078c314ad     which URL has this key?
fscrawl show --root /mnt/shared https://example.org/faq --inlinks
fscrawl show --root /mnt/shared 'POST https://example.org/search q=faq'
"""
_EXIT_CODES = "exit codes: 0 the page is stored, 1 it is not\n"
_MAX_LINES = 10  # printed for a person; --json has them all


def add(program: Program) -> None:
    show = add_command(
        program,
        "show",
        run,
        description="Print what the tree knows about a URL: its files and its record. If it is not stored, say why.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    show.add_argument(
        "words", metavar="URL", nargs="+", help="the complete URL, a request as in seeds.txt, or the 24 digits of a key"
    )
    add_root(show, has_words=True)
    add_site(show)
    show.add_argument("--inlinks", action="store_true", help="list all pages that link to it (reads every link file)")
    show.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.explain import explain  # noqa: PLC0415 - a crawl need not load it

    asked = asked_for(options.words)
    tree = open_tree(options.root)
    with ProgressLine() as line:
        seeds = read_seeds(tree.controls.seeds(), f"{tree.root}/{store.SEEDS}", line.print_line)
        chosen = with_site(settings_of(tree), options.site, options.root)
        found = explain(tree, chosen, seeds, asked, all_inlinks=options.inlinks, line=line)
    if options.json:
        say_json(found.as_json())
    else:
        say(*_lines(found))
    return EXIT_OK if found.stored else EXIT_UNUSABLE_RESULT


def _lines(found: Explanation) -> Iterator[str]:
    yield from _names(found)
    yield from _record(found)
    for path, size in found.files.items():
        yield f"file      {path}, {number_of(size, 'byte')}"
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
    elif found.request is not None:
        yield from _request(found.request)
    elif found.url != found.asked:
        yield f"url       {found.url}, the normal form of {found.asked}"
    else:
        yield f"url       {found.url}"
    if found.host:
        yield f"key       {found.key}, host directory {found.host}, shard {found.shard}"


def _request(request: Request) -> Iterator[str]:
    yield f"url       {request.address}"
    yield f"request   {request.method}" + (f", {request.type_}" if request.type_ else "")
    if request.body:
        yield f"body      {body_text(request)}"
    for name, value in request.headers:
        yield f"header    {name}: {value}"
    if request.session:
        yield f"session   {request.session}"


def _record(found: Explanation) -> Iterator[str]:
    page, error = found.page, found.error
    if page is not None:
        yield from _page(page)
    for hop in found.redirects:
        yield f"redirect  to {shown(hop.url)}: {hop.status or 'not stored'}"
    if error is not None:
        yield f"failed    {error.class_}: {error.message}"
        yield f"          {error.failed_at} by {error.machine}, attempt {error.attempts}, depth {error.depth}"
    if page and page.rendered:
        yield f"rendered  {page.rendered.shown()}"
    if label := (page and page.label) or (error and error.label):
        yield f"label     {label}"


def _page(page: PageRecord) -> Iterator[str]:
    kind = ", ".join(lines(page.headers, "content-type")) or "no type"
    yield f"stored    {page.status}, {kind}, {number_of(page.bytes, 'byte')}, depth {page.depth}"
    yield f"fetched   {page.fetched_at} by {page.machine}{f' from {page.ip}' if page.ip else ''}"
    if page.checked_at:
        yield f"checked   {page.checked_at}: {page.checked_status or 'no answer'}; the stored page was kept"
    if page.encoding:
        yield "encoding  " + ", ".join(filter(None, [page.encoding, page.encoding_source]))
    if page.title:
        yield f"title     {page.title}"
    if page.skipped:
        yield f"no body   {no_body(page)}"
    if page.robots:
        yield f"robots    {', '.join(page.robots)}"
    of_rules = "" if page.requests is None else f"; by the rules of its site {len(page.requests)} instead"
    yield f"links     {len(page.links)} to follow, {len(page.nofollow or ())} not{of_rules}"


def _found_on(found: Explanation) -> Iterator[str]:
    record = found.page or found.error
    if record is not None:
        where = shown(found.found_on or record.referrer) or "no page: it is a seed or from a sitemap"
        yield f"found on  {where}"
    for line in found.lines[:_MAX_LINES]:
        yield f"line      {_line(line)}"
    if len(found.lines) > _MAX_LINES:
        yield f"          and {len(found.lines) - _MAX_LINES} more"
    for link in found.inlinks or ():
        yield f"inlink    {shown(link.url)}" + ("" if link.how == "link" else f" ({link.how})")
    if found.inlinks is not None:
        yield f"inlinks   {number_of(len(found.inlinks), 'page')}"


def _line(line: Line) -> str:
    flags = parse_flags(line.mark)
    mark = f", {without}" if (without := format_flags(flags.with_label(""))) else ""
    mark += f", label {flags.label}" if flags.label else ""
    if line.source == "seeds":
        return f"in seeds.txt{mark}"
    who = f"discovered by {line.machine}"
    source = f", on {shown(line.found_on or line.referrer)}" if line.referrer else ""
    return f"{who}, depth {line.depth}{source}{mark}"
