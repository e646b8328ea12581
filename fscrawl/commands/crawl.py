"""`fscrawl crawl`: start a crawl from its seeds, or continue or join the one in a tree; `crawling` has its work."""

from __future__ import annotations

import argparse
from pathlib import Path

from fscrawl.commands.common import Commands, Parser, add_allow_env, add_command, add_root, add_workers, file
from fscrawl.commands.site_option import add_site

_EXAMPLES = """\
fscrawl crawl --root /mnt/shared --seed https://example.org/ --workers 32
fscrawl crawl --root /mnt/shared --workers 32          to continue, or to join from another machine
fscrawl crawl --root ./tree --seeds seeds.txt --set politeness.delay=0.5 --set crawl.max_depth=3
"""
_EXIT_CODES = """\
exit codes: 0 finished, 1 finished with no page stored, or with seeds missing because of the site file, 2 usage,
  75 tree not usable, 129 terminal gone, 130 interrupted, 143 terminated
"""


def add(commands: Commands[Parser]) -> None:
    crawl = add_command(
        commands,
        "crawl",
        run,
        summary="start a crawl; or continue or join the crawl in a tree",
        description="Crawl into the tree at --root. The same command on any machine continues or joins the crawl.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    add_root(crawl)
    add_workers(crawl)
    crawl.add_argument("--seed", action="append", default=[], metavar="URL", help="a URL to start from; repeatable")
    crawl.add_argument("--seeds", type=_seeds, metavar="FILE", help="a file of seed URLs, or - for standard input")
    crawl.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="K=V",
        help="a setting of a new tree, e.g. politeness.delay=0.5",
    )
    add_site(crawl)
    add_allow_env(crawl)
    crawl.add_argument("--reseed", action="store_true", help="rebuild the to-do list from every link file of the tree")
    crawl.add_argument("--refresh", metavar="AGE", help="check again pages older than this, e.g. 7d or 12h")
    crawl.add_argument("--follow", action="store_true", help="when everything is done, stay and wait for new seeds")
    output = crawl.add_mutually_exclusive_group()
    output.add_argument("--quiet", action="store_true", help="print only what is wrong")
    output.add_argument("--log-json", action="store_true", help="progress and events as JSON lines on standard error")
    crawl.add_argument("-v", "--verbose", action="store_true", help="print a line for each URL")


def _seeds(text: str) -> Path:
    if "://" in text:  # a path would lose one of the slashes, and the message would show another URL
        raise argparse.ArgumentTypeError(f"{text}: it is a URL, not a file; did you mean --seed {text}?")
    return file(text)


def run(options: argparse.Namespace) -> int:
    from fscrawl.commands.crawling import crawl  # noqa: PLC0415 - what only a crawl needs

    return crawl(options)
