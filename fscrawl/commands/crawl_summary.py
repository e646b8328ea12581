"""What `fscrawl crawl` prints when it ends: this machine, the tree, and the one command that makes sense now. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fscrawl.config.seeds import line_of
from fscrawl.config.settings import FILE
from fscrawl.engine.machine import Result
from fscrawl.engine.progress import Counts
from fscrawl.http.answers import HELP
from fscrawl.monitor.advice import not_stored_lines
from fscrawl.monitor.snapshot import Snapshot
from fscrawl.util.humanize import number_of, size
from fscrawl.util.installed import command, path_word
from fscrawl.util.terminal import plain


def summary(
    root: Path,
    result: Result,
    tree: Snapshot | None,
    seeds: Iterable[str],
    *,
    site: Path | None = None,
    has_documents: bool = False,
) -> Iterator[str]:
    """Yield the lines. `tree`: all machines as their heartbeats show them now; None if they cannot be read.

    `site`: the site file, which the next command needs, too. `has_documents`: the tree has files that are not HTML.
    """
    yield _headline(result, tree)
    yield f"this machine  {_machine(result)}"
    if tree is not None:
        yield f"the tree      {_tree(tree, goes_on=result.ending != 'finished')}"
        yield from _failures(root, tree.errors(), result.counts.private)
        yield from (f"{label:14}{plain(text)}" for label, text in not_stored_lines(tree.not_stored))
    if tree is not None and tree.stopped_labels:
        yield f"not fetched   what has a label of crawl.stopped_labels: {plain(', '.join(tree.stopped_labels))}"
    documents = "files/ (documents), " if has_documents else ""
    yield f"files         in {root}: htmls/ (pages), {documents}links/ (records), errs/ (failures), {FILE}, seeds.txt"
    same_site = "" if site is None else f" --site {path_word(site)}"
    first = next(iter(seeds), "") or result.counts.without_page
    yield f"next          {_next(root, result, tree, first, same_site)}"


def _headline(result: Result, tree: Snapshot | None) -> str:
    if result.ending == "finished":
        missing = f", but seeds are missing: {result.fault}" if result.fault else ""
        left = "all other tasks are done" if tree is not None and tree.stopped_labels else "nothing is left to fetch"
        if result.late_seeds:
            late = number_of(result.late_seeds, "seed")
            left = f"{late} came while it ended; what no other machine has fetched, the next run does"
        return f"finished: {left}{missing}"
    pending = result.counts.pending if tree is None else tree.pending()
    left = f"; {number_of(pending, 'URL')} {'is' if pending == 1 else 'are'} pending, and what is stored is kept"
    why = {
        "interrupted": "interrupted",
        "stopped": "by fscrawl stop",
        "max_pages": "crawl.max_pages is reached",
    }
    return f"stopped: {why[result.ending]}{left}"


def _machine(result: Result) -> str:
    counts = result.counts
    rate = counts.pages / max(result.elapsed_s, 1e-9)
    return f"{_kinds(counts)} in {result.elapsed_s:.1f} s, {rate:.1f} pages/s"


def _kinds(counts: Counts) -> str:
    parts = [f"{number_of(counts.pages, 'page')} ({size(counts.bytes)})"]
    parts += [number_of(counts.redirects, "redirect")] if counts.redirects else []
    parts += [f"{counts.others:,} of other types"] if counts.others else []
    kept = counts.kept.total()
    parts += [f"{counts.unchanged - kept:,} unchanged"] if counts.unchanged > kept else []
    gone = counts.kept["http-4xx"]
    parts += [f"{gone:,} gone (http-4xx)"] if gone else []
    parts += [f"{kept - gone:,} kept that failed now ({_listed(counts.kept)})"] if kept > gone else []
    parts += [number_of(counts.errors.total(), "failure")] if counts.errors else []
    return ", ".join(parts)


def _listed(numbers: Counter[str]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.most_common() if name != "http-4xx")


def _tree(tree: Snapshot, *, goes_on: bool) -> str:
    pages, failures = number_of(tree.total("pages"), "page"), number_of(tree.errors().total(), "failure")
    facts = (
        f"{tree.at_least}{pages} ({size(tree.total('bytes'))}), {failures}, {number_of(tree.pending(), 'URL')} pending"
    )
    at_work = len(tree.alive()) if goes_on else 0  # the others of a finished crawl are leaving, too
    return facts + (f"; {at_work} {'machine goes' if at_work == 1 else 'machines go'} on" if at_work else "")


def _failures(root: Path, errors: Counter[str], private: str) -> Iterator[str]:
    """Yield a line for each class, with what helps. `private`: the line that allows a private address."""
    fscrawl = command()
    for name, number in errors.most_common():
        helps = HELP.get(name, "").format(fscrawl=fscrawl, root=path_word(root))
        if private and name == "blocked-address":
            helps = f"if it is yours, write {private} below [fetch] in {root}/{FILE}; then:  "
            helps += f"{command('retry', root)} --class blocked-address"
        yield f"  {number:>6,} {name:15} {helps}".rstrip()
    if errors:
        yield f"         to see why one failed:  {command('show', root)} URL"


def _next(root: Path, result: Result, tree: Snapshot | None, first: str, site: str) -> str:
    """Give the one command that makes sense now.

    `first`: a seed, or another request that was made, in its spelling; "" if there is none. `site`: the option of the
    site file.
    """
    on = command("crawl", root) + site
    if result.ending == "stopped":
        return f"{command('resume', root)}    then {on} goes on"
    if result.ending == "interrupted" or result.late_seeds:
        return f"{on}    goes on"
    if result.ending == "max_pages":
        return f"raise crawl.max_pages in {root}/{FILE}, then {on} goes on"
    if tree is not None and not tree.total("pages") and result.exit_code:
        if first:
            return f"{command('show', root)} {shlex.quote(line_of(first))}    says why it is not stored"
        where = f"{root}/{FILE}" if not site else "the site file"
        return f"{where} gives no seeds, or none that may be fetched: edit it, then {on} goes on"
    return f"{command('merge', root)}{site} --out dataset    makes a dataset"
