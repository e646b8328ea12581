"""`fscrawl import`: make a tree of the archives of other programs, or add them to one."""

from __future__ import annotations

import argparse
from pathlib import Path

from fscrawl import interrupts, store
from fscrawl.commands.program import Program, add_allow_env, add_root, add_settings, assignments
from fscrawl.config.seeds import read_seeds
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT, UsageError
from fscrawl.util.installed import command, to_install
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say

_EXAMPLES = """\
fscrawl import --root /mnt/shared site.warc.gz               what wget --warc-file has made
fscrawl import --root /mnt/shared heritrix/warcs crawl.wacz  all archives of a directory, and a WACZ
fscrawl import --root ./tree --scope any *.warc.gz           settings of a new tree
"""
_NOTES = """\
Of several answers of a URL the last fetched one stays. Nothing is fetched. To go on from
there:  fscrawl crawl --root DIR URL
exit codes: 0 imported, 1 an archive is damaged, or the tree has no page of them
"""


def add(program: Program) -> None:
    parser = program.add(
        "import",
        run,
        description="Make a tree of what wget, Heritrix, Browsertrix and others have archived, or add it to a tree."
        " No machine should be crawling there meanwhile.",
        examples=_EXAMPLES,
        notes=_NOTES,
    )
    parser.add_argument(
        "words", nargs="*", default=[], metavar="ARCHIVE", help="a .warc, .warc.gz or .wacz, or a directory of such"
    )
    add_root(parser, has_words=True)
    add_settings(parser, "another setting of a new tree, e.g. crawl.scope=any; repeatable")
    add_allow_env(parser)


def run(options: argparse.Namespace) -> int:
    try:
        from fscrawl.admin.importing import DAMAGED, SAME, Importer, archives_of  # noqa: PLC0415 - it needs an extra
    except ModuleNotFoundError as error:
        raise UsageError(f"import needs {error.name}: {to_install('import')}") from error
    from fscrawl.commands.crawling import open_or_create  # noqa: PLC0415 - --help need not load it
    from fscrawl.commands.page import limited  # noqa: PLC0415 - as above
    from fscrawl.engine.progress import Progress  # noqa: PLC0415 - as above

    if not options.words:
        raise UsageError(f"which archives? type:  {command('import', options.root)} ARCHIVE")
    archives = archives_of(map(Path, options.words))
    with limited() as read:
        given = assignments(options)
        tree, chosen = open_or_create(options.root, given, {}, Progress("line", verbose=False), has_seeds=True)
        interrupts.keeps("what is imported is kept; the same command does the rest")
        with ProgressLine() as line:
            seeds = read_seeds(tree.controls.seeds(), f"{tree.root}/{store.SEEDS}", line.print_line)
            importer = Importer(tree, chosen, seeds, read, line.print_line, options.allow_env, line)
            importer.run(archives)
    say(importer.report() + line.in_time())
    is_there = importer.counts["page"] or importer.counts[SAME]
    return EXIT_OK if is_there and not importer.counts[DAMAGED] else EXIT_UNUSABLE_RESULT
