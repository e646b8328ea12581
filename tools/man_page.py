"""`make docs-write`: writes docs/man/fscrawl.1, the manual page, from the parsers of the commands.

    python -m tools.man_page            write it
    python -m tools.man_page --check    exit with 1 if it is not what the parsers say

The wheel installs the page as share/man/man1/fscrawl.1. It is in the repository because a wheel is built without the
packages that the parsers need. The page has the macros of man(7), which groff and mandoc know. Its date is that of the
newest release in CHANGELOG.md, so two builds of a release give the same bytes.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from textwrap import wrap

from fscrawl import __version__
from fscrawl.commands import ALIASES, COMMANDS
from fscrawl.commands.program import Parser, Program

CHECKOUT = Path(__file__).resolve().parent.parent
PAGE = CHECKOUT / "docs/man/fscrawl.1"
_RELEASE = re.compile(r"^## \[?\d[^\] ]*\]? - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)

_SEE = (
    "The documents of fscrawl: docs/ in its source. The command completion prints scripts with which bash, zsh and fish"
    " complete commands and options."
)
_COLUMNS = 78
_ROFF = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", "…": "..."}
_ABOUT = (
    "fscrawl crawls web sites and keeps all its state in one directory, the tree. Machines that mount this directory"
    " and run the same command share the work. There is no server, no queue and no database.",
    "A tree is made by the crawl command. The other commands watch it, steer it, check it, and make datasets of it.",
)
_FILES = (
    ("DIR/crawl.toml", "the settings; edit them there, also while machines run"),
    ("DIR/seeds.txt", "the URLs to begin with, one a line"),
    ("DIR/htmls/", "the pages, as they were received"),
    ("DIR/files/", "PDFs, images, feeds and other documents, if they are asked for"),
    ("DIR/links/", "the record of each page: URL, status, headers, title, links"),
    ("DIR/errs/", "the last failure of each URL that is not stored"),
    ("DIR/.fscrawl/", "what the machines need to work together"),
)
_ENVIRONMENT = (
    ("FSCRAWL_ROOT", "the tree, if --root does not name one"),
    ("FSCRAWL_…", "variables that the settings may name, for passwords; --allow-env permits others"),
    ("FSCRAWL_BROWSER", "the Chromium that opens JavaScript pages"),
)
_CODES = (
    ("0", "the command has done what it should"),
    ("1", "the command has finished, but nothing useful was found or stored"),
    ("2", "the command line, a setting or a file that they name is wrong, or a package is missing"),
    ("75", "the tree, the dataset or the report cannot be used: not there, not mounted, read-only, full"),
    ("129", "ended because its terminal was closed (SIGHUP)"),
    ("130", "interrupted by Ctrl-C"),
    ("143", "ended by SIGTERM"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.man_page", description="Write docs/man/fscrawl.1.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is not up to date")
    text = page()
    if parser.parse_args(arguments).check:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        return 0 if current else _complain()
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


def _complain() -> int:
    print(f"{PAGE.relative_to(CHECKOUT)} is not what the commands say; run: make docs-write", file=sys.stderr)
    return 1


def page() -> str:
    """Return the page's text."""
    lines = [
        '.\\" Written by tools/man_page.py from the parsers of the commands. Do not edit it: run make docs-write.',
        f'.TH FSCRAWL 1 {_date()} "fscrawl {__version__}" "User Commands"',
        ".SH NAME",
        "fscrawl \\- a web crawler for machines that share a directory",
        ".SH SYNOPSIS",
        *_synopsis("fscrawl", ["COMMAND", "[OPTION]..."]),
        ".br",
        *_synopsis("fscrawl help", ["[COMMAND]"]),
        ".br",
        *_synopsis("fscrawl", ["--version"]),
        ".SH DESCRIPTION",
        *_paragraphs(_ABOUT),
        ".SH COMMANDS",
    ]
    for name, parser in Program().commands.items():
        lines += _command(name, COMMANDS[name][1], parser)
    for title, rows in (("FILES", _FILES), ("ENVIRONMENT", _ENVIRONMENT), ("EXIT STATUS", _CODES)):
        lines += [f".SH {title}", *_terms(rows)]
    lines += [".SH SEE ALSO", *_text(_SEE)]
    return "\n".join(lines) + "\n"


def _date() -> str:
    found = _RELEASE.search((CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert found is not None, "CHANGELOG.md has no release with a date"
    return found[1]


def _command(name: str, summary: str, parser: Parser) -> Iterator[str]:
    actions = [each for each in parser.arguments if "--help" not in each.option_strings]
    alias = next((alias for alias, of in ALIASES.items() if of == name), "")
    yield f".SS fscrawl {name}"
    yield from _synopsis(f"fscrawl {name}", [_word(action) for action in actions])
    yield ".PP"
    yield from _text(" ".join((parser.description or f"{summary}.").split()))
    if alias:
        yield from _text(f"{alias.capitalize()} is the same command.")
    for action in actions:
        yield ".TP"
        yield _written(action)
        yield from _text(action.help or "")
    lines = (parser.epilog or "").removeprefix("examples:\n").splitlines()
    examples = list(takewhile(lambda line: line.startswith("  "), lines))
    yield from (".PP", "Examples:", ".PP", ".nf", *(_escaped(line) for line in examples), ".fi")
    notes = " ".join(line.strip() for line in lines[len(examples) :])
    if notes:
        yield ".PP"
        yield from _text(f"{notes[0].upper()}{notes[1:].removesuffix('.')}.")


def _word(action: argparse.Action) -> str:
    """Give an option or argument as the synopsis has it: "[--workers N]"."""
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return value
    long = next((each for each in action.option_strings if each.startswith("--")), action.option_strings[0])
    written = f"{long} {value}".strip()
    return written if action.required else f"[{written}]"


def _written(action: argparse.Action) -> str:
    """Give an option or argument as the list has it, names bold and values in italics."""
    value = "" if action.nargs == 0 else f"\\fI{_escaped(str(action.metavar or action.dest.upper()))}\\fR"
    names = ", ".join(f"\\fB{_escaped(each)}\\fR" for each in action.option_strings)
    return f"{names} {value}".strip()


def _synopsis(bold: str, words: Iterable[str]) -> list[str]:
    """A word with a value must not be broken: its blank is one that does not stretch or break."""
    return [f".B {_escaped(bold)}", *(_escaped(word).replace(" ", "\\ ") for word in words)]


def _terms(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in rows:
        yield from (".TP", f"\\fB{_escaped(term)}\\fR", *_text(meaning))


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number:
            yield ".PP"
        yield from _text(text)


def _text(text: str) -> list[str]:
    """Begin a line with each sentence, as roff wants it."""
    sentences = (_escaped(each) for each in re.split(r"(?<=[.:;]) +(?=[A-Z])", text))
    return [line for each in sentences for line in wrap(each, _COLUMNS, break_long_words=False, break_on_hyphens=False)]


def _escaped(text: str) -> str:
    """Escape what roff would obey.

    >>> print(_escaped("--root 'a' \\\\ … ~"))
    \\-\\-root \\(aqa\\(aq \\e ... \\(ti
    >>> _escaped(".fscrawl")
    '\\\\&.fscrawl'
    """
    text = text.translate(str.maketrans(_ROFF))
    return re.sub(r"(^|(?<= ))\.", r"\\&.", text)  # a line may begin with any word


if __name__ == "__main__":
    sys.exit(main())
