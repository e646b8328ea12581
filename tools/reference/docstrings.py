"""Docstrings as Markdown.

A docstring has paragraphs, and besides them

- lists of names: lines `name    meaning`, two blanks or more between both, which go on in indented lines: a table
- examples for doctest: blocks of Python
- indented lines: blocks of code
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from tools.reference.markdown import cell, code, prose, table

_NAME = re.compile(r"([\w.]+(?:, [\w.]+)*) {2,}(\S.*)")


def paragraphs(doc: str) -> list[list[str]]:
    """Split a docstring, cleaned, at blank lines."""
    found: list[list[str]] = [[]]
    for line in inspect.cleandoc(doc).splitlines():
        if line:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def meanings(doc: str) -> dict[str, str]:
    """Give the names that a docstring lists, each with its meaning.

    >>> meanings("A page.\\n\\nurl, key   where it is\\ndepth      links\\n           from a seed")
    {'url, key': 'where it is', 'depth': 'links from a seed'}
    """
    found: dict[str, str] = {}
    for lines in paragraphs(doc):
        if _is_list(lines):
            found |= _listed(lines)
    return found


def _is_list(lines: list[str]) -> bool:
    return _NAME.fullmatch(lines[0]) is not None and all(
        _NAME.fullmatch(line) or line.startswith("    ") for line in lines
    )


def _listed(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        match = _NAME.fullmatch(line)
        if match:
            found[match[1]] = match[2]
        else:
            found[next(reversed(found))] += f" {line.strip()}"
    return found


def as_markdown(doc: str, heads: tuple[str, str] = ("attribute", "meaning")) -> str:
    """Give a whole docstring. `heads`: of its lists of names."""
    return "\n".join(_blocks(doc, heads))


def _blocks(doc: str, heads: tuple[str, str]) -> Iterator[str]:
    for lines in paragraphs(doc):
        if lines[0].startswith(">>> "):
            yield "```pycon\n" + "\n".join(lines) + "\n```\n"
        elif lines[0].startswith("    "):
            yield "\n".join(lines) + "\n"
        elif _is_list(lines):
            rows = _listed(lines).items()
            yield table(heads, ([", ".join(map(code, names.split(", "))), cell(said)] for names, said in rows))
        else:
            yield prose("\n".join(lines)) + "\n"


def summary(doc: str) -> str:
    """Give the prose of a docstring in one line, for a table: without lists and examples."""
    kept = [lines for lines in paragraphs(doc) if not lines[0].startswith((">>> ", "    ")) and not _is_list(lines)]
    return " ".join(line for lines in kept for line in lines)
