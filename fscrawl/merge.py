"""`fscrawl merge`: export a tree as a dataset, also while machines are crawling.

The steps of a run, in order; `fscrawl.dataset` has the vocabulary, and a module for each step:

    plan        which pages are new                                       plan
    extract     read them from the tree in batches, make rows             extract, reading
    dedupe      mark duplicates, apply the limit                          dedupe, similar
    write       the rows of a group of batches become parts               write, tables, formats, warc
    failures    the tree's errors become a table                          write, tables
    manifest    commit the run                                            manifest, card
    index       of searches, if it is wanted                              search

Extract and write run on several processes of this machine, or on a Dask cluster (`crew`).

Promise: if a merge is killed at any moment and run again, the dataset becomes the same, part for part. A merge that is
refused changes no dataset, not even with --rebuild. A page that cannot be read is reported, counted and left out; the
next run tries it again.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from fscrawl import hostnames
from fscrawl.dataset import dedupe, plan, search
from fscrawl.dataset.card import card
from fscrawl.dataset.crew import Crew, open_crew
from fscrawl.dataset.dataset_dir import CARD, FOLDERS, MANIFEST, OPTIONS, STATE, DatasetDir, Made
from fscrawl.dataset.extract import BatchResult, extract_batch
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import REWRITTEN, Counts, FieldCounts, Manifest, RunResult, after_run
from fscrawl.dataset.options import ARCHIVE, Filters, Options, choose, missing, with_sites
from fscrawl.dataset.pdf_text import NO_PYPDF
from fscrawl.dataset.write import GroupResult, cut_into_groups, write_changes, write_failures, write_group
from fscrawl.errors import UsageError
from fscrawl.parse import pdf
from fscrawl.sites.rules import SiteFile
from fscrawl.storage.inside import is_inside
from fscrawl.storage.layout import LINKS
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command, to_install
from fscrawl.util.progress import SILENT, ProgressLine

_MAX_NAMED = 5  # of the broken pages

Warn = Callable[[str], None]


def merge(
    root: Path,
    out: Path,
    given: dict[str, Any],
    warn: Warn,
    *,
    rebuild: bool = False,
    processes: int | None = None,
    scheduler: str | None = None,
    line: ProgressLine = SILENT,
    site: SiteFile | None = None,
    index: bool = False,
) -> Manifest:
    """Add to the dataset at `out` what is new in the tree at `root`; return its manifest.

    `given`: the fields of Options that the user chose; `scheduler`: address of a Dask cluster. UsageError if the
    dataset is of another crawl or has other options, TreeError if tree or disk cannot be used. `line`: shows how far it
    is. `site`: the site file; `given` has its digest. `index`: make an index of searches, if it has none.
    """
    tree = Tree(root, "merge")
    if is_inside(root, out):
        raise UsageError(f"--out {out}: it is inside the tree {root}; name a directory outside of it")
    _check_name(out)
    tree.check_directories()
    _check_packages(given.get("text"), scheduler, language=bool(given.get("language")))
    directory = DatasetDir(out.absolute())
    with directory.opened():
        over = rebuild or directory.was_starting_over()
        before = None if over else _before(directory, warn)
        options = _options(directory, tree, given, warn, before, over=over)
        if options.versions == "all" or options.changes:
            tree.check_keeps_versions("--changes" if options.changes else "--versions all")
        _check_packages(options.text, scheduler, language=options.language)
        run = len(before.runs) + 1 if before else 1
        job = Job(root.absolute(), directory.root, run, options, tree.record.crawl, site, directory.writer)
        job.check_columns()
        indexed = search.is_wanted(directory, options, asked=index)
        _name_unmatched(options, tree, warn)
        most = _rows_allowed(options, before)
        with open_crew(job, processes, scheduler, line) as crew:
            _tidy(job, before, line, over=over, indexed=indexed)  # only now: there is nothing more to be refused
            if before is not None and most == 0 and _has_rewritten(before, options):
                warn(f"the limit of {number_of(options.limit or 0, 'record')} has been reached; nothing was done")
                manifest = before
            else:
                result = _run(job, crew, before, most, warn)
                line.begin("tidying up", unit="")
                manifest = _commit(job, before, result, warn)
            if indexed:
                search.update(directory, manifest, line)
        return manifest


def _check_name(out: Path) -> None:
    """Refuse a path with bytes that are no UTF-8: Arrow cannot open files there."""
    try:
        str(out.absolute()).encode()
    except UnicodeEncodeError:
        raise UsageError(f"--out {out}: its path must be UTF-8; give another directory") from None


def _check_packages(text: str | None, scheduler: str | None, *, language: bool) -> None:
    """Refuse what this machine cannot do, before anything is read. With a cluster, its workers do it."""
    if scheduler is None and (what := missing(text, language=language)):
        raise UsageError(what)


def _tidy(job: Job, before: Manifest | None, line: ProgressLine, *, over: bool, indexed: bool) -> None:
    """Remove what an interrupted run, or the last one after it had been committed, has left; if `over`, the dataset."""
    directory = job.directory
    line.begin("tidying up", unit="")
    directory.check_writer()
    if over:
        directory.start_over()
    if indexed:
        search.keep(directory)
    directory.sweep()
    for name in directory.listed(STATE):
        if name.startswith("run-") and f"{STATE}/{name}" != plan.run_directory(job.run):
            directory.remove(f"{STATE}/{name}")
    named = before.paths if before else set()
    for name in directory.files(*FOLDERS):
        is_rewritten = any(f"{folder}part-" in name for folder in REWRITTEN)
        if is_rewritten and name not in named:  # replaced, or about to be written again
            directory.discard(name)


def _name_unmatched(options: Options, tree: Tree, warn: Warn) -> None:
    """Name the hosts of the options that the tree does not have."""
    if options.hosts:
        wanted = [hostnames.option(each, globs=True) for each in options.hosts]
        for hint in hostnames.unmatched(wanted, tree.hosts(LINKS)):
            warn(f"--host: {hint}")


def _before(directory: DatasetDir, warn: Warn) -> Manifest | None:
    """Return the manifest of the last run; None if there was none. What has become of its files is checked."""
    before = directory.manifest()
    directory.check_runs(before)
    return None if before is None else directory.whole(before, warn)


def _has_rewritten(before: Manifest, options: Options) -> bool:
    """Tell whether the failures, and the changes if they are wanted, are there in each format of tables."""
    wanted = (1 + options.changes) * sum(style != ARCHIVE for style in options.formats)
    return sum(part.is_rewritten for part in before.parts) >= wanted


def _options(
    directory: DatasetDir, tree: Tree, given: dict[str, Any], warn: Warn, before: Manifest | None, *, over: bool
) -> Options:
    """Return the options of the run. `over`: it starts over, so those of the dataset do not count."""
    found = None if over else directory.made_of(before)
    root = directory.root
    if found is not None and found.crawl != tree.record.crawl:
        raise UsageError(f"{root} is of crawl {found.crawl}, not {tree.record.crawl}; give another directory")
    kept = None if found is None else found.options
    return choose(with_sites(given, kept, tree.controls.settings_if_there(), tree.root, warn), kept, str(root))


def _rows_allowed(options: Options, before: Manifest | None) -> int | None:
    """Return how many rows --limit still allows; None without it."""
    if options.limit is None:
        return None
    return max(0, options.limit - (before.counts.records if before else 0))


# -- the steps


def _run(job: Job, crew: Crew, before: Manifest | None, most: int | None, warn: Warn) -> RunResult:
    earlier = [each.run for each in before.runs] if before else []
    pages, failures = _about(before)
    _plan(job, earlier, crew.line, pages)
    batches = _extract(job, crew, most)
    _report_broken(job, batches, warn)
    _report_flaws(batches, warn)
    counts = dedupe.mark_duplicates(job, batches, earlier, most, crew.line, pages)
    groups = _write(job, crew, batches)
    parts = [part for group in groups for part in group.parts]
    parts += write_failures(job, crew.line, failures)
    parts += write_changes(job, crew.line)
    left_out = Counter({"duplicate": counts.dropped})
    for each in batches:
        left_out.update(each.left_out)
    return RunResult(tuple(parts), _counts(job.options, counts, groups), dict(+left_out), _fields(batches))


def _counts(options: Options, counts: dedupe.Counts, groups: list[GroupResult]) -> Counts:
    """Count the kept records by kind, as `PageRecord.kind` says it, and the duplicates that were looked for."""
    redirects, others = (sum(getattr(group, kind) for group in groups) for kind in ("redirects", "others"))
    return Counts(
        records=counts.records,
        pages=counts.records - redirects - others,
        redirects=redirects,
        others=others,
        duplicates=counts.duplicates,
        near_duplicates=counts.near_duplicates if options.reads_text else None,
    )


def _about(before: Manifest | None) -> tuple[int, int]:
    """Give how many pages and failures the tree had when it was last merged; 0: it is not known."""
    if before is None:
        return 0, 0
    return before.counts.records + sum(before.left_out.values()), before.counts.errors or 0


def _plan(job: Job, earlier: list[int], line: ProgressLine, about: int) -> None:
    """Make the plan, unless it was made before the run was interrupted. `about`: so many pages, or more."""
    if plan.is_made(job.directory, job.run):
        return
    scratch = plan.run_directory(job.run)
    if Path(scratch).name in job.directory.listed(STATE):  # what is there was made by a plan that is lost, or torn
        job.directory.remove(scratch)
    if job.directory.size(OPTIONS) is None:  # they are fixed only now: nothing made so far depends on them
        job.directory.write_json(OPTIONS, Made(job.crawl, job.options), durable=True)
    line.begin("listing pages", about, "pages")
    plan.make(
        job.directory,
        job.tree,
        Filters(job.options),
        earlier,
        job.run,
        line.advance,
        versions=job.options.versions == "all",
    )


def _extract(job: Job, crew: Crew, most: int | None) -> list[BatchResult]:
    """Extract the batches of the plan, or as many as a limit needs."""
    enough = None if job.options.dedupe else most
    sizes = [len(batch) for batch in plan.batches(job.directory, job.run)]
    tasks = (partial(extract_batch, job, batch) for batch in plan.batches(job.directory, job.run))
    results: list[BatchResult] = []
    rows = 0
    with contextlib.closing(crew.run("reading pages", tasks, sizes)) as answers:
        for result in answers:
            results.append(result)
            rows += result.rows
            if enough is not None and rows >= enough:
                break
    return results


def _report_broken(job: Job, batches: list[BatchResult], warn: Warn) -> None:
    broken = [page for batch in batches for page in batch.broken]
    for host, key, problem in broken[:_MAX_NAMED]:
        path, version = job.tree.tree_path(LINKS, host, plan.key_of(key)), plan.number_of(key)
        warn(f"{path}{'' if version is None else f', version {version}'}: {problem}; left out")
    if len(broken) > _MAX_NAMED:
        audit = f"{command('audit', job.tree.root)}"
        warn(f"{len(broken) - _MAX_NAMED} more could not be read; to see what is wrong:  {audit}")


def _report_flaws(batches: list[BatchResult], warn: Warn) -> None:
    """Say of how many pages text, values or items are missing. They are in the dataset all the same."""
    flaws: Counter[str] = Counter()
    bad: dict[str, str] = {}
    for batch in batches:
        flaws.update(batch.flaws)
        bad = {**batch.bad, **bad}
    if without := flaws.pop(NO_PYPDF, 0):
        pdfs, install = number_of(without, "PDF"), to_install(pdf.EXTRA)
        its = "its" if without == 1 else "their"
        warn(f"{pdfs} without {its} text: {NO_PYPDF}. To have the text: {install}; then merge again with --rebuild")
    for flaw, number in flaws.most_common(_MAX_NAMED):
        warn(f"{number_of(number, 'page')}: {flaw}")
    if others := flaws.total() - sum(number for _, number in flaws.most_common(_MAX_NAMED)):
        warn(f"{number_of(others, 'other page')} with something missing")
    for field, problem in islice(bad.items(), _MAX_NAMED):
        warn(f"field {field}: the first value that is not of its type: {problem}")


def _write(job: Job, crew: Crew, batches: list[BatchResult]) -> list[GroupResult]:
    groups = cut_into_groups(batches)
    sizes = [sum(batches[number].rows for number in group) for group in groups]
    step = f"writing {', '.join(job.options.formats)}"
    return list(crew.run(step, (partial(write_group, job, *each) for each in enumerate(groups)), sizes))


def _fields(batches: list[BatchResult]) -> dict[str, FieldCounts]:
    totals: dict[str, list[int]] = {}
    for batch in batches:
        for name, counts in batch.found.items():
            totals[name] = [a + b for a, b in zip(totals.get(name, [0, 0, 0]), counts, strict=True)]
    return {name: FieldCounts(*counts) for name, counts in totals.items()}


# -- the end


def _commit(job: Job, before: Manifest | None, result: RunResult, warn: Warn) -> Manifest:
    """Write the manifest, then remove what it no longer names. A run that found nothing new is undone instead."""
    directory = job.directory
    directory.check_writer()
    if before is not None and before.is_unchanged_by(result):
        for part in result.parts:
            directory.discard(part.path)
        directory.remove(plan.run_directory(job.run))
        directory.discard(plan.seen_name(job.run))
        directory.update(CARD, card(job, before))  # a run that was killed here may have written its own
        warn("nothing new since the last run")
        return before
    manifest = after_run(before, job.run, result, crawl=job.crawl, options=job.options)
    directory.remove_parts(job.run, but=manifest.paths)
    directory.update(CARD, card(job, manifest))
    directory.sync([*(part.path for part in result.parts), plan.seen_name(job.run)])
    directory.write_json(MANIFEST, manifest, durable=True)
    for path in (before.paths if before else set()) - manifest.paths:
        directory.discard(path)
    directory.remove(plan.run_directory(job.run))
    return manifest
