"""The work of `fscrawl crawl`: open the tree or make it, and run a machine on it until the crawl is over."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fscrawl import interrupts, store, urls
from fscrawl.admin.probe import probe
from fscrawl.commands.program import assignments, read_file, without_secrets
from fscrawl.config import settings
from fscrawl.config.seeds import line_of_seed, read_given, read_seeds, wait_for_seeds
from fscrawl.config.settings import check_same
from fscrawl.config.watcher import missing, parse_file, read_settings, wait_for_lists
from fscrawl.engine.machine import Machine, Options, Result
from fscrawl.engine.progress import Progress
from fscrawl.engine.side_process import describe
from fscrawl.engine.usable import check_fits, check_usable
from fscrawl.errors import NotATreeError, OutputError, SettingsError, TreeError, UsageError, reason
from fscrawl.fleet.heartbeat import longest_permit_s, new_machine_id
from fscrawl.fleet.machinery import Machinery
from fscrawl.storage.inside import what_is_around
from fscrawl.storage.layout import FILES
from fscrawl.storage.mounts import caches_live_s
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery, timestamp
from fscrawl.util.humanize import number_of, parse_age
from fscrawl.util.installed import command
from fscrawl.util.processes import check_shared_memory, look_for_cycles_rarely
from fscrawl.util.terminal import discard_output, say, say_error
from fscrawl.util.user_text import decode

if TYPE_CHECKING:
    from fscrawl.monitor.snapshot import Snapshot
    from fscrawl.sites.rules import SiteFile, SiteRules


_GIVE_SEEDS = "give a URL, --seeds FILE or --site FILE"


def crawl(options: argparse.Namespace) -> int:
    """Do the command; return its exit code."""
    options.set = assignments(options)
    options.seed += options.words
    result, opened = run(options, Progress(options.mode, verbose=options.verbose))
    if options.mode != "quiet" or result.exit_code:
        from fscrawl.commands.crawl_summary import summary  # noqa: PLC0415 - only the end needs it

        tree, has_documents = _look(opened.tree), _has_any(options.root / FILES)
        _print_summary(
            summary(options.root, result, tree, opened.seeds, site=options.site, has_documents=has_documents)
        )
    return result.exit_code


def _print_summary(lines: Iterable[str]) -> None:
    """Print the summary. If that fails, the exit code says how the crawl went all the same."""
    try:
        say(*lines, flush=True)
    except OutputError as error:
        say_error(f"fscrawl: {error}")
    except BrokenPipeError:  # nobody reads it
        discard_output()


class Opened(NamedTuple):
    """What a command works with: the tree, its settings, its seeds with their labels, and those that were added."""

    tree: store.Tree
    settings: settings.Settings
    seeds: dict[str, str]
    added: tuple[str, ...]


def run(options: argparse.Namespace, progress: Progress) -> tuple[Result, Opened]:
    """Do the work of the command; give how it ended, and what it was done with."""
    check_fits(options.workers, options.threads)
    check_shared_memory()
    how = Options(
        options.workers,
        options.threads,
        reseed=options.reseed,
        wait=options.wait,
        refresh_before=_refresh_before(options.refresh),
        allow_env=tuple(options.allow_env),
    )
    file = None if options.site is None else read_file(options.site, options.root)
    code = () if file is None else _described(file, in_this_process=options.workers == 0)
    opened = _prepare(options, progress, _given_seeds(options, progress), code)
    look_for_cycles_rarely()
    with progress, interrupts.until_received():  # a machine that has a name, and no hello yet, would be waited for
        try:
            tree, how = _with_its_own_id(opened.tree), replace(how, added_seeds=opened.added)
            return Machine(tree, opened.settings, opened.seeds, progress, how).run(), opened
        except TreeError as error:
            raise _cause_of(error, opened.tree) from error


def _cause_of(error: TreeError, tree: store.Tree) -> TreeError:
    """Give the reason why the tree cannot be used: a part of `.fscrawl` may be missing on a share that is there."""
    from fscrawl.admin.doctor.directory import of_machinery  # noqa: PLC0415 - only then it is needed

    if not error.retry:
        with contextlib.suppress(TreeError):
            for found in of_machinery(tree, tree.missing_directories()):
                return TreeError(f"{found.what}; {found.advice}")
    return error


def _look(tree: store.Tree) -> Snapshot | None:
    """Look at all machines, after that of this command has left; None if the tree cannot be read."""
    from fscrawl.monitor.snapshot import Observer  # noqa: PLC0415 - only the end needs it

    with contextlib.suppress(TreeError):
        return Observer(tree).look()
    return None


def _has_any(directory: Path) -> bool:
    with contextlib.suppress(OSError):  # an older tree may not have it, and a share may be gone by now
        return next(directory.iterdir(), None) is not None
    return False


def _prepare(
    options: argparse.Namespace, progress: Progress, given: dict[str, str], code: tuple[SiteRules, ...]
) -> Opened:
    """Open the tree, or make it; try its file system out; add the given seeds. `code`: the classes of the site file."""
    tree, chosen = open_or_create(options.root, options.set, given, progress, has_seeds=bool(given or code))
    tree.check_directories()
    chosen = chosen.with_code(code)
    probe(tree, progress.warn)
    seeds, added = _seeds_of(tree, chosen, given, progress)
    check_usable(chosen, options.allow_env)  # before the machine leaves a trace
    wait_for_lists(tree, chosen, progress.warn)
    if chosen.politeness.user_agent.endswith(settings.NO_CONTACT):  # of any version
        where = f"{options.root}/{settings.FILE}"
        progress.note(f"politeness.user_agent has no contact address; please add yours in {where}")
    if problem := missing(chosen):
        progress.warn(problem)
    return Opened(tree, chosen, seeds, added)


def _described(file: SiteFile, *, in_this_process: bool) -> tuple[SiteRules, ...]:
    if in_this_process:
        from fscrawl.sites.code import load  # noqa: PLC0415 - most crawls have no site file

        return load(file)
    return describe(file)


def _with_its_own_id(tree: store.Tree) -> store.Tree:
    """Return the tree as a machine sees it whose id no other machine has. Two writers of one log would spoil it."""
    while not Machinery(tree).take_name():
        umask = tree.files.umask
        tree = store.Tree(tree.root, new_machine_id(), fsync=tree.files.fsync, record=tree.record)
        tree.files.umask = umask
    return tree


def _refresh_before(age: str | None) -> str:
    """Return the time before which a page must have been fetched to be checked again; "" without --refresh."""
    if age is None:
        return ""
    seconds = parse_age(age)
    if seconds is None:
        raise UsageError(f"--refresh {age}: must be an age, like 7d, 12h or 30m; 0s means every page")
    return timestamp(time.time() - seconds)


def _given_seeds(options: argparse.Namespace, progress: Progress) -> dict[str, str]:
    """Return the seeds of the command line, normalised, each with its label.

    A bad URL is an error, a bad line in a file a warning.
    """
    found = {}
    for text in options.seed:
        try:
            seed, label = read_given(text)
            found[seed] = label
        except ValueError as error:
            raise UsageError(_about_seed(text, error)) from None
    if options.seeds is not None:
        of_file = read_seeds(_text_of(options.seeds), _name_of(options.seeds), progress.warn)
        if not of_file:
            raise UsageError(
                f"--seeds {options.seeds}: there is no URL in it; write one per line, like https://example.org/"
            )
        found = {**found, **of_file}
    return found


def _about_seed(text: str, error: ValueError) -> str:
    """Say what is wrong with a seed, and what was probably meant."""
    with contextlib.suppress(OSError):  # as of a name that is too long for a file
        if text and Path(text).is_dir():
            return f"{text}: it is a directory, not a URL; did you mean --root {text}?"
        if Path(text).is_file():
            return f"{text}: it is a file, not a URL; did you mean --seeds {text}?"
    is_clear = "; " in str(error) or urls.normalise(text) is not None
    advice = "" if is_clear else "; a seed must be a complete URL, like https://example.org/"
    return f"{without_secrets(text) or repr(text)}: {error}{advice}"


def _name_of(path: Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def _text_of(path: Path) -> str:
    """Read a file of seeds; "-" is standard input. UsageError if it cannot be read."""
    try:
        if str(path) != "-":
            return decode(path.read_bytes())
        return decode(sys.stdin.buffer.read()) if sys.stdin is not None else ""
    except OSError as error:
        raise UsageError(f"--seeds {path}: cannot be read: {reason(error)}") from error


def open_or_create(
    root: Path, assignments: list[str], given: dict[str, str], progress: Progress, *, has_seeds: bool
) -> tuple[store.Tree, settings.Settings]:
    """Open the tree, or make it. `has_seeds`: the command line gives some, so a tree may be made."""
    state = store.state_of(root)
    # Also if nothing will be made: a flag without a value has taken the URL for it.
    fresh = settings.Settings() if state == "tree" else settings.apply(settings.Settings(), assignments)
    interrupts.keeps("what is stored is kept; the same command goes on")
    if state == "tree":
        if store.is_stopped(root):
            raise UsageError(f"{root}/{store.STOP}: no machine may run; to go on:  {command('resume', root)}")
    elif state == "nothing" and not has_seeds:
        raise UsageError(f"{root} does not exist; to make a new tree, {_GIVE_SEEDS}")
    elif state == "dataset":
        raise UsageError(f"{root}: {store.instead_of_tree(root)}")
    elif state == "directory" and not has_seeds and not _has_templates(root):
        raise NotATreeError(f"{root}: no crawl there; is the share mounted? To start a new crawl, {_GIVE_SEEDS}")
    else:
        if around := what_is_around(root):
            raise UsageError(f"{root}: it is inside {around}; name a directory outside of it")
        if others := store.strangers(root):
            what = f"{number_of(len(others), 'other name')}, such as {others[0]}"
            progress.note(f"{root} is not empty ({what}): the crawl is made beside what is there, and leaves it alone")
        kept = store.text_if_there(root)  # as after somebody has deleted `.fscrawl` alone
        chosen = fresh if kept is None else parse_file(kept, f"{root}/{settings.FILE}")
        store.wait_for_permits(root, longest_permit_s(chosen.fleet.dead_after, caches_live_s(root)), progress.warn)
        with interrupts.later():
            _create(root, chosen, given)
    tree = store.Tree(root, new_machine_id())
    tree.files.adopt_umask()
    chosen = read_settings(tree, progress.warn)
    if assignments:
        check_same(chosen, assignments, f"{root}/{settings.FILE}")
    tree.files.fsync = chosen.store.fsync
    return tree, chosen


def _has_templates(root: Path) -> bool:
    """Tell whether a `crawl.toml` that is there before the tree has seeds."""
    text = store.text_if_there(root)
    return text is not None and any(site.seeds for site in parse_file(text, f"{root}/{settings.FILE}").sites)


def _create(root: Path, chosen: settings.Settings, given: dict[str, str]) -> None:
    """Make the tree. If there are settings already, `chosen` is what they say."""
    lines = [f"{line_of_seed(seed, label)}\n" for seed, label in given.items()]
    seeds = "# Seed URLs, one a line. Add lines while machines run.\n" + "".join(lines)

    def record_for(text: str) -> TreeRecord:
        return _record_for(_of_pages(root, settings.parse(text, f"{root}/{settings.FILE}")))

    chosen = _of_pages(root, chosen)
    store.create(root, _record_for(chosen), settings.render(chosen), seeds, new_machine_id(), record_for)


def _of_pages(root: Path, chosen: settings.Settings) -> settings.Settings:
    """Give the settings with the layout of the pages that are there, as after somebody has deleted `.fscrawl`."""
    there = store.layout_there(root)
    if there == "both":
        if "layout" not in tomllib.loads(store.text_if_there(root) or "").get("store", {}):
            raise SettingsError(
                "pages are in files and in packs, as if fscrawl pack or unpack was not done; write the layout that"
                ' counts, "files" or "packs"',
                "store.layout",
                f"{root}/{settings.FILE}",
            )
        return chosen
    return replace(chosen, store=replace(chosen.store, layout=there or chosen.store.layout))


def _record_for(chosen: settings.Settings) -> TreeRecord:
    return TreeRecord(
        format=FORMAT,
        crawl=new_machine_id().rpartition("-")[2],
        created_at=timestamp(time.time()),
        shards=chosen.fleet.shards,
        partition=chosen.crawl.partition,
        machinery=new_machinery(),
        layout=chosen.store.layout,
    )


def _seeds_of(
    tree: store.Tree, chosen: settings.Settings, given: dict[str, str], progress: Progress
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Add those of the command line to the tree. Return all seeds of the tree, and those that were added."""
    known = wait_for_seeds(tree, progress.warn)
    new = {seed: label for seed, label in given.items() if seed not in known}
    if new:
        with interrupts.later():
            tree.controls.add_seeds([line_of_seed(*each) for each in new.items()])
    if not known and not new and not chosen.code and not any(site.seeds for site in chosen.sites):
        raise UsageError(f"{tree.root}/{store.SEEDS}: there is no URL in it; add one, or {_GIVE_SEEDS}")
    return {**known, **new}, tuple(new)
