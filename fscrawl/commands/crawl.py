"""`fscrawl crawl`: start a crawl from its seeds, or continue or join the one in a tree; `crawling` has its work."""

from __future__ import annotations

import argparse
from pathlib import Path

from fscrawl.commands.program import (
    Program,
    add_allow_env,
    add_root,
    add_settings,
    add_site,
    add_workers,
    file,
)
from fscrawl.engine import PRELOADED
from fscrawl.util.processes import start_server

_EXAMPLES = """\
fscrawl crawl --root /mnt/shared --workers 32 https://example.org/
fscrawl crawl --root /mnt/shared --workers 32          to continue, or to join from another machine
fscrawl crawl --root ./tree --seeds seeds.txt --delay 0.5 --depth 3 --set crawl.order=depth
"""
_EXIT_CODES = """\
exit codes: 0 finished, 1 finished with no page stored, or with seeds missing because of the site file, 2 usage,
  75 tree not usable or .fscrawl deleted: start it again, 129 terminal gone, 130 interrupted, 143 terminated
"""


def add(program: Program) -> None:
    crawl = program.add(
        "crawl",
        run,
        description="Crawl into the tree at --root. The same command on any machine continues or joins the crawl.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    crawl.add_argument("words", nargs="*", default=[], metavar="URL", help="a URL to start from")
    add_root(crawl, has_words=True)
    add_workers(crawl)
    crawl.add_argument("--seed", action="append", default=[], metavar="URL", help="the same as URL; repeatable")
    crawl.add_argument("--seeds", type=_seeds, metavar="FILE", help="a file of seed URLs, or - for standard input")
    add_settings(crawl, "another setting of a new tree, e.g. crawl.order=depth; repeatable")
    add_site(crawl)
    add_allow_env(crawl)
    crawl.add_argument(
        "--reseed", action="store_true", help="rebuild the queue by reading all stored page records again"
    )
    crawl.add_argument("--refresh", metavar="AGE", help="check again pages older than this, e.g. 7d or 12h")
    crawl.add_argument("--wait", action="store_true", help="when everything is done, stay and wait for new seeds")
    crawl.add_argument(
        "--quiet", dest="mode", action="store_const", const="quiet", default="line", help="print only what is wrong"
    )
    crawl.add_argument(
        "--log-json",
        dest="mode",
        action="store_const",
        const="json",
        help="progress and events as JSON lines on standard error",
    )
    crawl.add_argument("-v", "--verbose", action="store_true", help="print a line for each URL")


def _seeds(text: str) -> Path:
    if "://" in text:  # a path would lose one of the slashes, and the message would show another URL
        raise argparse.ArgumentTypeError(f"{text}: it is a URL, not a file; did you mean --seed {text}?")
    return file(text)


def run(options: argparse.Namespace) -> int:
    if options.workers:  # the process that they are forked from loads its modules while this one does so
        start_server(PRELOADED)
    from fscrawl.commands.crawling import crawl  # noqa: PLC0415 - as above

    return crawl(options)
