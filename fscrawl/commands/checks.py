"""`fscrawl audit` and `fscrawl doctor`: check every file of a tree; check this machine, the share and the crawl."""

from __future__ import annotations

import argparse

from fscrawl import interrupts, store
from fscrawl.commands.program import (
    Program,
    add_allow_env,
    add_root,
    add_site,
    add_workers,
    open_tree,
    with_site,
)
from fscrawl.config.seeds import read_seeds
from fscrawl.config.watcher import settings_of
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say, say_json

_AUDIT_EXAMPLES = """\
fscrawl audit --root /mnt/shared             check; machines may be crawling
fscrawl audit --root /mnt/shared --repair    repair; best while no machine is crawling
"""
_DOCTOR_EXAMPLES = """\
fscrawl doctor --root /mnt/shared                 before the first crawl, or when something is odd
fscrawl doctor --root /mnt/shared --workers 32    check also the limits that 32 workers need
fscrawl doctor --root /mnt/shared --repair        write crawl.toml again if somebody has deleted it
"""


def add(program: Program) -> None:
    audit = program.add(
        "audit",
        _audit,
        description="Check every file of the tree, and that every linked URL is stored, failed or pending.",
        examples=_AUDIT_EXAMPLES,
        notes="exit codes: 0 nothing is wrong (any more), 1 something is wrong\n",
    )
    add_root(audit)
    add_site(audit)
    audit.add_argument(
        "--repair", action="store_true", help="remove damaged files; the next crawl fetches their pages again"
    )
    audit.add_argument("--json", action="store_true", help="print the report as one JSON object")

    doctor = program.add(
        "doctor",
        _doctor,
        description="Check this machine, the directory, and the crawl in it if there is one. Say how to solve each"
        " problem.",
        examples=_DOCTOR_EXAMPLES,
        notes="exit codes: 0 no problem, 1 there is a problem; nothing is fetched\n",
    )
    add_root(doctor)
    add_workers(doctor)
    add_allow_env(doctor)
    doctor.add_argument("--repair", action="store_true", help="write crawl.toml again if somebody has deleted it")
    doctor.add_argument("--json", action="store_true", help="print one JSON object per line: level, what, advice")


def _audit(options: argparse.Namespace) -> int:
    from fscrawl.admin.audit import audit  # noqa: PLC0415 - the doctor need not load it

    tree = open_tree(options.root, writing=options.repair)
    chosen = with_site(settings_of(tree), options.site, options.root)
    if options.repair:
        interrupts.keeps("what has been repaired stays so; the same command does the rest")
    with ProgressLine() as line:
        seeds = read_seeds(tree.controls.seeds(), f"{tree.root}/{store.SEEDS}", line.print_line)
        report = audit(tree, chosen, seeds, line.print_line, repair=options.repair, line=line)
    if options.json:
        say_json(report.as_json())
    else:
        first, *more = report.lines()
        say(first + line.in_time(), *more)
    return EXIT_OK if report.ok else EXIT_UNUSABLE_RESULT


def _doctor(options: argparse.Namespace) -> int:
    from fscrawl.admin import doctor  # noqa: PLC0415 - an audit need not load it

    if options.repair:
        interrupts.keeps("what has been written again stays so")
    bad = 0
    workers, threads, allow_env, repair = options.workers, options.threads, options.allow_env, options.repair
    with ProgressLine() as line:
        found = doctor.examine(
            options.root, workers, threads, line.print_line, allow_env=allow_env, line=line, repair=repair
        )
        for result in found:
            line.end()  # what was found is printed, and not into the line
            say_json(result._asdict()) if options.json else say(str(result), flush=True)
            bad += result.level == doctor.PROBLEM
    return EXIT_UNUSABLE_RESULT if bad else EXIT_OK
