"""`fscrawl doctor`: check that this machine, the share and the crawl are in order."""

from __future__ import annotations

import argparse

from fscrawl.commands.common import Commands, Parser, add_allow_env, add_command, add_root, add_workers
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.terminal import say, say_json

_EXAMPLES = """\
fscrawl doctor --root /mnt/shared                 before the first crawl, or when something is odd
fscrawl doctor --root /mnt/shared --workers 32    check also the limits that 32 workers need
"""
_EXIT_CODES = "exit codes: 0 no problem, 1 there is a problem; nothing is fetched\n"


def add(commands: Commands[Parser]) -> None:
    doctor = add_command(
        commands,
        "doctor",
        run,
        summary="check this machine, the share and the crawl on it",
        description="Check this machine, the directory, and the crawl in it if there is one. Say how to solve each"
        " problem.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    add_root(doctor)
    add_workers(doctor)
    add_allow_env(doctor)
    doctor.add_argument("--json", action="store_true", help="print one JSON object per line: level, what, advice")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin import doctor  # noqa: PLC0415 - a crawl need not load it

    progress = Progress("quiet", verbose=False)
    bad = 0
    found = doctor.examine(options.root, options.workers, options.threads, progress.warn, allow_env=options.allow_env)
    for said in found:
        say_json(said._asdict()) if options.json else say(str(said), flush=True)
        bad += said.level == doctor.PROBLEM
    return EXIT_UNUSABLE_RESULT if bad else EXIT_OK
