"""`fscrawl doctor`: check that this machine, the share and the crawl are in order."""

from __future__ import annotations

import argparse

from fscrawl import interrupts
from fscrawl.commands.common import Program, add_allow_env, add_command, add_root, add_workers
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say, say_json

_EXAMPLES = """\
fscrawl doctor --root /mnt/shared                 before the first crawl, or when something is odd
fscrawl doctor --root /mnt/shared --workers 32    check also the limits that 32 workers need
fscrawl doctor --root /mnt/shared --repair        write crawl.toml again if somebody has deleted it
"""
_EXIT_CODES = "exit codes: 0 no problem, 1 there is a problem; nothing is fetched\n"


def add(program: Program) -> None:
    doctor = add_command(
        program,
        "doctor",
        run,
        description="Check this machine, the directory, and the crawl in it if there is one. Say how to solve each"
        " problem.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    add_root(doctor)
    add_workers(doctor)
    add_allow_env(doctor)
    doctor.add_argument("--repair", action="store_true", help="write crawl.toml again if somebody has deleted it")
    doctor.add_argument("--json", action="store_true", help="print one JSON object per line: level, what, advice")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin import doctor  # noqa: PLC0415 - a crawl need not load it

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
