"""`fscrawl search`: find stored pages by words of their titles and texts, in a dataset that has an index."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fscrawl import hostnames, urls
from fscrawl.commands.program import Program, directory, positive
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT, UsageError
from fscrawl.util.humanize import number_of
from fscrawl.util.terminal import say, say_error, say_json

if TYPE_CHECKING:
    from fscrawl.dataset.search import Result

_EXAMPLES = """\
fscrawl search hash map --dataset dataset                 pages that have both words
fscrawl search '"hash map" iter* -java' --dataset dataset
"""
_NOTES = """\
words: all must be in a page; "a phrase" in quotes; iter* begins with iter; -java must not
be there. The shell takes quotes away, so put all in single quotes.
To make the index:  fscrawl merge --root DIR --out DIR --index
exit codes: 0 there are pages, 1 there is none
"""
_MOST = 1000


def add(program: Program) -> None:
    search = program.add(
        "search",
        run,
        description="Find pages of a dataset by the words of their titles and texts, the best ones first.",
        examples=_EXAMPLES,
        notes=_NOTES,
    )
    add = search.add_argument
    add("words", nargs="+", metavar="WORD", help="what pages must have")
    add("--dataset", required=True, type=directory, metavar="DIR", help="the dataset, made with fscrawl merge --index")
    add("--limit", type=positive, default=10, metavar="N", help=f"at most N pages (default 10, at most {_MOST})")
    add("--host", action="append", default=[], metavar="GLOB", help="only these hosts; repeatable")
    add("--json", action="store_true", help="print one JSON object per line")


def run(options: argparse.Namespace) -> int:
    from fscrawl.dataset.search import search, to_make  # noqa: PLC0415 - a crawl need not load it

    if options.limit > _MOST:
        raise UsageError(f"--limit {options.limit}: at most {_MOST}")
    hosts = [hostnames.option(each, globs=True) for each in options.host]
    began = time.monotonic()
    found = search(options.dataset, " ".join(options.words), hosts, options.limit)
    if found.missing:
        rows = f"{number_of(found.missing, 'record')} of the dataset"
        say_error(f"not in the index yet: {rows}; to add what is missing:  {to_make(options.dataset)}")
    if options.json:
        for result in found.results:
            say_json(_as_json(result))
        return EXIT_OK if found.results else EXIT_UNUSABLE_RESULT
    if not found.results:
        say(f"no page matches{' on these hosts' * bool(hosts)}")
        return EXIT_UNUSABLE_RESULT
    for number, result in enumerate(found.results, 1):
        say(*_lines(number, result), "")
    shown = f"{len(found.results):,} of " * (found.total > len(found.results))
    say(f"{shown}{number_of(found.total, 'page')}, {time.monotonic() - began:.2f} s")
    return EXIT_OK


def _as_json(result: Result) -> dict[str, object]:
    """Return a result for programs. `hits`: where in the snippet, in characters: [begin, end]."""
    hits, at = [], 0
    for piece in result.pieces:
        if piece.hit:
            hits.append([at, at + len(piece.text)])
        at += len(piece.text)
    return {
        "url": result.url,
        "title": result.title,
        "host": result.host,
        "key": result.key,
        "time": result.time,
        "snippet": "".join(piece.text for piece in result.pieces),
        "hits": hits,
        "score": round(result.score, 3),
    }


def _lines(number: int, result: Result) -> Iterator[str]:
    yield f"{number}. {result.title or result.url}"
    yield f"   {result.url}"
    yield f"   {urls.shown_host(result.host)}, {result.time[:16].replace('T', ' ')} UTC"
    if result.pieces:
        yield f"   {''.join(piece.text for piece in result.pieces)}"
