"""`fscrawl doctor`: is all here that a crawl needs?"""

from __future__ import annotations

import argparse
import json

from fscrawl.commands.common import Commands, Parser, add_root, positive
from fscrawl.engine.progress import Progress
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT
from fscrawl.util.terminal import plain

_EXAMPLES = """\
examples:
  fscrawl doctor --root /mnt/shared                 before the first crawl, or when something is odd
  fscrawl doctor --root /mnt/shared --workers 32    with the limits that so many need
exit codes: 0 no problem, 1 there is one; nothing is fetched
"""


def add(commands: Commands[Parser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check this machine, the mount and the crawl on it",
        description="Check this machine, the directory, and the crawl in it if there is one; say what to do.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    doctor.set_defaults(run=run)
    add_root(doctor)
    doctor.add_argument("--workers", type=positive, default=4, metavar="N", help="worker processes to be (default 4)")
    doctor.add_argument(
        "--threads", type=positive, default=8, metavar="N", help="fetches at a time in each (default 8)"
    )
    doctor.add_argument("--json", action="store_true", help="a JSON object a line: level, what, advice")


def run(options: argparse.Namespace) -> int:
    from fscrawl.admin import doctor  # noqa: PLC0415 - a crawl need not load it

    progress = Progress("quiet", verbose=False)
    bad = 0
    for said in doctor.examine(options.root, options.workers, options.threads, progress.warn):
        print(json.dumps(said._asdict()) if options.json else plain(str(said)), flush=True)
        bad += said.level == doctor.PROBLEM
    return EXIT_UNUSABLE_RESULT if bad else EXIT_OK
